// The task board at the selected time, and the details of a task.

const COLUMN_NAMES = { pending: "Pending", in_progress: "In progress", completed: "Completed", gone: "Deleted or erased", other: "Other" };
// The cards that were drawn, by the IDs of their tasks: element, and what it shows.
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
    return { column, element, number, list, shown: null, most: FIRST_CARDS, cards: [] };
  });
  fill(box, columns.map((one) => one.element));
  const settle = rove(box, ".card");
  selection.listeners.push((one) => {
    for (const card of box.querySelectorAll(".card")) card.toggleAttribute("aria-current", one?.what === "task" && one.task.id === card.dataset.task);
  });
  moment.listeners.push((board) => {
    const columnOf = new Map(board.map((one) => [one.task.id, one.column]));
    for (const one of columns) {
      one.draw = () => {
        drawColumn(one, board.filter((card) => card.column === one.column), columnOf);
        one.cards.forEach(drawAge);
        settle();
      };
      one.draw();
    }
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

// With more cards than this in a column, the others are drawn on demand.
const FIRST_CARDS = 50;

// A column is drawn again only when its content changes, and of its cards only those that changed.
function drawColumn(one, cards, columnOf) {
  const waits = (card) => (isOpen(card.column) ? card.task.blocked_by.filter((id) => isOpen(columnOf.get(id))) : []);
  const keyOfCard = (card) => [card.owner, card.gone, card.column, card.last.subject, waits(card)].join("\u0000");
  const some = cards.slice(0, one.most).map((card) => ({ card, key: keyOfCard(card) }));
  const shown = some.map(({ card, key }) => card.task.id + "\u0000" + key).join("\u0001") + "\u0001" + cards.length;
  one.cards = some.map(({ card }) => card);
  if (shown === one.shown) return;
  one.shown = shown;
  one.number.textContent = cards.length;
  // An empty column is a narrow strip.
  one.element.classList.toggle("none", !cards.length);
  const elements = some.map(({ card, key }) => cardElement(card, key, () => drawCard(card, waits(card))));
  const rest = cards.length - some.length;
  if (rest) {
    elements.push(button({ class: "link more-items" }, () => {
      one.most = Infinity;
      one.draw();
      one.list.children[FIRST_CARDS].focus();
    }, "show " + count(rest) + " more"));
  }
  arrange(one.list, elements);
}

// The element of a card. It is the same one as long as the card looks the same.
function cardElement({ task }, key, build) {
  const known = cardOf.get(task.id);
  const element = known?.key === key ? known.element : build();
  if (element !== known?.element) cardOf.set(task.id, { key, element, age: element.querySelector(".age") });
  element.toggleAttribute("aria-current", selection.one?.what === "task" && selection.one.task === task);
  return element;
}

// Makes these elements the children of a box, and moves only those that are elsewhere.
function arrange(box, elements) {
  const wanted = new Set(elements);
  for (const child of [...box.children]) if (!wanted.has(child)) child.remove();
  let at = box.firstChild;
  for (const element of elements) {
    if (element === at) at = at.nextSibling;
    else box.insertBefore(element, at);
  }
}

function drawCard({ task, column, gone, status, owner, last }, waits) {
  const note = gone ? gone + (status ? ", was " + words(status) : "") : column === "other" ? words(last.to) : null;
  const blockers = waits.slice(0, 3).map((id) => "#" + id).join(", ") + (waits.length > 3 ? " \u2026 +" + count(waits.length - 3) : "");
  return button({ class: "card", "data-task": task.id }, () => openTask(task),
    make("span", { class: "number" }, "#" + task.id), " ",
    last.subject || task.subject ? bdi(last.subject || task.subject, { class: "subject" }) : unknown(),
    make("span", { class: "owner" }, owner ? bdi(owner) : "unassigned",
      note && make("span", { class: "note" }, " \u00b7 " + note),
      waits.length > 0 && make("span", { class: "note" }, " \u00b7 blocked by " + blockers),
      make("span", { class: "note age" })));
}

// The time in a column changes with each move, so it is written without drawing the card again.
function drawAge({ task, column, entered }) {
  const { age } = cardOf.get(task.id);
  const time = Math.min(moment.t, END) - entered;
  const text = (column === "pending" || column === "in_progress") && time >= 1000 ? " \u00b7 for " + lasting(time) : "";
  if (age.textContent !== text) age.textContent = text;
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
