// The report that is embedded in the page, and values derived from it.

const report = JSON.parse($("report").textContent);
if (report === null) throw new Error("this page contains no report");

// Subjects, summaries and descriptions are short, unless somebody wants to fill the page.
const MAX_TITLE = 1000;
const titled = (text) => (text ? short(text, MAX_TITLE) : text);

const messages = report.mail.messages.map((letter, index) => ({ ...letter, summary: titled(letter.summary), index, t: stamp(letter.at) }));
const tasks = report.tasks.map((task) => ({
  ...task,
  subject: titled(task.subject),
  changes: task.changes.map((change) => ({ ...change, subject: titled(change.subject), t: stamp(change.at) }))
    .filter((change) => change.t !== null),
}));
const taskById = new Map(tasks.map((task) => [task.id, task]));
const turns = report.turns.map((turn) => ({ ...turn, begin: stamp(turn.from), end: stamp(turn.to) }));
const incidents = (report.incidents || []).map((incident) => ({
  ...incident,
  summary: titled(incident.summary),
  chain: incident.chain.map((step) => ({ ...step, what: titled(step.what) })),
}));
const observations = report.observations.map((observation, index) => ({ ...observation, what: titled(observation.what), index, t: stamp(observation.at) }));

// All agents, members first.
const actors = [];
const seenActors = new Set(["*", "client", "unknown", ""]);
function see(name) {
  if (!name || seenActors.has(name)) return;
  seenActors.add(name);
  actors.push(name);
}
report.overview.members.forEach((member) => see(member.name));
turns.forEach((turn) => see(turn.agent));
messages.forEach((message) => (see(message.from), see(message.to.split("@")[0])));
tasks.forEach((task) => task.changes.forEach((change) => see(change.owner)));
// Agents with an incident are first, in the order of the incidents.
const placeOf = (name) => incidents.findIndex((incident) => incident.agents[0] === name) >>> 0;
actors.sort((a, b) => placeOf(a) - placeOf(b));
const laneOf = new Map(actors.map((name, index) => [name, index]));
const laneNamed = (name) => laneOf.get(name) ?? laneOf.get((name || "").split("@")[0]);

// The first and the last recorded time of anything; the session of a run can start before it and end after it.
let FIRST = stamp(report.overview.started_at) ?? Infinity;
let LAST = stamp(report.overview.ended_at) ?? -Infinity;
function stretch(time) {
  if (time === null) return;
  if (time < FIRST) FIRST = time;
  if (time > LAST) LAST = time;
}
turns.forEach((turn) => (stretch(turn.begin), stretch(turn.end)));
messages.forEach((message) => stretch(message.t));
tasks.forEach((task) => task.changes.forEach((change) => stretch(change.t)));
observations.forEach((observation) => stretch(observation.t));
incidents.forEach((incident) => stretch(stamp(incident.from)));
report.phases.forEach((phase) => (stretch(stamp(phase.from)), stretch(stamp(phase.to))));
report.agents.forEach((agent) => agent.instances.forEach((one) => (stretch(stamp(one.first)), stretch(stamp(one.last)))));
if (FIRST === Infinity) FIRST = 0;

// The run, from its first hook call to its end. All offsets count from its start, as in the other commands.
const START = stamp(report.overview.started_at) ?? FIRST;
const END = Math.max(START + 1, report.overview.duration_ms === null ? LAST : START + report.overview.duration_ms);
stretch(END);
const isEnded = (time) => report.overview.ended_at !== null && time >= END;
const since = (time, exact) => offset(time - START, exact);
const sinceAt = (at) => {
  const time = stamp(at);
  return time === null ? unknown() : make("time", { datetime: at, title: dayTime(at) }, since(time));
};

// The state of a task at a time: its column on the board and since when, and its owner. `null` before it was created.
const COLUMNS = ["pending", "in_progress", "completed", "gone"];
function taskAt(task, time) {
  let last = null;
  let status = null;
  let entered = null;
  for (const change of task.changes) {
    if (change.t > time) break;
    if (!last || change.to !== last.to) entered = change.t;
    last = change;
    if (change.to && change.kind !== "task-deleted") status = change.to;
  }
  if (!last) return null;
  const gone = last.kind === "task-deleted" || last.to === "deleted" ? "deleted"
    : last.kind === "task-erased" || !last.to ? "erased" : null;
  return { task, column: gone ? "gone" : COLUMNS.includes(last.to) ? last.to : "other", gone, status, owner: last.owner, last, entered };
}
// In a run that is over, a task that is not completed stays so.
const isOver = report.overview.ended_at !== null || report.verdict?.kind === "crashed";

// The end shows the last recorded states, including changes that were recorded later.
const boardTime = (time) => (time >= END ? Infinity : time);
const boardAt = (time) => tasks.map((task) => atEnd(taskAt(task, boardTime(time)), time)).filter(Boolean);
// Claude Code erases tasks once all are completed. At the end of the run they count as completed.
const atEnd = (card, time) => (card && isEnded(time) && card.gone === "erased" && card.status === "completed"
  ? { ...card, column: "completed" } : card);

// A message that was not sent: teamkeep blocked it, or Claude Code or another hook rejected it.
const unsent = (message) => (message.blocked ? "blocked" : "rejected");

const messageById = new Map(messages.filter((message) => message.id).map((message) => [message.id, message]));

// How long a message waited for its reader, in milliseconds; null if it was not read, or that is unknown.
const waitOf = (message) => (stamp(message.read_at) === null ? null : stamp(message.read_at) - message.t);
// A message that was read after this time was read late, as in the incidents.
const LATE = report.mail.late_after_ms;
const isLate = (message) => !message.automatic && message.refused === null && (message.delivered === false || waitOf(message) >= LATE);

// Numbers of messages: sent between agents, automatic, blocked, rejected.
const messageCounts = { sent: 0, automatic: 0, blocked: 0, rejected: 0 };
for (const message of messages) {
  messageCounts[message.refused !== null ? unsent(message) : message.automatic ? "automatic" : "sent"] += 1;
}
// Those with a number above zero, in words: "+12 automatic, 3 blocked".
const countsOf = (kinds, spell) => kinds.filter((kind) => messageCounts[kind]).map(spell).join(", ");
