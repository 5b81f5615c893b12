#!/usr/bin/env python3
"""Lists the shell commands of the README and of the pages in docs: file, line and command, with tabs between them.

    scripts/doc_commands.py            of all pages
    scripts/doc_commands.py FILE…      of these pages

A command that continues on the next line, or has a here-document, is one command with `\\n` in it."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^(\s*)```(\w*)\s*$")
HERE = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?")


def blocks(text):
    """The number of the first line and the lines of each block for the shell, without its indentation."""
    indent, first, lines = None, 0, []
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if fence and indent is None:
            is_shell = fence[2] in ("sh", "bash", "shell", "console")
            indent, first, lines = (len(fence[1]), number + 1, []) if is_shell else (-1, 0, [])
        elif fence:
            if indent >= 0:
                yield first, lines
            indent = None
        elif indent is not None and indent >= 0:
            lines.append(line[indent:] if not line[:indent].strip() else line)


def commands(first, lines):
    """The number of the first line and the text of each command in a block."""
    number = 0
    while number < len(lines):
        start, line = number, lines[number]
        whole = [line.removeprefix("$ ")]
        number += 1
        here = HERE.search(line)
        while number < len(lines) and (here or whole[-1].endswith("\\")):
            whole.append(lines[number])
            number += 1
            if here and whole[-1].strip() == here[1]:
                break
        text = "\n".join(whole)
        if line.strip() and not line.lstrip().startswith("#"):
            yield first + start, text


def main():
    named = [Path(name).resolve() for name in sys.argv[1:]]
    for path in named or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for first, lines in blocks(path.read_text(encoding="utf-8")):
            for line, text in commands(first, lines):
                print(path.relative_to(ROOT), line, text.replace("\\", "\\\\").replace("\n", "\\n"), sep="\t")


main()
