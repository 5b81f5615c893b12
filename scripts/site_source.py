#!/usr/bin/env python3
"""Write the source of the documentation site: a copy of docs in which each command has a page of its own.

The page of all commands keeps its first sections, and lists the commands with a link and their first sentence."""

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def sections(text):
    """The text before the first command, and the lines below each heading `## Group` and `### teamkeep COMMAND`."""
    found, in_code = [["", []]], False
    for line in text.splitlines():
        if line.startswith("```"):
            in_code = not in_code
        if not in_code and re.match(r"## |### teamkeep ", line):
            found.append([line, []])
        else:
            found[-1][1].append(line)
    return found


def split(page):
    """Writes a page for each command, and a list of them in place of the page."""
    text, pages = [], {}
    for heading, lines in sections(page.read_text()):
        if not heading.startswith("### "):
            text += ["", heading, *lines]
            continue
        command = heading.removeprefix("### teamkeep ")
        # Headings of subcommands move up with that of the command.
        pages[command] = "\n".join(["# teamkeep " + command, *(re.sub(r"^#### ", "## ", line) for line in lines)])
        about = next(line for line in lines if line)
        text.append(f"- [`{command}`](commands/{command}.md): {about}")
    folder = page.with_suffix("")
    folder.mkdir()
    for command, lines in pages.items():
        (folder / f"{command}.md").write_text(lines + "\n")
    page.write_text("\n".join(text).strip() + "\n")
    return len(pages)


def main(out):
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(ROOT / "docs", out)
    print(f"{split(out / 'reference' / 'commands.md')} commands")


main(Path(sys.argv[1]).resolve())
