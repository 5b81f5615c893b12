// The pane below the timeline: the board, the messages and the dependencies as tabs, and the details beside them.

const TABS = { board: "board-part", messages: "messages", graph: "graph-part", details: "details" };
const pane = { tab: null, listeners: [] };
// In a narrow window the details are a tab; else they are beside the board and the dependencies.
const isNarrow = () => matchMedia("(max-width: 64rem)").matches;
// They are also a tab in a run without tasks, which has no board and no dependencies.
const hasDetailsTab = () => isNarrow() || !tasks.length;

function openTab(name) {
  const tab = name !== "details" || hasDetailsTab() ? name : pane.tab === "graph" ? "graph" : "board";
  if (tab === pane.tab) return;
  pane.tab = tab;
  $("pane").dataset.tab = tab;
  for (const [one, part] of Object.entries(TABS)) {
    const head = $("tab-" + one);
    head.setAttribute("aria-selected", String(one === tab));
    head.setAttribute("tabindex", one === tab ? "0" : "-1");
    $(part).classList.toggle("shown", one === tab);
  }
  for (const listener of pane.listeners) listener(tab);
}

// The tab of a part of the page, from its fragment.
const tabOf = (id) => Object.keys(TABS).find((tab) => TABS[tab] === id);

function startPane() {
  $("pane").classList.toggle("no-tasks", !tasks.length);
  for (const part of ["tab-board", "tab-graph", "step-back", "step-on"]) $(part).hidden = !tasks.length;
  $("show-tasks").closest("label").hidden = !tasks.length;
  const heads = Object.keys(TABS).map((tab) => $("tab-" + tab));
  heads.forEach((head, at) => {
    head.addEventListener("click", () => fragment.jump(() => openTab(Object.keys(TABS)[at])));
    head.addEventListener("keydown", (event) => {
      const shown = heads.filter((one) => one.offsetParent);
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      const next = shown[(shown.indexOf(head) + by + shown.length) % shown.length];
      next.focus();
      next.click();
    });
  });
  for (const link of document.querySelectorAll(".bar a")) {
    const tab = tabOf(link.hash.slice(1));
    if (!tab) continue;
    link.hidden = $("tab-" + tab).hidden;
    link.addEventListener("click", (event) => {
      event.preventDefault();
      fragment.jump(() => openTab(tab));
      $("time").scrollIntoView({ block: "start" });
      $("tab-" + tab).focus({ preventScroll: true });
    });
  }
  openTab(tasks.length ? "board" : "messages");
}
