#!/usr/bin/env python3
"""Undo beside real tools: an agent's calls and a person's git, SQLite, packages and editor alternate, then calls are undone.

usage: python3 benches/undo_beside.py PROGRAM [--rounds N] [--seed S] [--dir DIRECTORY] [--keep] [--alone] [--sandbox TIER]

A round is a few random steps of both and one undo with random options: of calls, since a call, of paths, without paths. A refused undo
is sometimes tried again as its hint says. After each undo that was carried out these must hold, else the round is a fault:
`git fsck` finds nothing missing or broken; refs, stashes and worktrees resolve; refs that the person moved last stand where they stood;
`PRAGMA integrity_check` says ok; rows that the person committed are there; files that the person wrote or removed last are as they were.
With `--alone` the person rests, all calls since one are undone, and a refusal is a fault, too. Prints rounds, undone, refused and faults; ends with status 1 if there are faults.
"""
import argparse
import collections
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from stdio_client import Client

ROUNDS_PER_WORLD = 8
BY_POLICY = "is protected, and no undo by an agent changes that"
TREES = ["repo", "linked"]
OPTIONS = ["repo/.git", "repo/.git/refs", "repo/.git/index", "repo/.git/HEAD", "repo/.git/objects", "repo/.git/logs", "repo", "linked",
           "repo/f0", "repo/f1", "data", "data/a.db", "data/a.db-wal", "data/b.db", "node_modules", "package-lock.json", "src"]
WRITES_ROW = """import os, sqlite3, sys
name, who, mode, end = sys.argv[1:]
db = sqlite3.connect(name, isolation_level=None)
db.execute("pragma journal_mode = " + mode)
db.execute("create table if not exists rows (who, number)")
db.execute("begin")
for _ in range(20):
    db.execute("insert into rows values (?, (select count(*) from rows))", (who,))
db.execute("commit")
if end == "killed":
    os._exit(0)
if end == "index":
    db.execute("create index if not exists by_number on rows (number)")
    os._exit(0)
db.close()
"""


class Fault(Exception):
    pass


