"""A day of an agent in two small projects: what its calls cost in tokens, through replay and in a plain shell.

    python3 benches/day/day.py PROGRAM [--replies lean|exact] [--show STEP]

PROGRAM is `replay`. The projects are made anew for each side. Tokens are those of o200k (`pip install bpe-openai`). The
plain side shows what a shell tool would: at most 30,000 characters of a command, and 2,000 tokens of a file. Python,
cargo, rg and git must be there; pip asks its registry for pytest, and nothing else leaves the machine.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import bpe_openai

sys.path.insert(0, str(Path(__file__).parent.parent))
import projects
from stdio_client import Client

ENCODING = bpe_openai.get_encoding("o200k_base")
SHELL_CHARACTERS = 30_000
FILE_TOKENS = 2_000
GIT = "git -c user.name=Day -c user.email=day@example.com"


def tokens(text):
    return len(ENCODING.encode(text))


def edit(path, old, new, **more):
    return ("edit_file", {"path": path, "edits": [{"oldText": old, "newText": new, **more}]})


def run(command, **more):
    return ("execute_command", {"command": command, **more})


HALF_UP = 'from decimal import ROUND_HALF_UP, Decimal\n\n\ndef round_amount(amount):\n    """Rounds half up to cents."""\n    return float(Decimal(str(amount)).quantize(Decimal("0.01"), ROUND_HALF_UP))'
EVEN = 'def round_amount(amount):\n    """Rounds half up to cents."""\n    return round(amount, 2)'
RENAME = [{"oldText": r"\bround_amount\b", "newText": "round_money", "isRegex": True, "limit": 0}]
PYTEST = ".venv/bin/python -m pytest -p no:cacheprovider"

# Project, step, calls through replay, command lines of the plain side.
STEPS = [
    ("shop", "list src", [("glob_search", {"directory": ".", "globs": ["src/**"]})], ["rg --files src"]),
    ("shop", "tree", [("directory_tree", {"path": "."})], ["rg --files"]),
    ("shop", "list a directory", [("list_directory", {"path": "src/shop"})], ["ls src/shop"]),
    ("shop", "find a file", [("search_files", {"directory": ".", "nameContains": "money"})], ["rg --files | rg money"]),
    ("shop", "grep a name", [("grep_files", {"regex": "round_amount", "directory": "."})], ["rg -n round_amount"]),
    ("shop", "grep with a line around, one file", [("grep_files", {"regex": "total", "directory": "src/shop/order.py", "contextLines": 1})], ["rg -n -C1 total src/shop/order.py"]),
    ("shop", "grep, hits in 16 files, a line around", [("grep_files", {"regex": "raise", "directory": "src", "contextLines": 1})], ["rg -n -C1 raise src"]),
    ("shop", "grep what is not there", [("grep_files", {"regex": "roundAmount", "directory": "."})], ["rg -n roundAmount"]),
    ("shop", "count hits", [("grep_files", {"regex": "rate", "directory": "src", "outputMode": "count"})], ["rg -c rate src"]),
    ("shop", "read a module", [("read_file", {"path": "src/shop/order.py"})], ["cat src/shop/order.py"]),
    ("shop", "read three parts", [("read_file", {"path": "src/shop/order.py", "offset": 7, "limit": 6}), ("read_file", {"path": "src/shop/price.py", "offset": 7, "limit": 6}), ("read_file", {"path": "src/shop/money.py"})], ["sed -n 7,12p src/shop/order.py; sed -n 7,12p src/shop/price.py; cat src/shop/money.py"]),
    ("shop", "read a lock file by accident", [("read_file", {"path": "package-lock.json"})], ["FILE cat package-lock.json"]),
    ("shop", "read a log by accident", [("read_file", {"path": "server.log"})], ["FILE cat server.log"]),
    ("shop", "grep a log", [("grep_files", {"regex": "ERROR", "directory": "server.log"})], ["rg -n ERROR server.log"]),
    ("shop", "test run, 2 fail", [("run_tests", {"runner": "pytest"})], [f"{PYTEST} -q"]),
    ("shop", "fix", [edit("src/shop/money.py", EVEN, HALF_UP)], [f"python3 - <<'END'\nfrom pathlib import Path\nfile = Path('src/shop/money.py')\nfile.write_text(file.read_text().replace('''{EVEN}''', '''{HALF_UP}'''))\nEND"]),
    ("shop", "test run, one file", [("run_tests", {"runner": "pytest", "testFiles": ["tests/test_money.py"]})], [f"{PYTEST} -q tests/test_money.py"]),
    ("shop", "git diff", [run("git diff -U1")], ["git diff -U1"]),
    ("shop", "commit", [run(f"git add -u && {GIT} commit -qm 'Round half up'")], [f"git add -u && {GIT} commit -qm 'Round half up'"]),
    ("shop", "an edit", [edit("src/shop/order.py", '"""Everything about one order."""', '"""Orders."""')], ["sed -i 's/Everything about one order/Orders/' src/shop/order.py"]),
    ("shop", "undo the last edit", [("undo_changes", {})], ["git restore src/shop/order.py"]),
    ("shop", "source and test in one change", [("edit_files", {"files": [{"path": "src/shop/order.py", "edits": [{"oldText": "rate=0.19", "newText": "rate=0.2", "limit": 0}]}, {"path": "tests/test_order.py", "edits": [{"oldText": "11.9", "newText": "12.0", "limit": 0}]}]})], ["sed -i 's/rate=0.19/rate=0.2/' src/shop/order.py; sed -i s/11.9/12.0/ tests/test_order.py; git diff -U0"]),
    ("shop", "its tests", [("run_tests", {"runner": "pytest", "testFiles": ["tests/test_order.py"]})], [f"{PYTEST} -q tests/test_order.py"]),
    ("shop", "undo it", [("undo_changes", {})], ["git restore ."]),
    ("shop", "rename in 18 files, dry run and run", [("edit_files", {"paths": ["src/**/*.py", "tests/**/*.py"], "edits": RENAME, "dryRun": True}), ("edit_files", {"paths": ["src/**/*.py", "tests/**/*.py"], "edits": RENAME})], ["rg -l round_amount src tests | xargs sed -i 's/\\bround_amount\\b/round_money/g'; git diff -U0"]),
    ("shop", "all tests, passing", [("run_tests", {"runner": "pytest"})], [f"{PYTEST} -q"]),
    ("shop", "commit", [run(f"git add -u && {GIT} commit -qm Rename")], [f"git add -u && {GIT} commit -qm Rename"]),
    ("shop", "rm -rf src", [run("rm -rf src")], ["rm -rf src"]),
    ("shop", "recovery", [("undo_changes", {})], ["git restore src"]),
    ("shop", "what was changed", [("list_changes", {"limit": 5})], ["git log --oneline -5; git status --short"]),
    ("shop", "a command with much output", [run("cat server.log")], ["cat server.log"]),
    ("shop", "pytest -v six times", [run(f"for i in 1 2 3 4 5 6; do {PYTEST} -v; done", timeout=300)], [f"for i in 1 2 3 4 5 6; do {PYTEST} -v; done"]),
    ("shop", "write, move and delete a file", [("write_file", {"path": "notes.md", "content": "# Notes\n"}), ("move_file", {"source": "notes.md", "destination": "doc/notes.md"}), ("delete_file", {"path": "doc"})], ["echo '# Notes' > notes.md; mkdir doc; mv notes.md doc; rm -r doc"]),
    ("shop", "a command that fails", [run("ls nothing | cat; ls nothing")], ["ls nothing | cat; ls nothing"]),
    ("shop", "a command that is not there", [run("no-such-program --help")], ["no-such-program --help"]),
    ("shop", "five quick commands", [run(line) for line in ("git status --short", "git log --oneline -3", "wc -l src/shop/*.py | tail -1", "python3 --version", "pwd")], ["git status --short; git log --oneline -3; wc -l src/shop/*.py | tail -1; python3 --version; pwd"]),
    ("parcels", "grep a name", [("grep_files", {"regex": "pub fn order", "directory": "."})], ["rg -n 'pub fn order'"]),
    ("parcels", "58 hits with a line around, one file", [("grep_files", {"regex": "^pub fn|sum$", "directory": "src/lib.rs", "contextLines": 1})], ["rg -n -C1 '^pub fn|sum$' src/lib.rs"]),
    ("parcels", "read a part", [("read_file", {"path": "src/lib.rs", "offset": 1, "limit": 30})], ["sed -n 1,30p src/lib.rs"]),
    ("parcels", "build", [run("cargo build", timeout=300)], ["cargo build"]),
    ("parcels", "test run, passing", [("run_tests", {"runner": "cargo"})], ["cargo test"]),
    ("parcels", "break it", [edit("src/lib.rs", "for unit in units {", "for unit in &units[1..] {", limit=0)], ["sed -i 's/for unit in units {/for unit in \\&units[1..] {/' src/lib.rs"]),
    ("parcels", "test run, all fail", [("run_tests", {"runner": "cargo"})], ["cargo test"]),
    ("parcels", "undo", [("undo_changes", {})], ["git restore src/lib.rs"]),
    ("parcels", "does not compile", [edit("src/lib.rs", "//! Parcels and their ways.", "//! Parcels.\nuse nothing::*;"), run("cargo check", timeout=300), ("undo_changes", {})], ["sed -i '1s/.*/use nothing::*;/' src/lib.rs; cargo check; git restore src/lib.rs"]),
    ("parcels", "list all", [("glob_search", {"directory": ".", "globs": ["**/*"]})], ["rg --files"]),
]


class Replay:
    def __init__(self, program, root, style):
        extra = ["--replies", style] if style else []
        self.client = Client([program, "--mcp-server", "--allow", f"{root}:rw", "--tools", "files,command,tests", *extra])

    def answer(self, step):
        texts = []
        for tool, arguments in step:
            reply = self.client.call(tool, **arguments)
            if "error" in reply:
                texts.append(reply["error"]["message"])
                continue
            blocks = [block.get("text", "") for block in reply["result"]["content"]]
            texts.append("".join(blocks))
        return texts


class Plain:
    def __init__(self, root):
        self.root = root

    def answer(self, lines):
        texts = []
        for line in lines:
            is_file = line.startswith("FILE ")
            done = subprocess.run(line.removeprefix("FILE "), shell=True, executable="/bin/bash", cwd=self.root, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            text = done.stdout[:SHELL_CHARACTERS]
            texts.append(ENCODING.decode(ENCODING.encode(text)[:FILE_TOKENS]) if is_file else text)
        return texts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--replies", choices=["lean", "exact"], default="lean")
    parser.add_argument("--show", help="print both answers of the steps with this in their name")
    asked = parser.parse_args()
    top = Path(tempfile.mkdtemp(prefix="day-"))
    try:
        sides = {}
        for name, make in (("shop", projects.python_project), ("parcels", projects.rust_project)):
            for side in ("replay", "plain"):
                make(top / side / name)
            sides[name] = (Replay(asked.program, top / "replay" / name, asked.replies), Plain(top / "plain" / name))
        calls, sums = 0, [0, 0]
        print("| project | step | calls | replay | plain | ratio |\n|---|---|--:|--:|--:|--:|")
        for project, name, ours, theirs in STEPS:
            replay, plain = sides[project]
            texts = [replay.answer(ours), plain.answer(theirs)]
            costs = [sum(map(tokens, side)) for side in texts]
            calls += len(ours)
            sums = [sum_ + cost for sum_, cost in zip(sums, costs)]
            print(f"| {project} | {name} | {len(ours)} | {costs[0]:,} | {costs[1]:,} | {costs[0] / max(costs[1], 1):.2f} |", flush=True)
            if asked.show and asked.show in name:
                for side, answers in zip(("replay", "plain"), texts):
                    print(f"--- {side}", *answers, sep="\n")
        print(f"| | all | {calls} | {sums[0]:,} | {sums[1]:,} | {sums[0] / sums[1]:.2f} |")
        for replay, _ in sides.values():
            replay.client.end()
    finally:
        shutil.rmtree(top, ignore_errors=True)


if __name__ == "__main__":
    main()
