"""Writes what pytest (6 and newer, Python 3.8 and newer) does as JSON lines, each as it happens, to the file that
REPLAY_TEST_REPORT names: a process that dies leaves what was known until then.

    {"ev":"init","version"}                         the run begins
    {"ev":"takes","options"}                        where the project has files of tests, and what they are called
    {"ev":"collected","tests"}                      so many tests will run (under xdist each worker says it)
    {"ev":"deselected","tests","files"}             so many were left out by -k or -m, of these files
    {"ev":"left_out","dropped","ignored","count"}   so many were taken out without a word; paths that were not looked into
    {"ev":"options","asked","options"}              what the project's own options leave out; whether -k was asked for
    {"ev":"collect_error","id","message",...}       a file that could not be loaded
    {"ev":"start","id","file","line"}               a test begins; the line counts from 1
    {"ev":"phase","id","when","outcome",...}        its call or tear-down has ended, or its set-up has not passed
    {"ev":"leak","id","type","message"}             what a thread, or an object's end, raised in a test and nobody caught
    {"ev":"module_skipped","file","reason"}         a file whose tests were all left out before they were known
    {"ev":"unreached","files"}                      what was to run and never began: files, and tests of files that ran in part
    {"ev":"internal","message","stack"}             pytest itself, or a plugin, failed; or a file that was loaded ended Python
    {"ev":"end","exit","held"}                      the run has ended; threads that keep the process from ending

Under xdist the processes that run tests write nothing: their reports arrive in the one that controls them. Nor does one
that a test has forked. By SIGTERM runs are ended whose time is up: each process then writes to its stderr where it is.
"""

import faulthandler
import fnmatch
import itertools
import json
import os
import signal
import sys
import threading
import traceback

import pytest

MAX_TEXT = 16384
MAX_FRAMES = 20
MAX_RELATED = 10
MAX_HELD = 5
MAX_IGNORED = 20
# What pytest looks for by itself, and where it does not.
USUAL_FILES = ("test_*.py", "*_test.py")
USUAL_CLOSED = ("*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}")
MAX_LEAKS = 20
MAX_UNREACHED = 100
# pytest 6.2 and newer warn of what threads raise; a test passes all the same, unless the project makes errors of warnings. What
# finalizers raise is often no fault of the code under test, and when they run is chance.
LEAKS = ("PytestUnhandledThreadExceptionWarning",)
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


def _places(walked):
    """Where frames are: places of a traceback the innermost first, of a thread as it stands."""
    return [{"file": frame.f_code.co_filename, "line": line} for frame, line in itertools.islice(walked, MAX_FRAMES)]


def _told(error, lead=""):
    """An exception in a line, with its places."""
    try:
        words = str(error)
    except Exception:
        words = ""
    name = lead + type(error).__name__
    stack = list(traceback.walk_tb(error.__traceback__))[::-1]
    return {"message": _cut(f"{name}: {words}" if words else name), "stack": _places(stack)}


def _related(error):
    """What an exception comes from, and the members of a group."""
    found, seen, queue = [], {id(error)}, [error]
    while queue and len(found) < MAX_RELATED:
        one = queue.pop(0)
        handled = None if one.__suppress_context__ else one.__context__
        named = [("caused by ", one.__cause__), ("while handling ", None if one.__cause__ else handled)]
        members = getattr(one, "exceptions", None)
        named += [("in it ", member) for member in (members if isinstance(members, tuple) else ())]
        for lead, other in named:
            if isinstance(other, BaseException) and id(other) not in seen:
                seen.add(id(other))
                queue.append(other)
                found.append(_told(other, lead))
    return found[:MAX_RELATED]


