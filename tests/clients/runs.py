"""Real pytest and real cargo through run_tests, with the official Python SDK; counts are compared with the runner's own.

usage: runs.py BINARY WALLS DIR

WALLS is what --sandbox gets, DIR holds a virtual environment `.venv` with pytest.

Prints one line per check; exits with 1 if one failed.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

import anyio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from checks import check, status

PYTEST = {
    "pytest.ini": "[pytest]\n",
    "test_good.py": "def test_a():\n    pass\n\n\ndef test_b():\n    assert [1] == [1]\n",
    "test_mixed.py": """import unittest
import pytest


def test_passes():
    pass


def test_fails():
    assert {"a": 1} == {"a": 2}


@pytest.mark.skip(reason="later")
def test_skipped():
    pass


@pytest.fixture
def broken():
    raise RuntimeError("no database")


def test_errs(broken):
    pass


class TestCase(unittest.TestCase):
    def test_unit(self):
        self.assertEqual(1, 1)
""",
    "test_collect.py": "import no_such_module_at_all\n\n\ndef test_never():\n    pass\n",
    "test_far.py": "import far\n\n\ndef test_never():\n    pass\n",
    "far.py": "def near(a)\n    return a\n",
    "test_thread.py": """import threading


def test_leaks():
    def lost():
        raise ValueError("lost")

    thread = threading.Thread(target=lost)
    thread.start()
    thread.join()
""",
    "test_cause.py": """def load():
    raise ValueError("bad header")


def test_cause():
    try:
        load()
    except ValueError as error:
        raise RuntimeError("cannot load") from error
""",
    "test_leaves.py": "import sys\n\n\nsys.exit(3)\n",
    "test_held.py": """import threading
import time


def test_held():
    threading.Thread(target=time.sleep, args=(120,), name="sleeper").start()
""",
    "test_hang.py": "def test_first():\n    pass\n\n\ndef test_spins():\n    while True:\n        pass\n",
    "test_exit.py": "import os\n\n\ndef test_first():\n    pass\n\n\ndef test_leaves():\n    os._exit(0)\n",
}

CARGO = {
    "Cargo.toml": '[workspace]\nmembers = ["one", "two", "three"]\nresolver = "2"\n',
    "one/Cargo.toml": '[package]\nname = "one"\nversion = "0.1.0"\nedition = "2021"\n',
    "one/src/lib.rs": """mod used;
