#!/usr/bin/env python3
"""Make src/demo/run.jsonl.gz, the run of `teamkeep demo`, of a recording with the real Claude Code:

    just live 2.1.332 --scenario demo && scripts/demo_run.py

One JSON object per line, one line per hook call, as in tests/fixtures/traces. `project` has the files of the project that changed.

The differences from the recording:
- All times are FACTOR times as far from the start, so that the two and a half minutes of the recording are almost an hour: no one
  waits while a teammate is silent for 40 minutes. That is so for `at_ms`, times and durations in all files and payloads, and
  milliseconds in IDs.
- The marks that lead the scripted model (`part=`, `act=`) are cut, and its IDs have the form of real ones.
- Paths are those of a user `dev`.
- Of the transcripts, only what teamkeep reads remains: no text of Claude Code's own.
"""
import gzip
import hashlib
import json
import re
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FACTOR = 22
RUN = ROOT / "target/live/runs/2.1.332-demo"
OUT = ROOT / "src/demo/run.jsonl.gz"
VARIABLES = ["CLAUDE_CODE_SESSION_ID", "CLAUDE_PID", "CLAUDE_CODE_ENTRYPOINT"]
# Longer than any pause in the recording.
HOUR_MS = 3_600_000
HOME = "/home/dev"
PROJECT = HOME + "/tomlfmt"

slug = lambda path: re.sub(r"[^a-zA-Z0-9]", "-", str(path))


