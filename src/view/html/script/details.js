// The details of the selection.

const pairRow = (label, ...value) => [make("dt", {}, label), make("dd", {}, value)];
const FIRST_STEPS = 8;
const FIRST_CHANGES = 20;
const toAll = (name) => (name === "*" ? "everyone" : bdi(name));

function taskDetails({ task }) {
  const before = tasks.filter((one) => one.blocked_by.includes(task.id)).map((one) => one.id);
  const spent = (report.spending.tasks || []).find((one) => one.task === task.id);
  const description = make("div", { class: "text" });
  if (task.description) showText(description, task.description);
  const cause = causeOf(task);
  return ["Task #" + task.id + " ", task.subject && bdi(task.subject), [
    cause && make("p", { class: "cause" }, "Unfinished: ", cause),
    make("dl", { class: "pairs" },
      pairRow("Last status", words(task.status), task.removed_at ? [", removed ", sinceAt(task.removed_at)] : null),
      pairRow("Owner", task.owner ? agentLink(task.owner) : "unassigned"),
      pairRow("Depends on", task.blocked_by.length ? taskLinks(task.blocked_by) : "none"),
      before.length ? pairRow("Required by", taskLinks(before)) : null,
      spent && spent.cost !== null ? pairRow("Cost", money(spent.cost)) : null),
    task.description && description,
    make("h4", {}, "Changes"),
    make("ol", { class: "life" }, cappedItems(task.changes, FIRST_CHANGES, (change) => make("li", {},
      button({ class: "link", title: dayTime(change.at) }, () => showMoment(change.t), since(change.t)), " ", changeWords(change))))]];
}

function messageDetails({ message }) {
  const text = make("div", { class: "text" });
  if (message.text) showText(text, message.text);
  return [bdi(message.from), [" \u2192 ", toAll(message.to)], [
    make("dl", { class: "pairs" },
      pairRow("Sent", message.t === null ? unknown() : button({ class: "link" }, () => showMoment(message.t), since(message.t)), " ",
        make("span", { class: "muted" }, dayTime(message.at))),
      pairRow("Kind", words(message.kind), message.automatic ? ", sent automatically by Claude Code" : ""),
      message.summary ? pairRow("Summary", bdi(message.summary)) : null),
    make("p", {}, button({ class: "link" }, () => openMessage(message, true), "Show in the list of messages")), text]];
}

function agentDetails({ name }) {
  const own = (list) => list.find((one) => one.agent === name);
  const [effort, spent] = [own(report.work.agents), own(report.spending.agents)];
  const member = report.overview.members.find((one) => one.name === name);
  const mine = tasks.filter((task) => task.changes.some((change) => change.owner === name));
  const [done, open] = [mine.filter((task) => task.status === "completed" && task.owner === name), mine.filter((task) => !isDone(task))];
  const lost = incidents.filter((incident) => incident.agents[0] === name);
  const sent = messages.filter((message) => message.from === name && !message.automatic).length;
  const received = messages.filter((message) => message.to.split("@")[0] === name && !message.automatic).length;
  return [bdi(name), "", [
    make("dl", { class: "pairs" },
      member ? pairRow("Joined", sinceAt(member.joined_at), member.left_at ? [", left ", sinceAt(member.left_at)] : "") : null,
      member && member.agent_type ? pairRow("Type", bdi(member.agent_type)) : null,
      effort ? pairRow("Worked", orUnknown(effort.working_ms, lasting), " in ", counted(effort.turns, "turn")) : null,
      spent ? pairRow("Cost", orUnknown(spent.cost, money)) : null,
      pairRow("Messages", count(sent) + " sent, " + count(received) + " received ",
        button({ class: "link" }, () => showMessages("with:", name), "show")),
      pairRow("Completed", counted(done.length, "task")),
      open.length ? pairRow("Unfinished", taskLinks(open.map((task) => task.id))) : null),
    capped(lost, FIRST_STEPS, (incident) => make("p", {}, incidentLink(incident)))]];
}

