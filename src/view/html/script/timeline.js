// The timeline: its visible part, and mouse and keyboard control.

// Width of the timeline on paper.
const PAPER = 540;

const timeline = (() => {
  const canvas = $("canvas");
  const tip = $("tip");
  const { lanes, things, height } = layLanes();
  const edge = Math.max(1, (LAST - FIRST) * 0.015);
  const whole = { from: FIRST - edge, to: LAST + edge };
  const view = { ...whole, width: 1, height, x: (t) => ((t - view.from) / (view.to - view.from)) * view.width };
  const shows = { message: $("show-messages"), automatic: $("show-automatic"), task: $("show-tasks") };
  let colours = null;
  let picked = null;
  let waiting = false;
  let paper = false;

  const isShown = (thing) => {
    if (thing.what === "task") return shows.task.checked;
    if (thing.what !== "message") return true;
    return thing.message.automatic ? shows.automatic.checked : shows.message.checked;
  };
  const inView = (thing) => thing.end >= view.from && thing.t <= view.to && isShown(thing);

  function paint() {
    waiting = false;
    if (!lanes.length) return;
    colours = colours || readColours();
    // Double resolution on paper; browsers limit the height of a canvas.
    const scale = Math.min(paper ? 2 : window.devicePixelRatio || 1, 30000 / height);
    if (canvas.width !== Math.round(view.width * scale)) canvas.width = Math.round(view.width * scale);
    if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, view.width, height);
    drawLanes(pen, view, lanes, colours);
    drawAxis(pen, view, colours);
    const shown = { turn: [], task: [], message: [], mark: [] };
    for (const thing of things) if (inView(thing)) shown[thing.what].push(thing);
    const arrows = layArrows(view, shown.message, lanes);
    drawArrows(pen, arrows, "lines", colours);
    drawTurns(pen, view, shown.turn, lanes, colours);
    drawTasks(pen, view, shown.task, lanes, colours);
    drawArrows(pen, arrows, "heads", colours);
    drawMarks(pen, view, shown.mark, lanes, colours);
    if (picked) ring(pen);
  }

  // The selected time is an element over the canvas, so moving it needs no drawing.
  function cursor() {
    const x = Math.round(view.x(moment.t));
    $("cursor").hidden = x < 0 || x > view.width;
    $("cursor").style.transform = "translateX(" + x + "px)";
  }

  function ring(pen) {
    const [from, top, wide, high] = box(picked);
    pen.strokeStyle = colours.accent;
    pen.lineWidth = 2;
    pen.strokeRect(from - 3, top - 3, wide + 6, high + 6);
  }

  // The rectangle of an item.
  function box(thing) {
    const lane = lanes[thing.lane];
    if (thing.what === "task") return [...spread(thing, lane.tasks + thing.row * LANE.row), LANE.row - 3];
    if (thing.what === "turn") return [...spread(thing, lane.turn), LANE.turn];
    if (thing.what === "mark") return [view.x(thing.t) - 6, markHeight(thing, lanes) - 6, 12, 12];
    const ends = thing.to === null ? [lanes[0], lanes.at(-1)] : [lanes[thing.from ?? thing.to], lanes[thing.to ?? thing.from]];
    const ys = [lane.middle, ...ends.map((one) => one.middle)];
    return [view.x(thing.t) - 3, Math.min(...ys), 6, Math.max(...ys) - Math.min(...ys)];
  }
  function spread(thing, top) {
    const [from, wide] = extent(view, thing);
    return [from, top, wide];
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
    hideTip();
    refresh();
  }
  const zoom = (factor, at) => look(at - (at - view.from) * factor, at + (view.to - at) * factor);
  const middle = () => (moment.t > view.from && moment.t < view.to ? moment.t : (view.from + view.to) / 2);
  const pan = (share) => look(view.from + (view.to - view.from) * share, view.to + (view.to - view.from) * share);
  const timeAt = (x) => view.from + (x / view.width) * (view.to - view.from);

  // The nearest item below the pointer; the one drawn last is on top.
  function hit(x, y) {
    const order = { mark: 0, message: 1, task: 2, turn: 2 };
    let best = null;
    for (const thing of things) {
      if (!inView(thing)) continue;
      const [left, top, wide, high] = box(thing);
      const beside = Math.max(left - x, 0, x - left - wide);
      if (beside > 3 || y < top - 2 || y > top + high + 2) continue;
      const rank = order[thing.what] * 10 + beside + (thing.what === "message" ? Math.abs(view.x(thing.t) - x) : 0);
      if (!best || rank <= best.rank) best = { rank, thing };
    }
    return best && best.thing;
  }

  function showTip(thing) {
    const [head, lines] = describe(thing);
    fill(tip, make("strong", {}, bdi(head)), lines.filter(Boolean).map((line) => make("span", {}, bdi(line))));
    tip.hidden = false;
    const [left, top, wide, high] = box(thing);
    const x = Math.max(4, Math.min(view.width - tip.offsetWidth - 4, left + Math.min(wide, 60)));
    const below = top + high + 8;
    const fits = below + tip.offsetHeight < height;
    tip.style.transform = "translate(" + x + "px," + (fits ? below : Math.max(0, top - tip.offsetHeight - 8)) + "px)";
  }
  function hideTip() { tip.hidden = true; }

  function pick(thing) {
    picked = thing;
    if (thing) {
      if (thing.end < view.from || thing.t > view.to) reveal(thing.t);
      showTip(thing);
      const [head, lines] = describe(thing);
      $("lane-live").textContent = [head, ...lines.filter(Boolean)].join(", ");
    } else hideTip();
    refresh();
  }
  function open(thing) {
    if (thing.what === "task") openTask(thing.task);
    else if (thing.what === "message") openMessage(thing.message, true);
    else setMoment(thing.t);
  }
  function step(by) {
    const list = things.filter(isShown);
    if (!list.length) return;
    const at = picked ? list.indexOf(picked) : list.findIndex((thing) => thing.t >= view.from) - (by > 0 ? 1 : 0);
    pick(list[Math.max(0, Math.min(list.length - 1, at + by))]);
  }
  function reveal(time) {
    const wide = view.to - view.from;
    if (time < view.from || time > view.to) look(time - wide / 2, time + wide / 2);
    else refresh();
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = {
      ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15), ArrowUp: () => step(-1), ArrowDown: () => step(1),
      "+": () => zoom(0.7, middle()), "=": () => zoom(0.7, middle()), "-": () => zoom(1.4, middle()),
      0: () => look(whole.from, whole.to), Enter: () => picked && open(picked), Escape: () => pick(null),
      Home: () => look(whole.from, whole.from + view.to - view.from), End: () => look(whole.to - (view.to - view.from), whole.to),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  function listen() {
    let held = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      held = { x: event.offsetX, from: view.from, to: view.to, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!held) {
        const thing = hit(event.offsetX, event.offsetY);
        canvas.style.cursor = thing ? "pointer" : "grab";
        return thing ? showTip(thing) : hideTip();
      }
      const by = event.offsetX - held.x;
      if (Math.abs(by) > 3) held.moved = true;
      const shift = (by / view.width) * (held.to - held.from);
      if (held.moved) look(held.from - shift, held.to - shift);
    });
    canvas.addEventListener("pointerup", (event) => {
      if (held && !held.moved) {
        const thing = hit(event.offsetX, event.offsetY);
        if (thing && thing === picked) open(thing);
        pick(thing);
        setMoment(timeAt(event.offsetX));
      }
      held = null;
    });
    canvas.addEventListener("pointercancel", () => { held = null; });
    canvas.addEventListener("pointerleave", () => !picked && hideTip());
    canvas.addEventListener("wheel", (event) => {
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
      if (!event.ctrlKey && !event.metaKey && !sideways) return;
      event.preventDefault();
      if (sideways) pan(((event.deltaX || event.deltaY) / view.width) * 1);
      else zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 200))), timeAt(event.offsetX));
    }, { passive: false });
    canvas.addEventListener("keydown", onKey);
    for (const box of Object.values(shows)) box.addEventListener("change", refresh);
    $("zoom-in").addEventListener("click", () => zoom(0.5, middle()));
    $("zoom-out").addEventListener("click", () => zoom(2, middle()));
    $("zoom-whole").addEventListener("click", () => look(whole.from, whole.to));
  }

  function start() {
    if (!lanes.length) {
      $("lanes").hidden = $("legend").hidden = $("lane-keys").hidden = true;
      $("lane-empty").hidden = false;
      return;
    }
    fill($("lane-names"), lanes.map((lane) => {
      const name = make("div", {}, bdi(lane.name, { title: visible(lane.name) }));
      name.style.height = lane.height + "px";
      return name;
    }));
    canvas.style.height = height + "px";
    canvas.setAttribute("aria-label", "Timeline: " + counted(lanes.length, "lane") + ", " + counted(things.length, "item"));
    view.font = "11px " + getComputedStyle(document.body).fontFamily;
    look(whole.from, whole.to);
    listen();
    new ResizeObserver(() => {
      if (!paper) view.width = Math.max(1, $("stage").clientWidth);
      refresh();
    }).observe($("stage"));
    moment.listeners.push(cursor);
  }
  function recolour() {
    colours = null;
    paint();
  }
  // Draws for paper, or for the screen again.
  function print(on) {
    paper = on;
    view.width = on ? PAPER : Math.max(1, $("stage").clientWidth);
    canvas.style.width = on ? PAPER + "px" : "";
    cursor();
    recolour();
  }
  return { start, reveal, recolour, print };
})();
