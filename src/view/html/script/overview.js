// The head of the page: key figures and observations.

const ENDS = {
  "session-end": "the session ended", "team-delete": "the team was deleted", replaced: "another run replaced it",
  crashed: "Claude Code crashed", disappeared: "Claude Code disappeared",
};

const isRunning = () => report.overview.ended_at === null && report.verdict?.kind === "running";

function drawHead() {
  const { overview } = report;
  const title = overview.team || (overview.topology === "no-team" ? "Session without a team" : "Unnamed team");
  document.title = visible(title) + " \u2013 teamkeep report";
  fill($("title"), bdi((report.verdict && report.verdict.title) || title, { dir: "auto" }));
  const [start, end] = [stamp(overview.started_at), stamp(overview.ended_at)];
  const second = (at) => dayTime(at, false).slice(0, 19);
  // The zone is named once, unless the clocks changed during the run.
  const isShared = end !== null && zoneOf(start) === zoneOf(end);
  const started = second(overview.started_at) + (isShared ? "" : " " + zoneOf(start));
  const until = isRunning() ? [", still running"] : [" to ",
    end === null ? unknown() : second(overview.ended_at) + " " + zoneOf(end), " \u00b7 ", orUnknown(overview.duration_ms, lasting)];
  fill($("subtitle"), bdi(title), " \u00b7 run ", make("code", {}, overview.run), " \u00b7 ", started, until);
  $("zone").textContent = isUtc ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function drawOverview() {
  const { overview, work, spending } = report;
  const { count: many } = overview;
  const figure = (label, value, note) =>
    make("div", {}, make("dt", {}, label), make("dd", {}, value, note && note.length ? make("small", {}, " (", note, ")") : null));
  const tokens = spending.total;
  fill($("figures"),
    figure("Duration", orUnknown(overview.duration_ms, lasting)),
    figure("Members", count(many.members), words(overview.topology)),
    figure("Messages", count(messageCounts.sent), countsOf(["automatic", "blocked", "rejected"],
      (kind) => (kind === "automatic" ? "+" : "") + count(messageCounts[kind]) + " " + kind)),
    tasks.length > 0 && figure("Tasks completed", count(many.completed) + " of " + count(many.tasks)),
    figure("Turns", count(many.turns), [orUnknown(work.worked_ms, lasting), " agent time"]),
    figure("Saved by parallelism", orUnknown(work.saved_ms, lasting)),
    figure("Tokens", orUnknown(tokens, (all) => count(all.input + all.output + all.cache_write)),
      tokens ? [count(tokens.output), " output, ", count(tokens.cache_read), " more read from the cache"] : null),
    figure("Cost", orUnknown(spending.cost, money)));
  const fact = (label, ...value) => make("div", {}, make("dt", {}, label), make("dd", {}, value));
  fill($("facts"),
    fact("Ended by", isRunning() ? "still running" : orUnknown(overview.ended_by, (by) => ENDS[by] || words(by)),
      overview.ended_reason ? [" (", bdi(overview.ended_reason), ")"] : null),
    fact("Claude Code", overview.client_versions.length ? overview.client_versions.join(", ") : unknown()),
    fact("Lead session", orUnknown(overview.lead_session, (id) => make("code", {}, id))),
    report.redacted && fact("Redacted", Object.entries(report.redacted).map(([rule, many]) => rule + " " + count(many)).join(", ")
      || "no secrets or personal data found"),
    fact("Recorded", counted(many.events, "event") + ", " + counted(many.snapshots, "snapshot")));
}

// The formatter of a column of amounts: all have the same number of decimals.
function moneyColumn(costs) {
  const digits = Math.max(...costs.filter(Boolean), 0) < 0.1 ? 4 : 2;
  const least = 10 ** -digits;
  const fixed = (cost) => "$" + cost.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return (cost) => (cost > 0 && cost < least / 2 ? "<" + fixed(least) : fixed(cost));
}
const money = (cost) => "$" + cost.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: cost < 1 ? 4 : 2 });

const CODES = {
  "stopped-at-work": ["bad", "Shut down with a task in progress"],
  "work-returned": ["bad", "Task returned to pending"],
  unfinished: ["bad", "Task never completed"],
  "task-erased": ["warn", "Task erased by Claude Code"],
  "not-delivered": ["bad", "Message never read"],
  refused: ["warn", "Message rejected"],
  "never-reported": ["warn", "Never sent a message"],
  blocked: ["held", "Blocked by a gate"],
  escalated: ["warn", "Allowed by the loop guard"],
  warned: ["warn", "Warned by a gate"],
  "no-end": ["warn", "No end recorded"],
  "events-missing": ["warn", "Events missing"],
  unreadable: ["bad", "Unreadable data"],
};
const toneOf = (observation) => (CODES[observation.code] || ["warn"])[0];
const codeName = (code) => (CODES[code] || [null, words(code)])[1];

function drawObservations() {
  $("observations-count").textContent = observations.length;
  if (!observations.length) {
    return fill($("observations-list"), make("p", { class: "muted" }, "None."));
  }
  const kinds = new Map();
  for (const observation of observations) {
    if (!kinds.has(observation.code)) kinds.set(observation.code, []);
    kinds.get(observation.code).push(observation);
  }
  fill($("observations-list"), [...kinds].map(([code, all]) => observationKind(code, all)));
}

const FEW = 6;
function observationKind(code, all) {
  return make("div", { class: "observation " + toneOf(all[0]) },
    make("h3", {}, codeName(code), " ", make("span", { class: "count" }, all.length)),
    make("ul", {}, cappedItems([...Map.groupBy(all, (one) => one.what + "\u0000" + one.task).values()], FEW, observationItem)));
}

// Equal observations are one item, with each time.
function observationItem(same) {
  const task = taskById.get(same[0].task);
  return make("li", {}, bdi(same[0].what, { dir: "auto" }),
    make("span", { class: "links" },
      capped(same.filter(({ t }) => t !== null), FEW, ({ t }) => button({ class: "link", "aria-label": "Show " + since(t) + " on the timeline" },
        () => showMoment(t), since(t))),
      task && button({ class: "link", "aria-label": "Open task " + task.id }, () => openTask(task), "#" + task.id)));
}
