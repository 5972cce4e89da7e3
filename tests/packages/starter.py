#!/usr/bin/env python3
"""Tests of the npm starter, with stand-ins for the programs of its platforms.

usage: starter.py STARTER_PACKAGE.tgz PROGRAM        (PROGRAM: to measure what the starter adds to its start)
"""

import json
import os
import pty
import shutil
import signal
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

STAND_IN = """#!/usr/bin/env python3
import os, signal, sys
word, *rest = sys.argv[1:]
if word == "cpu":
    print(open(os.path.dirname(__file__) + "/cpu").read())
elif word == "exit":
    sys.exit(int(rest[0]))
elif word == "copy":
    sys.stdout.write(sys.stdin.read())
elif word == "die":
    os.kill(os.getpid(), int(rest[0]))
else:
    signals = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR2}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    print("ready", flush=True)
    while True:
        got = signal.sigtimedwait(signals, 20).si_signo
        print("got", got, flush=True)
        if got == signal.SIGTERM:
            sys.exit(7)
"""

# Node.js that says it runs on a CPU; `child` takes execve(2) away from it.
SHIM = """
if (process.env.SHIM_CPU) Object.defineProperty(process, 'arch', { value: process.env.SHIM_CPU });
if (process.env.SHIM_CHILD) process.execve = undefined;
"""

package, program = sys.argv[1:]
work = tempfile.mkdtemp()
with tarfile.open(package) as archive:
    archive.extractall(work)
with open(f"{work}/package/package.json") as file:
    manifest = json.load(file)
scope = f"{work}/node_modules/{os.path.dirname(manifest['name'])}"
os.makedirs(scope)
os.rename(f"{work}/package", f"{work}/node_modules/{manifest['name']}")
for cpu in ("x64", "arm64"):
    place = f"{work}/node_modules/{manifest['name']}-linux-{cpu}/bin"
    os.makedirs(place)
    with open(f"{place}/replay", "w") as file:
        file.write(STAND_IN)
    os.chmod(f"{place}/replay", 0o755)
    with open(f"{place}/cpu", "w") as file:
        file.write(cpu)
with open(f"{work}/shim.js", "w") as file:
    file.write(SHIM)
starter = ["node", f"{work}/node_modules/{manifest['name']}/bin/replay.js"]


def environment(cpu="", child=False):
    shim = {"NODE_OPTIONS": f"--require={work}/shim.js", "SHIM_CPU": cpu, "SHIM_CHILD": "1" if child else ""}
    return {**os.environ, **shim}


def run(*words, **how):
    return subprocess.run(
        [*starter, *words], capture_output=True, text=True, timeout=30, input=how.pop("input", ""), env=environment(**how)
    )


def expect(got, wanted):
    assert got == wanted, f"got {got!r}, not {wanted!r}"


for child in (False, True):
    for cpu in ("x64", "arm64"):
        result = run("cpu", cpu=cpu, child=child)
        expect((result.stdout.strip(), result.stderr), (cpu, ""))
    expect(run("exit", "3", child=child).returncode, 3)
    expect(run("die", str(int(signal.SIGKILL)), child=child).returncode, -signal.SIGKILL)
    expect(run("die", str(int(signal.SIGTERM)), child=child).returncode, -signal.SIGTERM)
    expect(run("copy", input="x" * 300_000, child=child).stdout, "x" * 300_000)

    process = subprocess.Popen([*starter, "wait"], stdout=subprocess.PIPE, text=True, env=environment(child=child))
    expect(process.stdout.readline(), "ready\n")
    for sent in (signal.SIGHUP, signal.SIGINT, signal.SIGUSR2, signal.SIGTERM):
        process.send_signal(sent)
        expect(process.stdout.readline(), f"got {int(sent)}\n")
    expect(process.wait(), 7)

    # Ctrl-C at a terminal reaches the program once.
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe("node", [*starter, "wait"], environment(child=child))
    with open(terminal, "r+b", buffering=0) as stream:
        output = b""
        while b"ready" not in output:
            output += stream.read(100)
        stream.write(b"\x03")
        while b"got 2" not in output:
            output += stream.read(100)
        os.kill(pid, signal.SIGTERM)
        while b"got 15" not in output:
            output += stream.read(100)
        expect(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 7)
        expect(output.count(b"got 2\r"), 1)

result = run("cpu", cpu="riscv64")
names = ", ".join(f"{manifest['name']}-linux-{cpu}" for cpu in ("x64", "arm64"))
expect((result.returncode, result.stderr), (127, f"replay: no program for linux-riscv64; packages: {names}\n"))
shutil.rmtree(f"{work}/node_modules/{manifest['name']}-linux-arm64")
result = run("cpu", cpu="arm64")
expect(result.returncode, 127)
missing = f"replay: the package {manifest['name']}-linux-arm64@{manifest['version']} is missing on linux-arm64; install "
assert result.stderr.startswith(missing), result.stderr

cpu = {"x86_64": "x64", "aarch64": "arm64"}[os.uname().machine]
place = f"{work}/node_modules/{manifest['name']}-linux-{cpu}/bin"
os.makedirs(place, exist_ok=True)
shutil.copy(program, f"{place}/replay")


def start_ms(command):
    times = []
    for _ in range(11):
        begun = time.monotonic()
        subprocess.run([*command, "--version"], check=True, stdout=subprocess.DEVNULL)
        times.append((time.monotonic() - begun) * 1000)
    return statistics.median(times)


node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
direct, started = start_ms([program]), start_ms(starter)
print(f"ok the npm starter: `--version` takes {started:.0f} ms by it, {direct:.0f} ms without (Node.js {node})")
shutil.rmtree(work)
