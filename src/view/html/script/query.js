// The search of the messages: words, "phrases", and filters such as from:alice, task:2 and is:unread. A minus
// before a term excludes.

const foldText = (text) => text.normalize("NFC").toLowerCase();

// The text of a message that is searched, cached.
const searched = (message) => (message.searched ??= foldText([message.from, message.to, words(message.kind), message.kind,
  message.summary || "", message.text].join("\n")));

// With more characters than this, a search would take long.
const MAX_QUERY = 500;

const recipient = (message) => message.to.split("@")[0];
const recipientName = (message) => (message.to === "*" ? "everyone" : recipient(message));

// An agent with exactly this name, or else those whose names begin with it.
const namesAgent = (name) => {
  const exact = actors.some((one) => foldText(one) === name);
  return (one) => (exact ? foldText(one) === name : foldText(one).startsWith(name));
};
const STATES = {
  read: (message) => message.delivered === true,
  unread: (message) => message.refused === null && message.delivered === false,
  late: isLate,
  blocked: (message) => message.refused !== null && unsent(message) === "blocked",
  rejected: (message) => message.refused !== null && unsent(message) === "rejected",
  automatic: (message) => message.automatic,
};

// A message names a task by "#2", "task 2" or the task's ID in JSON.
const namesTask = (id) => {
  const name = id.replace(/^#/, "").replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const pattern = new RegExp("(?:#|\\btask ?#?|\"task_?id\" ?: ?\"?)" + name + "(?![\\w])", "i");
  return (message) => pattern.test((message.summary || "") + "\n" + message.text);
};

const FILTERS = {
  from: (name) => ((is) => (message) => is(message.from))(namesAgent(name)),
  with: (name) => ((is) => (message) => is(message.from) || is(recipientName(message)))(namesAgent(name)),
  to: (name) => ((is) => (message) => is(recipientName(message)) || name === message.to)(namesAgent(name)),
  kind: (name) => (message) => message.kind.startsWith(name) || words(message.kind).startsWith(name),
  task: namesTask,
  is: (state) => (Object.hasOwn(STATES, state) ? STATES[state] : null),
};

// Parses a search. `terms` are the words to mark, `ignored` the filters without a meaning, `unknown` the words that look
// like a filter, and `automatic` is whether automatic messages are asked for.
function parseQuery(text) {
  const query = { tests: [], terms: [], ignored: [], unknown: [], automatic: false };
  const terms = foldText(text.slice(0, MAX_QUERY)).matchAll(/(-?)(?:([a-z]+):)?(?:"([^"]*)"?|(\S+)|(?<=:))/g);
  for (const [whole, minus, key, phrase, word] of terms) {
    const value = phrase ?? word ?? "";
    const isFilter = key !== undefined && Object.hasOwn(FILTERS, key);
    if ((!value && key === undefined) || word === "-") continue;
    const plain = key === undefined ? value : key + ":" + value;
    const test = !isFilter ? (message) => searched(message).includes(plain) : value ? FILTERS[key](value) : null;
    if (test === null) query.ignored.push(whole);
    else query.tests.push(minus ? (message) => !test(message) : test);
    if (isFilter || minus) query.automatic ||= !minus && (key === "kind" || (key === "is" && value === "automatic"));
    else query.terms.push(plain);
    if (!isFilter && key !== undefined) query.unknown.push(whole);
  }
  return query;
}
