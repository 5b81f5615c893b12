// The dependency graph: each task is in a layer behind the tasks that it depends on.

const NODE = { width: 190, height: 40, across: 40, down: 12 };

// With more tasks than this, only open tasks and the critical path are shown at first.
const MANY_NODES = 40;

// The chain of dependencies that lasted longest: from the task that was completed last, or is still open, back to the one
// that each waited for last.
function criticalPath() {
  const done = (task) => (isDone(task) ? task.changes.findLast((change) => change.to === "completed")?.t ?? -Infinity : Infinity);
  const latest = (list) => list.reduce((best, task) => (best === null || done(task) > done(best) ? task : best), null);
  const path = new Set();
  let task = latest(tasks.filter((one) => one.blocked_by.length));
  while (task && !path.has(task.id)) {
    path.add(task.id);
    task = latest(task.blocked_by.map((id) => taskById.get(id)).filter(Boolean));
  }
  return path;
}

// The tasks to show: all with a dependency, or those of them that are open, on the critical path, or next to an open one.
function nodeIds(critical, isWhole) {
  const ids = new Set(tasks.flatMap((task) => (task.blocked_by.length ? [task.id, ...task.blocked_by] : [])));
  if (isWhole || ids.size <= MANY_NODES) return ids;
  const open = tasks.filter((task) => ids.has(task.id) && !isDone(task));
  const near = open.flatMap((task) => [task.id, ...task.blocked_by]);
  return new Set([...critical, ...near]);
}

// Layers by the longest path from a task without dependencies. Edges that close a cycle are ignored.
function layOut(ids) {
  const nodes = new Map();
  const sorted = [...tasks.map((task) => task.id).filter((id) => ids.has(id)), ...[...ids].filter((id) => !taskById.has(id))];
  for (const id of sorted) nodes.set(id, { id, task: taskById.get(id), layer: -1, behind: [], state: 0 });
  const edges = [];
  for (const node of nodes.values()) {
    for (const id of new Set(node.task ? node.task.blocked_by.filter((one) => ids.has(one)) : [])) {
      edges.push({ from: nodes.get(id), to: node, back: false });
    }
  }
  for (const edge of edges) edge.to.behind.push(edge);
  for (const node of nodes.values()) layer(node);
  return { nodes: [...nodes.values()], edges };
}

// Without recursion, because a chain of tasks can be long.
function layer(start) {
  const path = [{ node: start, next: 0 }];
  if (start.state === 2) return;
  start.state = 1;
  while (path.length) {
    const here = path.at(-1);
    const edge = here.node.behind[here.next++];
    if (!edge) {
      here.node.layer = Math.max(-1, ...here.node.behind.filter((one) => !one.back).map((one) => one.from.layer)) + 1;
      here.node.state = 2;
      path.pop();
    } else if (edge.from.state === 1) edge.back = true;
    else if (edge.from.state === 0) {
      edge.from.state = 1;
      path.push({ node: edge.from, next: 0 });
    }
  }
}

// Positions: within a layer by the mean position of the dependencies, so that fewer lines cross.
function place(nodes) {
  const layers = [];
  for (const node of nodes) (layers[node.layer] ||= []).push(node);
  for (const [index, row] of layers.entries()) {
    const middle = (node) => {
      const before = node.behind.filter((edge) => !edge.back).map((edge) => edge.from.y);
      return before.length ? before.reduce((sum, y) => sum + y, 0) / before.length : 0;
    };
    if (index) row.map((node) => [middle(node), node]).sort((a, b) => a[0] - b[0]).forEach(([, node], at) => { row[at] = node; });
    row.forEach((node, at) => {
      node.x = 1 + index * (NODE.width + NODE.across);
      node.y = 1 + at * (NODE.height + NODE.down);
    });
  }
  return {
    width: layers.length * (NODE.width + NODE.across) - NODE.across + 2,
    height: Math.max(...layers.map((row) => row.length)) * (NODE.height + NODE.down) - NODE.down + 2,
  };
}

function startGraph() {
  let shapes = [];
  const all = nodeIds(new Set(), true);
  if (!all.size) return fill($("graph-note"), "No task depends on another one.");
  const critical = criticalPath();
  const show = (isWhole) => { shapes = drawGraph(nodeIds(critical, isWhole), critical, all, () => show(true)); };
  const paint = (board) => {
    const columnOf = new Map(board.map((one) => [one.task.id, one.column]));
    for (const { node, group } of shapes) paintNode(node, group, columnOf, critical);
  };
  const showAndPaint = () => paint(boardAt(moment.t));
  show(false);
  moment.listeners.push(paint);
  selection.listeners.push(showAndPaint);
  $("graph-note").addEventListener("click", (event) => event.target.id === "graph-all" && showAndPaint());
}

