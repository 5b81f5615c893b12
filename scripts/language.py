#!/usr/bin/env python3
"""Checks that every text that a person reads is plain technical English: documentation, help, manual pages, scripts, and
the comments and messages in the sources. Prints each phrase to replace with its file and line, and fails if there is one.

    scripts/language.py              checks the repository
    scripts/language.py FILE…        checks these files of it
    scripts/language.py --self-test  checks itself on good and bad lines"""

import re
import sys
from bisect import bisect_right
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Files and directories whose texts are checked. Not listed because they are generated from texts that are:
# docs/completions and docs/teamkeep.schema.json. The help of the commands is in docs/man. This script quotes the phrases.
READ = """.ci .github CHANGELOG.md CONTRIBUTING.md Cargo.toml README.md SECURITY.md benches bin clippy.toml commands core
deny.toml docs hooks install.sh justfile packaging plugin scripts ship skills src""".split()

# Matches nothing.
NONE = r"^\b$"

# Phrases that the project's texts do not use: what is found after everything fine was taken out, and the replacement.
# Matched in ASCII, without regard to case.
HABITS = [
    (
        r"\b(is|are|was|were|be|been|being) no\b",
        r"\b(there|is|are|was|were) ((has|have|had|can|may|must|will|would|should) )?(is|are|was|were|be|been) no\b|\bthere('s| is| are| was| were) no\b|\b(is|are|was|were|be) no (longer|(more|less|fewer|later|earlier|larger|smaller|greater|deeper|higher|lower|finer|faster|slower) than)\b",
        "is not a valid …, invalid …",
    ),
    (r"\b(tell|tells|told|telling)\b", NONE, "show, print, report; distinguish"),
    (r"\b(say|says|said|saying)\b", NONE, "show, print, report, state; sent, wrote"),
    (r"\b(speaks?|spoke|spoken|speaking)\b", NONE, "send, write, print"),
    (r"\bof (ours|yours|his|hers|theirs|your own|our own)\b", NONE, "the owner's name: teamkeep's …, your …"),
    (r"\b(stand|stands|stood|standing|lie|lies|lying)\b", NONE, "is, are, was; means, represents"),
    (r"\balone\b", r"\b(leave|leaves|left|let) (\w+ ){0,3}alone\b", "only"),
    (r"\bnobody\b", NONE, "unassigned; no agent, no one"),
    (r"\b(mend|mends|mended|mending)\b", NONE, "fix"),
    (r"\bamiss\b", NONE, "wrong"),
    (r"\banew\b", NONE, "again"),
    (
        r"\b(thereof|herein|therein|whereof|wherein|midst|lest|hitherto|whence|thence)\b",
        NONE,
        "of it, in it, in the middle of, so that … not",
    ),
    (r"\blook(s|ed|ing)? (whether|after)\b", NONE, "check, verify; manage"),
    (r"\b(hold|holds|held|holding) (\w+ ){0,2}back\b", NONE, "block"),
    (r"\blet(s|ting)? (\w+ ){0,3}through\b", NONE, "allow"),
    (
        r"\b(the|a|an|any|this|that|which|each|every|no|older|newer|old|new|real|another) clients?\b",
        NONE,
        "Claude Code",
    ),
    (r"\bon record\b", NONE, "recorded"),
    (r"\bthe (whole )?record\b", NONE, "the store (directory), the recorded data, the event (log)"),
    (
        r"\b(go|goes|went|going|gone) on\b",
        r"\b(go|goes|went|going) on (stdout|stderr|the|a|an|one|top)\b",
        "continue",
    ),
    (r"\bmail(s|ed|box|boxes)?\b", r"\be-mail(s|ed)?\b", "message, inbox"),
    (
        r"\b(a|the|his|its|this|that|each|every|no|unread|waiting|of) letters?\b",
        r"\b(the|a|of|no) letters?(,| and| or) (a )?(digits?|numbers?|marks?)\b|\bthe letters of\b",
        "message",
    ),
    (
        r"\b(give|gives|gave|given|giving|put|puts|putting) (\w+ ){0,2}back\b",
        NONE,
        "return, restore, returned to pending",
    ),
    (r"\bby (itself|themselves)\b", NONE, "automatically"),
    (r"\bmeant\b", r"\bmeant (for|to)\b", "refers to, intended"),
    (
        r"\bwhat (is|are|was|were|has|have|had)\b",
        r"\b(see|sees|show|shows|showing|shown|check|checks|explain|explains|know|knows|decide|decides|exactly|ask|asks|of|about|changes?|determines?|depends on|on) what (is|are|was|were|has|have|had)\b|\bwhat (is|are|was|were|has|have|had)\b[a-z ,'_-]*\?",
        "the noun: files that are …, tasks that have …",
    ),
    (
        r"(^|[.!:;] +|\n *)(?-i:What)\b",
        r"(?-i:What)\b[a-z ,'_-]*\?|(?-i:What)'s next\b",
        "the noun first: \"The files that …\"",
    ),
    (
        r"\bas (it|they) (is|are|was|were|stands?|stood)( then| now)?([.,;:)]|$)",
        NONE,
        "name it: unchanged, its content, its last state",
    ),
    (r"\b(is|are|was|were) there already\b", NONE, "already exists"),
    (r"\bvoices?\b", NONE, "actor"),
    (r"\b(story|stories)\b", NONE, "timeline, run"),
    (r"\b(objections?|rulings?|weigh|weighs|weighed|weighing)\b", NONE, "verdict, evaluate"),
    (r"\b(settle|settles|settled|settling)\b", NONE, "decide, close, wait until"),
    (r"\bpatience\b", r"\b(lock|stdin)-patience\b", "loop guard"),
    (r"\bveil(s|ed|ing)?\b", NONE, "metadata-only mode, remove texts"),
    (r"\bat work\b", NONE, "working"),
    (r"\bheard of\b", NONE, "last event"),
    (r"\bmakes? no sense\b", NONE, "is invalid"),
    (r"\bfor ever\b", NONE, "forever, indefinitely"),
    (r"\bshall\b", NONE, "must, will"),
    (
        r"\b(a|this|that|each|every|its|other|which|these|those|of|the) rooms?\b|\brooms\b",
        r"\bthe room (for|left|that is left|on|there)\b",
        "module",
    ),]

