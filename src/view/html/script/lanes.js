// The content of the timeline: the position of each lane, and its items with their times.

const LANE = { pad: 5, turn: 9, row: 16, rows: 6, top: 16, least: 12 };

// A task's spans: from one change to the next, while it is assigned or in progress.
function spansOf(task) {
  const spans = [];
  task.changes.forEach((change, index) => {
    const next = task.changes[index + 1];
    const open = change.to === "in_progress" || (change.to === "pending" && change.owner);
    if (!open || change.kind === "task-deleted") return;
    const lane = laneNamed(change.owner);
    const last = spans.at(-1);
    const end = next ? next.t : END;
    const works = change.to === "in_progress";
    const done = works && next?.to === "completed";
    const lost = works && !done && (next ? next.to !== "in_progress" : isOver);
    if (last && last.status === change.to && last.lane === lane && last.end === change.t) Object.assign(last, { end, done, lost });
    else spans.push({ what: "task", task, status: change.to, owner: change.owner, lane, t: change.t, end, done, lost });
  });
  return spans.filter((span) => span.lane !== undefined);
}

// Overlapping spans are in different rows, up to a limit; those above it have no label.
function stack(spans) {
  const rows = [];
  for (const span of spans) {
    let row = rows.findIndex((end) => end <= span.t);
    if (row < 0) row = rows.length;
    if (row >= LANE.rows) {
      row = LANE.rows - 1;
      span.isHidden = true;
    }
    rows[row] = Math.max(rows[row] || 0, span.end);
    span.row = row;
  }
  return rows.length;
}

function laneTurns() {
  const known = turns.filter((turn) => (turn.begin !== null || turn.end !== null) && laneNamed(turn.agent) !== undefined);
  return known.map((turn) => ({
    what: "turn", turn, lane: laneNamed(turn.agent), t: turn.begin ?? turn.end, end: turn.end ?? LAST,
  }));
}

// The time in which an agent was silent, waited or had failed, from the incidents.
const HALTS = {
  "failed-agent": ["failed", "failed"],
  "stalled-agent": ["silent", "silent"], "waiting-permission": ["waiting", "waiting for permission"],
  "waiting-approval": ["waiting", "waiting for an approval"],
};

function laneHalts() {
  const all = incidents.filter((incident) => Object.hasOwn(HALTS, incident.kind)).map((incident) => ({
    what: "halt", incident, state: HALTS[incident.kind][0], lane: laneNamed(incident.agents[0]), t: stamp(incident.from), end: stamp(incident.to) ?? LAST,
  }));
  return all.filter((one) => one.lane !== undefined && one.t !== null);
}

function laneMessages() {
  const all = messages.filter((message) => message.t !== null).map((message) => {
    const from = laneNamed(message.from);
    const to = message.to === "*" ? null : laneNamed(message.to);
    return { what: "message", message, lane: from ?? to, from, to, t: message.t, end: message.t };
  });
  return all.filter((one) => one.lane !== undefined);
}

function laneMarks() {
  // Observations without an agent are above the lanes. Messages that were never read are shown by the messages themselves.
  return observations.filter((observation) => observation.t !== null && observation.code !== "not-delivered").map((observation) => ({
    what: "mark", observation, lane: laneNamed(observation.who), t: observation.t, end: observation.t,
  }));
}

// The lanes with their positions, and all items by time.
function layLanes() {
  const spans = tasks.flatMap(spansOf).sort((a, b) => a.t - b.t);
  const lanes = actors.map((name) => ({ name }));
  const marks = laneMarks();
  const first = marks.some((one) => one.lane === undefined) ? LANE.top : 0;
  lanes.forEach((lane, index) => { lane.most = Math.max(1, stack(spans.filter((span) => span.lane === index))); });
  const things = [...laneTurns(), ...laneHalts(), ...spans, ...laneMessages(), ...marks].sort((a, b) => a.t - b.t);
  return { lanes, things, first };
}

