// Mouse and keyboard on the timeline: select, zoom into a range, pan, and set the time of the board.

const middleOf = ({ from, to }) => {
  const u = scale.at(moment.t);
  return u > from && u < to ? u : (from + to) / 2;
};
function zoom(factor, at = middleOf(timeline.view)) {
  const { from, to } = timeline.view;
  timeline.look(at - (at - from) * factor, at + (to - at) * factor);
}
function pan(share) {
  const { from, to } = timeline.view;
  timeline.look(from + (to - from) * share, to + (to - from) * share);
}
const showWhole = () => timeline.look(timeline.whole.from, timeline.whole.to);

// Selects an item and announces it.
function pick(thing) {
  select(thing);
  $("tip").hidden = true;
  if (!thing) return;
  timeline.reveal(Math.max(thing.t, Math.min(thing.end, scale.time(timeline.view.from))), thing.lane);
  const [head, lines] = describe(thing);
  $("lane-live").textContent = [head, ...lines.filter(Boolean)].join(", ");
}

// The item before or behind the selected one.
function stepTo(by) {
  const list = timeline.things.filter(timeline.isShown);
  if (!list.length) return;
  const at = list.findIndex(isSelected);
  const before = list.findIndex((thing) => thing.u >= timeline.view.from) - (by > 0 ? 1 : 0);
  pick(list[Math.max(0, Math.min(list.length - 1, (at >= 0 ? at : before) + by))]);
}

function timelineKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { view, whole } = timeline;
  const wide = view.to - view.from;
  const act = {
    ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15), ArrowUp: () => stepTo(-1), ArrowDown: () => stepTo(1),
    "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1.4), 0: showWhole,
    Enter: () => selection.one && openSelected(), Escape: () => pick(null),
    Home: () => timeline.look(whole.from, whole.from + wide), End: () => timeline.look(whole.to - wide, whole.to),
  }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

// Dragging selects a range, and the timeline zooms into it; with Shift it pans. A click selects an item and sets the time.
function startDrag(canvas) {
  const range = $("range");
  let held = null;
  const ends = (event) => [held.x, Math.max(0, Math.min(timeline.view.width, event.offsetX))].sort((a, b) => a - b);
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    held = { x: event.offsetX, from: timeline.view.from, to: timeline.view.to, pans: event.shiftKey, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!held) {
      const thing = timeline.hit(event.offsetX, event.offsetY);
      canvas.style.cursor = thing ? "pointer" : "";
      timeline.hover(thing);
      if (thing) timeline.showTip(thing);
      else $("tip").hidden = true;
      return;
    }
    const by = event.offsetX - held.x;
    held.moved ||= Math.abs(by) > 4;
    if (!held.moved) return;
    $("tip").hidden = true;
    if (held.pans) {
      const shift = (by / timeline.view.width) * (held.to - held.from);
      return timeline.look(held.from - shift, held.to - shift);
    }
    const [left, right] = ends(event);
    range.hidden = false;
    range.style.transform = "translateX(" + left + "px)";
    range.style.width = right - left + "px";
    const [from, to] = [left, right].map(timeline.timeAt);
    fill(range, make("span", {}, lasting(to - from)));
    showRange(from, to);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (!held) return;
    if (held.moved && !held.pans) timeline.lookAt(...ends(event).map(timeline.timeAt));
    if (!held.moved) {
      const thing = timeline.hit(event.offsetX, event.offsetY);
      if (thing && isSelected(thing)) openSelected();
      const go = () => {
        pick(thing);
        setMoment(timeline.timeAt(event.offsetX));
      };
      if (thing) fragment.jump(go);
      else go();
    }
    held = null;
    range.hidden = true;
    timeline.refresh();
  });
  canvas.addEventListener("pointercancel", () => { held = null; range.hidden = true; });
  canvas.addEventListener("pointerleave", () => {
    $("tip").hidden = true;
    timeline.hover(null);
  });
}

// The axis is the scrubber: pressing and dragging on it sets the time.
function startScrubber(axis) {
  const set = (event) => setMoment(timeline.timeAt(event.clientX - axis.getBoundingClientRect().left));
  axis.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    axis.setPointerCapture(event.pointerId);
    set(event);
    $("slider").focus({ preventScroll: true });
    event.preventDefault();
  });
  axis.addEventListener("pointermove", (event) => axis.hasPointerCapture(event.pointerId) && set(event));
}

function onWheel(event) {
  const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
  if (!event.ctrlKey && !event.metaKey && !sideways) return;
  event.preventDefault();
  if (sideways) return pan((event.deltaX || event.deltaY) / timeline.view.width);
  const x = event.clientX - event.currentTarget.getBoundingClientRect().left;
  zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 200))), scale.at(timeline.timeAt(x)));
}

// Stretches the view to the width of the stage, and the lanes to at most two fifths of the workbench.
function startSize() {
  const { view } = timeline;
  const height = timeline.height();
  // The workbench fills the rest of the first screen.
  $("time").style.setProperty("--above", Math.round($("time").getBoundingClientRect().top + scrollY + 6) + "px");
  $("canvas").style.height = height + "px";
  $("lanes").style.height = Math.min(height + 30, Math.max(150, Math.min($("time").clientHeight, innerHeight) * 0.38)) + "px";
  view.font = "11px " + getComputedStyle(document.body).fontFamily;
  const observer = new ResizeObserver(() => {
    view.width = Math.max(1, $("stage").clientWidth);
    timeline.arrangeLanes();
    timeline.refresh();
  });
  for (const part of ["stage", "lanes"]) observer.observe($(part));
}

function drawNames({ lanes, first }) {
  fill($("lane-names"), lanes.map((lane) => {
    const name = button({ class: "lane-name", title: visible(lane.name), "data-agent": lane.name }, () => fragment.jump(() => select({ what: "agent", name: lane.name })), bdi(lane.name));
    name.style.height = lane.height + "px";
    return name;
  }));
  $("lane-names").style.paddingTop = first + "px";
  selection.listeners.push((one) => {
    for (const name of $("lane-names").children) name.setAttribute("aria-current", String(one?.what === "agent" && one.name === name.dataset.agent));
  });
  rove($("lane-names"), ".lane-name")();
}

function startTimeline() {
  const { lanes, things, shows } = timeline;
  if (!lanes.length) {
    for (const part of ["lanes", "map"]) $(part).hidden = true;
    $("lane-empty").hidden = false;
    return;
  }
  timeline.measure();
  drawNames(timeline);
  startSize();
  $("canvas").setAttribute("aria-label", "Timeline: " + counted(lanes.length, "lane") + ", " + counted(things.length, "item"));
  showWhole();
  for (const surface of [$("canvas"), $("axis")]) surface.addEventListener("wheel", onWheel, { passive: false });
  startDrag($("canvas"));
  startScrubber($("axis"));
  $("canvas").addEventListener("keydown", timelineKey);
  for (const box of Object.values(shows)) box.addEventListener("change", timeline.refresh);
  $("collapse").closest("label").hidden = !scale.gaps.length;
  $("collapse").addEventListener("change", () => {
    scale.collapse($("collapse").checked);
    timeline.measure();
    showWhole();
  });
  $("zoom-in").addEventListener("click", () => zoom(0.5));
  $("zoom-out").addEventListener("click", () => zoom(2));
  $("zoom-whole").addEventListener("click", showWhole);
  moment.listeners.push(timeline.cursor);
  selection.listeners.push(timeline.showSelection);
}