FLAGS = re.ASCII | re.IGNORECASE
COMPILED = [(re.compile(found, FLAGS), re.compile(fine, FLAGS), write) for found, fine, write in HABITS]
CODE = re.compile("`[^`]*`")
SCRIPT_PROSE = re.compile(
    r'(?:^|[ \t])//.*|/\*.*|^[ \t]*\*.*|"(?:[^"\\]|\\.)* (?:[^"\\]|\\.)*"|`[^`]* [^`]*`'
)
TEST_MODULE = re.compile(r"#\[cfg\(test\)\][ \n]+(?:pub )?mod [a-z_]+ \{")
PLACEHOLDER = re.compile(r"\{[a-z_]+(?::[^}]*)?\}")
RUST_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*)|b?'(?:[^'\\\n]|\\[^\n]{1,9}?)'"""
    r'''|b?r#"(?P<raw>.*?)"#|b?r"(?P<bare>[^"]*)"|b?"(?P<string>(?:[^"\\]|\\.)*)"''',
    re.DOTALL,
)


def blank(found):
    return "_" * len(found[0])


class Block:
    """A run of text that is read as one: a paragraph, a comment of several lines, or a string literal."""

    def __init__(self):
        self.text = ""
        # Offsets in `text` where a new line of the file starts, and the numbers of these lines from 1.
        self.starts, self.lines = [], []

    def push(self, line, text):
        if self.text:
            self.text += " "
        self.starts.append(len(self.text))
        self.lines.append(line)
        self.text += text

    def found(self):
        """Each phrase in the block: its line, the words, and the replacement."""
        text, hits = CODE.sub(blank, self.text), []
        for found, fine, write in COMPILED:
            if not found.search(text):
                continue
            for hit in found.finditer(fine.sub(blank, text)):
                line = self.lines[max(bisect_right(self.starts, max(hit.end() - 1, 0)) - 1, 0)]
                hits.append((line, re.sub(r"^[\W_]+|[\W_]+$", "", hit[0]), write))
        return hits


def blocks(path, text):
    """The blocks of a file. The name's extension decides how it is read; a file of data has none."""
    match path.replace("/", ".").rsplit(".", 1)[-1]:
        case "rs":
            return rust(path, text)
        case "js" | "css":
            return paragraphs(script(text))
        case "md":
            return paragraphs(markdown(text))
        case "1":
            return paragraphs("" if line.startswith(".") else line.replace("\\-", "-") for line in lines_of(text))
        case "json" | "jsonl" | "lock" | "svg":
            return []
        case _:
            return paragraphs(line.strip(" #") for line in lines_of(text))


def lines_of(text):
    return text.removesuffix("\n").split("\n")


def paragraphs(lines):
    """Joins lines up to an empty one, a list item, a table row or a heading."""
    result = [Block()]
    for number, line in enumerate(lines, 1):
        line = line.strip()
        if not line or line.startswith(("- ", "* ", "#", "|", "<")):
            result.append(Block())
        if line:
            result[-1].push(number, line)
    return result


