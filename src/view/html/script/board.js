// The task board at the selected time, and the details of a task.

const COLUMN_NAMES = { pending: "Pending", in_progress: "In progress", completed: "Completed", gone: "Deleted or erased", other: "Other" };
// The cards by the IDs of their tasks.
const cardOf = new Map();
const isOpen = (column) => column === "pending" || column === "in_progress" || column === "other";

function startBoard() {
  const box = $("board");
  if (!tasks.length) return;
  const known = new Set(tasks.flatMap((task) => task.changes.map((change) => taskAt(task, change.t).column)));
  const columns = [...COLUMNS, ...(known.has("other") ? ["other"] : [])].map((column) => {
    const number = make("span", { class: "count" });
    const list = make("div", { class: "cards" });
    const element = make("section", { class: "column " + column, "aria-label": COLUMN_NAMES[column] },
      make("h3", {}, COLUMN_NAMES[column], " ", number), list);
    return { column, element, number, list, shown: null };
  });
  fill(box, columns.map((one) => one.element));
  const settle = rove(box, ".card");
  selection.listeners.push((one) => {
    for (const card of box.querySelectorAll(".card")) card.toggleAttribute("aria-current", one?.what === "task" && one.task.id === card.dataset.task);
  });
  moment.listeners.push((board) => {
    const columnOf = new Map(board.map((one) => [one.task.id, one.column]));
    for (const one of columns) drawColumn(one, board.filter((card) => card.column === one.column), columnOf);
    for (const card of board) drawAge(card);
    settle();
    showEnd();
    sayLast();
  });
}

// At the end of an ended run, its team and tasks no longer exist.
function showEnd() {
  const ended = isEnded(moment.t);
  $("board-ended").hidden = !ended;
  $("board").classList.toggle("ended", ended);
  if (ended) {
    fill($("board-ended"), "The run has ended: ", ENDS[report.overview.ended_by] || words(report.overview.ended_by || "unknown"),
      " at ", since(END), ". The board shows the last recorded state.");
  }
}

// A column is drawn again only when its content changes.
function drawColumn(one, cards, columnOf) {
  const waits = (card) => (isOpen(card.column) ? card.task.blocked_by.filter((id) => isOpen(columnOf.get(id))) : []);
  const shown = cards.map((card) => [card.task.id, card.owner, card.gone, card.last.subject, card.last.t, waits(card)].join("\u0000")).join("\u0001");
  if (shown === one.shown) return;
  one.shown = shown;
  one.number.textContent = cards.length;
  // An empty column is a narrow strip.
  one.element.classList.toggle("none", !cards.length);
  fill(one.list, cards.map((card) => drawCard(card, waits(card))));
}

function drawCard({ task, column, gone, status, owner, last }, waits) {
  const note = gone ? gone + (status ? ", was " + words(status) : "") : column === "other" ? words(last.to) : null;
  const isCurrent = selection.one?.what === "task" && selection.one.task === task;
  const made = button({ class: "card", "aria-current": isCurrent, "data-task": task.id }, () => openTask(task),
    make("span", { class: "number" }, "#" + task.id), " ",
    last.subject || task.subject ? bdi(last.subject || task.subject, { class: "subject" }) : unknown(),
    make("span", { class: "owner" }, owner ? bdi(owner) : "unassigned",
      note && make("span", { class: "note" }, " \u00b7 " + note),
      waits.length > 0 && make("span", { class: "note" }, " \u00b7 blocked by " + waits.map((id) => "#" + id).join(", ")),
      make("span", { class: "note age" })));
  cardOf.set(task.id, made);
  return made;
}

// The time in a column changes with each move, so it is written without drawing the card again.
function drawAge({ task, column, entered }) {
  const age = cardOf.get(task.id)?.querySelector(".age");
  const time = Math.min(moment.t, END) - entered;
  if (age) age.textContent = (column === "pending" || column === "in_progress") && time >= 1000 ? " \u00b7 for " + lasting(time) : "";
}

// The last change before the selected time, in words.
function sayLast() {
  let last = null;
  for (const task of tasks) {
    const change = task.changes.findLast((one) => one.t <= boardTime(moment.t));
    if (change && (!last || change.t >= last.change.t)) last = { task, change };
  }
  fill($("board-last"), last ? ["Last change ", since(last.change.t), ": #" + last.task.id + " ", changeWords(last.change)]
    : "No task has been created yet.");
}

// A change in words, with its author.
function changeWords(change) {
  const parts = [];
  if (change.kind === "task-created") parts.push("created");
  else if (change.kind === "task-found") parts.push("already existed, ", words(change.to));
  else if (change.kind === "task-erased") parts.push("erased");
  else if (change.kind === "task-deleted") parts.push("deleted");
  else if (change.from !== change.to) parts.push(words(change.from || "unknown"), " \u2192 ", words(change.to || "gone"));
  if (change.owner_from !== change.owner && change.to) {
    parts.push(parts.length ? ", " : "", change.owner ? ["assigned to ", bdi(change.owner)] : "unassigned",
      change.owner_from ? [" (was ", bdi(change.owner_from), ")"] : "");
  }
  if (!parts.length) parts.push("changed");
  return [parts, " by ", change.by === "unknown" ? unknown() : actorName(change.by)];
}
