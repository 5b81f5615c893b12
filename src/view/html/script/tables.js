// Tables of the numbers in the JSON report.

function table(caption, columns, rows, note) {
  const wide = columns.length > 6 ? "sheet wide" : "sheet";
  const number = (index) => (columns[index].startsWith("#") ? "num" : null);
  const title = (text) => text.replace(/^#/, "");
  const cell = (value, index) => (index === 0 ? make("th", { scope: "row" }, value)
    : make("td", { class: number(index) }, value));
  const body = make("tbody", {}, rows.length ? rows.map((row) => make("tr", {}, row.map(cell)))
    : make("tr", {}, make("td", { colspan: columns.length, class: "muted" }, "nothing recorded")));
  const heads = columns.map((text, index) => make("th", { scope: "col", class: number(index) },
    rows.length > 1 && title(text) ? button({ class: "link sort" }, () => sortBy(heads, body, index), title(text)) : title(text)));
  const csv = () => [columns.map(title), ...[...body.rows].map((row) => [...row.cells].map((one) => one.textContent))]
    .map((line) => line.map(quoted).join(",")).join("\r\n") + "\r\n";
  return make("div", { class: wide },
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
      make("table", {}, make("caption", {}, caption, rows.length > 0 && csvButtons(caption, csv)), make("thead", {}, make("tr", {}, heads)), body)),
    note && make("p", { class: "muted" }, note));
}

// Sorts the rows by a column: first ascending, then descending. A last row "Total" stays last.
function sortBy(heads, body, index) {
  const down = heads[index].getAttribute("aria-sort") === "ascending";
  heads.forEach((head, at) => (at === index ? head.setAttribute("aria-sort", down ? "descending" : "ascending") : head.removeAttribute("aria-sort")));
  const rows = [...body.rows];
  const total = rows.length && rows.at(-1).cells[0].textContent === "Total" ? rows.pop() : null;
  const key = (row) => rank(row.cells[index].textContent);
  const order = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b
    : typeof a === typeof b ? a.localeCompare(b, undefined, { numeric: true }) : typeof a === "number" ? -1 : 1);
  rows.sort((a, b) => (down ? order(key(b), key(a)) : order(key(a), key(b))));
  body.append(...rows, ...(total ? [total] : []));
}

// The value of a cell: a number, an amount, a duration such as "1 h 02 min", an offset such as 1:02:05, else its text.
const UNITS = { d: 86400, h: 3600, min: 60, s: 1, ms: 0.001 };
function rank(text) {
  const plain = text.trim().replace(/,/g, "").replace(/^<?\$/, "").replace("\u2212", "-");
  if (/^-?\d+(\.\d+)?$/.test(plain)) return Number(plain);
  if (/^-?\d+(:\d+)+(\.\d+)?$/.test(plain)) return plain.split(":").reduce((sum, part) => sum * 60 + Number(part), 0);
  const parts = [...plain.matchAll(/(\d+(?:\.\d+)?) (d|h|min|s|ms)\b/g)];
  return parts.length ? parts.reduce((sum, [, value, unit]) => sum + value * UNITS[unit], 0) : plain.toLowerCase();
}

