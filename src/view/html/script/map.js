// The strip above the timeline: the whole run in small, with the part that the timeline shows.

const MAP_BIN = 2;

function startMap() {
  const map = $("map");
  const { view, whole, things } = timeline;
  const width = () => Math.max(1, map.clientWidth);
  const x = (u) => ((u - whole.from) / (whole.to - whole.from)) * width();

  function paint(colours) {
    const [wide, high] = [width(), map.clientHeight];
    const ratio = window.devicePixelRatio || 1;
    map.width = Math.round(wide * ratio);
    map.height = Math.round(high * ratio);
    const pen = map.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawBars(pen, high, colours);
    for (const thing of things) {
      if (thing.what === "halt") hatch(pen, [x(thing.u), 0, Math.max(2, x(thing.v) - x(thing.u)), 5], thing.state === "waiting" ? colours.warn : colours.bad, 1);
      if (thing.what === "mark") {
        pen.fillStyle = colours[toneOf(thing.observation)];
        pen.fillRect(x(thing.u) - 1, 0, 2, 5);
      }
    }
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
      const tall = Math.max(1, (many / most) * (high - 6));
      pen.fillRect(at * MAP_BIN, high - tall, MAP_BIN, tall);
    }
  }

  const center = (event) => {
    const u = whole.from + (event.offsetX / width()) * (whole.to - whole.from);
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
