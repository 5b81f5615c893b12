// The cost of the run over time, below the lanes. There is no curve if a model has no price.

const COST_HEIGHT = 32;
const hasCurve = spentPoints.length > 0 && spentPoints.at(-1).cost > 0;
const costName = () => "Cost " + money(report.spending.cost ?? spentPoints.at(-1).cost);

// Draws the sums of the visible part, each until the next, with the amounts at both edges.
function drawCost(pen, view, colours) {
  const [base, high, most] = [COST_HEIGHT - 3, COST_HEIGHT - 8, spentPoints.at(-1).cost];
  const y = (cost) => base - (cost / most) * high;
  const x = (time) => Math.max(-2, Math.min(view.width + 2, view.x(scale.at(time))));
  const [from, to] = [view.from, view.to].map(scale.time);
  const line = new Path2D();
  let level = y(spentBy(from).cost);
  line.moveTo(-2, level);
  for (const { t, cost } of spentPoints) {
    if (t < from || t > to) continue;
    line.lineTo(x(t), level);
    level = y(cost);
    line.lineTo(x(t), level);
  }
  line.lineTo(x(Math.min(to, LAST)), level);
  const area = new Path2D(line);
  area.lineTo(x(Math.min(to, LAST)), base);
  area.lineTo(-2, base);
  pen.fillStyle = pen.strokeStyle = colours.accent;
  pen.globalAlpha = 0.14;
  pen.fill(area);
  pen.globalAlpha = 1;
  pen.lineWidth = 1.5;
  pen.stroke(line);
  pen.font = view.font;
  pen.textBaseline = "middle";
  for (const [time, isLast] of [[from, false], [to, true]]) {
    const { cost } = spentBy(time);
    const label = money(cost);
    const wide = pen.measureText(label).width + 6;
    const left = isLast ? view.width - wide - 2 : 2;
    const middle = Math.max(9, Math.min(COST_HEIGHT - 9, y(cost) + (isLast ? 11 : -11)));
    pen.fillStyle = colours.surface;
    pen.fillRect(left, middle - 7, wide, 14);
    pen.fillStyle = colours.muted;
    pen.fillText(label, left + 3, middle);
  }
}

function startCost() {
  $("cost").hidden = !hasCurve || !timeline.lanes.length;
  if ($("cost").hidden) return;
  $("cost-name").textContent = costName();
  $("cost-curve").style.height = COST_HEIGHT + "px";
  timeline.listeners.push((colours) => {
    $("cost-curve").style.width = timeline.view.width + "px";
    drawCost(timeline.penOf($("cost-curve"), COST_HEIGHT), timeline.view, colours);
  });
}