// A cell of a CSV file. A spreadsheet must not read a text as a formula.
const quoted = (text) => '"' + visible(text).replace(/^[=+\-@\t]/, "'$&").replace(/"/g, '""') + '"';

function csvButtons(caption, csv) {
  const save = button({ class: "small", "aria-label": "Save " + caption + " as CSV" }, () => {
    const link = make("a", { download: caption.toLowerCase().replace(/[^a-z]+/g, "-") + ".csv" });
    link.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
    link.click();
    URL.revokeObjectURL(link.href);
  }, "CSV");
  return make("span", { class: "csv" }, navigator.clipboard && button({ class: "small", "aria-label": "Copy " + caption + " as CSV" },
    () => navigator.clipboard.writeText(csv()), "Copy"), save);
}

const num = (value) => orUnknown(value, count);
const time = (ms) => orUnknown(ms, lasting);

function phaseBar(phase) {
  const [from, to] = [stamp(phase.from), stamp(phase.to)];
  const track = make("div", { class: "track", "aria-hidden": "true" });
  if (from === null || to === null) return track;
  const bar = make("div", { class: "fill" });
  bar.style.left = (100 * (from - FIRST)) / (LAST - FIRST) + "%";
  bar.style.width = Math.max(0.5, (100 * (to - from)) / (LAST - FIRST)) + "%";
  track.append(bar);
  return track;
}

function phasesTable() {
  const lasted = (phase) => (phase.from && phase.to ? stamp(phase.to) - stamp(phase.from) : null);
  return table("Observed phases", ["Phase", "#From", "#To", "#Duration", "#Signs", "In the run"],
    report.phases.map((phase) => [phase.name, ...(phase.signs ? [sinceAt(phase.from), sinceAt(phase.to), time(lasted(phase))]
      : ["not observed", "", ""]), count(phase.signs), phaseBar(phase)]));
}

function agentsTable() {
  const rows = report.agents.flatMap((agent) => agent.instances.map((instance, index) => [
    index ? make("span", { class: "muted" }, bdi(agent.name)) : bdi(agent.name), agent.kind, make("code", {}, instance.id), words(instance.role),
    sinceAt(instance.first), sinceAt(instance.last), count(instance.turns), num(instance.tool_uses),
    orUnknown(instance.tokens, (tokens) => count(tokens.input + tokens.output + tokens.cache_write)),
  ]));
  return table("Agents and their instances", ["Name", "Kind", "ID", "Role", "#First seen", "#Last seen", "#Turns", "#Tool calls", "#Tokens"], rows);
}

function membersTable() {
  return table("Members", ["Name", "Type", "Model", "#Joined", "#Left"], report.overview.members.map((member) => [bdi(member.name),
    orUnknown(member.agent_type, bdi), orUnknown(member.model, bdi), sinceAt(member.joined_at), member.left_at ? sinceAt(member.left_at) : "at the end"]));
}

function tasksTable() {
  const made = (task) => task.changes.find((change) => change.kind === "task-created");
  const done = (task) => task.changes.findLast((change) => change.to === "completed" && change.from !== "completed");
  return table("Tasks", ["Task", "Status", "Owner", "#Created", "#Completed", "Depends on", "#Changes"], tasks.map((task) => [
    button({ class: "link" }, () => openTask(task), "#" + task.id + " ", task.subject ? bdi(short(task.subject, 60)) : ""),
    words(task.status), task.owner ? bdi(task.owner) : "unassigned", made(task) ? sinceAt(made(task).at) : unknown(),
    done(task) ? sinceAt(done(task).at) : "never", task.blocked_by.map((id) => "#" + id).join(", "), count(task.changes.length)]));
}

function workTable() {
  const { work } = report;
  const rows = work.agents.map((effort) => [bdi(effort.agent), count(effort.turns), time(effort.working_ms), time(effort.silent_ms), time(effort.waiting_ms),
    time(effort.idle_ms), count(effort.unseen_turns)]);
  return table("Time", ["Agent", "#Turns", "#Working", "#Silent", "#Waiting", "#Idle", "#Turns not timed"], rows,
    [time(work.worked_ms), " of agent time in ", time(work.busy_ms), " wall time (", time(work.saved_ms), " saved by parallelism)."]);
}

function spendingTable() {
  const { spending } = report;
  const cells = (tokens) => [tokens.input, tokens.output, tokens.cache_read, tokens.cache_write].map(count);
  const amount = moneyColumn([...spending.agents.map((spent) => spent.cost), spending.cost]);
  const rows = spending.agents.map((spent) => [bdi(spent.agent), count(spent.messages), ...cells(spent.tokens),
    orUnknown(spent.cost, amount), spent.models.map((model, index) => [index ? ", " : "", bdi(model)])]);
  spending.unknown.forEach((name) => rows.push([bdi(name), ...Array.from({ length: 7 }, unknown)]));
  if (spending.total) rows.push(["Total", "", ...cells(spending.total), orUnknown(spending.cost, amount), ""]);
  return table("Tokens and cost", ["Agent", "#Model messages", "#Input", "#Output", "#Cache read", "#Cache write", "#Cost", "Models"], rows,
    !spending.total || !spending.agents.some((spent) => spent.messages) ? "No token use is recorded." : spending.cost === null ? "The cost is unknown: no price for " + (spending.unpriced || []).join(", ") + ". [[report.price]] in the configuration can add one." : null);
}

function toolsTable() {
  const { tools } = report;
  const names = Object.keys(tools.total).sort((a, b) => tools.total[b] - tools.total[a]);
  const row = (who, uses, failed) => [who, count(Object.values(uses).reduce((sum, one) => sum + one, 0)), failed,
    ...names.map((name) => (Object.hasOwn(uses, name) ? count(uses[name]) : ""))];
  const rows = tools.by_agent.map((user) => row([bdi(user.agent), user.complete ? "" : " *"], user.tools, num(user.failed)));
  if (rows.length > 1) rows.push(row("Total", tools.total, ""));
  return table("Tool calls by agent", ["Agent", "#All", "#Failed", ...names.map((name) => "#" + name)], rows,
    tools.by_agent.some((user) => !user.complete) ? "* No transcript is recorded: only calls with a hook call are counted." : null);
}

function mailTables() {
  const name = (to) => (to === "*" ? "everyone" : bdi(to));
  return [
    table("Messages by sender", ["From", "#Messages", "#Characters"],
      report.mail.by_sender.map((one) => [bdi(one.from), count(one.messages), count(one.chars)])),
    table("Messages by sender and recipient", ["From", "To", "#Messages", "#Characters"],
      report.mail.by_pair.map((one) => [bdi(one.from), name(one.to), count(one.messages), count(one.chars)])),
  ];
}

function drawTables() {
  fill($("tables"), phasesTable(), workTable(), spendingTable(), agentsTable(), tasksTable(), toolsTable(), mailTables(), membersTable());
}
