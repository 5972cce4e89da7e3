"""Drives agent clients with a scripted model and prints what the model got.

usage: run.py install|drive [--only CLIENT,...] [--script NAME] [PROGRAM]
       run.py tap LOG PROGRAM ARGUMENT...

`tap` runs an MCP server over stdio and logs its answers to calls of tools.
"""

import argparse
import dataclasses
import functools
import json
import os
import pathlib
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable

import model

HERE = pathlib.Path(__file__).resolve().parent
CACHE = HERE.parent.parent / "target" / "agents"
PROMPT = "Work through the steps of the script."
# Options of the server; the time limit is below the five seconds that some frameworks give a call.
OPTIONS = ("--tools", "all", "--command-timeout-secs", "2")
RUN_SECONDS = 300
JUNIT = """<testsuite name="sums">
<testcase classname="sums" name="two"/>
<testcase classname="sums" name="three"><failure message="2 is not 3"/></testcase>
</testsuite>
"""
TEMPORARY = r"/tmp/replay-agents-\w+"
# Begins the PNG signature in base64.
PNG_BASE64 = "iVBORw0KGgo"
INSTRUCTIONS = "inside the allowed directories"


@dataclasses.dataclass
class Place:
    """Paths and addresses of one run."""

    install: pathlib.Path
    home: pathlib.Path
    url: str
    server: list[str]

    def binary(self, name: str) -> str:
        return str(self.install / "node_modules" / ".bin" / name)

    def entry(self) -> dict:
        """Returns the entry of the server that most clients read."""
        return {"command": self.server[0], "args": self.server[1:]}


@dataclasses.dataclass
class Launch:
    """Command line of a client, its environment, and files below its home."""

    command: list[str]
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    files: dict[str, str] = dataclasses.field(default_factory=dict)


