// The messages: a list, of which only the visible rows exist as elements, by conversation or by time.

const ROW = 46;
// Number of found messages that are marked on the timeline.
const MAX_HITS = 500;

const reader = (() => {
  const list = $("list");
  const controls = { search: $("search"), automatic: $("automatic"), grouped: $("grouped"), visible: $("in-view") };
  const spacer = make("div", { class: "spacer", role: "presentation" });
  const rows = new Map();
  // The messages that were found, in the order of the list, and its rows: these and the heads of conversations.
  let found = [];
  let lines = [];
  let chosen = null;
  let query = parseQuery("");
  let marking = null;

  function matches() {
    const automatic = controls.automatic.checked || query.automatic;
    const isPart = controls.visible.checked && !timeline.isWhole();
    const [from, to] = [timeline.view.from, timeline.view.to].map(scale.time);
    return messages.filter((message) => (automatic || !message.automatic)
      && (!isPart || (message.t >= from && message.t <= to))
      && query.tests.every((test) => test(message)));
  }

  function search() {
    query = parseQuery(controls.search.value);
    found = matches();
    const hits = query.tests.length ? found : [];
    const unmarked = hits.length - MAX_HITS;
    // The timeline is drawn after the keys of a word.
    clearTimeout(marking);
    marking = setTimeout(() => timeline.showHits(hits.slice(0, MAX_HITS)), 120);
    lines = controls.grouped.checked ? grouped(found) : found;
    found = lines.filter((line) => !line.pair);
    fill($("found"), counted(found.length, "message") + " of " + count(messages.length) + ": "
      + countsOf(Object.keys(messageCounts), (kind) => count(messageCounts[kind]) + " " + kind
        + (kind === "automatic" && !controls.automatic.checked && !query.automatic ? " (hidden)" : ""))
      + (controls.visible.checked && !timeline.isWhole() ? "; only the visible time" : "")
      + (unmarked > 0 ? "; on the timeline " + MAX_HITS + " and " + count(unmarked) + " more" : "")
      + (query.ignored.length ? "; ignored: " + query.ignored.join(", ") : "")
      + (query.unknown.length ? "; not a filter, searched as text: " + query.unknown.join(", ") : "")
      + (controls.search.value.length > MAX_QUERY ? "; only the first " + MAX_QUERY + " characters are searched" : ""));
    rows.forEach((row) => row.remove());
    rows.clear();
    spacer.style.height = lines.length * ROW + "px";
    if (!found.includes(chosen)) list.scrollTop = 0;
    choose(found.includes(chosen) ? chosen : found[0] || null, false);
  }

  // Conversations by their first message, each after a head.
  function grouped(all) {
    const pairs = new Map();
    for (const message of all) {
      const pair = pairOf(message);
      if (!pairs.has(pair)) pairs.set(pair, []);
      pairs.get(pair).push(message);
    }
    return [...pairs.values()].flatMap((own) => [{ pair: own }, ...own]);
  }

  // The visible rows, and some on both sides.
  function show() {
    const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 6);
    const last = Math.min(lines.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + 6);
    for (const [index, row] of rows) {
      if (index >= first && index < last) continue;
      row.remove();
      rows.delete(index);
    }
    for (let index = first; index < last; index++) {
      if (!rows.has(index)) {
        const row = lines[index].pair ? drawHead(lines[index].pair) : drawRow(lines[index]);
        row.style.top = index * ROW + "px";
        rows.set(index, row);
        spacer.append(row);
      }
      if (!lines[index].pair) rows.get(index).setAttribute("aria-selected", String(lines[index] === chosen));
    }
    const at = lines.indexOf(chosen);
    if (rows.has(at)) list.setAttribute("aria-activedescendant", rows.get(at).id);
    else list.removeAttribute("aria-activedescendant");
  }

  function drawHead(own) {
    const { from, to } = own[0];
    return make("div", { class: "row-head", role: "option", "aria-disabled": "true" }, bdi(from), to === "*" ? " \u2192 everyone" : [" \u2194 ", bdi(recipient(own[0]))],
      " ", make("span", { class: "muted" }, counted(own.length, "message")));
  }

  function drawRow(message) {
    const row = make("div", { class: "row" + (message.automatic ? " automatic" : ""), role: "option", id: "message-" + message.index,
      "aria-setsize": found.length, "aria-posinset": found.indexOf(message) + 1 },
      make("span", { class: "who" }, bdi(message.from), " \u2192 ", toAll(message.to)),
      make("span", { class: "when" }, message.t === null ? unknown() : since(message.t, false)),
      make("span", { class: "gist", dir: "auto" }, marked(gist(message), query.terms)),
      badge(message));
    row.addEventListener("click", () => fragment.jump(() => choose(message, true)));
    return row;
  }

  function badge(message) {
    if (message.refused !== null) return make("span", { class: "badge bad" }, unsent(message));
    if (message.delivered === false && !message.automatic) return make("span", { class: "badge bad" }, "never read");
    if (isLate(message)) return make("span", { class: "badge bad" }, "read after " + lasting(waitOf(message)));
    return message.kind !== "message" ? make("span", { class: "badge" }, words(message.kind)) : null;
  }

  // Without a result, the whole list is a click away.
  function drawNone() {
    const clear = button({ class: "link" }, () => {
      controls.search.value = "";
      controls.search.dispatchEvent(new Event("input", { bubbles: true }));
      controls.search.focus();
    }, "Clear the search");
    fill($("reading"), make("p", { class: "muted" }, "No messages match this search. ", controls.search.value !== "" && clear));
  }

  // Shows a message. With `follow`, it is also selected, and the list scrolls to it.
  function choose(message, follow) {
    const before = chosen;
    chosen = message;
    if (chosen && follow) {
      const top = lines.indexOf(chosen) * ROW;
      const below = top + ROW - list.scrollTop - list.clientHeight;
      // A step scrolls by a row; a message from elsewhere is shown with those around it.
      if (top < list.scrollTop - ROW || below > ROW) list.scrollTop = top - list.clientHeight / 3;
      else if (top < list.scrollTop) list.scrollTop = top;
      else if (below > 0) list.scrollTop += below;
      select({ what: "message", message: chosen });
    }
    show();
    if (!chosen) drawNone();
    else if (chosen !== before || query.terms.length || !follow) drawMessage($("reading"), chosen, query.terms, openNeighbour);
  }

  // The button of the neighbour is gone then, so the text has the focus.
  function openNeighbour(message) {
    fragment.jump(() => open(message, false));
    $("reading").focus({ preventScroll: true });
  }

  function onKey(event) {
    const page = Math.max(1, Math.floor(list.clientHeight / ROW) - 1);
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -found.length, End: found.length }[event.key];
    if (step === undefined || !found.length || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    choose(found[Math.max(0, Math.min(found.length - 1, found.indexOf(chosen) + step))], true);
  }

  // Opens a message from elsewhere on the page. Filters that hide it are cleared.
  function open(message, go) {
    if (message.t !== null) timeline.reveal(message.t);
    search();
    if (!found.includes(message)) {
      controls.search.value = "";
      if (message.automatic) controls.automatic.checked = true;
      search();
    }
    if (go) openTab("messages");
    choose(message, true);
    if (!go) return;
    $("time").scrollIntoView({ block: "nearest" });
    list.focus({ preventScroll: true });
  }

  // Searches by a filter with the name of an agent.
  function find(filter, name, rest = "") {
    controls.search.value = filter + (/\s/.test(name) ? '"' + name + '"' : name) + rest;
    search();
  }

  // Shows the messages that a search by the name of an agent finds.
  function showFound(...terms) {
    find(...terms);
    openTab("messages");
    $("list").focus({ preventScroll: true });
  }

  // Moves to the search.
  function seek() {
    openTab("messages");
    $("time").scrollIntoView({ block: "start" });
    controls.search.focus({ preventScroll: true });
    controls.search.select();
  }

  function start() {
    if (!messages.length) {
      $("filters").hidden = true;
      return fill($("reader"), make("p", { class: "muted" }, "No messages were recorded."));
    }
    list.append(spacer);
    for (const control of Object.values(controls)) control.addEventListener("input", search);
    $("search-help").addEventListener("click", () => $("keys").showModal());
    $("filters").addEventListener("submit", (event) => event.preventDefault());
    list.addEventListener("scroll", () => requestAnimationFrame(show), { passive: true });
    list.addEventListener("keydown", onKey);
    $("reading").addEventListener("keydown", (event) => (event.key === "j" || event.key === "k") && onKey(event));
    new ResizeObserver(show).observe(list);
    search();
    follow();
  }

  // The list follows the visible time and the selection.
  function follow() {
    let later = null;
    let last = "";
    timeline.listeners.push(() => {
      const now = timeline.isWhole() ? "" : timeline.view.from + "~" + timeline.view.to;
      if (now === last || !controls.visible.checked) return;
      last = now;
      clearTimeout(later);
      later = setTimeout(search, 120);
    });
    selection.listeners.push((one) => {
      if (one?.what === "message" && one.message !== chosen) open(one.message, false);
      if (one?.what !== "agent" || pane.tab !== "messages") return;
      find("with:", one.name);
    });
  }
  return { start, open, seek, showFound };
})();
const openMessage = (message, go) => (go ? fragment.jump(() => reader.open(message, true)) : reader.open(message, false));
const showMessages = (...terms) => fragment.jump(() => reader.showFound(...terms));
