// Draws each part, and handles themes and printing.

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
  fill($("legend"), key("turn", "turn"), key("idle", "turn triggered only by idle notices"), key("span", "task in progress"),
    key("owned", "task assigned, pending"), key("arrow", "message"), key("lost", "message not delivered"),
    key("square", "blocked by a gate"), key("triangle", "allowed by the loop guard"), key("diamond", "warned"), key("dot", "other problem"));
}

// Prints all messages, in the light theme.
function startPrinting() {
  addEventListener("beforeprint", () => {
    reader.printed();
    document.documentElement.classList.add("printing");
    timeline.print(true);
  });
  addEventListener("afterprint", () => {
    reader.unprint();
    document.documentElement.classList.remove("printing");
    timeline.print(false);
  });
}

drawHead();
if (report.verdict && report.verdict.sentence) drawVerdict();
drawIncidents();
drawUnfinished();
drawPeople();
startKeys();
drawOverview();
drawFindings();
drawLegend();
timeline.start();
startBoard();
startGraph();
startMoment();
reader.start();
drawTables();
startTheme();
startPrinting();
tellMoment();
document.documentElement.setAttribute("data-ready", "");