def claude(place: Place) -> Launch:
    servers = json.dumps({"mcpServers": {"replay": place.entry()}})
    command = [place.binary("claude"), "-p", PROMPT, "--mcp-config", servers, "--strict-mcp-config"]
    environment = {
        "ANTHROPIC_API_KEY": "dummy",
        "ANTHROPIC_BASE_URL": place.url,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
    return Launch([*command, "--allowedTools", "mcp__replay"], environment)


def codex(place: Place, model_name: str = "gpt-5.5") -> Launch:
    config = f"""
        model = "{model_name}"
        model_provider = "script"
        approval_policy = "never"
        sandbox_mode = "danger-full-access"
        check_for_update_on_startup = false
        [analytics]
        enabled = false
        [model_providers.script]
        name = "script"
        base_url = "{place.url}/v1"
        wire_api = "responses"
        env_key = "SCRIPT_KEY"
        [mcp_servers.replay]
        command = {json.dumps(place.server[0])}
        args = {json.dumps(place.server[1:])}
    """
    command = [place.binary("codex"), "exec", "--skip-git-repo-check", PROMPT]
    return Launch(command, {"SCRIPT_KEY": "dummy"}, {".codex/config.toml": config})


def gemini(place: Place) -> Launch:
    settings = {
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "mcpServers": {"replay": place.entry() | {"trust": True}},
        "privacy": {"usageStatisticsEnabled": False},
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    }
    environment = {"GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": place.url}
    command = [place.binary("gemini"), "--yolo", "--model", "gemini-2.5-pro", "--prompt", PROMPT]
    return Launch(command, environment, {".gemini/settings.json": json.dumps(settings)})


def opencode(place: Place) -> Launch:
    known = {"tool_call": True, "modalities": {"input": ["text", "image"], "output": ["text"]}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{place.url}/v1", "apiKey": "dummy"},
        "models": {"scripted": known},
    }
    config = {
        "autoupdate": False,
        "share": "disabled",
        "model": "script/scripted",
        "provider": {"script": provider},
        "mcp": {"replay": {"type": "local", "command": place.server}},
    }
    environment = {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}
    files = {".config/opencode/opencode.json": json.dumps(config)}
    return Launch([place.binary("opencode"), "run", PROMPT], environment, files)


def qwen(place: Place) -> Launch:
    settings = {
        "general": {"disableAutoUpdate": True},
        "mcpServers": {"replay": place.entry() | {"trust": True}},
        "privacy": {"usageStatisticsEnabled": False},
        "security": {"auth": {"selectedType": "openai"}},
    }
    environment = {
        "OPENAI_API_KEY": "dummy",
        "OPENAI_BASE_URL": f"{place.url}/v1",
        "OPENAI_MODEL": "qwen3-vl-plus",
    }
    # The package `node`, as the system's Node.js may be older than this client needs.
    command = [place.binary("node"), place.binary("qwen"), "--yolo", "--prompt", PROMPT]
    return Launch(command, environment, {".qwen/settings.json": json.dumps(settings)})


def framework(name: str) -> Callable[[Place], Launch]:
    """Describes a framework of Python, whose agent is a program of ours."""

    def describe(place: Place) -> Launch:
        python = str(place.install / "venv" / "bin" / "python")
        program = str(HERE / "clients" / name / "agent.py")
        # The name of a model that each framework knows.
        environment = {"MODEL_URL": place.url, "MODEL": "gpt-4o", "PROMPT": PROMPT}
        return Launch([python, program, *place.server], environment)

    return describe


# Frameworks give a general name, so the server is told which one it serves.
UNNAMED = ("openai-agents", "langchain", "pydantic-ai", "adk", "llamaindex")
CLIENTS: dict[str, Callable[[Place], Launch]] = {
    "claude": claude,
    "codex": codex,
    # The newer models of Codex call tools in JavaScript.
    "codex-code": functools.partial(codex, model_name="gpt-6.2-sol"),
    "gemini": gemini,
    "opencode": opencode,
    "qwen": qwen,
    **{name: framework(name) for name in UNNAMED},
}
# Clients with the installation of another.
INSTALLED_AS = {"codex-code": "codex"}


def install(names: list[str]) -> None:
    """Installs the clients whose pinned versions changed."""
    packages = dict.fromkeys(INSTALLED_AS.get(name, name) for name in names)
    sources = [HERE / "clients" / name for name in packages] + [HERE / "tokens"]
    for source in sources:
        target = CACHE / source.name
        (pins,) = [p for n in ("package.json", "requirements.txt") if (p := source / n).exists()]
        stamp = target / "installed"
        if stamp.exists() and stamp.read_bytes() == pins.read_bytes():
            continue
        start = time.monotonic()
        if pins.suffix == ".json":
            target.mkdir(parents=True, exist_ok=True)
            (target / pins.name).write_bytes(pins.read_bytes())
            # These packages pin what they need, and npm refuses their locks, which lack other platforms.
            quiet = ["--no-package-lock", "--no-audit", "--no-fund", "--silent"]
            subprocess.run(["npm", "install", "--prefix", target, *quiet], check=True)
        else:
            subprocess.run([sys.executable, "-m", "venv", "--clear", target / "venv"], check=True)
            pip = [target / "venv" / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, "-r", pins], check=True)
        stamp.write_bytes(pins.read_bytes())
        print(f"installed {source.name} in {time.monotonic() - start:.0f} s", flush=True)


