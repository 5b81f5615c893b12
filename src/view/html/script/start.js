// Draws each part, and handles themes.

function startTheme() {
  const root = document.documentElement;
  $("themes").addEventListener("change", (event) => {
    if (event.target.value === "auto") root.removeAttribute("data-theme");
    else root.setAttribute("data-theme", event.target.value);
    timeline.recolour();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", timeline.recolour);
}

function drawLegend() {
  const key = (look, text) => make("li", {}, make("span", { class: "swatch " + look, "aria-hidden": "true" }), text);
  fill($("legend"), key("turn", "turn"), key("idle", "turn triggered only by idle notices"), key("silent", "silent or failed"), key("waiting", "waiting"),
    key("owned", "task assigned, pending"), key("span", "task in progress"), key("done", "completed"), key("broken", "not completed"), key("arrow", "message"),
    key("lost", "message not delivered"), key("bars", "number of messages"), key("hit", "found by the search"), key("square", "blocked by a gate"),
    key("triangle", "allowed by the loop guard"), key("diamond", "warned"), key("dot", "lost work"), key("dot low", "other observation"));
}

drawHead();
if (report.verdict && report.verdict.sentence) drawVerdict();
drawIncidents();
drawUnfinished();
drawPeople();
startKeys();
drawOverview();
drawObservations();
drawLegend();
startTimeline();
startMap();
startRange();
startCost();
startBoard();
startGraph();
startMoment();
reader.start();
startDetails();
startPane();
drawTables();
startTheme();
startPrinting();
tellMoment();
fragment.start();
document.documentElement.setAttribute("data-ready", "");
