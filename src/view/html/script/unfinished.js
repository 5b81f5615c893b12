// The unfinished tasks and why they are unfinished, in the words of the report in the terminal.

const SHOWN_UNFINISHED = 10;
// A longer chain of tasks shows only its ends.
const SHOWN_CHAIN = 4;

const TASK_ENDS = {
  left: ["left", " in progress"], returned: ["set", " back to pending"], "in-progress": ["has", " in progress"],
  "not-started": ["did not start", ""], unassigned: ["took", ""],
};
const unfinished = new Map((report.unfinished || []).map((row) => [row.task, row]));

// "waited for #6 <- #2, which bob left in progress (lost work, 53:01)", with links; null for a finished task.
function causeOf(task) {
  const row = unfinished.get(task.id);
  if (!row) return null;
  const chain = chainOf(row);
  const last = chain.at(-1) || row;
  const [verb, rest] = TASK_ENDS[last.end] || [words(last.end), ""];
  const who = last.agent ? agentLink(last.agent) : "no agent";
  const why = chain.length ? ["waited for ", chainLinks(chain.map((one) => one.task)), ", which ", who, " ", verb, rest]
    : [who, " ", verb, " it", rest];
  // The incident about unfinished work would repeat it.
  const incident = incidents.find((one) => one.id === row.incident && one.kind !== "unfinished-work");
  const name = incident && words(incident.kind) + ", " + since(stamp(incident.from), false);
  return [why, incident ? [" (", button({ class: "link" }, () => showIncident(incident), name), ")"] : null];
}

// The rows of the tasks that a task waited for, each for the next.
function chainOf(row) {
  const chain = new Set([row]);
  for (let next = unfinished.get(row.waits_for); next && !chain.has(next); next = unfinished.get(next.waits_for)) chain.add(next);
  return [...chain].slice(1);
}

function chainLinks(ids) {
  const links = (some) => some.map((id, index) => [index ? " \u2190 " : "", taskLink(id)]);
  if (ids.length <= SHOWN_CHAIN) return links(ids);
  const middle = make("span", {}, button({ class: "link", "aria-label": "Show " + count(ids.length - 2) + " more tasks" }, () => {
    fill(middle, links(ids.slice(1, -1)));
    middle.querySelector("button").focus();
  }, "\u2026"));
  return [taskLink(ids[0]), " \u2190 ", middle, " \u2190 ", taskLink(ids.at(-1))];
}

// Those of the worst incident first.
function drawUnfinished() {
  $("unfinished-part").hidden = !tasks.length;
  const explained = [...unfinished.keys()].map((id) => taskById.get(id)).filter(Boolean);
  const open = [...explained, ...tasks.filter((task) => !isDone(task) && !unfinished.has(task.id))];
  const item = (task) => make("li", {}, taskLink(task.id), " ", bdi(task.subject || "", { dir: "auto" }),
    make("small", { class: "cause" }, causeOf(task) || words(task.status)));
  fill($("unfinished"), open.length ? make("ul", { class: "plain-list" }, cappedItems(open, SHOWN_UNFINISHED, item))
    : make("p", { class: "muted" }, "All tasks are completed."));
}