#[cfg(test)]
mod tests {
    #[test]
    fn adds() {}
    #[test]
    fn fails() {
        assert_eq!(1 + 1, 3, "sums");
    }
    #[test]
    #[ignore]
    fn slow() {}
}
""",
    "one/src/used.rs": "#[cfg(test)]\nmod tests {\n    #[test]\n    fn used() {}\n}\n",
    "one/src/orphan.rs": "#[cfg(test)]\nmod tests {\n    #[test]\n    fn never() {\n        panic!()\n    }\n}\n",
    "two/Cargo.toml": '[package]\nname = "two"\nversion = "0.1.0"\nedition = "2021"\n',
    "two/src/lib.rs": "/// ```\n/// assert_eq!(two::two(), 2);\n/// ```\npub fn two() -> u8 {\n    2\n}\n",
    "two/tests/it.rs": "#[test]\nfn outside() {\n    assert_eq!(two::two(), 2);\n}\n",
    "three/Cargo.toml": '[package]\nname = "three"\nversion = "0.1.0"\nedition = "2021"\n',
    "three/src/lib.rs": "",
    "three/tests/leaves.rs": "#[test]\nfn leaves() {\n    std::process::exit(0)\n}\n",
    "three/tests/spins.rs": "#[test]\nfn spins() {\n    loop {\n        std::thread::yield_now();\n    }\n}\n",
}


def place(root: pathlib.Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


class Runs:
    """Calls of run_tests in one directory."""

    def __init__(self, client: Client, name: str, cwd: pathlib.Path, **always):
        self.client, self.name, self.always = client, name, {"cwd": str(cwd), **always}

    async def run(self, **arguments) -> dict:
        arguments = {**self.always, **arguments}
        result = await self.client.call_tool("run_tests", arguments, read_timeout_seconds=180)
        report = result.structured_content or {}
        return {**report, "is_error": result.is_error is True, "text": result.content[0].text}

    def says(self, what: str, good: bool, seen) -> None:
        check(f"{self.name} {what}", good, seen)


def counts(report: dict, *names: str) -> list[int]:
    return [report.get("summary", {}).get(name, 0) for name in names]


async def pytest(client: Client, work: pathlib.Path) -> None:
    place(work, PYTEST)
    runs = Runs(client, "pytest", work)
    good = await runs.run(testFiles=["test_good.py"])
    runs.says("passes", good.get("status") == "passed" and counts(good, "passed", "failed") == [2, 0], good)

    mixed = ["test_mixed.py", "test_good.py", "test_collect.py"]
    seen = await runs.run(testFiles=mixed)
    own = work / "own.xml"
    command = [work / ".venv/bin/python", "-m", "pytest", "-q", "--continue-on-collection-errors", f"--junitxml={own}", *mixed]
    subprocess.run(command, cwd=work, stdout=subprocess.DEVNULL, timeout=120)
    suite = xml.etree.ElementTree.parse(own).getroot().find("testsuite").attrib
    told = counts(seen, "failed", "skipped") + [counts(seen, "errored")[0] + len(seen.get("fileErrors", []))]
    runs.says("counts as pytest itself does", told == [int(suite[name]) for name in ("failures", "skipped", "errors")], seen)
    runs.says("fails", seen.get("status") == "failed" and not seen["is_error"], seen)
    runs.says("tells a file that does not load", seen["fileErrors"][0]["file"] == "test_collect.py", seen)

    again = await runs.run(rerunFailed=True)
    runs.says("runs again what failed", counts(again, "passed", "failed", "errored") == [0, 1, 1], again)
    spread = await runs.run(testFiles=["test_thread.py"])
    leaked = [error["type"] for error in spread.get("runErrors", [])]
    runs.says("fails for what a thread raises", (spread.get("status"), leaked) == ("failed", ["UnhandledThreadException"]), spread)
    place_of = spread["runErrors"][0]["stack"][0]
    runs.says("tells where that is", (place_of["file"], place_of["line"]) == ("test_thread.py", 6), spread)
    caused = await runs.run(testFiles=["test_cause.py"])
    errors = [(error["message"], error["stack"][0]["line"]) for error in caused["failures"][0]["errors"]]
    runs.says("tells causes", errors == [("cannot load", 9), ("caused by ValueError: bad header", 2)], caused)
    leaves = await runs.run(testFiles=["test_leaves.py"])
    error = leaves["runErrors"][0]
    runs.says("tells who leaves at import", (error["message"], error["stack"][0]["line"]) == ("SystemExit: 3", 4), leaves)
    far = (await runs.run(testFiles=["test_far.py"]))["fileErrors"][0]
    runs.says("tells where another file is broken", (far.get("line"), far["message"].split("\n")[-1]) == (None, "at far.py:1"), far)
    held = await runs.run(testFiles=["test_held.py"])
    told = (held.get("status"), [error["message"] for error in held.get("runErrors", [])])
    runs.says("ends what lives on", told == ("timed_out", ["the thread `sleeper`"]), held)
    left = await runs.run(testFiles=["test_exit.py"])
    runs.says("does not pass what left early", left.get("status") == "crashed" and counts(left, "passed") == [1], left)
    hang = await runs.run(testFiles=["test_hang.py"], timeout=8)
    unfinished = ["test_hang.py::test_spins"]
    runs.says("names what hangs", hang.get("status") == "timed_out" and hang.get("unfinished") == unfinished, hang)
    place_of = hang["runErrors"][0]["stack"][0]
    runs.says("tells where it hangs", (place_of["file"], place_of["line"] in (6, 7)) == ("test_hang.py", True), hang)
    (work / "pytest.ini").write_text("[pytest]\naddopts = -n2\n")
    spread = await runs.run(testFiles=["test_mixed.py", "test_good.py"])
    runs.says("counts with xdist", counts(spread, "passed", "failed", "errored", "skipped") == [4, 1, 1, 1], spread)
    (work / "pytest.ini").write_text("[pytest]\naddopts = --ignore=test_mixed.py\n")
    ignored = await runs.run(testFiles=["test_good.py", "test_mixed.py"])
    complete = ignored.get("status") == "failed" or ignored.get("notRun") == ["test_mixed.py"]
    runs.says("tells a file that is ignored", ignored.get("status") != "passed" and complete, ignored)


async def cargo(client: Client, work: pathlib.Path) -> None:
    place(work, CARGO)
    runs = Runs(client, "cargo", work, runner="cargo")
    command = ["cargo", "test", "--no-fail-fast", "--package=one", "--package=two"]
    own = subprocess.run(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=180)
    results = re.findall(r"^test result: .*?(\d+) passed; (\d+) failed; (\d+) ignored", own.stdout, re.MULTILINE)
    sums = [sum(int(result[index]) for result in results) for index in range(3)]
    part = await runs.run(testFiles=["one"])
    runs.says("fails", part.get("status") == "failed" and not part["is_error"], part)
    both = await runs.run(testFiles=["one", "two"])
    told = counts(both, "passed", "failed", "skipped")
    runs.says("counts as cargo itself does", told == sums, {"told": told, "own": sums})
    it = await runs.run(testFiles=["two/tests/it.rs"])
    runs.says("passes", it.get("status") == "passed" and counts(it, "passed") == [1], it)
    again = await runs.run(rerunFailed=True)
    runs.says("runs again what failed", counts(again, "failed") == [1], again)
    orphan = await runs.run(testFiles=["one/src/used.rs", "one/src/orphan.rs"])
    runs.says("tells a module that is not compiled", orphan.get("notRun") == ["one/src/orphan.rs"], orphan)
    runs.says("does not pass it", orphan.get("status") == "incomplete", orphan)
    left = await runs.run(testFiles=["three/tests/leaves.rs"])
    runs.says("does not pass what left early", left.get("status") == "crashed", left)
    hang = await runs.run(testFiles=["three/tests/spins.rs"], timeout=15)
    runs.says("ends what hangs", hang.get("status") == "timed_out" and "spins" in str(hang.get("unfinished")), hang)
    (work / "one/src/used.rs").write_text("fn broken( {}\n")
    broken = await runs.run(testFiles=["one"])
    runs.says("tells what does not compile", broken.get("status") == "build_error", broken)


async def main(binary: str, walls: str, directory: str) -> None:
    root = pathlib.Path(directory).resolve()
    rust = root / "cargo"
    shutil.rmtree(rust, ignore_errors=True)
    rust.mkdir()
    args = ["--mcp-server", "--allow", f"{root}:rw", "--sandbox", walls, "--tools", "tests"]
    env = dict(os.environ)
    for variable, usual in (("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")):
        home = pathlib.Path(env.get(variable, pathlib.Path.home() / usual))
        if home.is_dir():
            env[variable] = str(home)
            args += ["--env", variable, "--system", str(home)]
    server = StdioServerParameters(command=binary, args=args, env=env)
    with anyio.fail_after(600):
        async with Client(stdio_client(server)) as client:
            await pytest(client, root)
            await cargo(client, rust)


anyio.run(main, *sys.argv[1:4])
sys.exit(status())