function paintNode(node, group, columnOf, critical) {
  const column = node.task ? columnOf.get(node.id) || "unmade" : "missing";
  const isCurrent = selection.one?.what === "task" && selection.one.task === node.task;
  const look = "node " + column + (critical.has(node.id) ? " critical" : "") + (isCurrent ? " current" : "");
  if (group.getAttribute("class") === look) return;
  group.setAttribute("class", look);
  group.querySelector("title").textContent = (nodeName(node) + ", "
    + words(column) + (node.behind.length ? ", depends on " + node.behind.map((edge) => edge.from.id).join(", ") : ""));
}

function drawGraph(ids, critical, all, showAll) {
  const { nodes, edges } = layOut(ids);
  const alone = tasks.length - [...all].filter((id) => taskById.has(id)).length;
  const circles = edges.filter((edge) => edge.back);
  fill($("graph-note"), "A task is to the right of the tasks that it depends on. Its color is that of its column on the board; thick lines are the critical path. ",
    ids.size < all.size ? ["Only open tasks and the critical path are shown. ", button({ class: "link", id: "graph-all" }, showAll, "Show all " + all.size + " tasks"), " "] : "",
    alone ? "Not shown: " + counted(alone, "task") + " without dependencies. " : "",
    circles.length ? make("strong", { class: "bad-text", id: "circles" }, "Circular dependencies: "
      + circles.map((edge) => "#" + edge.to.id + " depends on #" + edge.from.id).join(", ") + ".") : null);
  const { width, height } = place(nodes);
  // Fitted to the width of the pane, but not below a legible size.
  const svg = draw("svg", { viewBox: "-4 -4 " + (width + 48) + " " + (height + 36), role: "group", "aria-label": "Graph of " + counted(nodes.length, "task") });
  Object.assign(svg.style, { width: "100%", maxWidth: width + 48 + "px", minWidth: (width + 48) * 0.65 + "px" });
  for (const edge of edges) {
    const isCritical = critical.has(edge.from.id) && critical.has(edge.to.id);
    edge.path = draw("path", { class: edge.back ? "edge back" : isCritical ? "edge critical" : "edge", d: curve(edge) });
    svg.append(edge.path, head(edge));
  }
  // Highlights the edges of the task that has the focus or the pointer.
  const light = (event) => {
    const node = event.target.closest(".node");
    for (const edge of edges) edge.path.classList.toggle("lit", node !== null && [edge.from, edge.to].some((end) => end.group === node));
  };
  for (const kind of ["pointerover", "focusin"]) svg.addEventListener(kind, light);
  const shapes = nodes.map((node) => shape(node));
  svg.append(...shapes.map((one) => one.group));
  fill($("graph"), svg);
  rove($("graph"), ".node")();
  return shapes;
}

function curve({ from, to, back }) {
  const [x1, y1] = [from.x + NODE.width, from.y + NODE.height / 2];
  const [x2, y2] = [to.x, to.y + NODE.height / 2];
  if (from === to) return "M" + x1 + " " + (y1 - 6) + " c 34 -14 34 26 0 12";
  if (back) {
    // An edge that closes a cycle is drawn below the tasks.
    const [a, b] = [from.x + NODE.width / 2, to.x + NODE.width / 2];
    const [bottom, end] = [from.y + NODE.height, to.y + NODE.height];
    return "M" + a + " " + bottom + " C" + a + " " + (bottom + 30) + " " + b + " " + (end + 30) + " " + b + " " + end;
  }
  const bend = NODE.across / 2;
  return "M" + x1 + " " + y1 + " C" + (x1 + bend) + " " + y1 + " " + (x2 - bend) + " " + y2 + " " + x2 + " " + y2;
}
function head({ to, from, back }) {
  if (back && from !== to) {
    return draw("path", { class: "head back", d: "M" + (to.x + NODE.width / 2) + " " + (to.y + NODE.height) + " l-3.5 6 h7 z" });
  }
  const [x, y] = from === to ? [to.x + NODE.width, to.y + NODE.height / 2 + 6] : [to.x, to.y + NODE.height / 2];
  const way = from === to ? -1 : 1;
  return draw("path", { class: back ? "head back" : "head", d: "M" + x + " " + y + " l" + -6 * way + " -3.5 v7 z" });
}

const nodeName = (node) => visible("#" + node.id + " " + (node.task ? node.task.subject || "" : "not recorded"));

function shape(node) {
  const name = node.task ? node.task.subject || "" : "not recorded";
  const group = draw("g", { class: "node", role: "button", tabindex: "-1", transform: "translate(" + node.x + "," + node.y + ")" },
    draw("title", {}, nodeName(node)),
    draw("rect", { width: NODE.width, height: NODE.height, rx: 4 }),
    draw("text", { x: 10, y: 16, class: "number", "aria-hidden": "true" }, "#" + short(node.id, 12)),
    draw("text", { x: 10, y: 31, "aria-hidden": "true" }, short(name, 28)));
  node.group = group;
  const open = () => node.task && openTask(node.task);
  group.addEventListener("click", open);
  group.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    open();
  });
  return { node, group };
}
