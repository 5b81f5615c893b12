// Long text: the beginning first, with Markdown; the rest on demand, as plain text in pieces that the browser lays out only
// when they are visible.

const BEGINNING = 20000;
const PIECE = 16000;

// Shows a text. Search terms are marked in its beginning.
function showText(box, text, terms = []) {
  if (text.length <= BEGINNING) return fill(box, textBlock(text, terms, markdown));
  const cut = lineEnd(text, BEGINNING);
  const more = button({ class: "more" }, () => {
    fill(box, make("div", { class: "pieces" }, pieces(text).map((piece) => textBlock(piece, []))));
    box.querySelector(".piece").focus();
  }, "show all (" + bytes(text.length) + ")");
  fill(box, textBlock(text.slice(0, cut), terms, markdown), more);
}

function pieces(text) {
  const all = [];
  for (let from = 0; from < text.length;) {
    const to = lineEnd(text, from + PIECE);
    all.push(text.slice(from, to));
    from = to;
  }
  return all;
}

// The end of the line at a place, if it ends soon; never between the halves of one character.
function lineEnd(text, at) {
  if (at >= text.length) return text.length;
  const end = text.indexOf("\n", at);
  if (end >= 0 && end - at < PIECE) return end + 1;
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at + 1 : at;
}

function textBlock(text, terms, render = marked) {
  // Two blocks are already separated by a line break.
  const block = make("div", { class: render === marked ? "piece" : "piece prose", dir: "auto", tabindex: "-1" });
  put(block, render(visible(text.endsWith("\n") ? text.slice(0, -1) : text), terms));
  return block;
}

// The text with each place of each term marked, up to a limit.
function marked(text, terms) {
  const wanted = terms.filter(Boolean).map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (!wanted.length) return [text];
  const parts = [];
  let from = 0;
  for (const match of text.matchAll(new RegExp(wanted.join("|"), "giu"))) {
    if (parts.length > 1000) break;
    parts.push(text.slice(from, match.index), make("mark", {}, match[0]));
    from = match.index + match[0].length;
  }
  return [...parts, text.slice(from)];
}
