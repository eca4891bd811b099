// A sentence over everything, also over a dialog, until the next key or tap. `kind` is its colour.
let line = null;

export function say(words, kind = "") {
  line?.remove();
  line = document.createElement("p");
  line.className = `said ${kind}`;
  line.setAttribute("role", "alert");
  line.textContent = words;
  ([...document.querySelectorAll("dialog")].at(-1) ?? document.body).append(line);
}

export const hush = () => line?.remove();
