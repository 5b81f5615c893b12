// Equal incidents: of one kind, severity and command, at the same time. They are one row, which opens to its members.

// Incidents are at the same time if they overlap, or less than this is between them, in milliseconds.
const NEAR = 60000;

const incidentGroups = (() => {
  const alike = new Map();
  const groups = [];
  const isNear = (one, other) => stamp(one.from) <= (stamp(other.to) ?? LAST) + NEAR && stamp(other.from) <= (stamp(one.to) ?? LAST) + NEAR;
  for (const incident of incidents) {
    const key = [incident.kind, incident.severity, incident.resolved, incident.remedy?.command].join("\u0000");
    if (!alike.has(key)) alike.set(key, []);
    let group = alike.get(key).find(([first]) => isNear(first, incident));
    if (!group) {
      group = [];
      alike.get(key).push(group);
      groups.push(group);
    }
    group.push(incident);
  }
  return groups;
})();

// The agents that the name of a group lists: "8 \u00d7 lost work: m1, m2, m3, m4, m5, m6 and 2 more"
const NAMED = 6;
function groupName(group) {
  const causes = new Set(group.map((one) => one.agents[0]).filter(Boolean));
  // Several incidents of one cause differ in the other agents.
  const names = [...(causes.size < group.length ? new Set(group.flatMap((one) => one.agents)) : causes)];
  const rest = names.length - NAMED;
  return count(group.length) + " \u00d7 " + words(group[0].kind)
    + (names.length ? ": " + names.slice(0, NAMED).join(", ") + (rest > 0 ? " and " + count(rest) + " more" : "") : "");
}

function groupItem(group) {
  if (group.length === 1) return make("li", {}, incidentRow(group[0]));
  const all = (key) => group.map((one) => one.cost[key] || 0);
  const members = make("ol", { class: "members", hidden: true }, group.map((incident) => make("li", {}, incidentRow(incident))));
  const head = incidentLine(group[0], groupName(group), {
    tasks: [...new Set(group.flatMap((one) => one.tasks))], seconds: Math.max(...all("seconds")), usd: all("usd").reduce((sum, one) => sum + one, 0),
  }, { "aria-expanded": "false", class: "several" }, () => openGroup(members.hidden));
  const openGroup = (on) => {
    members.hidden = !on;
    head.setAttribute("aria-expanded", String(on));
  };
  return make("li", {}, head, members);
}

// The rows before "show more": up to six, of those that are only low not more than fill three.
const firstIncidents = Math.max(3, Math.min(6, incidentGroups.filter(([first]) => first.severity !== "low").length));

// The row of an incident, which is visible then.
function rowOfIncident(incident) {
  const row = () => $("incident-" + incident.id);
  if (!row()) $("incidents-list").querySelector(":scope > li > .more-items").click();
  const members = row().closest(".members");
  if (members?.hidden) members.previousSibling.click();
  return row();
}
