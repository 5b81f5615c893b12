// The text of a message, within its conversation: what the same two agents wrote before and after it.

// The number of messages shown before and after.
const CONTEXT = 3;

// The two sides of a message, independent of its direction. All messages to everyone from one agent are a conversation.
const pairOf = (message) => [message.from, recipient(message)].sort().join("\u0000");

// The conversations: messages of each pair by time, without automatic ones.
const conversations = new Map();
for (const message of messages) {
  if (message.automatic) continue;
  const pair = pairOf(message);
  if (!conversations.has(pair)) conversations.set(pair, []);
  conversations.get(pair).push(message);
}

const gist = (message) => short(message.summary || message.text.slice(0, 200).replace(/\s+/g, " "), 120);

function stateOf(message) {
  if (message.refused !== null) return [unsent(message) + ": ", bdi(message.refused)];
  if (message.delivered === null) return unknown();
  if (!message.delivered) return "never read by the recipient";
  const wait = waitOf(message);
  return wait === null ? "read by the recipient" : "read after " + lasting(wait);
}

function drawMessage(box, message, terms, choose) {
  const conversation = conversations.get(pairOf(message)) || [message];
  const at = conversation.indexOf(message);
  const neighbour = (one) => button({ class: "neighbour" }, () => choose(one),
    make("span", { class: "muted" }, one.t === null ? unknown() : since(one.t, false)), " ", make("strong", {}, bdi(one.from)), " ", bdi(gist(one), { dir: "auto" }));
  const text = make("div", { class: "text" });
  if (message.text) showText(text, message.text, terms);
  else fill(text, make("p", { class: "muted" }, "No text."));
  fill(box,
    at > 0 && make("div", { class: "before" }, conversation.slice(Math.max(0, at - CONTEXT), at).map(neighbour)),
    make("h3", {}, bdi(message.from), " \u2192 ", toAll(message.to)),
    make("dl", { class: "pairs" },
      pairRow("Sent", sinceAt(message.at), " ", make("span", { class: "muted" }, dayTime(message.at)), " ",
        message.t !== null && button({ class: "link" }, () => showMoment(message.t), "show on the timeline")),
      pairRow("Kind", words(message.kind), message.automatic ? ", sent automatically by Claude Code" : "", ", " + bytes(message.chars)),
      pairRow("Delivery", stateOf(message)),
      message.summary ? pairRow("Summary", bdi(message.summary)) : null),
    text,
    at >= 0 && at + 1 < conversation.length
      && make("div", { class: "after" }, conversation.slice(at + 1, at + 1 + CONTEXT).map(neighbour)));
  box.scrollTop = 0;
}
