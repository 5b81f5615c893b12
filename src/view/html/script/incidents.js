// The verdict, the incidents, the unfinished work and the people.

const OUTCOMES = {
  completed: ["good", "Completed"], "open-work": ["warn", "Ended with open work"], crashed: ["bad", "Crashed"], running: ["plain", "Running"],
};
const SEVERITIES = { high: "bad", medium: "warn", low: "plain" };
const FIRST_INCIDENTS = 5;

function drawVerdict() {
  const { kind, sentence } = report.verdict;
  const [tone, name] = OUTCOMES[kind] || ["plain", words(kind)];
  fill($("verdict"), make("span", { class: "chip " + tone }, kind === "running" ? name + " as of " + since(LAST, false) : name),
    bdi(sentence, { dir: "auto" }));
}

function drawIncidents() {
  $("incidents-count").textContent = incidents.length;
  if (!incidents.length) return fill($("incidents-list"), make("p", { class: "muted" }, "No incidents found."));
  const rest = incidents.slice(FIRST_INCIDENTS);
  const more = rest.length > 0 && button({ class: "link", id: "more-incidents" }, () => {
    more.replaceWith(...rest.map(incidentCard));
    $("incident-" + rest[0].id).focus();
  }, "show " + counted(rest.length, "more", "more"));
  fill($("incidents-list"), incidents.slice(0, FIRST_INCIDENTS).map(incidentCard), more);
}

function incidentCard(incident) {
  const { cost } = incident;
  const costs = [cost.tasks_lost > 0 && counted(cost.tasks_lost, "task") + " lost", cost.seconds > 0 && lasting(cost.seconds * 1000),
    cost.tokens > 0 && counted(cost.tokens, "token"), cost.usd > 0 && money(cost.usd)].filter(Boolean);
  const chain = make("details", {}, make("summary", {}, counted(incident.chain.length, "step")),
    make("ol", { class: "chain" }, incident.chain.map((step) => make("li", {},
      momentLink(stamp(step.at)), " ", bdi(step.what, { dir: "auto" })))));
  return make("article", { class: "incident " + (SEVERITIES[incident.severity] || "plain"), id: "incident-" + incident.id, tabindex: "-1" },
    make("h3", {}, make("span", { class: "chip" }, incident.resolved ? "resolved" : incident.severity), words(incident.kind)),
    make("p", {}, bdi(incident.summary, { dir: "auto" })),
    make("p", { class: "muted" }, button({ class: "link", "aria-label": since(stamp(incident.from)) + ": show the incident on the timeline" }, () => showIncident(incident),
      since(stamp(incident.from), false)), " \u00b7 ", costs.join(" \u00b7 "),
      incident.tasks.map((id) => [" ", taskLink(id)])),
    incident.remedy && make("p", { class: "remedy" }, make("code", {}, bdi(incident.remedy)), copyButton(incident.remedy)),
    incident.chain.length > 0 && chain);
}

// Zooms the timeline to an incident and selects it.
function showIncident(incident) {
  const [from, to] = [stamp(incident.from), stamp(incident.to) ?? LAST];
  const edge = Math.max(1000, (to - from) * 0.15);
  timeline.lookAt(from - edge, to + edge);
  timeline.reveal(from, laneNamed(incident.agents[0]));
  showDetails({ what: "incident", incident });
}

const momentLink = (time) => time !== null && button({ class: "link", "aria-label": "Show " + since(time) + " on the timeline" },
  () => showMoment(time), since(time, false));

function taskLink(id) {
  const task = taskById.get(id);
  return task ? button({ class: "link", "aria-label": "Open task " + id }, () => openTask(task), "#" + id) : "#" + id;
}

// A page from a file may have no clipboard; then the text is selected.
function copyButton(text) {
  const done = (label) => { copy.textContent = label; setTimeout(() => { copy.textContent = "Copy"; }, 1500); };
  const copy = button({ class: "small" }, () => {
    const select = () => { getSelection().selectAllChildren(copy.previousSibling); done("Selected"); };
    if (!navigator.clipboard) return select();
    navigator.clipboard.writeText(text).then(() => done("Copied"), select);
  }, "Copy");
  return copy;
}

const isDone = (task) => task.status === "completed" || task.status === "deleted";

function drawUnfinished() {
  const open = tasks.filter((task) => !isDone(task));
  const waits = (task) => task.blocked_by.filter((id) => taskById.has(id) && !isDone(taskById.get(id)));
  const lastOwner = (task) => task.changes.map((change) => change.owner).filter(Boolean).pop();
  const item = (task) => make("li", {}, taskLink(task.id), " ", bdi(task.subject || "", { dir: "auto" }),
    make("small", {}, " ", words(task.status), task.owner ? [", ", bdi(task.owner)]
      : lastOwner(task) ? [", unassigned (was ", bdi(lastOwner(task)), ")"] : ", unassigned",
    waits(task).length ? [", blocked by ", waits(task).map((id, index) => [index ? ", " : "", taskLink(id)])] : null));
  fill($("unfinished"), open.length ? make("ul", { class: "plain-list" }, open.map(item))
    : make("p", { class: "muted" }, tasks.length ? "All tasks are completed." : "The run had no tasks."));
}

function drawPeople() {
  const done = (name) => tasks.filter((task) => task.status === "completed" && task.owner === name).length;
  const own = (list, name) => list.find((one) => one.agent === name);
  const rows = report.overview.members.map(({ name }) => {
    const [effort, spent] = [own(report.work.agents, name), own(report.spending.agents, name)];
    const alerts = incidents.filter((incident) => incident.agents[0] === name).length;
    return [bdi(name), count(done(name)), effort ? orUnknown(effort.working_ms, lasting) : unknown(),
      spent ? orUnknown(spent.cost, money) : unknown(), alerts ? count(alerts) : ""];
  });
  fill($("people"), table("People", ["Agent", "#Tasks done", "#Working", "#Cost", "#Incidents"], rows));
}

// n: the next incident, /: search, ?: the keys.
function startKeys() {
  let at = -1;
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input[type=search]") || $("keys").open) return;
    if (event.key === "n" && incidents.length) {
      at = (at + 1) % incidents.length;
      if (at >= FIRST_INCIDENTS && $("more-incidents")) $("more-incidents").click();
      const card = $("incident-" + incidents[at].id);
      card.scrollIntoView({ block: "center" });
      card.focus();
    } else if (event.key === "/") reader.seek();
    else if (event.key === "?") $("keys").showModal();
    else return;
    event.preventDefault();
  });
}
