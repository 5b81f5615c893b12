// Formats values. A value that is not recorded is "unknown".

const unknown = () => make("span", { class: "unknown" }, "unknown");
const orUnknown = (value, spell) => (value === null || value === undefined ? unknown() : spell ? spell(value) : value);

const count = (number) => number.toLocaleString("en");
const counted = (number, one, many) => count(number) + " " + (number === 1 ? one : many || one + "s");

// A duration, rounded down: 840 ms, 12 s, 1 min 5 s, 12 min, 3 h 18 min, 2 d 4 h. The same as clock::duration in the terminal.
function lasting(ms) {
  if (ms < 1) return "0 s";
  if (ms < 1000) return Math.floor(ms) + " ms";
  const [seconds, minutes, hours] = [1000, 60000, 3600000].map((unit) => Math.floor(ms / unit));
  const two = (large, unit, small, unitOfSmall) => large + " " + unit + (small ? " " + small + " " + unitOfSmall : "");
  if (seconds < 60) return seconds + " s";
  if (seconds < 600) return two(minutes, "min", seconds % 60, "s");
  if (seconds < 3600) return minutes + " min";
  if (seconds < 86400) return two(hours, "h", minutes % 60, "min");
  return two(Math.floor(hours / 24), "d", hours % 24, "h");
}

// An offset from the start of the run: 0:07.250, 12:41.000, 1:02:05.
function offset(ms, exact = true) {
  const sign = ms < 0 ? "\u2212" : "";
  const all = Math.abs(Math.round(ms));
  const two = (number) => String(number).padStart(2, "0");
  const [h, m, s] = [Math.floor(all / 3600000), Math.floor(all / 60000) % 60, Math.floor(all / 1000) % 60];
  const rest = exact ? "." + String(all % 1000).padStart(3, "0") : "";
  return sign + (h ? h + ":" + two(m) : m) + ":" + two(s) + rest;
}

const stamp = (at) => {
  const time = at ? Date.parse(at) : NaN;
  return Number.isNaN(time) ? null : time;
};

// The offset of the reader's time zone from UTC at a time, in minutes; zero with --utc.
const isUtc = document.documentElement.dataset.zone === "utc";
const zoneOffset = (time) => (isUtc ? 0 : -new Date(time).getTimezoneOffset());

// The same as text: UTC, +01:00.
const zoneOf = (time) => {
  const minutes = zoneOffset(time);
  const two = (number) => String(Math.floor(Math.abs(number))).padStart(2, "0");
  return minutes === 0 ? "UTC" : (minutes < 0 ? "-" : "+") + two(minutes / 60) + ":" + two(minutes % 60);
};

// A date and time: 2026-11-20 05:40:41.150, or with zone 2026-11-20 05:40:41.150 +01:00.
const dayTime = (at, zone = true) => {
  const time = stamp(at);
  if (time === null) return at;
  const clock = new Date(time + zoneOffset(time) * 60000).toISOString().replace("T", " ").replace("Z", "");
  return zone ? clock + " " + zoneOf(time) : clock;
};

const words = (code) => code.replace(/[-_]/g, " ");
const actorName = (name) => (name === "client" ? "Claude Code" : bdi(name));
const short = (text, most) => (text.length > most ? text.slice(0, most - 1).trimEnd() + "\u2026" : text);
const nameOf = (task) => "#" + task.id + (task.subject ? " " + task.subject : "");
const bytes = (chars) => counted(chars, "character");
