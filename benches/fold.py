"""Tokens of replies to real commands, before and after folding.

    python3 benches/fold.py PROGRAM [--only NAME]...

PROGRAM is `replay`. Each command runs once, in a directory of its own, without walls; the reply is counted as it is, and as it would
be with the whole log in its place. Tokens are those of o200k if `bpe_openai` or `tiktoken` can be imported, else bytes / 4. Programs
that are not there are said and left out. npm and pip ask their registries; all else stays on the machine.
"""
import argparse
import os
import shutil
import tempfile

from stdio_client import Client

DOCKER = r"""
import sys, time
names = ["a3ed95cae: ", "9f13e0ac4: ", "0d2c1e3b7: ", "5f70bf18a: "]
out = sys.stdout
for name in names: out.write(name + "Pulling fs layer\n")
for step in range(1, 61):
    for row, name in enumerate(names):
        share = min(step * (row + 2) * 0.7, 60)
        state = "Pull complete" if share == 60 else f"Downloading [{'=' * int(share * 0.8)}>{' ' * (48 - int(share * 0.8))}] {share:5.2f}MB/60MB"
        up = len(names) - row
        out.write(f"\x1b[{up}A\x1b[2K\r{name}{state}\r\x1b[{up}B")
out.write("Status: Downloaded newer image for example:latest\n")
"""
PYTEST = """
import pytest
@pytest.mark.parametrize("n", range(400))
def test_rounds_up(n):
    assert n % 97 != 5
"""
CRATE = "mkdir -p src; printf '[package]\\nname = \"p\"\\nversion = \"0.1.0\"\\nedition = \"2021\"\\n' > Cargo.toml; "
RUST_TESTS = CRATE + r"""(i=0; while [ $i -lt 300 ]; do echo "#[test] fn case_$i() { assert!($i % 151 != 7); }"; i=$((i+1)); done) > src/lib.rs; """
RUST_ERRORS = CRATE + r"""(i=0; while [ $i -lt 25 ]; do echo "pub fn f$i(x: u32) -> String { let unused = $i; x + $i }"; i=$((i+1)); done) > src/lib.rs; """
C_FILES = r"""i=0; while [ $i -lt 120 ]; do echo "int f$i(int x) { return x + $i; }" > f$i.c; i=$((i+1)); done; """
MAKEFILE = r"""printf 'all: $(patsubst %%.c,%%.o,$(wildcard *.c))\n%%.o: %%.c\n\tgcc -O1 -c $< -o $@\n' > Makefile; """
REPOSITORY = (
    "git init -q r && cd r && git config user.name n && git config user.email n@example.com; i=0; "
    "while [ $i -lt 60 ]; do i=$((i+1)); echo $i > f$i; git add . && git commit -qm \"change $i of the files\"; done; "
)
SERVE = (
    "head -c 30000000 /dev/urandom > big; python3 -u -m http.server 0 --bind 127.0.0.1 > served 2>&1 & server=$!; "
    "until grep -q port served; do sleep 0.1; done; port=$(sed -n 's/.*port \\([0-9]*\\).*/\\1/p' served | head -1); "
)
NODE_TESTS = r"""printf 'const t = require("node:test"); for (let i = 0; i < 200; i++) t("adds " + i, () => { if (i === 50) throw new Error("no"); });' > a.test.js; """
GO = r"""printf 'module p\n\ngo 1.18\n' > go.mod; printf 'package p\nimport ("testing"; "fmt")\nfunc TestAll(t *testing.T) { for i := 0; i < 200; i++ { t.Run(fmt.Sprint(i), func(t *testing.T) { if i == 77 { t.Fatal("no") } }) } }\n' > p_test.go; """

