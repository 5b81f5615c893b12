// Draws the visible part of the timeline. Lines of one kind are one path.

// The colors of the current theme, or of another color scheme.
function readColours(scheme = "") {
  const probe = make("span", { class: "unseen" });
  probe.style.colorScheme = scheme;
  document.body.append(probe);
  const colours = {};
  for (const name of ["text", "muted", "line", "firm", "surface", "stripe", "turn", "idle", "arrow", "bad", "warn", "good", "held", "accent",
    "task", "task-next", "on-task"]) {
    probe.style.color = "var(--" + name + ")";
    colours[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return colours;
}

// Steps of the time axis.
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5,
  72e5, 216e5, 432e5, 864e5, 6048e5];

const hiddenGaps = (view) => (scale.isCollapsed() ? scale.gaps : [])
  .map((gap) => ({ ...gap, left: view.x(scale.at(gap.from)), right: view.x(scale.at(gap.to)) }))
  .filter((gap) => gap.right >= 0 && gap.left <= view.width);

// The times of the axis that are in view and not in a gap.
function axisTimes(view, gaps) {
  const step = STEPS.find((one) => (one / (view.to - view.from)) * view.width >= 76) ?? STEPS.at(-1);
  const last = scale.time(view.to) - START;
  const times = [];
  let at = Math.ceil((scale.time(view.from) - START) / step) * step;
  while (at <= last && times.length < 500) {
    const gap = gaps.find((one) => one.from < START + at && one.to > START + at);
    if (gap) at = Math.ceil((gap.to - START) / step) * step;
    else {
      times.push(at);
      at += step;
    }
  }
  return { times, exact: step < 1000 };
}

function drawAxis(pen, view, height, colours) {
  const gaps = hiddenGaps(view);
  const { times, exact } = axisTimes(view, gaps);
  pen.font = view.font;
  pen.textBaseline = "middle";
  let free = -Infinity;
  for (const at of times) {
    const px = Math.round(view.x(scale.at(START + at)));
    pen.fillStyle = colours.line;
    pen.fillRect(px, height - 6, 1, 6);
    const label = offset(at, exact);
    if (px < free || px + 8 + pen.measureText(label).width > view.width) continue;
    pen.fillStyle = colours.muted;
    pen.fillText(label, px + 4, height / 2);
    free = px + 12 + pen.measureText(label).width;
  }
  for (const gap of gaps) {
    pen.fillStyle = colours.line;
    pen.fillRect(gap.left, height - 6, gap.right - gap.left, 6);
  }
}

function drawLanes(pen, view, lanes, height, colours) {
  lanes.forEach((lane, index) => {
    if (index % 2 === 0) {
      pen.fillStyle = colours.stripe;
      pen.fillRect(0, lane.top, view.width, lane.height);
    }
    pen.fillStyle = colours.line;
    pen.fillRect(0, lane.top, view.width, 1);
  });
  const gaps = hiddenGaps(view);
  pen.fillStyle = colours.line;
  for (const at of axisTimes(view, gaps).times) pen.fillRect(Math.round(view.x(scale.at(START + at))), 0, 1, height);
  for (const gap of gaps) {
    hatch(pen, [gap.left, 0, gap.right - gap.left, height], colours.firm, 0.35);
    pen.save();
    pen.translate((gap.left + gap.right) / 2, 6);
    pen.rotate(Math.PI / 2);
    pen.font = view.font;
    pen.textBaseline = "middle";
    pen.fillStyle = colours.muted;
    if (gap.right - gap.left > 9) pen.fillText(lasting(gap.to - gap.from), 0, 0);
    pen.restore();
  }
}

// Fills a rectangle with slanted lines.
function hatch(pen, [left, top, wide, high], colour, strength) {
  pen.save();
  pen.beginPath();
  pen.rect(left, top, wide, high);
  pen.clip();
  pen.beginPath();
  for (let x = left - high; x < left + wide; x += 6) {
    pen.moveTo(x, top + high);
    pen.lineTo(x + high, top);
  }
  pen.globalAlpha = strength;
  pen.strokeStyle = colour;
  pen.lineWidth = 1.5;
  pen.stroke();
  pen.restore();
}

// The position of a span: at least two pixels wide, and cut near the edges of the view.
function extent(view, thing) {
  const from = Math.max(-4, view.x(thing.u));
  const to = Math.min(view.width + 4, view.x(thing.v));
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
      pen.fillRect(from - 1, lane.turn, 2, lane.bar);
      pen.fillRect(from - 6, lane.turn + lane.bar / 2 - 1, 4, 2);
      continue;
    }
    pen.globalAlpha = turn.end === null ? 0.45 : 1;
    pen.fillRect(from, lane.turn, wide, lane.bar);
    pen.globalAlpha = 1;
  }
}