// The height of a lane with this number of rows of tasks.
const laneHeight = (rows) => LANE.pad + LANE.turn + 2 + rows * LANE.row + LANE.pad - 2;

// Sets the positions of the lanes, and returns their height. Within a given room they shrink, down to the row of tasks.
function placeLanes(lanes, first, room = Infinity) {
  const wanted = lanes.map((lane) => laneHeight(lane.most));
  // What a low lane does not need is for the others.
  let most = Infinity;
  let rest = room - first - 1;
  let many = lanes.length;
  for (const height of [...wanted].sort((a, b) => a - b)) {
    if (height * many > rest) {
      most = Math.max(LANE.least, Math.floor(rest / many));
      break;
    }
    rest -= height;
    many -= 1;
  }
  let top = first;
  lanes.forEach((lane, index) => {
    const height = Math.min(wanted[index], most);
    const isLow = height < laneHeight(1);
    Object.assign(lane, { top, height, bar: isLow ? Math.round(height / 5) : LANE.turn, turn: top + (isLow ? 1 : LANE.pad) });
    lane.tasks = lane.turn + lane.bar + (isLow ? 0 : 2);
    lane.rows = isLow ? 1 : Math.min(lane.most, Math.floor((height - laneHeight(0)) / LANE.row));
    lane.row = isLow ? top + height - lane.tasks : LANE.row;
    lane.task = lane.row - (isLow ? 1 : 3);
    lane.middle = lane.turn + lane.bar / 2;
    // The frame of silence and waits around the turn.
    lane.edge = isLow ? 0 : 2;
    top += height;
  });
  return top + 1;
}
// The row of a task in its lane, and whether there is room for its name. In a low lane a task has only its number.
const rowOf = (thing, lane) => Math.min(thing.row, lane.rows - 1);
const isNamed = (thing, lane) => !thing.isHidden && thing.row < lane.rows && lane.task >= 7;

const MARKS = { blocked: "square", escalated: "triangle", warned: "diamond" };
const markHeight = (thing, lanes) => (thing.lane === undefined ? LANE.top / 2 : lanes[thing.lane].middle);
const markOf = (observation) => MARKS[observation.code] || "dot";

// An item in words: a heading and some lines.
function describe(thing) {
  const during = (end) => "from " + since(thing.t) + " to " + since(end) + ", " + lasting(end - thing.t);
  if (thing.what === "turn") {
    const { turn } = thing;
    return [visible(turn.agent) + " working", [
      turn.begin !== null && turn.end !== null ? during(turn.end)
        : "from " + (turn.begin === null ? "unknown" : since(turn.begin)) + " to " + (turn.end === null ? "unknown" : since(turn.end)),
      turn.for_idlers && "triggered only by idle notices", turn.ending === "failed" && "failed",
      turn.ending === "interrupted" && "interrupted by the user",
    ]];
  }
  if (thing.what === "halt") {
    return [visible(thing.incident.agents[0]) + " " + HALTS[thing.incident.kind][1], [during(thing.end), visible(short(thing.incident.summary, 240))]];
  }
  if (thing.what === "task") {
    return ["Task " + visible(nameOf(thing.task)), [
      words(thing.status) + (thing.owner ? ", owned by " + visible(thing.owner) : "") + (thing.done ? ", then completed" : thing.lost ? ", not completed" : ""),
      "from " + since(thing.t) + ", " + lasting(thing.end - thing.t),
    ]];
  }
  if (thing.what === "mark") return [codeName(thing.observation.code), [visible(short(thing.observation.what, 240)), since(thing.t)]];
  const { message } = thing;
  return [visible(message.from) + " \u2192 " + visible(message.to === "*" ? "everyone" : message.to), [
    visible(short(message.summary || message.text.slice(0, 160), 140)),
    words(message.kind) + (message.automatic ? ", automatic" : "") + ", " + bytes(message.chars) + (deliveryNote(message)),
    since(thing.t),
  ]];
}

const deliveryNote = (message) =>
  message.refused !== null ? ", " + unsent(message) : message.delivered === false ? ", never read" : "";
