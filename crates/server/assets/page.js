// What every page does where scripts run: times in the reader's zone, light and dark without loading anew, sorting, copying.

const zoned = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const short = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });

/** Shows the moments below an element in the reader's zone; the exact one stays in the title. */
export function localTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]:not([data-done])")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    time.dataset.done = "";
    time.title = `${zoned.format(at)} (${time.dateTime})`;
    time.textContent = (time.dataset.form === "short" ? short : zoned).format(at);
  }
}

/** Copies text where a button says which element has it. */
async function copy(button) {
  const from = document.getElementById(button.dataset.copy);
  if (!from) return;
  const name = button.textContent;
  try {
    await navigator.clipboard.writeText(from.textContent);
    button.textContent = "Copied";
  } catch {
    // Without leave to write to the clipboard the text is at least selected.
    getSelection().selectAllChildren(from);
    button.textContent = "Selected";
  }
  setTimeout(() => { button.textContent = name; }, 1500);
}

const value = (row, column) => {
  const cell = row.cells[column];
  const raw = cell?.dataset.value ?? cell?.textContent.trim() ?? "";
  const number = Number(raw);
  return raw !== "" && !Number.isNaN(number) ? number : raw.toLowerCase();
};

function compare(a, b) {
  if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
  return typeof a === "number" ? -1 : 1;
}

/** Lets the columns of a table be sorted. */
function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    if (head.hasAttribute("data-fixed") || head.textContent.trim() === "") return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const body = table.tBodies[0];
      const rows = [...body.rows].map((row) => [value(row, column), row]);
      rows.sort(([a], [b]) => (up ? compare(a, b) : compare(b, a)));
      body.append(...rows.map(([, row]) => row));
    });
  });
}

/** A field that hides the rows of a table which lack its words. */
function filtering(field) {
  const table = document.getElementById(field.dataset.filters);
  const said = document.getElementById(`${field.dataset.filters}-found`);
  if (!table) return;
  field.closest("[hidden]")?.removeAttribute("hidden");
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    if (said) said.textContent = words.length ? `${shown} found` : "";
  });
}

/** The switch between light and dark, kept in a cookie so that the next page comes in it. */
function theme(form) {
  const root = document.documentElement;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    document.cookie = `theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=lax`;
  });
}

/** Local or session storage, or nothing where a browser forbids it. */
function storage(kind) {
  try {
    const kept = window[kind];
    return {
      get: (name) => kept.getItem(name),
      set: (name, value) => { try { if (value) kept.setItem(name, value); else kept.removeItem(name); } catch { /* It is full: nothing is kept. */ } },
    };
  } catch {
    return { get: () => null, set: () => {} };
  }
}

const local = storage("localStorage");
const session = storage("sessionStorage");

/** Programs that were written and not yet accepted. One is let go when the service says, by the address it leads to, that it was taken in. */
export const drafts = {
  read(name) {
    try { return JSON.parse(local.get(`draft:${name}`)); } catch { return null; }
  },
  write(name, draft) { local.set(`draft:${name}`, draft.source ? JSON.stringify(draft) : ""); },
  /** It is on its way. */
  sent(name) { session.set("sent", name && JSON.stringify([name, local.get(`draft:${name}`)])); },
  /** It was taken in, unless it was changed since. */
  accepted() {
    if (location.hash !== "#sent") return;
    history.replaceState(null, "", location.pathname + location.search);
    try {
      const [name, text] = JSON.parse(session.get("sent")) ?? [];
      if (name && local.get(`draft:${name}`) === text) local.set(`draft:${name}`, "");
    } catch { /* Nothing was sent from here. */ }
    session.set("sent", "");
  },
  language() { return local.get("language") ?? ""; },
  remember(language) { local.set("language", language); },
};

/** Makes the tables below an element sortable. */
export function tables(root) {
  root.querySelectorAll("table.sort").forEach(sortable);
}

drafts.accepted();
localTimes(document);
tables(document);
// Where the bar is scrolled sideways, the reader sees where they are.
document.querySelector(".bar [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
document.querySelectorAll("input[data-filters]").forEach(filtering);
document.querySelectorAll("form.theme").forEach(theme);
document.addEventListener("click", (event) => {
  const button = event.target.closest?.("button[data-copy]");
  if (button) copy(button);
});
document.querySelectorAll("button.copy[hidden]").forEach((button) => { button.hidden = false; });
