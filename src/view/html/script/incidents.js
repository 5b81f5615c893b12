// The verdict, the incidents and the people.

const OUTCOMES = {
  completed: ["good", "Completed"], "open-work": ["warn", "Ended with open work"], crashed: ["bad", "Crashed"], running: ["plain", "Running"],
};
const SEVERITIES = { high: "bad", medium: "warn", low: "plain" };

function drawVerdict() {
  const { kind, sentence } = report.verdict;
  const [tone, name] = OUTCOMES[kind] || ["plain", words(kind)];
  fill($("verdict"), make("span", { class: "chip " + tone }, kind === "running" ? name + " as of " + since(LAST, false) : name),
    bdi(sentence, { dir: "auto" }));
  // What to do about the worst incident is known without its details.
  const remedy = worstIncident && remedyOf(worstIncident);
  if (remedy) {
    remedy.prepend(make("span", { class: "muted" }, "Remedy"));
    $("verdict").after(remedy);
  }
}

function drawIncidents() {
  $("incidents-count").textContent = incidents.length;
  if (!incidents.length) return $("incidents-list").replaceWith(make("p", { class: "muted" }, "No incidents found."));
  fill($("incidents-list"), cappedItems(incidentGroups, firstIncidents, groupItem));
  selection.listeners.push((one) => {
    const id = one?.incident && "incident-" + one.incident.id;
    for (const row of $("incidents-list").querySelectorAll(".incident")) {
      const isMember = row.classList.contains("several") && [...row.nextSibling.querySelectorAll(".incident")].some((member) => member.id === id);
      row.toggleAttribute("aria-current", row.id ? row.id === id : isMember);
    }
  });
}

const costOfIncident = moneyColumn(incidents.map((incident) => incident.cost.usd));

// An incident in one line. Its details are in the workbench.
const incidentRow = (incident) => incidentLine(incident, incident.summary, { ...incident.cost, tasks: incident.tasks },
  { id: "incident-" + incident.id }, () => showIncident(incident));

function incidentLine(incident, summary, { tasks, seconds, usd }, { class: kind = "", ...look }, act) {
  const figure = (text) => make("span", { class: "cost" }, text || "");
  const ids = tasks.slice(0, 2).map((id) => "#" + id).join(" ") + (tasks.length > 2 ? " \u2026 +" + count(tasks.length - 2) : "");
  return button({ ...look, class: "incident " + toneOfIncident(incident) + " " + kind, title: visible(summary) }, act,
    make("span", { class: "chip " + toneOfIncident(incident) }, incident.resolved ? "resolved" : incident.severity),
    figure(since(stamp(incident.from), false)), bdi(summary, { dir: "auto", class: "what" }), figure(ids), figure(seconds > 0 && lasting(seconds * 1000)),
    figure(usd > 0 && costOfIncident(usd)), make("span", { class: "go", "aria-hidden": "true" }, "\u203a"));
}
const toneOfIncident = (incident) => (incident.resolved ? "plain" : SEVERITIES[incident.severity] || "plain");

// Zooms the timeline to an incident, sets the time to its begin, and selects it.
const showIncident = (incident) => fragment.jump(() => {
  lookAtIncident(incident);
  showDetails({ what: "incident", incident });
});
function lookAtIncident(incident) {
  const from = stamp(incident.from);
  // With the steps that led to it: some incidents are a single moment.
  const times = [from, stamp(incident.to) ?? LAST, ...incident.chain.map((step) => stamp(step.at))].filter((time) => time !== null);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const edge = Math.max(1000, (last - first) * 0.1, (LAST - FIRST) * 0.02);
  timeline.lookAt(first - edge, last + edge);
  setMoment(from);
  timeline.reveal(from, laneNamed(incident.agents[0]));
}
// The incident that the page opens with: the worst one that is not resolved.
const worstIncident = incidents.find((incident) => !incident.resolved) || incidents[0];

const momentLink = (time) => time !== null && button({ class: "link", "aria-label": "Show " + since(time) + " on the timeline" },
  () => showMoment(time), since(time, false));

function taskLink(id) {
  const task = taskById.get(id);
  return task ? button({ class: "link", "aria-label": "Open task " + id }, () => openTask(task), "#" + id) : "#" + id;
}

// Links to the first tasks, and a button for the others.
const FIRST_LINKS = 8;
const taskLinks = (ids) => make("span", { class: "ids" }, capped(ids, FIRST_LINKS, taskOrText, { label: (rest) => "\u2026 +" + count(rest) }));
const taskOrText = (id) => make("span", {}, taskLink(id));

// Copies a text and shows that on the button. A page from a file may have no clipboard.
function copyText(text, copy, otherwise) {
  const name = copy.textContent;
  const done = (label) => { copy.textContent = label; setTimeout(() => { copy.textContent = name; }, 1500); };
  const fall = () => done(otherwise());
  if (!navigator.clipboard) return fall();
  navigator.clipboard.writeText(text).then(() => done("Copied"), fall);
}
function copyButton(text) {
  const copy = button({ class: "small" }, () => copyText(text, copy, () => {
    getSelection().selectAllChildren(copy.previousSibling);
    return "Selected";
  }), "Copy");
  return copy;
}

const isDone = (task) => task.status === "completed" || task.status === "deleted";

function drawPeople() {
  const done = (name) => tasks.filter((task) => task.status === "completed" && task.owner === name).length;
  const own = (list, name) => list.find((one) => one.agent === name);
  const amount = moneyColumn(report.spending.agents.map((spent) => spent.cost));
  const rows = report.overview.members.map(({ name }) => {
    const [effort, spent] = [own(report.work.agents, name), own(report.spending.agents, name)];
    const alerts = incidents.filter((incident) => incident.agents[0] === name).length;
    return [bdi(name), count(done(name)), effort ? orUnknown(effort.working_ms, lasting) : unknown(),
      spent ? orUnknown(spent.cost, amount) : unknown(), alerts ? counted(alerts, "incident") : ""];
  });
  fill($("people"), table("People", ["Agent", "#Tasks done", "#Working", "#Cost", "#Caused"], rows));
}

// n: the next incident, /: search, ?: the keys.
function startKeys() {
  $("late-after").textContent = lasting(LATE);
  let at = -1;
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input[type=search]") || $("keys").open) return;
    if (event.key === "n" && incidents.length) {
      at = (at + 1) % incidents.length;
      const row = rowOfIncident(incidents[at]);
      row.scrollIntoView({ block: "center" });
      row.focus();
    } else if (event.key === "/") reader.seek();
    else if (event.key === "?") $("keys").showModal();
    else return;
    event.preventDefault();
  });
}
