// The run: the report as it was written into the page, and what everything else asks of it.

const report = JSON.parse($("report").textContent);
if (report === null) throw new Error("the report could not be written into this page");

const messages = report.mail.messages.map((letter, index) => ({ ...letter, index, t: stamp(letter.at) }));
const tasks = report.tasks.map((task) => ({
  ...task,
  changes: task.changes.map((change) => ({ ...change, t: stamp(change.at) })).filter((change) => change.t !== null),
}));
const taskById = new Map(tasks.map((task) => [task.id, task]));
const turns = report.turns.map((turn) => ({ ...turn, begin: stamp(turn.from), end: stamp(turn.to) }));
const findings = report.findings.map((finding, index) => ({ ...finding, index, t: stamp(finding.at) }));

// Everybody who does something, the members first.
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
const laneOf = new Map(actors.map((name, index) => [name, index]));
const laneNamed = (name) => laneOf.get(name) ?? laneOf.get((name || "").split("@")[0]);

// The first and the last moment of anything.
let START = stamp(report.overview.started_at) ?? Infinity;
let END = stamp(report.overview.ended_at) ?? -Infinity;
function stretch(time) {
  if (time === null) return;
  if (time < START) START = time;
  if (time > END) END = time;
}
turns.forEach((turn) => (stretch(turn.begin), stretch(turn.end)));
messages.forEach((message) => stretch(message.t));
tasks.forEach((task) => task.changes.forEach((change) => stretch(change.t)));
findings.forEach((finding) => stretch(finding.t));
report.phases.forEach((phase) => (stretch(stamp(phase.from)), stretch(stamp(phase.to))));
report.agents.forEach((agent) => agent.instances.forEach((one) => (stretch(stamp(one.first)), stretch(stamp(one.last)))));
if (START === Infinity) START = 0;
if (report.overview.duration_ms !== null && !report.overview.ended_at) stretch(START + report.overview.duration_ms);
if (END <= START) END = START + 1;

// What everything is counted from, as the other commands do: the start of the run. Its session may have begun before.
const ORIGIN = stamp(report.overview.started_at) ?? START;
const since = (time, exact) => offset(time - ORIGIN, exact);
const sinceAt = (at) => {
  const time = stamp(at);
  return time === null ? unknown() : make("time", { datetime: at, title: dayTime(at) + " UTC" }, since(time));
};

// A task at a moment: where it stands on the board, and whose it is. `null` before it was made.
const COLUMNS = ["pending", "in_progress", "completed", "gone"];
function taskAt(task, time) {
  let last = null;
  let status = null;
  for (const change of task.changes) {
    if (change.t > time) break;
    last = change;
    if (change.to && change.kind !== "task-deleted") status = change.to;
  }
  if (!last) return null;
  const gone = last.kind === "task-deleted" || last.to === "deleted" ? "deleted"
    : last.kind === "task-erased" || !last.to ? "erased" : null;
  return { task, column: gone ? "gone" : COLUMNS.includes(last.to) ? last.to : "other", gone, status, owner: last.owner, last };
}
const boardAt = (time) => tasks.map((task) => taskAt(task, time)).filter(Boolean);
