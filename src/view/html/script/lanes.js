// The content of the timeline: the position of each lane, and its items with their times.

const LANE = { pad: 7, turn: 10, row: 17, rows: 6, axis: 34 };
const HUES = 8;

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
    if (last && last.status === change.to && last.lane === lane && last.end === change.t) last.end = end;
    else spans.push({ what: "task", task, status: change.to, owner: change.owner, lane, t: change.t, end });
  });
  return spans.filter((span) => span.lane !== undefined);
}

// Overlapping spans are in different rows, up to a limit.
function stack(spans) {
  const rows = [];
  for (const span of spans) {
    let row = rows.findIndex((end) => end <= span.t);
    if (row < 0) row = Math.min(rows.length, LANE.rows - 1);
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

function laneMessages() {
  const all = messages.filter((message) => message.t !== null).map((message) => {
    const from = laneNamed(message.from);
    const to = message.to === "*" ? null : laneNamed(message.to);
    return { what: "message", message, lane: from ?? to, from, to, t: message.t, end: message.t };
  });
  return all.filter((one) => one.lane !== undefined);
}

function laneMarks() {
  // Problems without an agent are on the axis.
  return findings.filter((finding) => finding.t !== null).map((finding) => ({
    what: "mark", finding, lane: laneNamed(finding.who), t: finding.t, end: finding.t,
  }));
}

// The lanes with their positions, and all items by time.
function layLanes() {
  const spans = tasks.flatMap(spansOf).sort((a, b) => a.t - b.t);
  const lanes = actors.map((name) => ({ name }));
  let top = LANE.axis;
  lanes.forEach((lane, index) => {
    const rows = Math.max(1, stack(spans.filter((span) => span.lane === index)));
    lane.top = top;
    lane.turn = top + LANE.pad;
    lane.tasks = lane.turn + LANE.turn + 3;
    lane.height = LANE.pad + LANE.turn + 3 + rows * LANE.row + LANE.pad - 2;
    lane.middle = lane.turn + LANE.turn / 2;
    top += lane.height;
  });
  const things = [...laneTurns(), ...spans, ...laneMessages(), ...laneMarks()].sort((a, b) => a.t - b.t);
  return { lanes, things, height: top + 1 };
}

const MARKS = { blocked: "square", escalated: "triangle", warned: "diamond" };
const markHeight = (thing, lanes) => (thing.lane === undefined ? LANE.axis - 8 : lanes[thing.lane].middle);
const markOf = (finding) => MARKS[finding.code] || "dot";

// An item in words: a heading and some lines.
function describe(thing) {
  if (thing.what === "turn") {
    const { turn } = thing;
    const known = turn.begin !== null && turn.end !== null;
    return [visible(turn.agent) + " working", [
      "from " + (turn.begin === null ? "unknown" : since(turn.begin)) + " to " + (turn.end === null ? "unknown" : since(turn.end))
        + (known ? ", " + lasting(turn.end - turn.begin) : ""),
      turn.for_idlers && "triggered only by idle notices",
    ]];
  }
  if (thing.what === "task") {
    return ["Task " + visible(nameOf(thing.task)), [
      words(thing.status) + (thing.owner ? ", owned by " + visible(thing.owner) : ""),
      "from " + since(thing.t) + ", " + lasting(thing.end - thing.t),
    ]];
  }
  if (thing.what === "mark") return [codeName(thing.finding.code), [visible(short(thing.finding.what, 240)), since(thing.t)]];
  const { message } = thing;
  return [visible(message.from) + " \u2192 " + visible(message.to === "*" ? "everyone" : message.to), [
    visible(short(message.summary || message.text.slice(0, 160), 140)),
    words(message.kind) + (message.automatic ? ", automatic" : "") + ", " + bytes(message.chars) + (deliveryNote(message)),
    since(thing.t),
  ]];
}

const deliveryNote = (message) =>
  message.refused !== null ? ", " + unsent(message) : message.delivered === false ? ", never read" : "";
