// The settings of this device, and its sounds. They stay when another agent signs in.
const place = (name) => `payments.till.${name}`;
export const isSet = (name) => localStorage.getItem(place(name)) !== null;
export const setTo = (name, isOn) =>
  isOn ? localStorage.setItem(place(name), "1") : localStorage.removeItem(place(name));

const TONES = { paid: [784, 1175], refused: [247, 185] }; // hertz, one after the other
const TONE_S = 0.14;
const VOLUME = 0.2;
let audio = null;

function play(name) {
  audio ??= new AudioContext();
  audio.resume(); // a browser pauses it until somebody acts
  for (const [place, hertz] of TONES[name].entries()) {
    const [tone, gain] = [audio.createOscillator(), audio.createGain()];
    const at = audio.currentTime + place * TONE_S;
    tone.frequency.value = hertz;
    gain.gain.setValueAtTime(VOLUME, at);
    gain.gain.exponentialRampToValueAtTime(0.001, at + TONE_S);
    tone.connect(gain).connect(audio.destination);
    tone.start(at);
    tone.stop(at + TONE_S);
  }
}

// A short sound: "paid" or "refused". It has a task of its own, because no sale may fail with it.
export function sound(name) {
  if (!isSet("silent") && globalThis.AudioContext) setTimeout(() => play(name));
}
