// The editor of a problem's form: a plain text field, over a layer with the same text in colours. Without this script the field is a
// plain one, and everything works.

import { classify, guess, kinds } from "./highlight.js";

const form = document.getElementById("hand-in");
const field = document.getElementById("source");
const choice = document.getElementById("language");
const files = document.getElementById("files");
const said = document.getElementById("guess");

if (form && field && choice) start();

function start() {
  const editor = document.createElement("div");
  const scroll = document.createElement("div");
  const lines = document.createElement("pre");
  const stack = document.createElement("div");
  const layer = document.createElement("pre");
  editor.className = "editor";
  scroll.className = "scroll";
  lines.className = "lines";
  lines.setAttribute("aria-hidden", "true");
  stack.className = "stack";
  layer.className = "layer";
  layer.setAttribute("aria-hidden", "true");
  field.replaceWith(editor);
  field.classList.remove("bare");
  stack.append(layer, field);
  scroll.append(lines, stack);
  editor.append(scroll);
  document.getElementById("keys").hidden = false;

  // What is remembered stays in this browser: the language, and what was typed and not yet handed in.
  const draft = `draft:${form.dataset.problem}`;
  const memory = storage();
  if (!field.value) field.value = memory.get(draft) ?? "";
  const remembered = memory.get("language");
  const options = [...choice.options];
  let chosen = choice.value !== "";
  if (!chosen && remembered && options.some((option) => option.value === remembered)) choice.value = remembered;

  const paint = () => {
    const kind = kinds[choice.value] ?? "c";
    layer.replaceChildren(...classify(field.value + "\n", kind).map(([name, text]) => {
      if (!name) return document.createTextNode(text);
      const span = document.createElement("span");
      span.className = `t-${name}`;
      span.textContent = text;
      return span;
    }));
    const count = field.value.split("\n").length;
    if (lines.dataset.count !== String(count)) {
      lines.dataset.count = String(count);
      lines.textContent = Array.from({ length: count }, (_, n) => n + 1).join("\n");
    }
  };
  const guessed = (id, why) => {
    const option = options.find((option) => option.value === id);
    if (!option || chosen) return;
    choice.value = id;
    said.textContent = `${option.text}, ${why}. Choose another if that is wrong.`;
    paint();
  };

  field.addEventListener("input", () => {
    memory.set(draft, field.value);
    if (!chosen && field.value.length > 20) {
      const id = guess(field.value);
      if (id) guessed(id, "as the text looks");
    }
    paint();
  });
  choice.addEventListener("change", () => {
    chosen = choice.value !== "";
    memory.set("language", choice.value);
    paint();
  });
  files.addEventListener("change", () => {
    const names = [...files.files].map((file) => file.name);
    if (!names.length) return;
    const ends = names.map((name) => name.split(".").pop());
    const option = options.find((option) => option.dataset.extensions?.split(" ").some((known) => ends.includes(known)));
    chosen = false;
    if (option) guessed(option.value, `by the name ${names.find((name) => option.dataset.extensions.split(" ").includes(name.split(".").pop()))}`);
    if (names.length === 1 && files.files[0].size < 200_000) {
      files.files[0].text().then((text) => { field.value = text; paint(); });
    }
  });
  field.addEventListener("keydown", (event) => keys(event, field));
  form.addEventListener("submit", () => { memory.set("language", choice.value); memory.set(draft, ""); });
  paint();
}

/** Local storage, or nothing where a browser forbids it. */
function storage() {
  try {
    const kept = window.localStorage;
    return { get: (name) => kept.getItem(name), set: (name, value) => (value ? kept.setItem(name, value) : kept.removeItem(name)) };
  } catch {
    return { get: () => null, set: () => {} };
  }
}

let leaving = false;

/** Tab indents, Enter keeps the indentation, Ctrl+Enter hands in; after Escape Tab leaves the field, as keyboards need. */
function keys(event, field) {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    field.form.requestSubmit();
    return;
  }
  if (event.key === "Escape") { leaving = true; return; }
  const { selectionStart: from, selectionEnd: to, value } = field;
  const start = value.lastIndexOf("\n", from - 1) + 1;
  if (event.key === "Tab" && !leaving && !event.ctrlKey && !event.altKey) {
    event.preventDefault();
    if (from === to && !event.shiftKey) {
      insert(field, "    ");
    } else {
      const block = value.slice(start, to);
      const changed = event.shiftKey ? block.replace(/^( {1,4}|\t)/gm, "") : block.replace(/^/gm, "    ");
      field.setSelectionRange(start, to);
      insert(field, changed);
      field.setSelectionRange(from === to ? start + changed.length : start, start + changed.length);
    }
  } else if (event.key === "Enter" && from === to) {
    event.preventDefault();
    const line = value.slice(start, from);
    const deeper = /[{(\[:]\s*$/.test(line) ? "    " : "";
    insert(field, `\n${line.match(/^[ \t]*/)[0]}${deeper}`);
  }
  if (!["Shift", "Control", "Alt", "Meta"].includes(event.key)) leaving = false;
}

/** Puts text in the place of the selection, so that undo knows of it. */
function insert(field, text) {
  if (!(text ? document.execCommand("insertText", false, text) : document.execCommand("delete"))) {
    field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
    field.dispatchEvent(new Event("input"));
  }
}
