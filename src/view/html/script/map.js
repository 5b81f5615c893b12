// The strip above the timeline: the whole run in small, with the part that the timeline shows.

const MAP_BIN = 2;
// The height of the brackets of incidents with their labels, in pixels.
const MAP_TOP = 17;

// The colors of brackets, by the tones of incidents.
const BRACKETS = { bad: "bad", warn: "warn", plain: "muted" };

function startMap() {
  const map = $("map");
  const { view, whole, things } = timeline;
  // Measured once for each drawing: the layout is asked for it.
  let wide = 1;
  const x = (u) => ((u - whole.from) / (whole.to - whole.from)) * wide;

  function paint(colours) {
    wide = Math.max(1, map.clientWidth);
    const high = map.clientHeight;
    const ratio = window.devicePixelRatio || 1;
    map.width = Math.round(wide * ratio);
    map.height = Math.round(high * ratio);
    const pen = map.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawBars(pen, high, colours);
    for (const thing of things) {
      if (thing.what !== "mark") continue;
      pen.fillStyle = colours[toneOf(thing.observation)];
      pen.fillRect(x(thing.u) - 1, MAP_TOP - 4, 2, 4);
    }
    drawBrackets(pen, colours);
    if (timeline.isWhole()) return;
    pen.fillStyle = colours.accent;
    pen.globalAlpha = 0.16;
    pen.fillRect(x(view.from), 0, x(view.to) - x(view.from), high);
    pen.globalAlpha = 1;
    for (const edge of [view.from, view.to]) pen.fillRect(x(edge) - 1, 0, 2, high);
  }

  // The number of entries over time.
  function drawBars(pen, high, colours) {
    const bars = new Map();
    for (const thing of things) {
      const at = Math.floor(x(thing.u) / MAP_BIN);
      bars.set(at, (bars.get(at) || 0) + 1);
    }
    let most = 1;
    for (const many of bars.values()) most = Math.max(most, many);
    pen.fillStyle = colours.arrow;
    for (const [at, many] of bars) {
      const tall = Math.max(1, (many / most) * (high - MAP_TOP - 1));
      pen.fillRect(at * MAP_BIN, high - tall, MAP_BIN, tall);
    }
  }

  const spans = incidentGroups.map((group) => ({
    from: Math.min(...group.map((one) => stamp(one.from))), to: Math.max(...group.map((one) => stamp(one.to) ?? LAST)),
    tone: BRACKETS[toneOfIncident(group[0])],
    label: visible(short(group.length > 1 ? groupName(group) : [words(group[0].kind), ...group[0].agents.slice(0, 1)].join(" "), 60)),
  }));

  // Incidents as brackets, the worst on top. A label is where it has room: in its bracket, or beside a short one.
  function drawBrackets(pen, colours) {
    const brackets = spans.map(({ from, to, tone, label }) => {
      const left = x(scale.at(from));
      return { label, left, right: Math.max(left + 3, x(scale.at(to))), colour: colours[tone] };
    });
    for (const { left, right, colour } of [...brackets].reverse()) {
      pen.fillStyle = colour;
      pen.fillRect(left, 1, right - left, 2);
      for (const end of [left, right - 1.5]) pen.fillRect(end, 1, 1.5, 4);
    }
    pen.font = view.font;
    pen.textBaseline = "middle";
    const taken = [];
    for (const { label, left, right, colour } of brackets) {
      const room = pen.measureText(label).width;
      const isFree = (at) => at >= 0 && at + room < wide && taken.every((other) => at > other.to || at + room < other.from);
      const from = (room + 8 < right - left ? [left + 4] : [right + 3, left - room - 3]).find(isFree);
      if (from === undefined) continue;
      taken.push({ from: from - 6, to: from + room + 6 });
      pen.fillStyle = colour;
      pen.fillText(label, from, 11);
    }
  }

  const center = (event) => {
    const u = whole.from + (event.offsetX / wide) * (whole.to - whole.from);
    const half = (view.to - view.from) / 2;
    timeline.look(u - half, u + half);
  };
  map.addEventListener("pointerdown", (event) => {
    map.setPointerCapture(event.pointerId);
    center(event);
  });
  map.addEventListener("pointermove", (event) => map.hasPointerCapture(event.pointerId) && center(event));
  timeline.listeners.push(paint);
}
