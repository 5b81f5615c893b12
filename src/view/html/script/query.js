// The search of the messages: words, "phrases", and filters such as from:alice, task:2 and is:unread. A minus
// before a term excludes.

const foldText = (text) => text.normalize("NFC").toLowerCase();

// The text of a message that is searched, cached.
const searched = (message) => (message.searched ??= foldText([message.from, message.to, words(message.kind), message.kind,
  message.summary || "", message.text].join("\n")));

const recipient = (message) => message.to.split("@")[0];
const STATES = {
  read: (message) => message.delivered === true,
  unread: (message) => message.refused === null && message.delivered === false,
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
  from: (name) => (message) => foldText(message.from).startsWith(name),
  with: (name) => (message) => [message.from, recipient(message)].some((one) => foldText(one).startsWith(name)),
  to: (name) => (message) => foldText(recipient(message)).startsWith(name),
  kind: (name) => (message) => message.kind.startsWith(name) || words(message.kind).startsWith(name),
  task: namesTask,
  is: (state) => (Object.hasOwn(STATES, state) ? STATES[state] : null),
};

// Parses a search. `terms` are the words to mark, `wrong` the filters without a meaning.
function parseQuery(text) {
  const query = { tests: [], terms: [], wrong: [] };
  for (const [whole, minus, key, phrase, word] of foldText(text).matchAll(/(-?)(?:([a-z]+):)?(?:"([^"]*)"?|(\S+))/g)) {
    const value = phrase ?? word;
    const isFilter = key !== undefined && Object.hasOwn(FILTERS, key);
    if (!value) continue;
    const plain = isFilter || key === undefined ? value : key + ":" + value;
    const test = isFilter ? FILTERS[key](value) : (message) => searched(message).includes(plain);
    if (test === null) query.wrong.push(whole.trim());
    else query.tests.push(minus ? (message) => !test(message) : test);
    if (!isFilter && !minus) query.terms.push(plain);
  }
  return query;
}
