// The printed page: a picture of the whole timeline and the steps of the first incidents, in place of the workbench.

// The size of the picture in pixels; it is fitted to the paper.
const PAPER_WIDTH = 1080;
const PAPER_HEIGHT = 1000;
const PAPER_INCIDENTS = 6;

function startPrinting() {
  let paper = null;
  const remove = () => {
    paper?.remove();
    paper = null;
  };
  addEventListener("beforeprint", () => {
    remove();
    paper = drawPaper();
    $("incidents").after(paper);
  });
  addEventListener("afterprint", remove);
}

function drawPaper() {
  const picture = make("canvas", { class: "paper-lanes", role: "img", "aria-label": "Timeline of the whole run" });
  if (timeline.lanes.length) timeline.paintPaper(picture, PAPER_WIDTH);
  return make("section", { class: "paper" }, timeline.lanes.length > 0 && [make("h2", {}, "Timeline"), picture],
    make("div", { class: "paper-steps" }, incidentGroups.map(([first]) => first).filter((one) => one.chain.length).slice(0, PAPER_INCIDENTS).map(paperIncident)));
}

function paperIncident(incident) {
  const rest = incident.chain.length - FIRST_STEPS;
  return make("article", {}, make("h3", {}, since(stamp(incident.from), false), " ", words(incident.kind)),
    incident.remedy && make("p", {}, bdi(remedyText(incident.remedy), { dir: "auto" })),
    make("ol", { class: "chain" }, incident.chain.slice(0, FIRST_STEPS).map((step) => make("li", {},
      make("span", { class: "muted" }, since(stamp(step.at), false)), bdi(step.what, { dir: "auto" }))),
    rest > 0 && make("li", { class: "muted" }, "and " + counted(rest, "more step"))));
}
