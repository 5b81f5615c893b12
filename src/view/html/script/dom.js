// DOM helpers. All text is inserted as text nodes and passes through `visible`.

const $ = (id) => document.getElementById(id);

// Reports an error in drawing the page.
addEventListener("error", (event) => {
  $("failure").hidden = false;
  $("failure").textContent = "A part of this report could not be drawn: " + event.message;
});

// Invisible characters and characters that change the direction of the text around them. They are shown as codes,
// except for directional marks and joiners, which ordinary text contains.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

function visible(text) {
  return String(text).replace(/\r\n/g, "\n").replace(HIDDEN, (c) => {
    const code = c.codePointAt(0);
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (code === 0x7f) return "\u2421";
    return "\u27e8U+" + code.toString(16).toUpperCase().padStart(4, "0") + "\u27e9";
  });
}

function dress(element, look, inside) {
  for (const [key, value] of Object.entries(look || {})) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(key, value === true ? "" : value);
  }
  put(element, inside);
  return element;
}

function put(element, inside) {
  for (const part of inside.flat(Infinity)) {
    if (part === null || part === undefined || part === false) continue;
    element.append(part instanceof Node ? part : document.createTextNode(visible(part)));
  }
}

// make("p", { class: "muted" }, "text", child, …)
const make = (tag, look, ...inside) => dress(document.createElement(tag), look, inside);

const SVG = "http://www.w3.org/2000/svg";
const draw = (tag, look, ...inside) => dress(document.createElementNS(SVG, tag), look, inside);

function fill(element, ...inside) {
  element.replaceChildren();
  put(element, inside);
}

function button(look, act, ...inside) {
  const made = make("button", { type: "button", ...look }, ...inside);
  made.addEventListener("click", act);
  return made;
}

// The first items of a list, and a button that draws the others in its place.
function capped(all, most, drawItem, { wrap = (more) => more, label = (rest) => "show " + count(rest) + " more" } = {}) {
  const rest = all.slice(most);
  if (!rest.length) return all.map(drawItem);
  const more = wrap(button({ class: "link more-items", "aria-label": "Show " + count(rest.length) + " more" }, () => {
    const drawn = rest.map(drawItem);
    more.replaceWith(...drawn);
    const first = drawn[0].matches("button") ? drawn[0] : drawn[0].querySelector("button") || drawn[0];
    if (first === drawn[0] && !first.matches("button")) first.tabIndex = -1;
    first.focus();
  }, label(rest.length)));
  return [...all.slice(0, most).map(drawItem), more];
}
// The same for a list of <li>.
const cappedItems = (all, most, drawItem) => capped(all, most, drawItem, { wrap: (more) => make("li", {}, more) });

// Text from others. Its direction does not affect the text around it.
const bdi = (text, look) => make("bdi", look || {}, text);

// One tab stop for a group of elements; the arrow keys move within it.
function rove(box, selector) {
  const all = () => [...box.querySelectorAll(selector)];
  const settle = (to) => {
    for (const one of all()) one.setAttribute("tabindex", one === to ? "0" : "-1");
  };
  box.addEventListener("focusin", (event) => {
    const one = event.target.closest(selector);
    if (one) settle(one);
  });
  box.addEventListener("keydown", (event) => {
    const list = all();
    const at = list.indexOf(document.activeElement);
    const steps = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };
    let to = null;
    if (event.key in steps) to = at + steps[event.key];
    if (event.key === "Home") to = 0;
    if (event.key === "End") to = list.length - 1;
    if (at < 0 || to === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const next = list[Math.max(0, Math.min(list.length - 1, to))];
    if (next) next.focus();
  });
  return () => {
    const list = all();
    if (!list.some((one) => one.getAttribute("tabindex") === "0")) settle(list[0]);
  };
}
