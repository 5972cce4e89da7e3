"""Writes what pytest (6 and newer, Python 3.8 and newer) does as JSON lines, each as it happens, to the file that
REPLAY_TEST_REPORT names: a process that dies leaves what was known until then.

    {"ev":"init","version"}                         the run begins
    {"ev":"collected","tests"}                      so many tests will run (under xdist each worker says it)
    {"ev":"deselected","tests","files"}             so many were left out by -k or -m, of these files
    {"ev":"collect_error","id","message",...}       a file that could not be loaded
    {"ev":"start","id","file","line"}               a test begins; the line counts from 1
    {"ev":"phase","id","when","outcome",...}        its call or tear-down has ended, or its set-up has not passed
    {"ev":"internal","message"}                     pytest itself, or a plugin, failed
    {"ev":"end","exit"}                             the run has ended

Under xdist the processes that run tests write nothing: their reports arrive in the one that controls them. Nor does one
that a test has forked.
"""

import json
import os

import pytest

MAX_TEXT = 16384
MAX_FRAMES = 20
# Beyond it only names and outcomes are written.
MAX_DETAIL_CHARS = 32 * 1024 * 1024


def _cut(text):
    text = str(text)
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT]


def _end(text):
    return text if len(text) <= MAX_TEXT else text[-MAX_TEXT:]


def _frames(longrepr):
    """The places of a traceback, the innermost first."""
    entries = getattr(getattr(longrepr, "reprtraceback", None), "reprentries", None) or []
    found = []
    for entry in entries:
        place = getattr(entry, "reprfileloc", None)
        if place is not None:
            found.append({"file": str(place.path), "line": place.lineno})
    found.reverse()
    return found[:MAX_FRAMES]


def _failure(longrepr):
    crash = getattr(longrepr, "reprcrash", None)
    if crash is None:
        # A skip is (path, line, reason); a failure to collect and the death of a worker are text.
        if isinstance(longrepr, tuple):
            return {"message": _cut(longrepr[-1])}
        return {"message": _cut(longrepr)}
    return {
        "message": _cut(crash.message),
        "file": str(crash.path),
        "line": crash.lineno,
        "stack": _frames(longrepr),
    }


class Writer:
    def __init__(self, path):
        self.file = open(path, "a", encoding="utf-8", errors="replace")
        self.written = 0
        self.process = os.getpid()

    def write(self, **event):
        if os.getpid() != self.process:
            return
        if self.written > MAX_DETAIL_CHARS:
            event = {key: value for key, value in event.items() if key not in ("failure", "compare", "out", "err")}
        line = json.dumps(event) + "\n"
        self.written += len(line)
        self.file.write(line)
        self.file.flush()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session):
        # The process that controls xdist collects nothing itself.
        items = getattr(session, "items", None)
        if items:
            self.write(ev="collected", tests=len(items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node, ids):
        self.write(ev="collected", tests=len(ids))

    def pytest_deselected(self, items):
        self.write(ev="deselected", tests=len(items), files=_files(items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node, error):
        left_out = getattr(node, "workeroutput", {}).get("replay_deselected")
        if left_out:
            self.write(ev="deselected", **left_out)

    def pytest_collectreport(self, report):
        if report.failed:
            self.write(ev="collect_error", id=report.nodeid, **_failure(report.longrepr))

    def pytest_runtest_logstart(self, nodeid, location):
        # pytest counts this line from 0.
        line = location[1]
        self.write(ev="start", id=nodeid, file=location[0], line=None if line is None else line + 1)

    def pytest_runtest_logreport(self, report):
        if report.when == "setup" and report.passed:
            return
        context = getattr(report, "context", None)
        event = {
            "ev": "phase",
            "id": report.nodeid,
            "when": report.when,
            "outcome": report.outcome,
            "seconds": report.duration,
        }
        if getattr(report, "wasxfail", None) is not None:
            event["xfail"] = True
        if context is not None:
            # A subtest, which has the id of the test around it.
            kwargs = getattr(context, "kwargs", None) or {}
            named = [str(getattr(context, "msg", None) or "")]
            # pytest 9 hands over what values look like, as text.
            named += ["{}={}".format(*pair) for pair in kwargs.items()]
            event["subtest"] = _cut(" ".join(part for part in named if part))
        if report.failed or report.outcome == "rerun":
            event["failure"] = _failure(report.longrepr)
            event["type"] = getattr(report, "replay_type", None)
            event["compare"] = getattr(report, "replay_compare", None)
            event["out"] = _end(report.capstdout)
            event["err"] = _end(report.capstderr + report.caplog)
        self.write(**event)

    def pytest_internalerror(self, excrepr):
        self.write(ev="internal", message=_end(str(excrepr)))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session, exitstatus):
        self.write(ev="end", exit=int(exitstatus))


def _files(items):
    return sorted({item.nodeid.split("::")[0] for item in items})


class Observer:
    """Adds to the reports what only the process that runs the test knows; strings, so that they travel."""

    compare = None

    def __init__(self, config):
        # Of a worker of xdist.
        self.output = getattr(config, "workeroutput", None)

    def pytest_deselected(self, items):
        if self.output is not None:
            self.output["replay_deselected"] = {"tests": len(items), "files": _files(items)}

    def pytest_runtest_protocol(self, item):
        self.compare = None

    def pytest_assertrepr_compare(self, op, left, right):
        if op == "==":
            try:
                self.compare = [_cut(repr(left)), _cut(repr(right))]
            except Exception:
                self.compare = None

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        report = outcome.get_result()
        if call.excinfo is not None and report.failed:
            report.replay_type = call.excinfo.typename
            # An assertion that was caught earlier has left a comparison that is not this failure's.
            if self.compare is not None and call.excinfo.typename == "AssertionError":
                report.replay_compare = self.compare
        self.compare = None


def pytest_configure(config):
    config.pluginmanager.register(Observer(config), "replay-observer")
    # What tests start is not to write there.
    path = os.environ.pop("REPLAY_TEST_REPORT", None)
    if path and not hasattr(config, "workerinput"):
        writer = Writer(path)
        config.pluginmanager.register(writer, "replay-writer")
        writer.write(ev="init", version=pytest.__version__)
