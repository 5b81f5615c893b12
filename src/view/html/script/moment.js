// The time that the board shows. The slider sets it; the board, the graph and the timeline follow.

const moment = { t: END, listeners: [] };
const changeTimes = [...new Set(tasks.flatMap((task) => task.changes.map((change) => change.t)))].sort((a, b) => a - b);

function setMoment(time) {
  const t = Math.round(Math.max(START, Math.min(END, time)));
  if (t === moment.t) return;
  moment.t = t;
  tellMoment();
}

function tellMoment() {
  const slider = $("slider");
  slider.value = String(moment.t - START);
  const board = boardAt(moment.t);
  const of = (column) => board.filter((one) => one.column === column).length;
  const said = since(moment.t) + " from the start of the run: " + of("pending") + " pending, " + of("in_progress")
    + " in progress, " + of("completed") + " completed, " + of("gone") + " deleted or erased" + (isEnded(moment.t) ? "; the run has ended" : "");
  slider.setAttribute("aria-valuetext", said);
  fill($("moment"), make("strong", {}, since(moment.t)), " ", make("span", { class: "muted" },
    dayTime(new Date(moment.t).toISOString(), false).slice(11)));
  fill($("board-when"), isEnded(moment.t) ? "After the end of the run." : "At " + since(moment.t) + ".");
  for (const listener of moment.listeners) listener(board);
  clearTimeout(tellMoment.later);
  tellMoment.later = setTimeout(() => { $("moment-live").textContent = said; }, 400);
}

const nextChange = () => changeTimes.find((time) => time > moment.t) ?? END;
const lastChange = () => changeTimes.findLast((time) => time < moment.t) ?? START;

function startMoment() {
  const slider = $("slider");
  slider.max = String(END - START);
  slider.addEventListener("input", () => setMoment(START + Number(slider.value)));
  // One key press moves to the next task change; a step of one millisecond would have no visible effect.
  const tenth = (END - START) / 10;
  slider.addEventListener("keydown", (event) => {
    const to = {
      ArrowRight: nextChange, ArrowUp: nextChange, ArrowLeft: lastChange, ArrowDown: lastChange,
      PageUp: () => moment.t + tenth, PageDown: () => moment.t - tenth, Home: () => START, End: () => END,
    }[event.key];
    if (!to || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    setMoment(to());
  });
  $("step-back").addEventListener("click", () => setMoment(lastChange()));
  $("step-on").addEventListener("click", () => setMoment(nextChange()));
}

// Moves to a time from elsewhere on the page.
const showMoment = (time) => fragment.jump(() => {
  setMoment(time);
  timeline.reveal(time);
  $("time").scrollIntoView({ block: "nearest" });
  $("canvas").focus({ preventScroll: true });
});
