// A field to sign in with a finger, a pen or a mouse. The signature is a PNG picture in base64, as the interface takes it.
import { html, useLayoutEffect, useRef, useState } from "../kit/view.js";
import { texts } from "./texts.js";

const SIZE = { width: 600, height: 200 };

export function Signature({ picture, onDrawn }) {
  const [isOpen, open] = useState(Boolean(picture));
  if (!isOpen) return html`<button type="button" onClick=${() => open(true)}>${texts.sign}</button>`;
  return html`<${Pad} picture=${picture} onDrawn=${onDrawn} />`;
}

function Pad({ picture, onDrawn }) {
  const canvas = useRef(null);
  const isDrawing = useRef(false);
  const pen = () => canvas.current.getContext("2d");
  const clear = () => {
    pen().fillStyle = "#fff";
    pen().fillRect(0, 0, SIZE.width, SIZE.height);
  };
  useLayoutEffect(() => {
    clear();
    Object.assign(pen(), { lineWidth: 4, lineCap: "round", lineJoin: "round", strokeStyle: "#000" });
    if (!picture) return;
    const shown = new Image();
    shown.onload = () => pen().drawImage(shown, 0, 0);
    shown.src = `data:image/png;base64,${picture}`;
  }, []);
  const placeOf = ({ clientX, clientY }) => {
    const { left, top, width, height } = canvas.current.getBoundingClientRect();
    return [((clientX - left) * SIZE.width) / width, ((clientY - top) * SIZE.height) / height];
  };
  const begin = (event) => {
    isDrawing.current = true;
    canvas.current.setPointerCapture(event.pointerId);
    pen().beginPath();
    pen().moveTo(...placeOf(event));
  };
  const draw = (event) => {
    if (!isDrawing.current) return;
    pen().lineTo(...placeOf(event));
    pen().stroke();
  };
  const end = () => {
    if (!isDrawing.current) return;
    isDrawing.current = false;
    onDrawn(canvas.current.toDataURL("image/png").split(",")[1]);
  };
  return html`<div class="signature"><p class="line"><span class="name">${texts.signature}</span>
      <button type="button" class="quiet" onClick=${() => {
        clear();
        onDrawn(null);
      }}>${texts.clear}</button></p>
    <canvas ref=${canvas} ...${SIZE} role="img" aria-label=${texts.signature} onPointerDown=${begin} onPointerMove=${draw} onPointerUp=${end} onPointerCancel=${end}></canvas></div>`;
}