def markdown(text):
    """Lines of a page, without those of recorded or machine-readable examples. A block that begins with a command has its
    output, with texts of recorded agents."""
    fence, is_first = None, False
    for line in lines_of(text):
        language = line.lstrip()[3:] if line.lstrip().startswith("```") else None
        if language is not None:
            fence = language.strip() in ("json", "jsonl", "js") if fence is None else None
            is_first = fence is not None
            yield ""
        else:
            fence = fence if fence is None else fence or (is_first and line.startswith("$ "))
            is_first = False
            yield "" if fence else line


def script(text):
    """Comments and string literals of a script or a style sheet, line by line."""
    for line in lines_of(text):
        yield "; ".join(found[0].strip("` ") for found in SCRIPT_PROSE.finditer(line))


def rust(path, text):
    """Comments and string literals of a source file. A literal without a space is a key or a value of a format, one that
    starts as an object is an example of a format, and those of test modules are inputs: none of them is prose."""
    module = TEST_MODULE.search(text)
    tests_from = module.start() if module else len(text)
    if path.endswith("tests.rs") or "/tests/" in path:
        tests_from = 0
    result, last_comment, line, counted = [], None, 1, 0
    for found in RUST_TOKEN.finditer(text):
        line += text.count("\n", counted, found.start())
        counted = found.start()
        if found["comment"] is not None:
            words = found["comment"].lstrip("/!").strip()
            if last_comment != line - 1 or words.startswith(("- ", "| ")):
                result.append(Block())
            last_comment = line if words else None
            result[-1].push(line, words)
            continue
        last_comment = None
        literal = next((found[name] for name in ("raw", "bare", "string") if found[name] is not None), None)
        if literal is None or found.start() >= tests_from or " " not in literal:
            continue
        if literal.startswith(("{", "[")) and '\\":' in literal:
            continue
        block = Block()
        for below, words in enumerate(literal.split("\n")):
            block.push(line + below, words.rstrip("\\").strip())
        # A placeholder is no word, and an escaped line break ends a sentence.
        block.text = PLACEHOLDER.sub(blank, block.text).replace("\\n", " \n")
        result.append(block)
    return result


def words_in(path, text):
    return [hit for block in blocks(path, text) for hit in block.found()]


def texts():
    """Every file of the parts that are checked: its path from the root, and its text."""
    for part in READ:
        whole = ROOT / part
        for path in sorted(whole.rglob("*")) if whole.is_dir() else [whole]:
            name = path.relative_to(ROOT).as_posix()
            if name == "scripts/language.py" or name.startswith("docs/completions/") or "__pycache__" in name or path.is_symlink() or not path.is_file():
                continue
            try:
                yield name, path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                # A picture.
                pass


def self_test():
    def found(path, text):
        return [(line, words) for line, words, _ in words_in(path, text)]

    source = (
        "/// Read by the\n/// client.\nfn f() {\n    let a = \"it is no\\\n        file\";\n    let b = \"told\";\n}\n"
    )
    assert found("src/a.rs", source) == [(2, "the client"), (4, "is no")]
    tests = "#[cfg(test)]\nmod tests {\n    const A: &str = \"it was told\";\n}\n"
    assert found("src/a.rs", tests) == []
    page = 'There is no file, and it is no longer `told`.\n\n```json\n{"a": "was told"}\n```\nWhat now?\n'
    assert found("docs/a.md", page) == []
    output = "```text\n$ teamkeep log\nI was told\n```\n\n```text\n$5 was told\n```\n"
    assert found("docs/a.md", output) == [(7, "told")]
    assert found("docs/a.md", "# A\n\nWhat goes is listed.\nIt is\ntold.\n") == [(5, "told"), (3, "What")]
    assert found("scripts/a.sh", "# The text that\n# it shall have\n") == [(2, "shall")]
    assert found("a.css", "a { b: c } /* it is told */\n") == [(1, "told")]
    assert found("docs/man/a.1", ".TH told\nIt was\ntold\n") == [(3, "told")]


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    chosen, all_texts = set(sys.argv[1:]), dict(texts())
    unknown = chosen - set(all_texts)
    if unknown:
        sys.exit(f"not a text of the repository: {', '.join(sorted(unknown))}")
    lines = []
    for path, text in all_texts.items():
        if chosen and path not in chosen:
            continue
        lines += [f"{path}:{line}: {words!r}: write {write!r}" for line, words, write in words_in(path, text)]
    if lines:
        sys.exit("\n".join([*lines, f"{len(lines)} phrases to replace"]))


if __name__ == "__main__":
    main()