class Recording:
    def __init__(self, run):
        self.run = run
        self.calls = sorted(run.glob("recording/*"), key=lambda call: int((call / "at").read_text()))
        self.start_ms = int((self.calls[0] / "at").read_text()) // 1_000_000
        # The team is created before the first hook call.
        config = json.loads(next(self.calls[0].glob("teams/*/config.json")).read_text())
        self.start_ms = min(self.start_ms, config["createdAt"])

    def stretched(self, ms):
        return self.start_ms + FACTOR * (ms - self.start_ms)

    def text(self, text):
        """A text of the recording, with other paths, times and IDs."""
        for path, other in [(slug(self.run / "project"), slug(PROJECT)), (str(self.run / "project"), PROJECT), (str(self.run / "home"), HOME), (str(self.run / "bin"), HOME + "/.local/bin")]:
            text = text.replace(path, other)

        def epoch(match):
            ms = int(match[0])
            return str(self.stretched(ms)) if abs(ms - self.start_ms) < HOUR_MS else match[0]

        def iso(match):
            at = datetime.fromisoformat(match[0].replace("Z", "+00:00"))
            ms = self.stretched(round(at.timestamp() * 1000))
            at = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=ms)
            return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")

        def id_of(match):
            return f"{match[1]}_{hashlib.sha256(match[0].encode()).hexdigest()[:22]}"

        text = re.sub(r"\b1[0-9]{12}\b", epoch, text)
        text = re.sub(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", iso, text)
        text = re.sub(r"\b(toolu)_[a-z][a-z0-9_]*", id_of, text)
        text = re.sub(r"\b(msg)_live[0-9]+", id_of, text)
        text = re.sub(r'("pidSpace\\?":\s*\\?")[^#"]*#', r"\1host#", text)
        text = re.sub(r"/tmp/claude-[0-9]+", "/tmp/claude-1000", text)
        text = re.sub(r"part=[a-z-]+ (act=[a-z-]+ )?|act=[a-z-]+ ", "", text)
        text = re.sub(r" act=[a-z-]+", "", text)
        # Advice to a model.
        text = re.sub(r" Use TaskList to check[^\"\\]*", "", text)
        return re.sub(r"\n\nThis is a shutdown request\. .*?(?=\n</teammate-message>|$)", "", text, flags=re.S)

    def value(self, value):
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {key: FACTOR * item if key == "duration_ms" else self.value(item) for key, item in value.items()}
        if isinstance(value, int) and not isinstance(value, bool) and abs(value - self.start_ms) < HOUR_MS:
            return self.stretched(value)
        return value

    def record(self, line):
        """A line of a transcript, or None if teamkeep does not read it."""
        found = json.loads(line)
        if found.get("type") not in ("user", "assistant") or found.get("isMeta"):
            return None
        message = found["message"]
        content = message["content"]
        if found.get("isCompactSummary"):
            # The model's own words.
            text = content if isinstance(content, str) else content[0]["text"]
            content = re.search(r"The work so far.*?task list\.", text, re.S)[0]
        if isinstance(content, str) and "<teammate-message" in content:
            content = "\n\n".join(re.findall(r"<teammate-message.*?</teammate-message>", content, re.S))
        if isinstance(content, list):
            content = [self.block(block) for block in content]
        kept = {key: found[key] for key in ("type", "uuid", "timestamp", "version", "cwd") if key in found}
        kept["message"] = {"role": message["role"], "content": content}
        for key in ("id", "model"):
            if key in message:
                kept["message"][key] = message[key]
        if "usage" in message:
            keys = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation")
            kept["message"]["usage"] = {key: message["usage"][key] for key in keys if key in message["usage"]}
        result = found.get("toolUseResult")
        if isinstance(result, dict):
            keys = ("filePath", "type", "content", "structuredPatch", "stdout", "bashEditDiff")
            result = {key: result[key] for key in keys if key in result}
            if "structuredPatch" in result or "stdout" in result:
                kept["toolUseResult"] = result
        return json.dumps(self.value(kept), ensure_ascii=False)

    @staticmethod
    def block(block):
        if block["type"] == "tool_result" and not block.get("is_error"):
            return {"type": "tool_result", "tool_use_id": block["tool_use_id"], "content": ""}
        return block

    def steps(self):
        files, lengths, project, kept = {}, {}, {}, {}
        lines = {}
        for path in self.run.glob("home/.claude/projects/**/*.jsonl"):
            lines[str(path.relative_to(self.run / "home/.claude"))] = path.read_bytes()
        for number, call in enumerate(self.calls):
            step = {"at_ms": FACTOR * (int((call / "at").read_text()) // 1_000_000 - self.start_ms), "env": {}}
            for line in (call / "env").read_text().splitlines():
                name, _, value = line.partition("=")
                if name in VARIABLES:
                    step["env"][name] = value
            now = {}
            for kind in ("teams", "tasks"):
                for path in sorted((call / kind).rglob("*")) if (call / kind).exists() else []:
                    if path.is_file() and not path.name.endswith(".lock"):
                        now[str(path.relative_to(call))] = path.read_text(errors="replace")
            # A file that is there again at the next call was read while it was replaced.
            later = self.calls[number + 1] if number + 1 < len(self.calls) else None
            now |= {path: text for path, text in files.items() if path not in now and later and (later / path).exists()}
            step["write"] = {path: self.json_text(text) for path, text in now.items() if files.get(path) != text}
            step["remove"] = sorted(set(files) - set(now))
            files = now
            step["append"] = {}
            for line in (call / "transcripts").read_text().splitlines():
                size, _, path = line.partition(" ")
                old, new = lengths.get(path, 0), max(int(size), self.end_of_call(call, lines[path]))
                # A line that is not complete yet is left for the next call.
                new = lines[path].rfind(b"\n", 0, new) + 1
                if new > old:
                    lengths[path] = new
                    records = [self.record(line) for line in lines[path][old:new].decode().splitlines()]
                    text = "".join(record + "\n" for record in records if record)
                    if text:
                        step["append"][self.text(path)] = text
            present = {}
            for path in sorted((call / "project").rglob("*")):
                if path.is_file():
                    present["tomlfmt/" + str(path.relative_to(call / "project"))] = path.read_text()
            step["project"] = {path: text for path, text in present.items() if project.get(path) != text}
            project = {**project, **present}
            step["payload"] = self.value(json.loads((call / "payload").read_text()))
            yield {key: value for key, value in step.items() if value or key == "at_ms"}

    @staticmethod
    def end_of_call(call, lines):
        """Where the tool call of a hook call ends in a transcript. teamkeep waits for it, the recorder does not."""
        used = json.loads((call / "payload").read_text()).get("tool_use_id")
        start = lines.find(f'"type":"tool_use","id":"{used}"'.encode()) if used else -1
        return lines.find(b"\n", start) + 1 if start >= 0 else 0

    def json_text(self, text):
        try:
            return json.dumps(self.value(json.loads(text)), indent=1, ensure_ascii=False)
        except ValueError:
            return self.text(text)


def main():
    run = Path(sys.argv[1]) if len(sys.argv) > 1 else RUN
    lines = [json.dumps(step, ensure_ascii=False, separators=(",", ":")) for step in Recording(run.resolve()).steps()]
    text = "\n".join(lines) + "\n"
    for word in ("/tmp/w", "/work", "/root", str(ROOT), "part=", "act=", "system-reminder", "toolu_lead", "CLAUDE_CODE_MESSAGING"):
        if word in text:
            at = text.index(word)
            sys.exit(f"{word} is in the run: {text[max(0, at - 80):at + 80]!r}")
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{OUT.relative_to(ROOT)}: {len(lines)} hook calls, {len(text)} bytes, {OUT.stat().st_size} compressed")


if __name__ == "__main__":
    main()