class World:
    """A tree with a repository, two linked worktrees (one outside), databases and packages; a server; the person's state."""

    def __init__(self, wanted, rnd):
        self.home = Path(tempfile.mkdtemp(dir=wanted.dir)).resolve()
        self.work, self.rnd, self.number = self.home / "work", rnd, 0
        self.env = {**os.environ, "HOME": str(self.home), "XDG_STATE_HOME": str(self.home / "state"), "GIT_CONFIG_NOSYSTEM": "1",
                    "GIT_OPTIONAL_LOCKS": "0", "GIT_AUTHOR_NAME": "p", "GIT_AUTHOR_EMAIL": "p@b", "GIT_COMMITTER_NAME": "p",
                    "GIT_COMMITTER_EMAIL": "p@b"}
        (self.work / "repo").mkdir(parents=True)
        for name in ["data", "node_modules", "src"]:
            (self.work / name).mkdir()
        (self.work / "row.py").write_text(WRITES_ROW)
        for number in range(4):
            (self.work / "repo" / f"f{number}").write_text(f"{number}\n")
            (self.work / "src" / f"s{number}").write_text(f"{number}\n")
        (self.work / "package-lock.json").write_text("{}\n")
        self.sh("cd repo && git init -qb main && git config user.name p && git config user.email p@b && git config gc.auto 0 && "
                "git add . && git commit -qm first && git branch side && git branch far && git worktree add -q ../linked side && "
                "git worktree add -q ../../outside far")
        flags = ["--sandbox", wanted.sandbox] if wanted.sandbox else []
        self.server = Client([wanted.program, "--mcp-server", "--allow", f"{self.work}:rw", "--tools", "files,command", *flags], self.env)
        # The person's, by path: content, or nothing for what the person removed; rows by database; values by ref.
        self.files, self.rows, self.refs = {}, collections.Counter(), {}
        self.calls, self.told, self.alone = [], [], wanted.alone

    def end(self, keeps):
        self.server.end()
        if not keeps:
            shutil.rmtree(self.home)

    def sh(self, line):
        return subprocess.run(["sh", "-c", line], cwd=self.work, env=self.env, capture_output=True, text=True)

    def git(self, *line, tree="repo"):
        return subprocess.run(["git", "-C", str(self.work / tree), *line], env=self.env, capture_output=True, text=True)

    def unique(self):
        self.number += 1
        return self.number

    # Steps, as lines for a shell. `who` is `agent` or `person`.

    def git_line(self, who):
        tree = self.rnd.choice(TREES if who == "agent" else [*TREES, "../outside"])
        n, f = self.unique(), f"f{self.rnd.randrange(4)}"
        refs = [ref.rsplit("/", 1)[-1] for ref in self.seen_refs() if ref.startswith("refs/heads/")]
        # What was made last is what others build on.
        ref = self.rnd.choice([*refs, *(f"b{number}" for number in range(n - 4, n) if f"b{number}" in refs)])
        line = self.rnd.choice([
            f"echo {who} {n} >>{f} && git add {f} && git commit -qm {who}{n}",
            f"echo {who} {n} >>{f} && git commit -qam {who}{n}",
            f"echo {who} {n} >n{n} && git add n{n} && git commit -qm {who}{n}",
            f"echo {who} {n} >n{n} && git add n{n}",
            f"git branch b{n}", f"git branch b{n} {ref}", f"git branch -qD {ref}", f"git tag t{n} {ref}", f"git tag -am tag t{n} {ref}",
            f"git checkout -q -b b{n} && echo {n} >n{n} && git add n{n} && git commit -qm {who}{n} && git checkout -q -",
            f"git checkout -qb b{n}", f"git merge -q --ff-only {ref}", f"git merge -qm merge{n} {ref} || git merge --abort",
            f"git cherry-pick {ref} || git cherry-pick --abort", f"echo {n} >>{f}; git stash -q", "git stash pop -q", "git stash drop -q",
            f"git commit -q --amend -m amend{n}", "git reset -q --hard HEAD~1", f"git reset -q --hard {ref}", "git gc -q --prune=now",
            "git repack -adq", "git pack-refs --all", f"git worktree add -q ../wt{n} -b b{n}",
            f"git worktree remove --force ../wt{self.rnd.randrange(1, n + 1)}", f"git rebase -q {ref} || git rebase --abort",
        ])
        return f"cd {tree} && {line}"

    def sqlite_line(self, who):
        name, mode = self.rnd.choice([("a.db", "wal"), ("b.db", "delete"), ("c.db", "wal")])
        return f"python3 row.py data/{name} {who} {mode} {self.rnd.choice(['closed', 'killed', 'index'])}"

    def npm_line(self, who):
        n, name = self.unique(), f"p{self.rnd.randrange(4)}"
        return self.rnd.choice([
            f"mkdir -p node_modules/.new && echo {who} {n} >node_modules/.new/index.js && rm -rf node_modules/{name} && "
            f"mv node_modules/.new node_modules/{name} && echo '{{\"{who}\":{n}}}' >.lock && mv .lock package-lock.json",
            f"mkdir -p node_modules/{name}/lib && echo {who} {n} >node_modules/{name}/lib/x{n}.js",
            f"rm -rf node_modules/{name}",
        ])

    def editor_line(self, who):
        n, name = self.unique(), f"{self.rnd.choice(['src/s', 'repo/f', 'linked/f'])}{self.rnd.randrange(4)}"
        return self.rnd.choice([
            f"cp {name} {name}~; echo {who} {n} >.swp{n} && mv .swp{n} {name}", f"echo {who} {n} >{name}", f"echo {who} {n} >>{name}",
            f"rm -f {name}", f"mv {name} {name}.{n}", f"echo {who} {n} >src/new{n}",
        ])

    def line(self, who):
        makes = self.rnd.choices([self.git_line, self.sqlite_line, self.npm_line, self.editor_line], [5, 2, 1, 2])[0]
        return makes(who)

    def agent(self):
        line = self.line("agent")
        result = self.server.call("execute_command", command=line)["result"]
        changed = result.get("structuredContent", {}).get("changed", {})
        self.told.append(f"agent {changed.get('call')}: {line}")
        if "call" in changed:
            self.calls.append(changed["call"])

    def person(self):
        line = self.line("person")
        files, refs = self.seen_files(), self.seen_refs()
        done = self.sh(line)
        self.told.append(f"person: {line} ({done.returncode})")
        if "row.py" in line and done.returncode == 0:
            self.rows[line.split()[2]] += 20
        now = self.seen_files()
        self.files.update({path: now.get(path) for path in files.keys() | now.keys() if files.get(path) != now.get(path)})
        now = self.seen_refs()
        self.refs.update({ref: now.get(ref) for ref in refs.keys() | now.keys() if refs.get(ref) != now.get(ref)})

    def forget(self, files, refs):
        """What the agent changed, or what an undo brought back, is not the person's any more."""
        now = self.seen_files()
        for path in [path for path in self.files if now.get(path) != files.get(path)]:
            del self.files[path]
        now = self.seen_refs()
        for ref in [ref for ref in self.refs if now.get(ref) != refs.get(ref)]:
            del self.refs[ref]

    def seen_files(self):
        found = {}
        for top, dirs, names in os.walk(self.work):
            if ".git" in dirs:
                dirs.remove(".git")
            if top == str(self.work):
                dirs.remove("data")
            for name in names:
                path = Path(top, name)
                found[str(path.relative_to(self.work))] = os.readlink(path) if path.is_symlink() else path.read_bytes()
        return found

    def seen_refs(self):
        lines = self.git("for-each-ref", "--format=%(refname) %(objectname)").stdout.splitlines()
        refs = dict(line.split() for line in lines)
        for tree in [*TREES, "../outside"]:
            git = self.work / "repo/.git"
            head = (git if tree == "repo" else git / "worktrees" / Path(tree).name) / "HEAD"
            refs[f"HEAD of {tree}"] = head.read_text() if head.exists() else None
        return refs

    # Checks.

    def check_git(self):
        done = self.git("fsck", "--full", "--no-dangling", "--no-progress")
        said = done.stdout + done.stderr
        words = ["missing", "broken", "error", "fatal", "invalid"]
        if done.returncode or any(word in said for word in words):
            raise Fault(f"git fsck: {done.returncode} {said[:600]}")
        objects = self.git("for-each-ref", "--format=%(objectname)").stdout.split() + self.git("log", "-g", "--format=%H", "refs/stash", "--").stdout.split()
        for tree in [*TREES, "../outside"]:
            for line in [("rev-parse", "--verify", "HEAD"), ("status", "--porcelain"), ("log", "-1")]:
                done = self.git(*line, tree=tree)
                # A merge of its own may be under way.
                if done.returncode and "unmerged" not in done.stderr and "not been able to resolve" not in done.stderr:
                    raise Fault(f"git {line} in {tree}: {done.stderr[:400]}")
        found = subprocess.run(["git", "-C", str(self.work / "repo"), "cat-file", "--batch-check"], input="\n".join(objects) + "\n",
                               env=self.env, capture_output=True, text=True)
        if "missing" in found.stdout:
            raise Fault(f"objects of refs: {found.stdout[:400]}")

    def check_databases(self):
        copies = self.home / "copies"
        shutil.rmtree(copies, ignore_errors=True)
        # A copy, since a look at it would change the files.
        shutil.copytree(self.work / "data", copies)
        for name in ["a.db", "b.db", "c.db"]:
            rows = self.rows[f"data/{name}"]
            if not (copies / name).exists():
                if rows:
                    raise Fault(f"{name} is gone with {rows} rows of the person")
                continue
            try:
                db = sqlite3.connect(copies / name)
                checked = db.execute("pragma integrity_check").fetchone()[0]
                has = db.execute("select count(*) from sqlite_master where name = 'rows'").fetchone()[0]
                found = db.execute("select count(*) from rows where who = 'person'").fetchone()[0] if has else 0
                db.close()
            except sqlite3.Error as error:
                raise Fault(f"{name}: {error}") from error
            if checked != "ok" or found < rows:
                raise Fault(f"{name}: {checked}, {found} of {rows} rows of the person")

    def check(self):
        self.check_git()
        self.check_databases()
        now, refs = self.seen_files(), self.seen_refs()
        lost = [path for path, content in self.files.items() if now.get(path) != content]
        moved = [ref for ref, value in self.refs.items() if refs.get(ref) != value]
        if lost or moved:
            raise Fault(f"the person's files {lost[:5]}, refs {moved[:5]}")

    # Undo.

    def options(self):
        if self.alone:
            return {"since": self.rnd.choice(self.calls[-6:])}
        calls = self.calls[-4:] if self.rnd.random() < 0.8 else self.calls
        options = {"since": self.rnd.choice(calls)} if self.rnd.random() < 0.4 else {
            "calls": self.rnd.sample(calls, self.rnd.choice([1, 1, 1, min(2, len(calls))]))}
        kind = self.rnd.random()
        some = self.rnd.sample(OPTIONS, self.rnd.choice([1, 2]))
        if kind < 0.2:
            options["paths"] = some
        elif kind < 0.45:
            options["paths"] = [f"!{path}" for path in some]
        return options

    def undo(self, options):
        """Undoes; the number of the undo, or the text of the refusal."""
        options = {**options}
        if "paths" in options:
            options["paths"] = [("!" if path[0] == "!" else "") + str(self.work / path.lstrip("!")) for path in options["paths"]]
        reply = self.server.call("undo_changes", **options)
        result = reply.get("result", {})
        text = result["content"][0]["text"] if result else reply["error"]["message"]
        number = None if result.get("isError") or not result else result["structuredContent"].get("call")
        self.told.append(f"undo {options}: {text[:3000]}")
        return number, text

    def round(self, totals):
        for _ in range(self.rnd.randrange(2, 6)):
            if self.alone or self.rnd.random() < 0.5:
                files, refs = self.seen_files(), self.seen_refs()
                self.agent()
                self.forget(files, refs)
            else:
                self.person()
        if not self.calls:
            return
        self.check()
        options = self.options()
        number, text = self.undo(options)
        # An agent puts back no directory of a worktree, as it writes no `commondir`.
        if number is None and BY_POLICY in text:
            totals["refused"] += 1
            return
        if self.alone and number is None and "nothing left to undo" not in text:
            raise Fault(f"refused: {text[:600]}")
        if number is None and "files are not as the calls left them" in text and self.rnd.random() < 0.7:
            totals["refused"] += 1
            # As the hint says.
            lines = text.split("left it:\n", 1)[-1].split("\n[hint")[0].split("\nhint")[0].splitlines()
            named = [f"!{line.split(': ')[0]}" for line in lines if ": " in line]
            number, text = self.undo({**options, "paths": [*options.get("paths", []), *named]})
        if number is None:
            totals["nothing" if "nothing left to undo" in text else "refused"] += 1
            return
        totals["undone"] += 1
        self.check()
        if self.rnd.random() < 0.3:
            again, text = self.undo({"calls": [number]})
            if again is None and BY_POLICY in text:
                totals["refused"] += 1
                return
            if again is None:
                raise Fault(f"the undo cannot be undone: {text[:600]}")
            totals["redone"] += 1
            self.check()
        elif "since" not in options and "paths" not in options:
            self.calls = [call for call in self.calls if call not in options["calls"]]
        self.calls.append(number)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dir")
    parser.add_argument("--sandbox")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--keep", action="store_true", help="leave the directories of faults")
    wanted = parser.parse_args()
    totals, begun = collections.Counter(rounds=0, undone=0, redone=0, refused=0, nothing=0, faults=0), time.monotonic()
    seed = wanted.seed
    while totals["rounds"] < wanted.rounds:
        world, fault = World(wanted, random.Random(seed)), False
        try:
            for _ in range(min(ROUNDS_PER_WORLD, wanted.rounds - totals["rounds"])):
                totals["rounds"] += 1
                world.round(totals)
        except Fault as why:
            fault = True
            totals["faults"] += 1
            print(f"seed {seed}: {why}\n  " + "\n  ".join(world.told[-12:]) + (f"\n  {world.home}" if wanted.keep else ""), flush=True)
        world.end(fault and wanted.keep)
        seed += 1
    print(", ".join(f"{count} {what}" for what, count in totals.items()) + f", {time.monotonic() - begun:.0f} s, seeds {wanted.seed} to {seed - 1}")
    sys.exit(bool(totals["faults"]))


main()
