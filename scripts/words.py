#!/usr/bin/env python3
"""Counts the words of the README and of the pages for users, prints them by page, and fails above a limit.
Pages for contributors (docs/contributing) do not count.

    scripts/words.py"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONTRIBUTING = ROOT / "docs" / "contributing"

MAX_WORDS = 35_000
MAX_PAGES = 26
# Words of single pages.
MAX_OF_PAGE = {"README.md": 900, "docs/reference/policy.md": 2_400}


def words(path):
    return len(path.read_text(encoding="utf-8").split())


def main():
    pages = sorted(path for path in (ROOT / "docs").rglob("*.md") if CONTRIBUTING not in path.parents)
    counts = {str(path.relative_to(ROOT)): words(path) for path in [ROOT / "README.md", *pages]}
    for page, count in counts.items():
        print(f"{count:7,}  {page}")
    total = sum(count for page, count in counts.items() if page != "README.md")
    print(f"{total:7,}  in {len(pages)} pages, without the README")
    limits = [(page, counts[page], most, "words") for page, most in MAX_OF_PAGE.items()]
    limits += [("the docs", total, MAX_WORDS, "words"), ("the docs", len(pages), MAX_PAGES, "pages")]
    over = [limit for limit in limits if limit[1] > limit[2]]
    for name, count, most, unit in over:
        print(f"{name}: {count:,} {unit}, at most {most:,}", file=sys.stderr)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
