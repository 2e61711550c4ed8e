// A part of a page that changes while work goes on: loaded anew whenever the service says that something happened, or every second
// where it cannot say so. The part itself is written by the service, the same as for readers without scripts.

import { localTimes, tables } from "./page.js";

const part = document.getElementById("live");
if (part?.dataset.part) follow(part);

function follow(part) {
  let waiting = false;
  let asking = false;
  let source;
  let timer;

  const load = async () => {
    if (asking) { waiting = true; return; }
    asking = true;
    try {
      const answer = await fetch(part.dataset.part, { headers: { accept: "text/html" } });
      if (answer.ok) show(await answer.text(), answer.headers.get("x-tauto-live") === "done");
    } catch {
      // The service is away for a moment; what comes next asks again.
    }
    asking = false;
    // Not more often than the eye follows.
    if (waiting) { waiting = false; setTimeout(load, 150); }
  };
  const show = (text, done) => {
    const open = new Set([...part.querySelectorAll("details[open][id]")].map((details) => details.id));
    part.innerHTML = text;
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    localTimes(part);
    tables(part);
    const said = document.getElementById("said");
    const now = part.querySelector("[data-said]")?.dataset.said;
    if (said && now && said.textContent !== now) said.textContent = now;
    if (!done) return;
    source?.close();
    clearInterval(timer);
    if (part.dataset.whenDone === "reload") location.reload();
  };
  const poll = () => { timer ??= setInterval(load, 1000); };

  if (part.dataset.events) {
    source = new EventSource(part.dataset.events);
    for (const name of ["submission", "started", "phase", "test", "returned", "judged", "end"]) source.addEventListener(name, load);
    source.addEventListener("error", poll);
    // Where nothing is said for long, it is asked.
    setInterval(load, 5000);
  } else {
    poll();
  }
  addEventListener("pagehide", () => source?.close());
}
