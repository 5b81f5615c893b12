// Draws the visible part of the timeline on its canvas. Lines of one kind are one path.

// The colors of the current theme.
function readColours() {
  const probe = make("span", { class: "unseen" });
  document.body.append(probe);
  const read = (name) => {
    probe.style.color = "var(--" + name + ")";
    return getComputedStyle(probe).color;
  };
  const colours = {};
  for (const name of ["text", "muted", "line", "surface", "stripe", "turn", "idle", "arrow", "bad", "warn", "held", "accent"]) {
    colours[name] = read(name);
  }
  colours.tasks = Array.from({ length: HUES }, (_, index) => read("task-" + index));
  colours.onTask = read("on-task");
  probe.remove();
  return colours;
}

const hueOf = (task) => tasks.indexOf(task) % HUES;

// Steps of the time axis.
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5,
  72e5, 216e5, 432e5, 864e5, 6048e5];

function drawAxis(pen, view, colours) {
  const { width, height, x } = view;
  const step = STEPS.find((one) => (one / (view.to - view.from)) * width >= 76) ?? STEPS.at(-1);
  pen.font = view.font;
  pen.textBaseline = "middle";
  const first = Math.ceil((view.from - START) / step) * step;
  for (let at = first; at <= view.to - START; at += step) {
    const px = Math.round(x(START + at)) + 0.5;
    pen.fillStyle = colours.line;
    pen.fillRect(px - 0.5, LANE.axis - 5, 1, height);
    pen.fillStyle = colours.muted;
    const label = offset(at, step < 1000);
    if (px + 8 + pen.measureText(label).width < width) pen.fillText(label, px + 4, 11);
  }
}

function drawLanes(pen, view, lanes, colours) {
  lanes.forEach((lane, index) => {
    if (index % 2 === 0) {
      pen.fillStyle = colours.stripe;
      pen.fillRect(0, lane.top, view.width, lane.height);
    }
    pen.fillStyle = colours.line;
    pen.fillRect(0, lane.top, view.width, 1);
  });
}

// The position of a span: at least two pixels wide, and cut near the edges of the view.
function extent(view, thing) {
  const from = Math.max(-4, view.x(thing.t));
  const to = Math.min(view.width + 4, view.x(thing.end));
  return [from, Math.max(2, to - from)];
}

function drawTurns(pen, view, shown, lanes, colours) {
  for (const thing of shown) {
    const lane = lanes[thing.lane];
    const { turn } = thing;
    pen.fillStyle = turn.for_idlers ? colours.idle : colours.turn;
    const [from, wide] = extent(view, thing);
    if (turn.begin === null) {
      // Only its end is known.
      pen.fillRect(from - 1, lane.turn, 2, LANE.turn);
      pen.fillRect(from - 6, lane.turn + LANE.turn / 2 - 1, 4, 2);
      continue;
    }
    pen.globalAlpha = turn.end === null ? 0.45 : 1;
    pen.fillRect(from, lane.turn, wide, LANE.turn);
    pen.globalAlpha = 1;
  }
}

function drawTasks(pen, view, shown, lanes, colours) {
  pen.font = view.font;
  pen.textBaseline = "middle";
  for (const thing of shown) {
    const [from, wide] = extent(view, thing);
    const top = lanes[thing.lane].tasks + thing.row * LANE.row;
    const colour = colours.tasks[hueOf(thing.task)];
    const works = thing.status === "in_progress";
    pen.fillStyle = pen.strokeStyle = colour;
    if (works) pen.fillRect(from, top, wide, LANE.row - 3);
    else if (wide > 3) pen.strokeRect(from + 0.5, top + 0.5, wide - 1, LANE.row - 4);
    if (wide < 26) continue;
    pen.save();
    pen.beginPath();
    pen.rect(from, top, wide - 3, LANE.row);
    pen.clip();
    pen.fillStyle = works ? colours.onTask : colours.text;
    pen.fillText(visible(short(nameOf(thing.task), 80)), from + 5, top + (LANE.row - 3) / 2 + 0.5);
    pen.restore();
  }
}

// With more visible arrows than this, their heads are not drawn, because they would hide everything else.
const MANY = 400;

const SORTS = [
  ["muted", (message) => message.automatic],
  ["arrow", (message) => !message.automatic && message.refused === null && message.delivered !== false],
  ["bad", (message) => !message.automatic && (message.refused !== null || message.delivered === false)],
];

// The arrows, one path per kind. Lines are below turns and tasks, heads above.
function layArrows(view, shown, lanes) {
  const strength = shown.length > MANY ? 0.3 : shown.length > MANY / 3 ? 0.6 : 0.9;
  return SORTS.map(([colour, is]) => {
    const [lines, heads] = [new Path2D(), new Path2D()];
    for (const thing of shown) if (is(thing.message)) arrow(lines, heads, view, thing, lanes);
    return { colour, lines, heads: shown.length > MANY ? null : heads, strength: colour === "muted" ? strength / 2 : strength };
  });
}

function drawArrows(pen, arrows, part, colours) {
  pen.lineWidth = 1;
  for (const { colour, lines, heads, strength } of arrows) {
    pen.globalAlpha = strength;
    pen.strokeStyle = pen.fillStyle = colours[colour];
    if (part === "lines") pen.stroke(lines);
    else if (heads) pen.fill(heads);
  }
  pen.globalAlpha = 1;
}

function arrow(lines, heads, view, thing, lanes) {
  const px = Math.round(view.x(thing.t)) + 0.5;
  const start = lanes[thing.from ?? thing.to].middle;
  const ends = thing.to === null ? [lanes[0].middle, lanes.at(-1).middle] : thing.to === undefined ? [] : [lanes[thing.to].middle];
  heads.moveTo(px + 2, start);
  heads.arc(px, start, 2, 0, 7);
  for (const end of ends) {
    if (end === start) continue;
    const way = Math.sign(end - start);
    lines.moveTo(px, start);
    lines.lineTo(px, end);
    heads.moveTo(px, end);
    heads.lineTo(px - 3.5, end - 7 * way);
    heads.lineTo(px + 3.5, end - 7 * way);
    heads.closePath();
  }
}

function drawMarks(pen, view, shown, lanes, colours) {
  for (const thing of shown) {
    const { t, finding } = thing;
    mark(pen, view.x(t), markHeight(thing, lanes), markOf(finding), colours[toneOf(finding)], colours.surface);
  }
}

function mark(pen, x, y, shape, colour, edge) {
  const path = new Path2D();
  if (shape === "square") path.rect(x - 5, y - 5, 10, 10);
  else if (shape === "dot") path.arc(x, y, 4.5, 0, 7);
  else {
    path.moveTo(x, y - 6);
    path.lineTo(x + 6, shape === "diamond" ? y : y + 5);
    if (shape === "diamond") path.lineTo(x, y + 6);
    path.lineTo(x - 6, shape === "diamond" ? y : y + 5);
    path.closePath();
  }
  pen.fillStyle = colour;
  pen.strokeStyle = edge;
  pen.lineWidth = 1.5;
  pen.fill(path);
  pen.stroke(path);
}
