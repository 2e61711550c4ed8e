// The editor of a problem's form: a plain text field, over a layer with the same text in colours. Without this script the field is a
// plain one, and everything works.

import { classify, guess, kinds } from "./highlight.js";
import { drafts } from "./page.js";

const form = document.getElementById("hand-in");
const field = document.getElementById("source");
const choice = document.getElementById("language");
const files = document.getElementById("files");
const named = document.getElementById("named");
const said = document.getElementById("guess");
const attached = document.getElementById("attached");

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

  // What is remembered stays in this browser: what was written and is not yet submitted, and the language that was last chosen by hand.
  const draft = drafts.read(form.dataset.draft);
  const options = [...choice.options];
  const option = (id) => options.find((option) => option.value === id && id !== "");
  const remembered = drafts.language();
  let chosen = choice.value;
  if (!field.value && draft) {
    field.value = draft.source;
    named.value = draft.named;
    chosen ||= draft.language;
  } else if (draft?.source === field.value) {
    chosen = draft.language;
  }

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
  const keep = () => drafts.write(form.dataset.draft, { source: field.value, named: named.value, language: chosen });

  const names = () => (files.files.length ? [...files.files].map((file) => file.name) : named.value ? [named.value] : []);
  /** The language whose ending a name has, and the name. */
  const byName = () => {
    const of = (list) => (option) => names().find((name) => option?.dataset[list]?.split(" ").includes(name.split(".").pop()));
    // Several languages may take a name, which by itself means one of them.
    const own = [chosen, remembered].map(option).find(of("sources"));
    const found = own ?? options.find(of("extensions"));
    return found ? [found.value, of(own ? "sources" : "extensions")(found)] : [];
  };
  /** The language: what the reader chooses here, else what a file's name says, else what they chose the last time, else what the text looks like. */
  const decide = () => {
    const [fits, name] = byName();
    const looks = field.value.length > 20 ? guess(field.value) : undefined;
    const [id, why] = option(chosen) ? [chosen, ""]
      : option(fits) ? [fits, `from the file name ${name}`]
      : option(remembered) ? [remembered, "your last choice"]
      : option(looks) ? [looks, "detected from the program"]
      : ["", ""];
    choice.value = id;
    const text = option(id)?.text;
    const other = option(fits) && fits !== id ? `The name ${name} looks like ${option(fits).text}, but ${text} is chosen.` : "";
    const opened = named.value && !files.files.length ? `${named.value} is open in the editor; the text in the editor is submitted. ` : "";
    const about = other || (why ? `Language: ${text}, ${why}.` : "");
    if (opened || about || id) said.textContent = opened + about;
    paint();
  };
  /** Files that the editor cannot show are submitted as they are, and nothing is written meanwhile. */
  const attach = () => {
    const some = files.files.length > 0;
    attached.hidden = !some;
    editor.closest(".field").hidden = field.disabled = some;
    attached.querySelector("span").textContent = `Files to submit: ${[...files.files].map((file) => file.name).join(", ")}.`;
  };

  field.addEventListener("input", () => {
    if (!field.value) named.value = "";
    decide();
    keep();
  });
  choice.addEventListener("change", () => {
    chosen = choice.value;
    if (chosen) drafts.remember(chosen);
    decide();
    keep();
  });
  files.addEventListener("change", async () => {
    const [file, ...more] = files.files;
    const text = file && !more.length ? await readable(file) : undefined;
    if (text !== undefined) {
      // What stands in the editor is what is submitted, so the file itself is let go.
      files.value = "";
      attach();
      named.value = file.name;
      field.focus();
      field.select();
      insert(field, text);
      field.setSelectionRange(0, 0);
      keep();
    } else {
      attach();
    }
    decide();
  });
  attached.querySelector("button").addEventListener("click", () => {
    files.value = "";
    attach();
    decide();
    field.focus();
  });
  field.addEventListener("keydown", (event) => keys(event, field));
  form.addEventListener("submit", () => {
    keep();
    // Beside files the editor's text is not submitted, and stays.
    drafts.sent(field.disabled ? "" : form.dataset.draft);
  });
  decide();
}

/** The text of a file that the editor can hold without changing it. */
async function readable(file) {
  if (file.size > 200_000) return undefined;
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await file.arrayBuffer());
    return text.includes("\0") ? undefined : text.replaceAll("\r\n", "\n");
  } catch {
    return undefined;
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
