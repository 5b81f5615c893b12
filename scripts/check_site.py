"""Check the built site: every internal link and anchor resolves, and no page loads anything from another host."""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Attributes that make a browser load something. A link to another host in <a href> loads nothing.
LOADING = {"src", "srcset", "data", "poster", "action"}


class Page(HTMLParser):
    """The links, loaded addresses and anchors of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = {name: value or "" for name, value in attrs}
        self.anchors.update(attrs[name] for name in ("id", "name") if name in attrs)
        if tag == "a" and "href" in attrs:
            self.links.append(attrs["href"])
        if tag == "link" and "canonical" not in attrs.get("rel", ""):
            self.loaded.append(attrs.get("href", ""))
        self.loaded.extend(value for name, value in attrs.items() if name in LOADING)


def is_external(address):
    return bool(re.match(r"(https?:)?//", address))


def check(site):
    pages = {path: Page(path.read_text()) for path in site.rglob("*.html")}
    problems = []
    for path, page in pages.items():
        name = path.relative_to(site)
        problems += [f"{name}: loads {address}" for address in page.loaded if is_external(address)]
        # The page for missing addresses is served at any depth, so its links start at the root.
        if name.name == "404.html":
            continue
        local = [link for link in page.links + page.loaded if not urlsplit(link).scheme and not is_external(link)]
        for link in local:
            parts = urlsplit(link)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                problems.append(f"{name}: broken link {link}")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                problems.append(f"{name}: broken anchor {link}")
    for path in site.rglob("*.css"):
        addresses = re.findall(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')]+)", path.read_text())
        problems += [f"{path.relative_to(site)}: loads {address}" for address in addresses]
    return pages, problems


def main():
    pages, problems = check(Path(sys.argv[1]).resolve())
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    if problems or not pages:
        sys.exit(1)
    print(f"{len(pages)} pages: no broken link, no request to another host")


main()