function incidentDetails({ incident }) {
  const { cost } = incident;
  const costs = [cost.tasks_lost > 0 && counted(cost.tasks_lost, "task") + " lost", cost.seconds > 0 && lasting(cost.seconds * 1000),
    cost.tokens > 0 && counted(cost.tokens, "token"), cost.usd > 0 && money(cost.usd)].filter(Boolean);
  const late = messages.filter((message) => message.to.split("@")[0] === incident.agents[0] && isLate(message)
    && message.t >= stamp(incident.from) && message.t <= (stamp(incident.to) ?? LAST));
  const agents = (name) => make("span", {}, agentLink(name));
  return [words(incident.kind), [" ", make("span", { class: "chip " + toneOfIncident(incident) }, incident.resolved ? "resolved" : incident.severity)], [
    make("p", {}, bdi(incident.summary, { dir: "auto" })),
    remedyOf(incident),
    make("dl", { class: "pairs" },
      pairRow("Time", momentLink(stamp(incident.from)), " to ", momentLink(stamp(incident.to))),
      costs.length ? pairRow("Cost", costs.join(" \u00b7 ")) : null,
      incident.agents.length ? pairRow("Agents", make("span", { class: "ids" }, capped(incident.agents, FIRST_LINKS, agents))) : null,
      incident.tasks.length ? pairRow("Tasks", taskLinks(incident.tasks)) : null,
      late.length > 0 && ABOUT_LATE.includes(incident.kind)
        && pairRow("Messages", button({ class: "link" }, () => showMessages("to:", incident.agents[0], " is:late"),
          counted(late.length, "message") + " read late or never"))),
    make("ol", { class: "chain" }, cappedItems(incident.chain, FIRST_STEPS, stepItem))]];
}

const remedyText = ({ command, advice }) => command ?? advice;

// A command can be copied.
function remedyOf({ remedy }) {
  if (!remedy) return null;
  const { command } = remedy;
  return make("p", { class: "remedy" }, command !== undefined
    ? [make("code", {}, bdi(command)), copyButton(command)] : bdi(remedyText(remedy), { dir: "auto" }));
}

// The kinds of incidents in which the messages to the first agent waited.
const ABOUT_LATE = ["stalled-agent", "unread-message", "crashed-lead"];

// A step opens what it was: its message, its task, or what teamkeep observed then.
function stepItem(step) {
  const open = evidenceOf(step);
  const what = bdi(step.what, { dir: "auto" });
  return make("li", {}, momentLink(stamp(step.at)), " ", open ? button({ class: "link step" }, () => fragment.jump(() => {
    setMoment(stamp(step.at));
    open();
  }), what) : what);
}
function evidenceOf(step) {
  // A message that a gate blocked has no entry of its own.
  const message = messageById.get(step.id) || messages.find((one) => one.at === step.at && one.from === step.actor);
  if (message) return () => openMessage(message, true);
  const task = tasks.find((one) => one.changes.some((change) => change.at === step.at && change.by === step.actor));
  if (task) return () => openTask(task);
  const observation = observations.find((one) => one.at === step.at);
  return observation && (() => showDetails(itemOf("mark:" + observation.index)));
}

function otherDetails(one) {
  const [head, lines] = describe(one);
  return [head, "", lines.filter(Boolean).map((line) => make("p", {}, bdi(line)))];
}

const DETAILS = { task: taskDetails, message: messageDetails, agent: agentDetails, incident: incidentDetails, halt: incidentDetails };

function startDetails() {
  const box = $("details");
  const empty = [...box.childNodes];
  selection.listeners.push((one) => {
    box.scrollTop = 0;
    // A link in the details is gone after it was followed.
    if (box.contains(document.activeElement)) box.focus({ preventScroll: true });
    if (!one) return box.replaceChildren(...empty);
    const [head, more, body] = (DETAILS[one.what] || otherDetails)(one);
    fill(box, make("div", { class: "line" }, make("h3", { id: "details-title" }, head, more),
      button({ class: "small", "aria-label": "Close the details" }, () => select(null), "\u00d7")), body);
  });
}

// Links that select.
const agentLink = (name) => (laneOf.has(name) ? button({ class: "link" }, () => showDetails({ what: "agent", name }), bdi(name)) : bdi(name));
const incidentLink = (incident) => button({ class: "link" }, () => showDetails({ what: "incident", incident }), bdi(incident.summary));

// Selects an item and brings the workbench with its details into view.
const showDetails = (one) => fragment.jump(() => {
  select(one);
  openTab("details");
  $("time").scrollIntoView({ block: "nearest" });
  if (isNarrow() || !$("time").contains(document.activeElement)) $("details").focus({ preventScroll: true });
});
const openTask = (task) => showDetails({ what: "task", task });

// Opens the selection: a message in the list, anything else in the details.
function openSelected() {
  const { one } = selection;
  if (one.what === "message") openMessage(one.message, true);
  else showDetails(one);
}
