#!/usr/bin/env python3
"""Injects a fault into one system call of the server, and checks that no acknowledged change is lost and that every wall stands.

usage: python3 benches/inject.py PROGRAM ROUNDS [--first N] [--jobs N] [--keep] [FLAG...]

FLAGs go to the server; with `--sandbox namespaces` a wall that fails is no reason for the other tier, which does not protect paths of programs
outside. Needs root and strace(1) 5.14 or later. A first run counts the system calls of each role: the server, the launcher with its supervisors, and
all of them from the start. Each round then makes a tree, runs the same calls of tools, and fails one system call of one role, or kills the
process there. A new server checks what is left and undoes everything. A round ends as `whole`, as `refused` (whole, but the undo was
refused with a reason) or as `FAULT`. Exits with status 1 after a fault.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

KINDS = ["signal=SIGKILL", "error=EIO", "error=ENOSPC", "error=EMFILE", "error=ENOMEM", "error=EACCES"]
ROLES = ["launcher", "server", "start"]
# Calls that cannot fail, or whose failure no program survives.
SPARED = set(
    "exit exit_group futex rt_sigreturn rt_sigprocmask rt_sigaction sigaltstack mmap munmap mprotect brk madvise mremap getrandom "
    "clock_nanosleep clock_gettime sched_yield sched_getaffinity gettid getpid set_robust_list set_tid_address rseq arch_prctl execve "
    "restart_syscall".split()
)
# A later call of the same kind fails in the same way.
MOST_OF_A_KIND = 60
REPLY_SECS = 40
FIRST = {
    "a": "old a\n", "b": "one\ntwo\n", "grows": "x\n", "gone": "gone\n", "dir/x": "x of dir\n", "tree/p": "p\n", "tree/q/r": "r\n",
    ".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n", ".git/hooks/sample": "s\n", ".git/objects/keep": "",
    ".git/refs/keep": "",
}
# Programs of the commands, by the name that the kernel has of them.
PROGRAMS = ["bash", "sh", "sed", "rm", "mv", "mkdir", "cat"]
EVIL = "echo evil >.git/hooks/pre-commit; echo evil >>.git/config; mkdir -p .claude; echo evil >.claude/settings.json; cat ../out/secret; echo evil >../out/new; echo evil >>../out/secret"


class Gone(Exception):
    """The server ended, or answers no more."""


class Server:
    def __init__(self, command, env, cwd):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=cwd, start_new_session=True
        )
        self.last, self.buffer, self.errors = 0, b"", ""

    def ask(self, method, params):
        self.last += 1
        self.say({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        until = time.monotonic() + REPLY_SECS
        while True:
            while b"\n" in self.buffer:
                line, self.buffer = self.buffer.split(b"\n", 1)
                reply = json.loads(line)
                if reply.get("id") == self.last:
                    return reply
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"{method} {params} was not answered in {REPLY_SECS} s")
            if select.select([self.process.stdout], [], [], left)[0]:
                got = os.read(self.process.stdout.fileno(), 1 << 16)
                if not got:
                    raise Gone()
                self.buffer += got

    def say(self, message):
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise Gone() from error

    def greet(self):
        client = {"name": "inject", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool, **arguments):
        """The result, and whether it is a success."""
        reply = self.ask("tools/call", {"name": tool, "arguments": arguments})
        if "error" in reply:
            return reply["error"], False
        return reply["result"], not reply["result"].get("isError")

    def end(self):
        try:
            self.process.stdin.close()
        except OSError:
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        os.set_blocking(self.process.stderr.fileno(), False)
        self.errors = (self.process.stderr.read() or b"").decode(errors="replace")
        self.process.stderr.close()


def descendants(pid):
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split():
                found += [int(child), *descendants(int(child))]
    except OSError:
        pass
    return found


def is_traced(pid):
    try:
        return "TracerPid:\t0\n" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True


def text_of(result):
    return "\n".join(part.get("text", "") for part in result.get("content", [])) or result.get("message", "")


def counts(program, flags, role):
    """The steps of a role: each a system call with its number among those of its process."""
    counted = Round(program, flags, 0, role, None, keep=False)
    verdict, _ = counted.run()
    if verdict != "whole":
        sys.exit(f"without a fault: {verdict}: {counted.faults} {counted.notes}")
    most = collections.Counter()
    for (_, name), count in counted.traced.items():
        most[name] = max(most[name], count)
    return [(name, when) for name in sorted(most) if name not in SPARED for when in range(1, min(most[name], MOST_OF_A_KIND) + 1)]


class Round:
    def __init__(self, program, flags, number, role, fault, keep):
        self.program, self.flags, self.number = program, flags, number
        self.role, self.fault = role, fault
        self.dir = Path(tempfile.mkdtemp(prefix="inject"))
        self.tree, self.keep = self.dir / "work", keep
        self.faults, self.notes = [], []
        # Every change can be undone, as far as the replies and the log of the server tell.
        self.is_kept = True
        # A server that is killed in an undo leaves it to the next one.
        self.is_undoing = False
        # What may be under each name: one text, or several where a call that may have changed it was not acknowledged.
        self.allowed = {name: {text} for name, text in FIRST.items()}

    def env(self):
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.dir / "home"), "LANG": "C.UTF-8",
            "XDG_STATE_HOME": str(self.dir / "state"), "XDG_CACHE_HOME": str(self.dir / "cache"), "TMPDIR": str(self.dir / "tmp"),
        }

    def command(self):
        return [self.program, "--mcp-server", "--allow", f"{self.tree}:rw", *self.flags]

    def injection(self):
        strace = ["strace", "-f", "-qq", "-Y", "-o", str(self.dir / "trace")]
        if self.fault is None:
            return strace
        name, when, kind = self.fault
        return [*strace, "-e", f"trace={name}", "-e", f"inject={name}:{kind}:when={when}"]

    def make(self):
        for name, text in FIRST.items():
            path = self.tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for name in ["home", "state", "cache", "tmp", "out"]:
            (self.dir / name).mkdir()
        (self.dir / "out/secret").write_text("TOPSECRET\n")

    def run(self):
        self.make()
        try:
            self.calls()
        except Gone:
            self.notes.append("ended")
        except TimeoutError as error:
            self.faults.append(f"hangs: {error}")
        finally:
            server = getattr(self, "server", None)
            if getattr(self, "tracer", None):
                self.tracer.kill()
                self.tracer.wait()
            if server:
                server.end()
                self.is_kept &= "cannot be undone" not in server.errors
        self.traced = collections.Counter()
        trace = self.dir / "trace"
        lines = trace.read_text(errors="replace").splitlines() if trace.exists() else []
        # The fault hit a command, and what a shell says afterwards does not tell which of its changes were made.
        self.is_of_command = any("(INJECTED)" in line and f"<{name}>" in line for line in lines for name in PROGRAMS)
        if self.fault is None:
            self.traced.update(found.groups() for found in (re.match(r"(\d+)\S* +(\w+)\(", line) for line in lines) if found)
        self.look()
        verdict = "FAULT" if self.faults else "refused" if "refused" in self.notes else "whole"
        if verdict == "FAULT" and self.keep:
            self.notes.append(str(self.dir))
        else:
            shutil.rmtree(self.dir, ignore_errors=True)
        return verdict, self

    def calls(self):
        self.tracer = None
        if self.role == "start":
            self.server = Server([*self.injection(), "--", *self.command()], self.env(), self.tree)
            self.server.greet()
        else:
            self.server = Server(self.command(), self.env(), self.tree)
            self.server.greet()
            self.server.call("execute_command", command="true")
            pid = self.server.process.pid
            pids = [pid] if self.role == "server" else descendants(pid)
            attach = [arg for pid in pids for arg in ("-p", str(pid))]
            self.tracer = subprocess.Popen([*self.injection(), "-b", "execve", *attach], stderr=subprocess.DEVNULL)
            until = time.monotonic() + 10
            while not all(map(is_traced, pids)):
                if time.monotonic() > until:
                    raise RuntimeError("strace does not attach")
                time.sleep(0.002)
        self.change("write_file", {"path": "a", "content": "new a\n"}, {"a": "new a\n"})
        self.shell(f"echo one >made; echo y >>grows; rm gone; mv dir/x dir/y; {EVIL}; echo DONE",
                   {"made": {"one\n"}, "grows": {"x\ny\n"}, "gone": {None}, "dir/x": {None}, "dir/y": {"x of dir\n"}})
        self.change("edit_file", {"path": "b", "edits": [{"oldText": "one", "newText": "1"}]}, {"b": "1\ntwo\n"})
        moved = self.allowed["a"] - {None}
        self.allowed["dir/a"] = moved | {None}
        if self.change("move_file", {"source": "a", "destination": "dir/a"}, {"a": None}):
            self.allowed["dir/a"] = moved
        before = {name: set(texts) for name, texts in self.allowed.items()}
        edited = {text.replace("two", "2") for text in self.allowed["b"]}
        call = self.shell("sed -i s/two/2/ b; rm -rf tree; mkdir tree; echo new >tree/new; echo DONE",
                          {"b": edited, "tree/p": {None}, "tree/q/r": {None}, "tree/new": {"new\n"}})
        if call:
            before["tree/new"] = {None}
            for name, texts in before.items():
                self.allowed[name] |= texts
            self.is_undoing = True
            _, done = self.server.call("undo_changes", calls=[call])
            self.is_undoing = False
            if done:
                self.allowed |= before
        self.change("delete_file", {"path": "dir"}, {"dir/y": None, "dir/a": None})
        # A server whose launcher has gone moves aside what the last command put at protected paths.
        self.server.call("execute_command", command="true")

    def change(self, tool, arguments, texts):
        for name, text in texts.items():
            self.allowed.setdefault(name, {None}).add(text)
        result, done = self.server.call(tool, **arguments)
        self.is_kept &= "not kept for undo" not in text_of(result)
        if done:
            self.allowed |= {name: {text} for name, text in texts.items()}
        return done

    def shell(self, command, texts):
        """The number of the call, if it was carried out whole and can be undone."""
        for name, wanted in texts.items():
            self.allowed[name] = self.allowed.get(name, {None}) | wanted
        # A shell that is killed leaves what it has just made for its output.
        for name in texts.keys() & {"made", "tree/new"}:
            self.allowed[name].add("")
        result, done = self.server.call("execute_command", command=command)
        text = text_of(result)
        if "TOPSECRET" in text:
            self.faults.append("a command read what is outside")
        self.is_kept &= "not kept for undo" not in text
        data = result.get("structuredContent") or {}
        if done and "DONE" in text and data.get("exitCode") == 0:
            # What the shell says that it could not do was not done.
            if "No space" not in text and "rror" not in text and "annot" not in text.replace("cannot change", "").replace("cannot create .git", ""):
                for name, wanted in texts.items():
                    self.allowed[name] = wanted
            return (data.get("changed") or {}).get("call")
        return None

    def look(self):
        self.protected("after the calls")
        if not self.is_undoing:
            self.texts()
        server = Server(self.command(), self.env(), self.tree)
        try:
            server.greet()
            if self.is_undoing:
                # The first call waits until the server has ended that undo.
                server.call("list_directory", path=str(self.tree))
                self.texts()
            found = self.found()
            result, done = server.call("execute_command", command=f"{EVIL}; echo DONE")
            if not done or "DONE" not in text_of(result) or "TOPSECRET" in text_of(result):
                self.faults.append(f"the next server: {text_of(result)}")
            self.protected("after the next server's command")
            result, done = server.call("list_changes")
            listed = (result.get("structuredContent") or {}).get("calls") or []
            if not done:
                self.faults.append(f"list_changes: {text_of(result)}")
            elif listed:
                result, done = server.call("undo_changes", since=min(call["call"] for call in listed))
                if not done and "nothing left to undo" not in text_of(result):
                    self.notes += ["refused", text_of(result)]
                elif self.is_kept and self.found() != FIRST:
                    now = self.found()
                    wrong = [name for name in set(now) | set(FIRST) if now.get(name) != FIRST.get(name) and ".replay-" not in name]
                    if wrong:
                        self.faults.append(f"after the undo: {[(name, now.get(name)) for name in sorted(wrong)]}")
            elif found != FIRST and self.is_kept:
                self.faults.append("changes stand, and no call is listed")
            self.protected("after the undo")
        except (Gone, TimeoutError) as error:
            self.faults.append(f"the next server: {error!r}")
        finally:
            server.end()

    def texts(self):
        if self.is_of_command:
            return
        found = self.found()
        for name in sorted(set(found) | set(self.allowed)):
            allowed = self.allowed.get(name)
            if allowed is None:
                # sed(1) leaves its own temporary file where it is refused.
                if not name.startswith((".claude", "sed")) and ".replay-" not in name:
                    self.faults.append(f"{name} is there")
            elif found.get(name) not in allowed:
                self.faults.append(f"{name} is {found.get(name)!r}, not one of {allowed!r}")

    def found(self):
        files = [path for path in self.tree.rglob("*") if path.is_symlink() or path.is_file()]
        return {str(path.relative_to(self.tree)): os.readlink(path) if path.is_symlink() else path.read_text() for path in files}

    def protected(self, when):
        out = {path.name: path.read_text() for path in (self.dir / "out").iterdir()}
        if out != {"secret": "TOPSECRET\n"}:
            self.faults.append(f"{when}: outside there is {out}")
        for name, text in [(".git/hooks/pre-commit", None), (".git/config", FIRST[".git/config"]), (".claude/settings.json", None)]:
            path = self.tree / name
            if (path.read_text() if path.exists() else None) != text:
                self.faults.append(f"{when}: {name} was written")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("rounds", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", action="store_true")
    options, flags = parser.parse_known_args()
    program = str(Path(options.program).resolve())
    totals, began = collections.Counter(), time.monotonic()
    steps = [(role, *step) for role in ROLES for step in counts(program, flags, role)]
    # close(2) always closes, whatever it answers.
    faults = [(role, (name, when, kind)) for role, name, when in steps for kind in KINDS if name != "close" or kind == KINDS[0]]
    random.Random(options.seed).shuffle(faults)
    print(f"{len(steps)} steps, {len(faults)} faults", flush=True)
    numbers = range(options.first, min(options.first + options.rounds, len(faults)))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        rounds = (Round(program, flags, number, *faults[number], options.keep) for number in numbers)
        for verdict, done in pool.map(Round.run, rounds):
            totals[verdict] += 1
            if verdict != "whole":
                print(f"{verdict} round {done.number}: {done.role} {done.fault}: {'; '.join(done.faults)} {done.notes}", flush=True)
    secs = time.monotonic() - began
    print(f"{len(numbers)} rounds in {secs:.0f} s: {dict(totals)}")
    sys.exit(1 if totals["FAULT"] else 0)


if __name__ == "__main__":
    main()