// Silence and waits cover the turn, with slanted lines and a word, so that they are known without their color.
function drawHalts(pen, view, shown, lanes, colours) {
  for (const thing of shown) {
    const lane = lanes[thing.lane];
    const [from, wide] = extent(view, thing);
    const colour = thing.state === "waiting" ? colours.warn : colours.bad;
    pen.fillStyle = colours.surface;
    pen.fillRect(from, lane.turn - lane.edge, wide, lane.bar + 2 * lane.edge);
    hatch(pen, [from, lane.turn - lane.edge, wide, lane.bar + 2 * lane.edge], colour, 0.55);
    pen.strokeStyle = colour;
    pen.lineWidth = 1;
    pen.strokeRect(from + 0.5, lane.turn - lane.edge + 0.5, wide - 1, lane.bar + 2 * lane.edge - 1);
  }
}

function nameHalts(pen, view, shown, lanes, colours) {
  for (const thing of shown) {
    const lane = lanes[thing.lane];
    const [from, wide] = extent(view, thing);
    const label = thing.state + " " + lasting(thing.end - thing.t);
    pen.font = view.font;
    const room = pen.measureText(label).width;
    if (wide < room + 14 || lane.bar < LANE.turn) continue;
    pen.fillStyle = colours.surface;
    pen.fillRect(from + 4, lane.turn - 1, room + 6, LANE.turn + 2);
    pen.fillStyle = thing.state === "waiting" ? colours.warn : colours.bad;
    pen.textBaseline = "middle";
    pen.fillText(label, from + 7, lane.turn + LANE.turn / 2 + 0.5);
  }
}

// A task in progress is filled until its completion, which has a mark; it is hatched if it was never completed. An assigned
// one has an outline.
function drawTasks(pen, view, shown, lanes, colours) {
  pen.textBaseline = "middle";
  pen.lineWidth = 1;
  shown.forEach((thing, index) => {
    const [from, wide] = extent(view, thing);
    const lane = lanes[thing.lane];
    const top = lane.tasks + rowOf(thing, lane) * lane.row;
    const works = thing.status === "in_progress";
    pen.fillStyle = pen.strokeStyle = thing.lost ? colours.bad : index % 2 ? colours.task : colours["task-next"];
    if (works && !thing.lost) pen.fillRect(from, top, wide, lane.task);
    else if (wide > 3) pen.strokeRect(from + 0.5, top + 0.5, wide - 1, lane.task - 1);
    if (thing.lost) hatch(pen, [from, top, wide, lane.task], colours.bad, 0.6);
    if (thing.done) {
      pen.fillStyle = colours.good;
      pen.fillRect(from + wide - Math.min(4, wide / 2), top, Math.min(4, wide / 2), lane.task);
    }
    if (wide > 25 && isNamed(thing, lane)) nameTask(pen, view, thing, lane, [from, top, wide], works && !thing.lost ? colours["on-task"] : colours.text, colours);
  });
}

function nameTask(pen, view, thing, lane, [from, top, wide], colour, colours) {
  const isLow = lane.task < 11;
  const name = (thing.done ? "\u2713 " : thing.lost ? "\u2717 " : "") + (isLow ? "#" + thing.task.id : short(nameOf(thing.task), 80));
  pen.save();
  pen.font = isLow ? view.font.replace("11px", "9px") : view.font;
  pen.beginPath();
  pen.rect(from, top, wide - (thing.done ? 5 : 3), lane.task);
  pen.clip();
  if (thing.lost) {
    pen.fillStyle = colours.surface;
    pen.fillRect(from + 3, top, pen.measureText(visible(name)).width + 5, lane.task);
  }
  pen.fillStyle = colour;
  pen.fillText(visible(name), from + 5, top + lane.task / 2 + 0.5);
  pen.restore();
}

function drawMarks(pen, view, shown, lanes, colours) {
  for (const thing of shown) {
    const { observation } = thing;
    mark(pen, view.x(thing.u), markHeight(thing, lanes), markOf(observation), colours[toneOf(observation)], colours.surface);
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