# Name, the program that it takes, whether it has a terminal, the command.
OUTPUTS = [
    ("npm install, terminal", "npm", True, "npm init -y > /dev/null; npm install --no-audit express"),
    ("npm install", "npm", False, "npm init -y > /dev/null; npm install --no-audit express 2>&1"),
    ("pip install, terminal", "python3", True, "python3 -m venv v && v/bin/pip install --disable-pip-version-check rich"),
    ("cargo build, errors, colours", "cargo", False, RUST_ERRORS + "cargo build --color always 2>&1"),
    ("cargo test, 2 of 300 fail", "cargo", False, RUST_TESTS + "cargo test 2>&1"),
    ("cargo build, terminal", "cargo", True, RUST_TESTS + "cargo build"),
    ("pytest -v, 4 of 400 fail", "pytest", False, "printf '%s' \"$TESTS\" > test_a.py; pytest -v --tb=line test_a.py"),
    ("pytest -v, colours", "pytest", False, "printf '%s' \"$TESTS\" > test_a.py; pytest -v --color=yes --tb=line test_a.py"),
    ("docker-like layers (imitated)", "python3", True, "printf '%s' \"$LAYERS\" | python3 -"),
    ("gcc, errors, colours", "gcc", False, C_FILES + "for f in f?.c; do sed -i 's/x +/y +/' $f; done; gcc -fdiagnostics-color=always -c f?.c 2>&1"),
    ("make -j2, 120 files", "make", False, C_FILES + MAKEFILE + "make -j2"),
    ("git log --graph, colours", "git", False, REPOSITORY + "git log --graph --color=always"),
    ("git log --oneline", "git", False, REPOSITORY + "git log --oneline"),
    ("git clone --progress", "git", False, REPOSITORY + "cd ..; git clone --progress --no-local r s 2>&1"),
    ("wget, bar, terminal", "wget", True, SERVE + "wget -O got http://127.0.0.1:$port/big; kill $server"),
    ("wget, dots", "wget", False, SERVE + "wget -O got http://127.0.0.1:$port/big 2>&1; kill $server"),
    ("curl, terminal", "curl", True, SERVE + "curl --limit-rate 10M -o got http://127.0.0.1:$port/big; kill $server"),
    ("dd status=progress", "dd", False, "dd if=/dev/zero of=z bs=64k count=60000 status=progress 2>&1"),
    ("node --test, 1 of 200 fails", "node", False, NODE_TESTS + "node --test --test-reporter=tap a.test.js"),
    ("go test -v, 1 of 200 fails", "go", False, GO + "go test -v ./..."),
    ("tar cv, 120 files", "tar", False, C_FILES + "tar cvf a.tar f*.c"),
    ("ls -l --color, 120 files", "ls", False, C_FILES + "ls -l --color=always"),
]


def counter():
    try:
        import bpe_openai as tokens
    except ImportError:
        try:
            import tiktoken as tokens
        except ImportError:
            return "bytes / 4", lambda text: len(text.encode()) // 4
    encoding = tokens.get_encoding("o200k_base")
    return "o200k", lambda text: len(encoding.encode_ordinary(text))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--only", action="append")
    asked = parser.parse_args()
    unit, count = counter()
    print(f"Tokens: {unit}.\n\n| output | bytes | tokens before | after | ratio | bytes a token |\n|---|--:|--:|--:|--:|--:|")
    sums = [0, 0]
    for name, program, is_terminal, command in OUTPUTS:
        if asked.only and name not in asked.only:
            continue
        if not shutil.which(program):
            print(f"| {name} | {program} is not here | | | | |")
            continue
        directory = tempfile.mkdtemp()
        client = Client([asked.program, "--mcp-server", "--sandbox", "off", "--undo", "off", "--allow", f"{directory}:rw"])
        # Commands have an environment of their own.
        around = f"export PATH='{os.environ['PATH']}' CARGO_HOME='{os.environ.get('CARGO_HOME', os.path.expanduser('~/.cargo'))}' " \
                 f"RUSTUP_HOME='{os.environ.get('RUSTUP_HOME', os.path.expanduser('~/.rustup'))}' LC_ALL=C.UTF-8; " \
                 f"TESTS='{PYTEST}' LAYERS=$(cat <<'END_OF_LAYERS'\n{DOCKER}\nEND_OF_LAYERS\n)\n"
        reply = client.call("execute_command", command=around + command, tty=is_terminal, timeout=300)
        if "result" not in reply or "structuredContent" not in reply["result"]:
            print(f"| {name} | {reply} |")
            continue
        result = reply["result"]
        texts = [part["text"] for part in result["content"]]
        told = result["structuredContent"]
        whole = told["stdout"]
        for uri in told.get("logs", []):
            whole = client.ask("resources/read", {"uri": uri})["result"]["contents"][0]["text"]
        before = [whole + f"[exit code: {told['exitCode']}]"] + texts[1:]
        was, now = (sum(map(count, some)) for some in (before, texts))
        size = sum(len(text.encode()) for text in before)
        sums = [sums[0] + was, sums[1] + now]
        print(f"| {name} | {size:,} | {was:,} | {now:,} | {now / was:.2f} | {size / was:.1f} |", flush=True)
        client.end()
        shutil.rmtree(directory, ignore_errors=True)
    print(f"| all | | {sums[0]:,} | {sums[1]:,} | {sums[1] / max(sums[0], 1):.2f} | |")


main()
