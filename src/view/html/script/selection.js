// The selection: a task, a message, an agent, an incident, a turn or an observation. All parts of the page follow it.

const selection = { one: null, listeners: [] };

// A short name of an item, unique on the page: "task:3", "message:12", "agent:alice".
const KEYS = {
  task: (one) => one.task.id, message: (one) => one.message.index, agent: (one) => one.name, halt: (one) => one.incident.id,
  incident: (one) => one.incident.id, turn: (one) => turns.indexOf(one.turn), mark: (one) => one.observation.index,
};
const kindOf = (one) => (one.what === "halt" ? "incident" : one.what);
const keyOf = (one) => kindOf(one) + ":" + KEYS[one.what](one);
const isSelected = (one) => selection.one !== null && kindOf(one) === kindOf(selection.one) && keyOf(one) === keyOf(selection.one);

function select(one) {
  if (one === null ? selection.one === null : isSelected(one)) return;
  selection.one = one;
  for (const listener of selection.listeners) listener(one);
}

// The item with a key, or null.
function itemOf(key) {
  const [what, ...rest] = key.split(":");
  const id = rest.join(":");
  const at = (list) => (/^\d+$/.test(id) ? list[id] : undefined);
  const found = {
    task: () => taskById.get(id) && { what, task: taskById.get(id) },
    message: () => at(messages) && { what, message: at(messages) },
    agent: () => laneOf.has(id) && { what, name: id },
    incident: () => incidents.some((one) => one.id === id) && { what, incident: incidents.find((one) => one.id === id) },
    turn: () => at(turns) && { what, turn: at(turns), t: at(turns).begin ?? at(turns).end, end: at(turns).end ?? LAST },
    mark: () => at(observations) && { what, observation: at(observations), t: at(observations).t },
  };
  return (Object.hasOwn(found, what) && found[what]()) || null;
}
