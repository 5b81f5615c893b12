// The beginning of a text with a safe part of Markdown: headings, lists, quotes, code, bold and italic. Everything is built
// from elements; links stay text. "#2" opens the task, if there is one.

// Each alternative is bounded, so that the time is proportional to the length of the text.
const INLINE = /`([^`\n]{1,300})`|\*\*([^*\n]{1,300})\*\*|(?<![\w*])\*([^*\s][^*\n]{0,300})\*(?![\w*])|(?<![\w&])#(\d{1,9})(?!\w)/g;

function inline(text, terms) {
  const parts = [];
  let from = 0;
  for (const match of text.matchAll(INLINE)) {
    const [whole, code, bold, italic, id] = match;
    if (id !== undefined && !taskById.has(id)) continue;
    parts.push(marked(text.slice(from, match.index), terms));
    if (code !== undefined) parts.push(make("code", {}, marked(code, terms)));
    else if (bold !== undefined) parts.push(make("strong", {}, marked(bold, terms)));
    else if (italic !== undefined) parts.push(make("em", {}, marked(italic, terms)));
    else parts.push(taskLink(id));
    from = match.index + whole.length;
  }
  return [...parts, marked(text.slice(from), terms)];
}

const BLOCKS = [
  ["heading", /^#{1,6} +(\S.*)$/],
  ["item", /^( {0,12})(?:[-*+]|(\d{1,4})[.)]) +(\S.*)$/],
  ["quote", /^> ?(.*)$/],
  ["plain", /^\|.*\|\s*$/],
];

// One element for each block. Lines of one kind that follow each other are one block.
function markdown(text, terms) {
  const blocks = [];
  let fence = null;
  let open = null;
  const add = (kind, line) => {
    if (open?.kind !== kind) blocks.push((open = { kind, lines: [] }));
    open.lines.push(line);
  };
  for (const line of text.split("\n")) {
    if (/^ {0,3}```[^`]*$/.test(line)) {
      open = null;
      if (fence === null) blocks.push((fence = { kind: "plain", lines: [] }));
      else fence = null;
    } else if (fence) fence.lines.push(line);
    else if (!line.trim()) open = null;
    else {
      const [kind] = BLOCKS.find(([, pattern]) => pattern.test(line)) || ["text"];
      if (kind === "heading") open = null;
      add(kind, line);
    }
  }
  return blocks.map(({ kind, lines }) => drawBlock(kind, lines, terms));
}

function drawBlock(kind, lines, terms) {
  const parts = (index) => lines.map((line) => BLOCKS[index][1].exec(line));
  if (kind === "plain") return make("pre", {}, marked(lines.join("\n"), terms));
  if (kind === "heading") return make("p", { class: "heading" }, inline(parts(0)[0][1], terms));
  if (kind === "quote") return make("blockquote", {}, inline(parts(2).map((part) => part[1]).join("\n"), terms));
  if (kind === "item") {
    return make("ul", { class: "items" }, parts(1).map(([, indent, number, rest]) => {
      const item = make("li", {}, make("span", { class: "bullet" }, number ? number + ". " : "\u2022 "), inline(rest, terms));
      item.style.marginInlineStart = indent.length / 2 + "em";
      return item;
    }));
  }
  return make("p", {}, inline(lines.join("\n"), terms));
}