def png(width: int, height: int) -> bytes:
    """Returns a picture in one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\0" + b"\x40\x80\xc0" * width) * height
    data = zlib.compress(rows)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def make_project(root: pathlib.Path) -> None:
    """Makes the files that the scripts name."""
    subprocess.run(["git", "init", "--quiet", root], check=True)
    (root / "notes.txt").write_text("one\ntwo\nthree\n")
    (root / "big.log").write_text("".join(f"{n:06} GET /items/{n} 200 in {n % 97} ms\n" for n in range(28_000)))
    # Lines so unlike each other that the server folds none.
    noise = random.Random(1)
    (root / "noise.txt").write_text("".join(f"{noise.getrandbits(300):075x}\n" for _ in range(1350)))
    (root / "picture.png").write_bytes(png(64, 64))
    (root / "tests.xml").write_text(JUNIT)
    (root / "src").mkdir()
    for n in range(10):
        (root / "src" / f"part{n}.py").write_text("import os\n" + "# TODO: name this constant\n" * 60)
    for n in range(600):
        package = root / "vendor" / f"package{n // 20}"
        package.mkdir(parents=True, exist_ok=True)
        (package / f"module{n}.js").write_text("")


def tap(log: str, command: list[str]) -> int:
    """Runs a server and logs its answers to calls of tools."""
    calls: dict[object, str] = {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:

        def forward_requests() -> None:
            for line in sys.stdin.buffer:
                message = json.loads(line)
                if message.get("method") == "tools/call":
                    calls[message["id"]] = message["params"]["name"]
                server.stdin.write(line)
                server.stdin.flush()
            server.stdin.close()

        threading.Thread(target=forward_requests, daemon=True).start()
        with open(log, "ab") as file:
            for line in server.stdout:
                message = json.loads(line)
                if "method" not in message and message.get("id") in calls:
                    answer = {"tool": calls.pop(message["id"]), "answer": message}
                    file.write(model.compact(answer).encode() + b"\n")
                    file.flush()
                sys.stdout.buffer.write(line)
                sys.stdout.buffer.flush()
    return server.returncode


@dataclasses.dataclass
class Sent:
    """Answer of the server to a call."""

    tool: str
    text: str
    structured: str

    @classmethod
    def read(cls, line: str) -> "Sent":
        logged = json.loads(line)
        tool, message = logged["tool"], logged["answer"]
        if error := message.get("error"):
            return cls(tool, error["message"], "")
        result = message["result"]
        structured = result.get("structuredContent")
        text, _ = model.read_content([b for b in result["content"] if b["type"] == "text"])
        return cls(tool, text, model.compact(structured) if structured else "")

    def shortest(self) -> int:
        """Returns the length of the shorter form, as some clients pass on only one."""
        return min(len(form) for form in (self.text, self.structured or self.text))


@dataclasses.dataclass
class Run:
    """One script played to one client."""

    steps: list[dict]
    results: list[model.Result]
    sent: list[Sent]
    offered: int
    has_instructions: bool
    is_finished: bool
    seconds: float
    output: str


def drive(client: str, script: pathlib.Path, program: pathlib.Path) -> Run:
    steps = json.loads(script.read_text())
    records = CACHE / "records"
    records.mkdir(parents=True, exist_ok=True)
    record, wire, log = (records / f"{client}-{script.stem}.{end}" for end in ("jsonl", "wire", "log"))
    wire.write_text("")
    scripted = model.Model(steps, record)
    server = model.Server(scripted)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    with tempfile.TemporaryDirectory(prefix="replay-agents-", ignore_cleanup_errors=True) as name:
        home, project = pathlib.Path(name, "home"), pathlib.Path(name, "project")
        home.mkdir()
        make_project(project)
        tapped = [sys.executable, str(HERE / "run.py"), "tap", str(wire), str(program), "--mcp-server"]
        tapped += ["--allow", f"{project}:rw", *OPTIONS]
        tapped += ["--client", client] if client in UNNAMED else []
        install = CACHE / INSTALLED_AS.get(client, client)
        place = Place(install, home, f"http://127.0.0.1:{server.server_port}", tapped)
        launch = CLIENTS[client](place)
        for path, content in launch.files.items():
            (home / path).parent.mkdir(parents=True, exist_ok=True)
            (home / path).write_text(content)
        environment = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "dumb"}
        start = time.monotonic()
        with log.open("w") as file:
            process = subprocess.Popen(
                launch.command,
                cwd=project,
                env=environment | launch.environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                process.wait(RUN_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        seconds = time.monotonic() - start
    server.shutdown()
    return Run(
        steps,
        scripted.results,
        [Sent.read(line) for line in wire.read_text().splitlines()],
        len(scripted.offered),
        INSTRUCTIONS in record.read_text(),
        scripted.is_finished,
        seconds,
        log.read_text(errors="replace"),
    )


def count_tokens(text: str) -> str:
    """Counts tokens of o200k_base; a dash if the tokenizer is not installed."""
    for packages in (CACHE / "tokens").glob("venv/lib/*/site-packages"):
        sys.path.append(str(packages))
    try:
        import bpe_openai
    except ImportError:
        return "-"
    return str(len(bpe_openai.get_encoding("o200k_base").encode_ordinary(text)))


def missing(result: model.Result, wanted: list[str]) -> list[str]:
    """Returns the texts that a result lacks; `<image/png>` stands for a picture."""
    shown = result.text + "".join(f"<{media}>" for media in result.pictures)
    return [text for text in wanted if text not in shown]


def row(step: dict, result: model.Result, sent: Sent | None, notes: str) -> str:
    picture = ", ".join(result.pictures) or ("as text" if PNG_BASE64 in result.text else "")
    # JSON may lose white space on the way.
    cut = "cut" if sent and len(result.text) < 0.95 * sent.shortest() - 20 else ""
    lengths = f"{len(sent.text)}/{len(sent.structured)}" if sent else "-"
    begin = json.dumps(re.sub(TEMPORARY, "...", result.text)[:100], ensure_ascii=False)[1:-1]
    cells = f"{step['name']:12} {lengths:>13} {len(result.text):7} {count_tokens(result.text):>6}"
    return f"{cells}  {notes:5} {picture:9} {cut:3}  {begin}".rstrip()


def report(client: str, script: pathlib.Path, run: Run, expected: dict) -> list[str]:
    """Prints the table of a run and returns its failures."""
    instructions = "instructions" if run.has_instructions else "no instructions"
    end = "went to its end" if run.is_finished else "ended early"
    print(f"\n{client}, {script.stem}: {end}, {run.seconds:.0f} s, {run.offered} tools, {instructions}")
    print("step          text/struct.     got tokens  notes picture   cut  begin of what the model got")
    failures = []
    known = expected["clients"].get(client, {})
    for number, step in enumerate(run.steps):
        name = step["name"]
        notes = expected["notes"].get(name, [])
        wanted = known.get(name, notes)
        if number >= len(run.results):
            print(f"{name:12} not reached")
            if wanted is not None:
                failures.append(f"the run ended before {name}")
            break
        result = run.results[number]
        # A client that refuses a call by itself sends none.
        sent = run.sent.pop(0) if run.sent and run.sent[0].tool == step["tool"] else None
        lost = missing(result, notes)
        state = "all" if not lost else "known" if name in known else "lost"
        print(row(step, result, sent, state if notes else ""))
        if name in known and not lost:
            failures.append(f"{name} shows all its notes; remove it from this client in expected.json")
        else:
            failures += [f"{name} lacks {text!r}" for text in missing(result, wanted or [])]
    else:
        if not run.is_finished:
            failures.append(f"the run of {script.stem} ended before its last text")
    if failures and not run.is_finished:
        print(run.output[-2000:])
    return [f"{client}: {failure}" for failure in failures]


def main() -> int:
    if sys.argv[1:2] == ["tap"]:
        return tap(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("action", choices=("install", "drive"))
    parser.add_argument("--only", type=lambda names: names.split(","), default=list(CLIENTS))
    parser.add_argument("--script", default="*")
    parser.add_argument("program", nargs="?", type=pathlib.Path, default=CACHE.parent / "debug" / "replay")
    arguments = parser.parse_intermixed_args()
    if unknown := set(arguments.only) - set(CLIENTS):
        parser.error(f"no client {', '.join(sorted(unknown))}; there are {', '.join(CLIENTS)}")
    if arguments.action == "install":
        install(arguments.only)
        return 0
    expected = json.loads((HERE / "expected.json").read_text())
    failures = []
    for client in arguments.only:
        for script in sorted(HERE.glob(f"scripts/{arguments.script}.json")):
            run = drive(client, script, arguments.program.resolve())
            failures += report(client, script, run, expected)
    print()
    for failure in failures:
        print(f"FAIL {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