def _held():
    """Threads that Python waits for before it ends."""
    frames, own = sys._current_frames(), threading.current_thread()
    found = []
    for thread in threading.enumerate():
        if thread is not own and not thread.daemon and thread.is_alive():
            frame = frames.get(thread.ident)
            stack = _places(traceback.walk_stack(frame)) if frame else []
            found.append({"message": _cut(f"the thread `{thread.name}`"), "stack": stack})
    return found[:MAX_HELD]


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
    def __init__(self, path, observer):
        self.observer = observer
        self.file = open(path, "a", encoding="utf-8", errors="replace")
        self.written = 0
        self.leaks = 0
        self.begun = set()
        self.process = os.getpid()

    def write(self, **event):
        if os.getpid() != self.process:
            return
        if self.written > MAX_DETAIL_CHARS:
            event = {key: value for key, value in event.items() if key not in ("failure", "related", "compare", "out", "err")}
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
        self.left_out(self.observer.left_out())

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node, ids):
        self.write(ev="collected", tests=len(ids))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node, error):
        self.left_out(getattr(node, "workeroutput", {}).get("replay_left_out") or {})

    def left_out(self, found):
        if found.get("tests"):
            self.write(ev="deselected", tests=found["tests"], files=found["files"])
        if found.get("dropped") or found.get("count"):
            self.write(ev="left_out", dropped=found["dropped"], ignored=found["ignored"], count=found["count"])

    def pytest_collectreport(self, report):
        if report.failed:
            self.write(ev="collect_error", id=report.nodeid, **_failure(report.longrepr))
        elif report.skipped:
            # `importorskip`, or `skip` with allow_module_level: the tests behind it are not known.
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
            self.write(ev="module_skipped", file=report.nodeid.split("::")[0], message=_cut(reason))

    def pytest_warning_recorded(self, warning_message, when, nodeid):
        name = warning_message.category.__name__
        if name in LEAKS and self.leaks < MAX_LEAKS:
            self.leaks += 1
            self.write(ev="leak", id=nodeid or "", type=name, message=_cut(warning_message.message))

    def pytest_runtest_logstart(self, nodeid, location):
        self.begun.add(nodeid)
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
            event["related"] = getattr(report, "replay_related", [])
            event["type"] = getattr(report, "replay_type", None)
            event["compare"] = getattr(report, "replay_compare", None)
            event["out"] = _end(report.capstdout)
            event["err"] = _end(report.capstderr + report.caplog)
        self.write(**event)

    def pytest_internalerror(self, excinfo):
        self.write(ev="internal", **_told(excinfo.value))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session, exitstatus):
        asked, options = _options(session.config)
        if asked or options:
            self.write(ev="options", asked=asked, options=options)
        begun = {nodeid.split("::")[0] for nodeid in self.begun}
        left = [item.nodeid for item in getattr(session, "items", None) or () if item.nodeid not in self.begun]
        # Of a file that ran in part the tests, else the file.
        names = [nodeid if nodeid.split("::")[0] in begun else nodeid.split("::")[0] for nodeid in left]
        if names and begun:
            self.write(ev="unreached", files=list(dict.fromkeys(names))[:MAX_UNREACHED])
        self.write(ev="end", exit=int(exitstatus), held=_held())


def _options(config):
    """Whether -k was asked for on the command line, and the options that leave tests out and were not: those of `addopts`."""
    given = getattr(getattr(config, "invocation_params", None), "args", ())
    asked = any(str(one).startswith("-k") for one in given)
    found = []
    for name, flag in (
        ("keyword", "-k "),
        ("markexpr", "-m "),
        ("deselect", "--deselect="),
        ("ignore", "--ignore="),
        ("ignore_glob", "--ignore-glob="),
    ):
        value = getattr(config.option, name, None)
        if value and not (asked and name == "keyword"):
            found += [flag + _cut(one) for one in ([value] if isinstance(value, str) else value)]
    for name, flag in (
        ("lf", "--last-failed"),
        ("stepwise", "--stepwise"),
        ("collectonly", "--collect-only"),
        ("setuponly", "--setup-only"),
        ("setupplan", "--setup-plan"),
    ):
        if getattr(config.option, name, None):
            found.append(flag)
    return asked, found[:MAX_IGNORED]


