#!/usr/bin/env python3
"""Puts faults into a copy of the policy, one at a time, and checks that its model finds each of them.

    scripts/faults.py            tries all faults
    scripts/faults.py WORD…      tries those whose description has one of the words

crates/policy/tests/model/faults.json lists the faults: a text that occurs exactly once in a file, what it becomes, and the
properties of which the model must report one. A text that does not occur once is an error."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "crates/policy/tests/model/faults.json"
# What the policy and its tests need.
COPIED = ["Cargo.lock", "crates/model", "crates/system", "crates/config", "crates/policy"]
# Enough for every fault in the list, and seconds for each.
SEARCH = {"TEAMKEEP_MODEL_DEPTH": "2", "TEAMKEEP_MODEL_ORDER_DEPTH": "1", "TEAMKEEP_MODEL_STEPS": "30000"}


def copy(into):
    for name in COPIED:
        source = ROOT / name
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        # With new times of change, because Cargo would take what an earlier run built of a fault for current.
        copied = shutil.copytree if source.is_dir() else shutil.copyfile
        options = {"copy_function": shutil.copyfile} if source.is_dir() else {}
        copied(source, into / name, **options)
    manifest = (ROOT / "Cargo.toml").read_text()
    workspace = manifest[manifest.index("[workspace.package]") : manifest.index("[package]")]
    lints = manifest[manifest.index("[workspace.lints.rust]") : manifest.index("\n[lints]")]
    members = '[workspace]\nresolver = "3"\nmembers = ["crates/*"]\n\n'
    (into / "Cargo.toml").write_text(members + workspace + lints)


def found(into):
    """The properties that the model reports as violated, and its output; `None` if it does not compile."""
    environment = os.environ | SEARCH | {"CARGO_TARGET_DIR": str(ROOT / "target/faults"), "CARGO_INCREMENTAL": "0"}
    command = ["cargo", "test", "--offline", "--quiet", "-p", "teamkeep-policy", "--test", "model"]
    built = subprocess.run(command + ["--no-run"], cwd=into, env=environment, capture_output=True, text=True)
    if built.returncode != 0:
        return None, built.stderr
    result = subprocess.run(command, cwd=into, env=environment, capture_output=True, text=True)
    output = result.stdout + result.stderr
    return set(re.findall(r"^([a-z]+(?:-[a-z]+)+): ", output, re.MULTILINE)), output


def main():
    words = sys.argv[1:]
    faults = [one for one in json.loads(LIST.read_text()) if not words or any(word in one["fault"] for word in words)]
    wrong = []
    for fault in faults:
        count = (ROOT / fault["file"]).read_text().count(fault["text"])
        if count != 1:
            wrong.append(f"{fault['fault']}: the text occurs {count} times in {fault['file']}")
    if wrong:
        sys.exit("\n".join(wrong))
    with tempfile.TemporaryDirectory(prefix="teamkeep-faults-") as directory:
        into = Path(directory)
        copy(into)
        reported, output = found(into)
        if reported is None or reported:
            sys.exit(f"without a fault, the model fails:\n{output}")
        for fault in faults:
            file = into / fault["file"]
            intact, begin = file.read_text(), time.monotonic()
            file.write_text(intact.replace(fault["text"], fault["becomes"]))
            reported, output = found(into)
            file.write_text(intact)
            if reported is None:
                wrong.append(f"{fault['fault']}: does not compile\n{output}")
            elif not reported & set(fault["properties"]):
                wrong.append(f"{fault['fault']}: not found, only {sorted(reported)}")
            else:
                names = ", ".join(sorted(reported))
                print(f"found ({names}, {time.monotonic() - begin:.0f} s): {fault['fault']}", flush=True)
    print(f"{len(faults) - len(wrong)} of {len(faults)} faults found")
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
