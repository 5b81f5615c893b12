// The timeline: its visible part and its items. Mouse and keyboard are in steer.js.

const timeline = (() => {
  const canvas = $("canvas");
  const axis = $("axis");
  const tip = $("tip");
  const { lanes, things, first } = layLanes();
  let height = placeLanes(lanes, first);
  let room = Infinity;
  const view = { from: 0, to: 1, width: 1, x: (u) => ((u - view.from) / (view.to - view.from)) * view.width };
  const whole = { from: 0, to: 1 };
  const shows = { message: $("show-messages"), automatic: $("show-automatic"), task: $("show-tasks") };
  const listeners = [];
  let colours = null;
  let waiting = false;
  // The message under the mouse, and those that the search found.
  let hovered = null;
  let hits = [];
  // The items of the selection.
  let chosen = [];

  // Positions on the axis; again when dead time is collapsed or not.
  function measure() {
    for (const thing of things) [thing.u, thing.v] = [scale.at(thing.t), scale.at(thing.end)];
    const edge = Math.max(1, (scale.at(LAST) - scale.at(FIRST)) * 0.01);
    Object.assign(whole, { from: scale.at(FIRST) - edge, to: scale.at(LAST) + edge });
  }

  const isShown = (thing) => {
    if (thing.what === "task") return shows.task.checked;
    if (thing.what !== "message") return true;
    return thing.message.automatic ? shows.automatic.checked : shows.message.checked;
  };
  const inView = (thing) => thing.v >= view.from && thing.u <= view.to && isShown(thing);

  // A canvas with the resolution of the screen; browsers limit the height of one.
  function penOf(element, high) {
    const ratio = Math.min(window.devicePixelRatio || 1, 30000 / high);
    const [wide, tall] = [Math.round(view.width * ratio), Math.round(high * ratio)];
    if (element.width !== wide) element.width = wide;
    if (element.height !== tall) element.height = tall;
    const pen = element.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, view.width, high);
    return pen;
  }

  // The messages that are arrows: all if there are few in view, else those of the selection.
  function arrowsOf(shown) {
    if (shown.length <= MANY) return shown;
    const { one } = selection;
    if (one?.what === "message") return shown.filter((thing) => thing.message === one.message);
    if (one?.what !== "agent") return [];
    const lane = laneOf.get(one.name);
    const own = shown.filter((thing) => thing.from === lane || thing.to === lane);
    return own.length <= MANY ? own : [];
  }

  function paint() {
    waiting = false;
    if (!lanes.length) return;
    colours = colours || readColours();
    const pen = penOf(canvas, height);
    drawAxis(penOf(axis, axis.clientHeight), view, axis.clientHeight, colours);
    drawItems(pen, colours);
    ring(pen);
    for (const thing of namedArrows()) nameEnds(pen, view, thing, lanes, colours, sight());
    for (const listener of listeners) listener(colours);
  }

  function drawItems(pen, colours) {
    drawLanes(pen, view, lanes, height, colours);
    const shown = { turn: [], halt: [], task: [], message: [], mark: [] };
    for (const thing of things) if (inView(thing)) shown[thing.what].push(thing);
    const isDense = shown.message.length > MANY;
    const arrows = layArrows(view, arrowsOf(shown.message), lanes);
    drawArrows(pen, arrows, "lines", colours);
    drawTurns(pen, view, shown.turn, lanes, colours);
    drawHalts(pen, view, shown.halt, lanes, colours);
    if (isDense) drawDensity(pen, view, shown.message, lanes, colours);
    nameHalts(pen, view, shown.halt, lanes, colours);
    drawTasks(pen, view, shown.task, lanes, colours);
    drawArrows(pen, arrows, "heads", colours);
    drawMarks(pen, view, shown.mark, lanes, colours);
    drawHits(pen, view, hits.filter((thing) => thing.v >= view.from && thing.u <= view.to), lanes, colours);
  }

  // The arrows with names at their ends: that of the selection, and the one under the mouse.
  const namedArrows = () => [hovered, ...chosen].filter((thing) => thing?.what === "message" && inView(thing));
  // The part of the lanes that is not scrolled away.
  function sight() {
    const box = $("lanes");
    return [box.scrollTop, Math.min(height, box.scrollTop + box.clientHeight - axis.clientHeight)];
  }
  function hover(thing) {
    const message = thing?.what === "message" ? thing : null;
    if (message === hovered) return;
    hovered = message;
    refresh();
  }
  $("lanes").addEventListener("scroll", () => namedArrows().length && refresh(), { passive: true });

  function showSelection() {
    chosen = things.filter(isSelected);
    refresh();
  }

  function showHits(found) {
    if (!found.length && !hits.length) return;
    const marked = new Set(found);
    hits = things.filter((thing) => marked.has(thing.message));
    refresh();
  }

  // Draws the whole run with its axis and the names of all lanes on a canvas for paper.
  function paintPaper(paper, wide) {
    const [names, top, ratio, screen] = [110, axis.clientHeight || 23, 2, { ...view }];
    height = placeLanes(lanes, first, PAPER_HEIGHT);
    Object.assign(view, { from: whole.from, to: whole.to, width: wide - names });
    const light = readColours("light");
    const below = hasCurve ? COST_HEIGHT : 0;
    [paper.width, paper.height] = [wide * ratio, (height + top + below) * ratio];
    const pen = paper.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = view.font;
    pen.textBaseline = "middle";
    pen.fillStyle = light.text;
    for (const lane of lanes) pen.fillText(visible(short(lane.name, 18)), 2, top + lane.middle);
    if (hasCurve) pen.fillText(costName(), 2, top + height + COST_HEIGHT / 2);
    pen.beginPath();
    pen.rect(names, 0, view.width, height + top + below);
    pen.clip();
    pen.translate(names, 0);
    drawAxis(pen, view, top, light);
    pen.translate(0, top);
    drawItems(pen, light);
    pen.translate(0, height);
    if (hasCurve) drawCost(pen, view, light);
    Object.assign(view, screen);
    height = placeLanes(lanes, first, room);
  }

  // Frames the selection: an item, or the lane of an agent.
  function ring(pen) {
    const { one } = selection;
    if (!one) return;
    pen.strokeStyle = colours.accent;
    pen.lineWidth = 2;
    if (one.what === "agent" && laneOf.has(one.name)) {
      const lane = lanes[laneOf.get(one.name)];
      pen.strokeRect(1, lane.top + 1, view.width - 2, lane.height - 2);
    }
    for (const thing of chosen) {
      if (!inView(thing)) continue;
      const [from, top, wide, high] = box(thing);
      pen.strokeRect(from - 2, top - 2, wide + 4, high + 4);
    }
  }

  // The rectangle of an item.
  function box(thing) {
    const lane = lanes[thing.lane];
    const spread = (top, high) => {
      const [from, wide] = extent(view, thing);
      return [from, top, wide, high];
    };
    if (thing.what === "task") return spread(lane.tasks + rowOf(thing, lane) * lane.row, lane.task);
    if (thing.what === "turn") return spread(lane.turn, lane.bar);
    if (thing.what === "halt") return spread(lane.turn - lane.edge, lane.bar + 2 * lane.edge);
    if (thing.what === "mark") return [view.x(thing.u) - 6, markHeight(thing, lanes) - 6, 12, 12];
    const ends = thing.to === null ? [lanes[0], lanes.at(-1)] : [lanes[thing.from ?? thing.to], lanes[thing.to ?? thing.from]];
    const ys = [lane.middle, ...ends.map((one) => one.middle)];
    return [view.x(thing.u) - 3, Math.min(...ys), 6, Math.max(...ys) - Math.min(...ys)];
  }

  // The selected time is an element over the canvas, so moving it needs no drawing.
  function cursor() {
    const x = Math.round(view.x(scale.at(moment.t)));
    for (const part of [$("cursor"), $("handle")]) {
      part.hidden = x < 0 || x > view.width;
      part.style.transform = "translateX(" + x + "px)";
    }
  }

  // The whole run is shown with all lanes, which shrink to fit; a part of it has lanes of full height.
  function arrangeLanes() {
    const now = isWhole() ? Math.max(1, $("lanes").clientHeight - axis.clientHeight) : Infinity;
    if (now === room) return;
    room = now;
    height = placeLanes(lanes, first, room);
    canvas.style.height = height + "px";
    [...$("lane-names").children].forEach((name, index) => {
      name.style.height = lanes[index].height + "px";
      name.classList.toggle("low", lanes[index].height < 22);
    });
  }

  function refresh() {
    cursor();
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(paint);
  }

  function look(from, to) {
    const wide = Math.max(20, Math.min(whole.to - whole.from, to - from));
    view.from = Math.max(whole.from, Math.min(whole.to - wide, from));
    view.to = view.from + wide;
    canvas.setAttribute("data-span", Math.round(wide));
    arrangeLanes();
    tip.hidden = true;
    refresh();
  }
  const lookAt = (from, to) => look(scale.at(from), scale.at(to));
  const isWhole = () => view.to - view.from >= whole.to - whole.from - 1;

  // The nearest item at a point; the one drawn last is on top. A message without an arrow is not there.
  function hit(x, y) {
    const order = { mark: 0, message: 1, halt: 2, task: 3, turn: 4 };
    const drawn = new Set(arrowsOf(things.filter((thing) => thing.what === "message" && inView(thing))));
    let best = null;
    for (const thing of things) {
      if (!inView(thing) || (thing.what === "message" && !drawn.has(thing))) continue;
      const [left, top, wide, high] = box(thing);
      const beside = Math.max(left - x, 0, x - left - wide);
      if (beside > 3 || y < top - 2 || y > top + high + 2) continue;
      const rank = order[thing.what] * 10 + beside + (thing.what === "message" ? Math.abs(view.x(thing.u) - x) : 0);
      if (!best || rank <= best.rank) best = { rank, thing };
    }
    return best && best.thing;
  }

  // The tip is beside its item, within the window.
  function showTip(thing) {
    const [head, lines] = describe(thing);
    fill(tip, make("strong", {}, bdi(head)), lines.filter(Boolean).map((line) => make("span", {}, bdi(line))));
    tip.hidden = false;
    const [left, top, wide, high] = box(thing);
    const stage = canvas.getBoundingClientRect();
    const x = stage.left + left + Math.min(wide, 60);
    const below = stage.top + top + high + 8;
    const y = below + tip.offsetHeight < innerHeight ? below : stage.top + top - tip.offsetHeight - 8;
    const fit = (at, size, most) => Math.max(4, Math.min(most - size - 4, at));
    tip.style.transform = "translate(" + fit(x, tip.offsetWidth, innerWidth) + "px," + fit(y, tip.offsetHeight, innerHeight) + "px)";
  }

  // Brings a time, and a lane if one is given, into view.
  function reveal(time, lane) {
    const [u, wide] = [scale.at(time), view.to - view.from];
    if (u < view.from || u > view.to) look(u - wide / 2, u + wide / 2);
    else refresh();
    const box = $("lanes");
    if (lane === undefined) return;
    const { top, height: high } = lanes[lane];
    const room = box.clientHeight - axis.clientHeight;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + high > box.scrollTop + room) box.scrollTop = top + high - room;
  }

  function recolour() {
    colours = null;
    paint();
  }

  return { view, whole, height: () => height, lanes, things, first, shows, arrangeLanes, listeners, measure, isShown, isWhole, look, lookAt, refresh, reveal, recolour, hit,
    showTip, hover, showHits, showSelection, penOf, cursor, paintPaper, timeAt: (x) => scale.time(view.from + (x / view.width) * (view.to - view.from)) };
})();
