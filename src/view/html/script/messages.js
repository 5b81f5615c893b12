// The messages: a list, of which only the visible rows exist as elements, and the text of the selected one.

const ROW = 46;

const reader = (() => {
  const list = $("list");
  const controls = { search: $("search"), actor: $("actor"), kind: $("kind"), delivery: $("delivery"), automatic: $("automatic") };
  const spacer = make("div", { class: "spacer", role: "presentation" });
  const rows = new Map();
  let found = [];
  let chosen = null;
  let terms = [];

  const fold = (text) => text.normalize("NFC").toLowerCase();
  // The text that is searched, cached.
  const hay = (message) => (message.hay ??= fold([message.from, message.to, words(message.kind), message.kind,
    message.summary || "", message.text].join("\n")));
  const sides = (message) => [message.from, message.to.split("@")[0]];
  const delivery = (message) => (message.refused !== null || message.delivered === false ? "no" : message.delivered ? "yes" : "unknown");

  function search() {
    terms = fold(controls.search.value).split(/\s+/).filter(Boolean);
    const [actor, kind, wanted] = [controls.actor.value, controls.kind.value, controls.delivery.value];
    found = messages.filter((message) => (controls.automatic.checked || !message.automatic)
      && (!actor || sides(message).includes(actor)) && (!kind || message.kind === kind)
      && (!wanted || delivery(message) === wanted) && terms.every((term) => hay(message).includes(term)));
    fill($("found"), counted(found.length, "message") + " of " + count(messages.length) + ": "
      + countsOf(Object.keys(messageCounts), (kind) => count(messageCounts[kind]) + " " + kind
        + (kind === "automatic" && !controls.automatic.checked ? " (hidden)" : "")));
    rows.forEach((row) => row.remove());
    rows.clear();
    spacer.style.height = found.length * ROW + "px";
    list.scrollTop = 0;
    const at = found.indexOf(chosen);
    choose(at >= 0 ? at : 0, false);
  }

  // The visible rows, and some on both sides.
  function show() {
    const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 6);
    const last = Math.min(found.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + 6);
    for (const [index, row] of rows) {
      if (index >= first && index < last) continue;
      row.remove();
      rows.delete(index);
    }
    for (let index = first; index < last; index++) {
      if (!rows.has(index)) {
        const row = drawRow(found[index], index);
        rows.set(index, row);
        spacer.append(row);
      }
      rows.get(index).setAttribute("aria-selected", String(found[index] === chosen));
    }
    const at = found.indexOf(chosen);
    if (rows.has(at)) list.setAttribute("aria-activedescendant", rows.get(at).id);
    else list.removeAttribute("aria-activedescendant");
  }

  function drawRow(message, index) {
    const row = make("div", { class: "row" + (message.automatic ? " automatic" : ""), role: "option", id: "message-" + message.index,
      "aria-setsize": found.length, "aria-posinset": index + 1 },
      make("span", { class: "who" }, bdi(message.from), " \u2192 ", message.to === "*" ? "everyone" : bdi(message.to)),
      make("span", { class: "when" }, message.t === null ? unknown() : since(message.t, false)),
      make("span", { class: "gist", dir: "auto" }, short(message.summary || message.text.slice(0, 200).replace(/\s+/g, " "), 120)),
      badge(message));
    row.style.top = index * ROW + "px";
    row.addEventListener("click", () => choose(index, true));
    return row;
  }

  function badge(message) {
    if (message.refused !== null) return make("span", { class: "badge bad" }, unsent(message));
    if (message.delivered === false && !message.automatic) return make("span", { class: "badge bad" }, "never read");
    return message.kind !== "message" ? make("span", { class: "badge" }, words(message.kind)) : null;
  }

  function choose(index, scroll) {
    const before = chosen;
    chosen = found[index] || null;
    if (chosen) {
      const top = index * ROW;
      if (top < list.scrollTop) list.scrollTop = top;
      else if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
    }
    show();
    if (chosen !== before || terms.length || !scroll) read(chosen);
  }

  function read(message) {
    const box = $("reading");
    if (!message) {
      return fill(box, make("p", { class: "muted" }, "No messages match these filters."));
    }
    const text = make("div", { class: "text" });
    const state = message.refused !== null ? [unsent(message) + ": ", bdi(bareReason(message.refused))]
      : message.delivered === null ? unknown() : message.delivered ? "read by the recipient" : "never read by the recipient";
    const row = (label, ...value) => [make("dt", {}, label), make("dd", {}, value)];
    fill(box,
      make("h3", {}, bdi(message.from), " \u2192 ", message.to === "*" ? "everyone" : bdi(message.to)),
      make("dl", { class: "pairs" },
        row("Sent", sinceAt(message.at), " ", make("span", { class: "muted" }, dayTime(message.at)), " ",
          message.t !== null && button({ class: "link" }, () => showMoment(message.t), "show on the timeline")),
        row("Kind", words(message.kind), message.automatic ? ", sent automatically by Claude Code" : "", ", " + bytes(message.chars)),
        row("Delivery", state),
        message.summary ? row("Summary", bdi(message.summary)) : null),
      text);
    if (message.text) showText(text, message.text, terms);
    else fill(text, make("p", { class: "muted" }, "No text."));
    box.scrollTop = 0;
  }

  function onKey(event) {
    const page = Math.max(1, Math.floor(list.clientHeight / ROW) - 1);
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -found.length, End: found.length }[event.key];
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    choose(Math.max(0, Math.min(found.length - 1, found.indexOf(chosen) + step)), true);
  }

  // Opens a message from elsewhere on the page. Filters that hide it are cleared.
  function open(message, go) {
    if (!found.includes(message)) {
      controls.search.value = controls.actor.value = controls.kind.value = controls.delivery.value = "";
      if (message.automatic) controls.automatic.checked = true;
      search();
    }
    choose(found.indexOf(message), true);
    if (!go) return;
    openTab("messages");
    $("time").scrollIntoView({ block: "nearest" });
    list.focus({ preventScroll: true });
  }

  function options(select, all, spell) {
    const many = (value) => messages.filter((message) => (select === controls.kind ? message.kind === value : sides(message).includes(value))).length;
    fill(select, make("option", { value: "" }, "any"), all.map((value) => make("option", { value }, spell(value) + " (" + many(value) + ")")));
  }

  function start() {
    if (!messages.length) {
      $("filters").hidden = true;
      return fill($("reader"), make("p", { class: "muted" }, "No messages were recorded."));
    }
    list.append(spacer);
    options(controls.actor, actors, (name) => name);
    options(controls.kind, [...new Set(messages.map((message) => message.kind))].sort(), words);
    for (const control of Object.values(controls)) control.addEventListener("input", search);
    $("filters").addEventListener("submit", (event) => event.preventDefault());
    list.addEventListener("scroll", () => requestAnimationFrame(show), { passive: true });
    list.addEventListener("keydown", onKey);
    new ResizeObserver(show).observe(list);
    search();
  }
  // Shows the messages of an agent.
  function showAgent(name) {
    controls.search.value = controls.kind.value = controls.delivery.value = "";
    controls.actor.value = name;
    search();
    openTab("messages");
  }
  return { start, open, showAgent };
})();
const openMessage = reader.open;
const showMessagesOf = reader.showAgent;
