// The state of the page in the fragment of its address, so that a copied address shows the same. Without a fragment the
// page shows its worst incident; a fragment without any state of its own is "view=whole". Each jump is a step of the
// browser's history, so that Back returns within the page; other moves change the address in place.

const fragment = (() => {
  // Filters and switches, by their ids.
  const controls = () => [...$("time").querySelectorAll("input[id]:not([type=range]), select[id]")];
  const initial = (control) => (control.type === "checkbox" ? control.defaultChecked
    : control.tagName === "SELECT" ? "" : control.defaultValue);
  const valueOf = (control) => (control.type === "checkbox" ? control.checked : control.value);
  let later = null;
  let written = "";
  let known = location.hash;
  // The state without a fragment, in the words of one.
  let home = "";

  function text() {
    const state = new URLSearchParams();
    if (moment.t !== END) state.set("at", moment.t - START);
    if (!timeline.isWhole()) {
      const ends = [timeline.view.from, timeline.view.to].map((u) => Math.round(scale.time(u) - START));
      state.set("view", ends.join("~"));
    }
    if (pane.tab !== first) state.set("tab", pane.tab);
    if (selection.one) state.set("selected", keyOf(selection.one));
    for (const control of controls()) if (valueOf(control) !== initial(control)) state.set(control.id, valueOf(control));
    return state.toString();
  }
  function write(isStep = false) {
    const state = text();
    const now = state === home ? "" : state || "view=whole";
    // A changed address is not overwritten: `hashchange` follows.
    if (now === written || location.hash !== known) return;
    written = now;
    // Without a state the address ends before its fragment.
    const address = now ? "#" + now : location.pathname + location.search;
    history[isStep ? "pushState" : "replaceState"]({}, "", address);
    known = location.hash;
  }
  function note() {
    clearTimeout(later);
    later = setTimeout(write, 250);
  }

  // Moves to another place: an incident, a task, a message, an agent, a tab.
  let isJumping = false;
  function jump(move) {
    if (isJumping) return move();
    clearTimeout(later);
    write();
    isJumping = true;
    try {
      move();
    } finally {
      isJumping = false;
    }
    write(true);
  }

  // Applies a fragment; what it does not name, or names wrongly, is as at the start.
  function read() {
    known = location.hash;
    const hash = location.hash.slice(1);
    if (!hash) {
      written = "";
      apply(new URLSearchParams());
      return openWorst();
    }
    if (!hash.includes("=")) {
      if (tabOf(hash)) openTab(tabOf(hash));
      return;
    }
    written = null;
    apply(new URLSearchParams(hash));
    // The browser restores the position of its own steps.
    if (history.state === null) $("time").scrollIntoView({ behavior: "instant", block: "start" });
  }

  // Shows the worst incident, at its begin. A run without incidents is shown as a whole, at its end.
  function openWorst() {
    if (!worstIncident) return;
    lookAtIncident(worstIncident);
    select({ what: "incident", incident: worstIncident });
    openTab("details");
  }

  function apply(state) {
    const number = (given) => (given !== null && /^-?\d+$/.test(given) ? Number(given) : null);
    // The selection changes filters, so it comes before them.
    select(state.has("selected") ? itemOf(state.get("selected")) : null);
    for (const control of controls()) {
      const given = state.get(control.id) ?? initial(control);
      if (control.type === "checkbox") control.checked = given === true || given === "true";
      else control.value = given;
      for (const kind of ["input", "change"]) control.dispatchEvent(new Event(kind, { bubbles: true }));
    }
    setMoment(START + (number(state.get("at")) ?? END - START));
    const ends = (state.get("view") || "").split("~").map(number);
    if (ends.length === 2 && ends.every((end) => end !== null)) timeline.lookAt(START + ends[0], START + ends[1]);
    else showWhole();
    openTab(Object.hasOwn(TABS, state.get("tab") ?? "") ? state.get("tab") : first);
    if (selection.one?.what === "message") openMessage(selection.one.message, false);
  }

  let first = null;
  function start() {
    first = pane.tab;
    openWorst();
    home = text();
    if (location.hash) read();
    addEventListener("hashchange", read);
    for (const list of [moment.listeners, selection.listeners, pane.listeners, timeline.listeners]) list.push(note);
    $("time").addEventListener("input", note);
    $("copy-link").addEventListener("click", () => {
      write();
      copyText(location.href, $("copy-link"), () => "See the address");
    });
  }
  return { start, jump };
})();
