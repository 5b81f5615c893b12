// Messages on the timeline: arrows, or their density in each lane if there are too many of them.

// With more messages than this in view, arrows would hide everything else.
const MANY = 150;
// The width of a bar of the density, in pixels.
const BIN = 3;

const SORTS = [
  ["muted", (message) => message.automatic],
  ["arrow", (message) => !message.automatic && message.refused === null && message.delivered !== false],
  ["bad", (message) => !message.automatic && (message.refused !== null || message.delivered === false)],
];

// The arrows, one path per kind. Lines are below turns and tasks, heads above.
function layArrows(view, shown, lanes) {
  return SORTS.map(([colour, is]) => {
    const [lines, heads] = [new Path2D(), new Path2D()];
    for (const thing of shown) if (is(thing.message)) arrow(lines, heads, view, thing, lanes);
    return { colour, lines, heads, strength: shown.length > MANY / 3 ? 0.7 : 0.9 };
  });
}

function drawArrows(pen, arrows, part, colours) {
  pen.lineWidth = 1;
  for (const { colour, lines, heads, strength } of arrows) {
    pen.globalAlpha = strength;
    pen.strokeStyle = pen.fillStyle = colours[colour];
    if (part === "lines") pen.stroke(lines);
    else pen.fill(heads);
  }
  pen.globalAlpha = 1;
}

function arrow(lines, heads, view, thing, lanes) {
  const px = Math.round(view.x(thing.u)) + 0.5;
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

// Names the ends of a message's arrow. The name of an end out of sight is at the edge.
function nameEnds(pen, view, thing, lanes, colours, [top, bottom]) {
  const { message } = thing;
  const px = view.x(thing.u);
  const inSight = (y) => Math.max(top + 8, Math.min(bottom - 8, y));
  const start = inSight(lanes[thing.from ?? thing.to].middle);
  const end = inSight(thing.to === null ? lanes.at(-1).middle : lanes[thing.to ?? thing.from].middle);
  const label = (name, y) => {
    const text = visible(short(name, 30));
    const wide = pen.measureText(text).width + 8;
    const left = px + 8 + wide < view.width ? px + 8 : px - 8 - wide;
    pen.fillStyle = colours.surface;
    pen.fillRect(left, y - 8, wide, 16);
    pen.strokeStyle = colours.accent;
    pen.strokeRect(left + 0.5, y - 7.5, wide - 1, 15);
    pen.fillStyle = colours.text;
    pen.fillText(text, left + 4, y + 0.5);
  };
  pen.font = view.font;
  pen.textBaseline = "middle";
  pen.lineWidth = 1;
  if (Math.abs(end - start) >= 16) label(message.from, start);
  label("\u2192 " + recipientName(message), end);
}

// The messages that a search found, as rings at their senders.
function drawHits(pen, view, shown, lanes, colours) {
  pen.lineWidth = 2;
  for (const thing of shown) {
    const { middle, bar } = lanes[thing.lane];
    pen.beginPath();
    pen.arc(view.x(thing.u), middle, bar < LANE.turn ? 2.5 : 4, 0, 7);
    pen.fillStyle = colours.surface;
    pen.strokeStyle = colours.accent;
    pen.fill();
    pen.stroke();
  }
}

// Sent and received messages as bars at the top of each lane; those that were never read are marked where they waited.
function drawDensity(pen, view, shown, lanes, colours) {
  const bins = lanes.map(() => new Map());
  let most = 1;
  const add = (lane, bin, isLost) => {
    if (lane === undefined || lane === null) return;
    const bar = bins[lane].get(bin) || { many: 0, lost: 0 };
    bar.many += 1;
    if (isLost) bar.lost += 1;
    bins[lane].set(bin, bar);
    most = Math.max(most, bar.many);
  };
  for (const thing of shown) {
    const bin = Math.floor(view.x(thing.u) / BIN);
    add(thing.from, bin, false);
    if (thing.to !== thing.from) add(thing.to, bin, thing.message.delivered === false && !thing.message.automatic);
  }
  bins.forEach((bars, index) => {
    const base = lanes[index].tasks - 1;
    const high = (many) => Math.max(2, (many / most) * (lanes[index].tasks - lanes[index].top - 4));
    for (const [bin, { many, lost }] of bars) {
      pen.fillStyle = colours.arrow;
      pen.fillRect(bin * BIN, base - high(many), BIN - 1, high(many));
      if (!lost) continue;
      pen.fillStyle = colours.bad;
      pen.fillRect(bin * BIN, base - high(lost), BIN - 1, high(lost));
    }
  });
}
