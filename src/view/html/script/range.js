// The figures of the visible part of the run, or of the range that is being selected.

const completions = tasks.filter((task) => task.status === "completed")
  .map((task) => task.changes.findLast((change) => change.to === "completed" && change.from !== "completed")?.t);
const blockTimes = (report.blocks || []).map((block) => stamp(block.at));
const spentPoints = (report.spending.curve || []).map((point) => ({ ...point, t: stamp(point.at) }));

// The sums up to a time.
function spentBy(time) {
  let [low, high] = [0, spentPoints.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spentPoints[middle].t <= time) low = middle + 1;
    else high = middle;
  }
  return spentPoints[low - 1] || { tokens: 0, cost: 0 };
}

function rangeFigures(from, to) {
  const within = (time) => time >= from && time <= to;
  const sent = messages.filter((message) => !message.automatic && message.refused === null && within(message.t)).length;
  const blocks = blockTimes.filter(within).length;
  const [before, after] = [spentBy(from - 1), spentBy(to)];
  const tokens = after.tokens - before.tokens;
  return [counted(sent, "message"), tasks.length > 0 && counted(completions.filter(within).length, "task") + " completed",
    tokens > 0 && counted(tokens, "token"), hasCurve && money(after.cost - before.cost), blocks > 0 && counted(blocks, "block")].filter(Boolean);
}

function showRange(from, to) {
  const isWhole = from <= FIRST && to >= LAST;
  fill($("range-figures"), make("strong", {}, isWhole ? "Whole run" : since(from, false) + " to " + since(to, false)), ": ",
    rangeFigures(from, to).join(" \u00b7 "));
}

function startRange() {
  const { view } = timeline;
  timeline.listeners.push(() => $("range").hidden && showRange(scale.time(view.from), scale.time(view.to)));
}
