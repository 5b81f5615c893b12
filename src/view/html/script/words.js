// Formats values. A value that is not recorded is "unknown".

const unknown = () => make("span", { class: "unknown" }, "unknown");
const orUnknown = (value, spell) => (value === null || value === undefined ? unknown() : spell ? spell(value) : value);

const count = (number) => number.toLocaleString("en");
const counted = (number, one, many) => count(number) + " " + (number === 1 ? one : many || one + "s");

// A duration: 840 ms, 12.3 s, 3 min 05 s, 1 h 02 min. Rounded down, as in the terminal.
function lasting(ms) {
  if (ms < 0) return "\u2212" + lasting(-ms);
  if (ms < 1000) return Math.floor(ms) + " ms";
  if (ms < 60000) return (Math.floor(ms / 100) / 10).toFixed(1) + " s";
  const seconds = Math.floor(ms / 1000);
  const two = (number) => String(number).padStart(2, "0");
  if (seconds < 3600) return Math.floor(seconds / 60) + " min " + two(seconds % 60) + " s";
  const minutes = Math.floor(seconds / 60);
  return Math.floor(minutes / 60) + " h " + two(minutes % 60) + " min";
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