class Observer:
    """Adds to the reports what only the process that runs the test knows; strings, so that they travel."""

    compare = None

    def __init__(self, config):
        self.config = config
        # Of a worker of xdist.
        self.output = getattr(config, "workeroutput", None)
        self.deselected, self.files, self.dropped, self.ignored = 0, set(), 0, set()

    def left_out(self):
        """What is not going to run, and is told by nothing else."""
        ignored = sorted(self.ignored)
        return {
            "tests": self.deselected,
            "files": sorted(self.files),
            "dropped": self.dropped,
            "ignored": ignored[:MAX_IGNORED],
            "count": len(ignored),
        }

    def pytest_deselected(self, items):
        self.deselected += len(items)
        self.files.update(item.nodeid.split("::")[0] for item in items)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items):
        before, told = len(items), self.deselected
        yield
        # A conftest.py can take tests from the list and tell nobody.
        self.dropped += max(0, before - len(items) - (self.deselected - told))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self):
        if self.output is not None:
            self.output["replay_left_out"] = self.left_out()

    # The argument has had another name before pytest 7.
    if getattr(pytest, "version_tuple", (6,))[0] >= 7:

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_ignore_collect(self, collection_path):
            outcome = yield
            self.ignores(str(collection_path), outcome)

    else:

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_ignore_collect(self, path):
            outcome = yield
            self.ignores(str(path), outcome)

    def ignores(self, path, outcome):
        """Notes what would be looked into if the project did not say otherwise."""
        if outcome.excinfo is not None or not outcome.get_result():
            return
        name, is_dir = os.path.basename(path), os.path.isdir(path)
        patterns = self.config.getini("norecursedirs" if is_dir else "python_files")
        is_named = any(fnmatch.fnmatch(name, pattern) for pattern in patterns)
        if is_dir:
            signs = ("pyvenv.cfg", "bin/activate", "conda-meta")
            is_test = not (is_named or name == "__pycache__" or any(os.path.exists(os.path.join(path, one)) for one in signs))
        else:
            is_test = is_named
        if is_test:
            root = getattr(self.config, "rootpath", None) or self.config.rootdir
            below = os.fsencode(os.path.relpath(path, str(root))).decode("utf-8", "replace")
            self.ignored.add(below + ("/" if is_dir else ""))

    def takes(self):
        """Where files of tests are looked for, and what they are called, as far as the project has its own mind."""
        found = []
        for name, usual in (("testpaths", ()), ("norecursedirs", USUAL_CLOSED), ("python_files", USUAL_FILES)):
            found += [f"{name}: {_cut(one)}" for one in self.config.getini(name) if one not in usual]
        return found[:MAX_IGNORED]

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
            report.replay_related = _related(call.excinfo.value)
            # An assertion that was caught earlier has left a comparison that is not this failure's.
            if self.compare is not None and call.excinfo.typename == "AssertionError":
                report.replay_compare = self.compare
        self.compare = None


# Here stderr is still the process's own: pytest replaces it later.
faulthandler.register(signal.SIGTERM, file=os.dup(2), all_threads=False, chain=True)
os.register_at_fork(after_in_child=lambda: faulthandler.unregister(signal.SIGTERM))


def _measure_nothing(options):
    """Switches pytest-cov off, where it is there: without it nothing has this attribute, and `--no-cov` would be an error."""
    if hasattr(options, "no_cov"):
        options.no_cov = True


@pytest.hookimpl(hookwrapper=True)
def pytest_load_initial_conftests(early_config):
    # pytest-cov begins to measure in this hook, by these options.
    _measure_nothing(early_config.known_args_namespace)
    yield


def pytest_configure(config):
    # Workers of xdist are given these.
    _measure_nothing(config.option)
    observer = Observer(config)
    config.pluginmanager.register(observer, "replay-observer")
    # What tests start is not to write there.
    path = os.environ.pop("REPLAY_TEST_REPORT", None)
    if path and not hasattr(config, "workerinput"):
        writer = Writer(path, observer)
        config.pluginmanager.register(writer, "replay-writer")
        writer.write(ev="init", version=pytest.__version__)
        writer.write(ev="takes", options=observer.takes())
