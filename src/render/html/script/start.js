// The beginning: each part is drawn, and what changes how all of them look is listened to.

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
  fill($("legend"), key("turn", "turn"), key("idle", "turn for idle notices alone"), key("span", "task in progress"),
    key("owned", "task owned, pending"), key("arrow", "message"), key("lost", "refused or never read"),
    key("square", "held back by a gate"), key("triangle", "let through after blocks"), key("diamond", "warned"), key("dot", "other finding"));
}

// On paper there is no scrolling, and paper is light.
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
