// The scale of the time axis. Dead time, in which nothing was recorded and no agent worked, is collapsed to a short gap.

const LEAST_GAP = 60000;
const GAP_SHARE = 0.015;

const scale = (() => {
  let points = [];
  const gaps = deadTime();
  const live = LAST - FIRST - gaps.reduce((sum, gap) => sum + gap.to - gap.from, 0);
  // The length of a gap on the axis, in milliseconds of live time.
  const shut = Math.max(1, live * GAP_SHARE);
  collapse(true);

  // The stretches without any entry or open turn that are longer than a fiftieth of the run.
  function deadTime() {
    const least = Math.max(LEAST_GAP, (LAST - FIRST) / 50);
    const point = (t) => [t, t];
    const busy = [point(FIRST), point(START), point(END), point(LAST),
      ...turns.filter((turn) => turn.begin !== null || turn.end !== null)
        .map((turn) => [turn.begin ?? turn.end, turn.end ?? turn.begin]),
      ...messages.filter((message) => message.t !== null).map((message) => point(message.t)),
      ...tasks.flatMap((task) => task.changes.map((change) => point(change.t))),
      ...observations.filter((observation) => observation.t !== null).map((observation) => point(observation.t))].sort((a, b) => a[0] - b[0]);
    const found = [];
    let until = FIRST;
    for (const [from, to] of busy) {
      if (from - until > least) found.push({ from: until, to: from });
      until = Math.max(until, to);
    }
    return found;
  }

  // The bends of the scale: at equal times the axis has equal lengths, except in a gap.
  function collapse(on) {
    points = [{ t: FIRST, u: 0 }];
    for (const gap of on ? gaps : []) {
      const last = points.at(-1);
      const u = last.u + gap.from - last.t;
      points.push({ t: gap.from, u }, { t: gap.to, u: u + shut });
    }
    const last = points.at(-1);
    points.push({ t: Math.max(LAST, last.t + 1), u: last.u + Math.max(1, LAST - last.t) });
  }

  // Between two known points in proportion, outside of them at the rate of live time.
  function between(value, from, to) {
    let [low, high] = [0, points.length - 1];
    if (value <= points[0][from]) return points[0][to] + value - points[0][from];
    if (value >= points[high][from]) return points[high][to] + value - points[high][from];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (points[middle][from] <= value) low = middle;
      else high = middle;
    }
    const [a, b] = [points[low], points[high]];
    return a[to] + ((value - a[from]) / (b[from] - a[from])) * (b[to] - a[to]);
  }

  return {
    gaps,
    collapse,
    isCollapsed: () => points.length > 2,
    at: (time) => between(time, "t", "u"),
    time: (u) => between(u, "u", "t"),
  };
})();
