#!/usr/bin/env python3
"""Prints how large the production code is: lines, files, long parameter lists, and import cycles between files.

Production code is every Rust file below src/, crates/*/src/ and ship/src/ without tests: without files named tests.rs or *_tests.rs, folders
named tests, and items after #[cfg(test)]."""

import re
import statistics
import sys
from pathlib import Path

# The crates that teamkeep-hook is made of.
HOOK = ("model", "system", "config", "store", "policy", "hook")
ROOT = Path(__file__).resolve().parent.parent


def production(text):
    """The text without items that only tests have."""
    lines, kept, at = text.split("\n"), [], 0
    while at < len(lines):
        if lines[at].strip().startswith("#[cfg(test)]"):
            indent = len(lines[at]) - len(lines[at].lstrip())
            at += 1
            while at < len(lines) and lines[at].strip().startswith("#["):
                at += 1
            if at < len(lines) and not lines[at].rstrip().endswith(";"):
                while at < len(lines) and lines[at] != " " * indent + "}":
                    at += 1
            at += 1
            continue
        kept.append(lines[at])
        at += 1
    return "\n".join(kept)


def sources():
    """Each production file with its text."""
    found = {}
    tops = [ROOT / "src", *sorted(ROOT.glob("crates/*/src")), ROOT / "ship" / "src"]
    for top in tops:
        for path in sorted(top.rglob("*.rs")):
            inside = path.relative_to(ROOT)
            if "tests" in inside.parts or path.stem == "tests" or path.stem.endswith("_tests"):
                continue
            found[inside] = production(path.read_text()).rstrip("\n")
    return found


def is_code(line):
    line = line.strip()
    return bool(line) and not line.startswith("//")


def parameters(text):
    """The parameter lists of all functions, split at top-level commas."""
    for match in re.finditer(r"\bfn \w+", text):
        at = match.end()
        if text[at : at + 1] == "<":
            depth = 0
            while True:
                depth += {"<": 1, ">": 0 if text[at - 1] == "-" else -1}.get(text[at], 0)
                at += 1
                if depth == 0:
                    break
        if text[at : at + 1] != "(":
            continue
        depth, start, items, begin = 0, at, [], at + 1
        while True:
            char = text[at]
            if char in "([{<":
                depth += 1
            elif char in ")]}" or (char == ">" and text[at - 1] not in "-="):
                depth -= 1
            if (char == "," and depth == 1) or depth == 0:
                items.append(text[begin:at].strip())
                begin = at + 1
            at += 1
            if depth == 0:
                break
        yield match.group(0)[3:], [item for item in items if item and not re.fullmatch(r"&?('\w+ )?(mut )?self", item)]


def modules(files):
    """The module path of each file."""
    paths = {}
    for path in files:
        parts = list(path.with_suffix("").parts)
        crate = parts[1] if parts[0] == "crates" else "ship" if parts[0] == "ship" else "cli"
        parts = parts[parts.index("src") + 1 :]
        if parts[-1] in ("mod", "lib", "main"):
            parts = parts[:-1]
        paths.setdefault((crate, *parts), path)
    return paths


def imports(text, own, paths):
    """The files that a file uses, by its `use` declarations."""
    found = set()

    def resolve(parts):
        for length in range(len(parts), 0, -1):
            if tuple(parts[:length]) in paths:
                found.add(paths[tuple(parts[:length])])
                return

    def expand(prefix, tree):
        tree = tree.strip()
        if tree.startswith("{"):
            depth, begin = 0, 1
            for at, char in enumerate(tree):
                depth += {"{": 1, "}": -1}.get(char, 0)
                if (char == "," and depth == 1) or depth == 0:
                    expand(prefix, tree[begin:at])
                    begin = at + 1
                if depth == 0:
                    return
            return
        head, separator, rest = tree.partition("::")
        if separator:
            expand([*prefix, head.strip()], rest)
        elif head:
            name = head.split(" as ")[0].strip()
            parts = [*prefix] if name == "self" else [*prefix, name]
            base = list(own)
            while parts and (parts[0] in ("crate", "super", "self") or parts[0].startswith("teamkeep_")):
                first = parts.pop(0)
                if first.startswith("teamkeep_"):
                    base = [first.removeprefix("teamkeep_")]
                else:
                    base = [own[0]] if first == "crate" else base[:-1] if first == "super" else base
                resolved = True
                if not parts or parts[0] not in ("super", "self"):
                    resolve([*base, *parts])
                    return

    for match in re.finditer(r"^\s*(?:pub(?:\([^)]*\))? )?use ([^;]+);", text, re.M):
        if not match.group(0).lstrip().startswith("pub use"):
            expand([], re.sub(r"\s+", " ", match.group(1)))
    return found


def cycles(graph):
    """The groups of files that import each other, by Tarjan's algorithm."""
    index, low, stack, on, groups = {}, {}, [], set(), []
    sys.setrecursionlimit(10000)

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        on.add(node)
        for other in graph[node]:
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in on:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = []
            while True:
                item = stack.pop()
                on.discard(item)
                group.append(item)
                if item == node:
                    break
            if len(group) > 1:
                groups.append(sorted(map(str, group)))

    for node in graph:
        if node not in index:
            visit(node)
    return groups


def main():
    files = sources()
    lines = {path: text.count("\n") + 1 for path, text in files.items()}
    code = {path: sum(map(is_code, text.split("\n"))) for path, text in files.items()}
    print(f"production lines    {sum(lines.values()):>7,}  ({sum(code.values()):,} without comments and blanks)")
    small = sum(count < 60 for count in code.values())
    print(f"files               {len(files):>7}  (median {statistics.median(lines.values()):.0f} lines, longest {max(lines.values())}, {small} with fewer than 60 lines of code)")
    hook = [path for path in files if path.parts[0] == "crates" and path.parts[1] in HOOK]
    print(f"in teamkeep-hook    {sum(lines[path] for path in hook):>7,}  ({len(hook)} files)")
    functions = [(path, name, items) for path, text in files.items() for name, items in parameters(text)]
    long = [(path, name) for path, name, items in functions if len(items) >= 6]
    flags = [(path, name) for path, name, items in functions for item in items if re.search(r":\s*bool$", item)]
    print(f"functions           {len(functions):>7}  ({len(long)} with six or more parameters, {len(flags)} bool parameters)")
    paths = modules(files)
    owners = {path: name for name, path in paths.items()}
    graph = {path: imports(text, owners[path], paths) - {path} for path, text in files.items() if path in owners}
    found = cycles(graph)
    print(f"import cycles       {len(found):>7}")
    if "--list" in sys.argv[1:]:
        for path, name in long:
            print(f"  six or more parameters: {path} {name}")
        for path, name in flags:
            print(f"  bool parameter: {path} {name}")
        for group in found:
            print("  cycle: " + " ".join(group))
        modules_by_name = {}
        for path in files:
            module = path.parts[1] if path.parts[0] == "crates" else path.parts[path.parts.index("src") + 1].removesuffix(".rs")
            count, total = modules_by_name.get(module, (0, 0))
            modules_by_name[module] = (count + 1, total + lines[path])
        for module, (count, total) in sorted(modules_by_name.items(), key=lambda item: -item[1][1]):
            print(f"  {total:>6} lines in {count:>3} files: {module}")


main()
