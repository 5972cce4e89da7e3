#!/usr/bin/env python3
"""Draws docs/session.svg: what an agent asks of the program, and what the program answers, in a small project.

usage: docs/picture.py PROGRAM > docs/session.svg

Every answer comes from the run. Only paths and times are replaced, so that each run draws the same. Needs Rust
(cargo) for the test run, and python3 and curl for the recorded call. A test compares the drawing with the committed file.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

SECONDS = 120
COLUMNS = 96
PRICE = "curl -so answer.json http://127.0.0.1:8000/price.json"
FILES = {
    "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2024"\n',
    "price.json": '{"price": 12}\n',
    "src/lib.rs": """/// The area of a rectangle.
pub fn area(width: u32, height: u32) -> u32 {
    width + height
}

#[test]
fn three_by_four() {
    assert_eq!(area(3, 4), 12);
}
""",
}
EDIT = {"path": "src/lib.rs", "edits": [{"oldText": "width + height", "newText": "width * height"}]}


class Server:
    """The program over stdio."""

    def __init__(self, program, project, home):
        line = [program, "--mcp-server", "--tools", "all", "--allow", f"{project}:rw"]
        # The compiler stays where it is; the home directory is one with a key in it that must not be found.
        real = Path.home()
        places = {"RUSTUP_HOME": real / ".rustup", "CARGO_HOME": real / ".cargo"}
        found = {name: str(place) for name, place in places.items() if name not in os.environ and place.is_dir()}
        # Settings of Cargo, such as CARGO_INCREMENTAL, change which files a test run makes.
        kept = {name: value for name, value in os.environ.items() if not name.startswith("CARGO_") or name == "CARGO_HOME"}
        environment = {**kept, **found, "HOME": str(home)}
        self.child = subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        )
        self.sent = 0
        self.request("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "picture", "version": "1"})

    def request(self, method, **params):
        self.sent += 1
        message = {"jsonrpc": "2.0", "id": self.sent, "method": method, "params": params}
        self.child.stdin.write(json.dumps(message) + "\n")
        self.child.stdin.flush()
        for line in self.child.stdout:
            reply = json.loads(line)
            if reply.get("id") == self.sent:
                return reply
        raise SystemExit("the program has ended")

    def call(self, tool, **arguments):
        """The text of the answer, and its structure."""
        reply = self.request("tools/call", name=tool, arguments=arguments)
        if "error" in reply:
            return "error: " + reply["error"]["message"], {}
        content = [part["text"] for part in reply["result"]["content"] if part["type"] == "text"]
        return "\n".join(content), reply["result"].get("structuredContent", {})

    def close(self):
        self.child.stdin.close()
        self.child.wait()


def session(program, place):
    """Yields what is drawn, line by line: its kind and its text."""
    project, home = place / "shop", place / "home"
    for name, text in FILES.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh/id_ed25519").write_text("a key\n")

    def answer(text):
        text = text.replace(str(project), "/home/me/shop")
        text = re.sub(r"\d+(\.\d+)? (ms|s)\b", r"… \2", text).rstrip("\n")
        for line in text.split("\n"):
            kind = "out"
            if re.match(r"(error|FAIL|cat: )", line):
                kind = "bad"
            elif line.startswith(("PASSED", "Successfully")):
                kind = "good"
            yield kind, line

    def diff(text):
        lines = [line for _, line in answer(text)]
        last = max(number for number, line in enumerate(lines) if line.startswith(("+", "-")))
        for line in lines[: last + 1]:
            yield {"+": "good", "-": "bad"}.get(line[0], "out"), line

    server = Server(program, project, home)
    yield "in", "replay --mcp-server --tools all --allow /home/me/shop:rw"

    yield "note", "The walls: no command and no file tool reaches your files outside the allowed directory."
    yield "call", "execute_command  cat ~/.ssh/id_ed25519 2>&1"
    yield from answer(server.call("execute_command", command="cat ~/.ssh/id_ed25519 2>&1")[0])
    yield "call", "read_file  /etc/shadow"
    yield from answer(server.call("read_file", path="/etc/shadow")[0])

    yield "note", "The work: a failing test, a search, an edit, the test again."
    yield "call", "run_tests"
    yield from answer(server.call("run_tests", runner="cargo")[0])
    yield "call", r"grep_files  fn \w+"
    yield from answer(server.call("grep_files", regex=r"fn \w+", directory=".")[0])
    yield "call", "edit_file  src/lib.rs  width + height → width * height  (dryRun)"
    yield from diff(server.call("edit_file", **EDIT, dryRun=True)[0])
    yield "call", "edit_file  src/lib.rs  width + height → width * height"
    yield from answer(server.call("edit_file", **EDIT)[0])
    yield "call", "run_tests"
    yield from answer(server.call("run_tests", runner="cargo")[0])

    yield "note", "Recorded calls: what a server answered once is answered again when the server is gone."
    started = server.call("execute_command", command="python3 -u -m http.server 8000", background=True)[1]
    known = {"commandId": started["commandId"], "cursor": 0}
    server.call("follow_command", **known, until="Serving")
    yield "call", f"keploy_mock_record  {PRICE}"
    yield from answer(server.call("keploy_mock_record", command=PRICE)[1]["message"])
    server.call("follow_command", **known, end=True)
    (project / "answer.json").unlink()
    yield "call", f"execute_command  {PRICE}   # its server is gone"
    yield from answer(server.call("execute_command", command=PRICE)[0])
    yield "call", f"keploy_mock_test  {PRICE}"
    yield from answer(server.call("keploy_mock_test", command=PRICE)[1]["message"])
    yield "call", "read_file  answer.json"
    yield from answer(server.call("read_file", path="answer.json")[0])
    server.close()


STYLE = """
    text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; fill: #57606a; }
    .frame { fill: #ffffff; stroke: #d0d7de; } .bar { fill: #f6f8fa; } .dot { fill: #d0d7de; }
    .in { fill: #1f2328; } .call { fill: #0550ae; font-weight: 600; } .note { fill: #6639ba; font-style: italic; }
    .bad { fill: #b3261e; } .good { fill: #116329; }
    @media (prefers-color-scheme: dark) {
      text { fill: #a3adb8; }
      .frame { fill: #0d1117; stroke: #3d444d; } .bar { fill: #161b22; } .dot { fill: #3d444d; }
      .in { fill: #f0f6fc; } .call { fill: #79c0ff; } .note { fill: #d2a8ff; } .bad { fill: #ff7b72; } .good { fill: #7ee787; }
    }
"""
BEFORE = {"in": "$ ", "call": "› ", "note": "", "out": "  ", "bad": "  ", "good": "  "}


def drawing(lines):
    """An SVG of one file: its colours follow the reader's."""
    rows = []
    for kind, text in lines:
        if kind == "note":
            rows.append(("out", ""))
        first, width = True, COLUMNS - 2
        while first or text:
            cut = len(text)
            if cut > width:
                cut = text.rfind(" ", 0, width) + 1 or width
            rows.append((kind, (BEFORE[kind] if first else "    ") + text[:cut].rstrip()))
            text, first = text[cut:], False
    height = 44 + 18 * len(rows) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 {height}" width="800" height="{height}" role="img">',
        "  <title>A session: the walls refuse, a failing test is mended, a recorded call is answered offline</title>",
        f"  <style>{STYLE}  </style>",
        f'  <rect class="frame" x="0.5" y="0.5" width="799" height="{height - 1}" rx="8"/>',
        '  <path class="bar" d="M1 30V9a8 8 0 0 1 8-8h782a8 8 0 0 1 8 8v21z"/>',
        *(f'  <circle class="dot" cx="{x}" cy="16" r="5"/>' for x in (18, 36, 54)),
    ]
    for row, (kind, text) in enumerate(rows):
        if text:
            parts.append(f'  <text class="{kind}" x="16" y="{52 + 18 * row}" xml:space="preserve">{escape(text, quote=False)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(f"no picture after {SECONDS} s"))
    signal.alarm(SECONDS)
    with tempfile.TemporaryDirectory(prefix="replay-picture-") as place:
        sys.stdout.write(drawing(list(session(os.path.realpath(sys.argv[1]), Path(place).resolve()))))


main()
