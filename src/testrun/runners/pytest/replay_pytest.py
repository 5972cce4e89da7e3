"""pytest plugin (pytest 6 and newer, Python 3.8 and newer) that reports a run as JSON lines.

Writes each event as it happens, to the file in REPLAY_TEST_REPORT: after a crash the earlier events
are still there.

    {"ev":"init","version"}                         the run begins
    {"ev":"takes","options"}                        directories and names of test files
    {"ev":"collected","tests"}                      number of tests to run (under xdist from each worker)
    {"ev":"deselected","tests","files"}             number of tests deselected by -k or -m, and their files
    {"ev":"left_out","dropped","ignored","count"}   number of tests removed silently; paths not collected
    {"ev":"options","asked","options"}              the project's own deselecting options; true if -k was given
    {"ev":"collect_error","id","message",...}       a file that could not be loaded
    {"ev":"start","id","file","line"}               a test begins; the line counts from 1
    {"ev":"phase","id","when","outcome",...}        its call or tear-down has ended, or its set-up failed
    {"ev":"leak","id","type","message"}             an uncaught exception of a thread or finalizer in a test
    {"ev":"module_skipped","file","reason"}         a file skipped as a whole, before its tests were known
    {"ev":"unreached","files"}                      files that never began, and remaining tests of partly run files
    {"ev":"internal","message","stack"}             pytest or a plugin failed, or a loaded file ended Python
    {"ev":"end","exit","held"}                      the run has ended; threads that keep the process from ending

Under xdist only the controlling process writes; it gets the reports of the workers. Processes
forked by a test do not write. SIGTERM ends a run at its timeout: each process then writes its
stack to stderr.
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
# pytest's default test files and ignored directories.
USUAL_FILES = ("test_*.py", "*_test.py")
USUAL_CLOSED = ("*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}")
MAX_LEAKS = 20
MAX_UNREACHED = 100
# pytest 6.2 and newer warn of exceptions in threads. The test still passes, unless the project
# turns warnings into errors. Exceptions in finalizers are excluded: they are rarely a fault of the
# tested code, and come at random times.
LEAKS = ("PytestUnhandledThreadExceptionWarning",)
# Beyond this limit only names and outcomes are written.
MAX_DETAIL_CHARS = 32 * 1024 * 1024


def _cut(text):
    text = str(text)
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT]


def _end(text):
    return text if len(text) <= MAX_TEXT else text[-MAX_TEXT:]


def _frames(longrepr):
    """Returns the places of a traceback, the innermost first."""
    entries = getattr(getattr(longrepr, "reprtraceback", None), "reprentries", None) or []
    found = []
    for entry in entries:
        place = getattr(entry, "reprfileloc", None)
        if place is not None:
            found.append({"file": str(place.path), "line": place.lineno})
    found.reverse()
    return found[:MAX_FRAMES]


def _places(walked):
    """Returns the places of frames: for a traceback innermost first, for a thread in stack
    order."""
    return [{"file": frame.f_code.co_filename, "line": line} for frame, line in itertools.islice(walked, MAX_FRAMES)]


def _told(error, lead=""):
    """Describes an exception in one line, with its places."""
    try:
        words = str(error)
    except Exception:
        words = ""
    name = lead + type(error).__name__
    stack = list(traceback.walk_tb(error.__traceback__))[::-1]
    return {"message": _cut(f"{name}: {words}" if words else name), "stack": _places(stack)}


def _related(error):
    """Returns the causes of an exception, and the members of a group."""
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
    """Returns the threads that Python waits for at its end."""
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
        # A skip is (path, line, reason). Collection errors and the death of a worker are text.
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
        # The controlling process of xdist collects no tests itself.
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
            # `importorskip`, or `skip` with allow_module_level: the skipped tests are unknown.
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
            # A subtest, with the id of its parent test.
            kwargs = getattr(context, "kwargs", None) or {}
            named = [str(getattr(context, "msg", None) or "")]
            # pytest 9 passes representations of the values, as text.
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
        # For a partly run file its remaining tests, else the file.
        names = [nodeid if nodeid.split("::")[0] in begun else nodeid.split("::")[0] for nodeid in left]
        if names and begun:
            self.write(ev="unreached", files=list(dict.fromkeys(names))[:MAX_UNREACHED])
        self.write(ev="end", exit=int(exitstatus), held=_held())


def _options(config):
    """Returns whether -k was on the command line, and the deselecting options from `addopts`."""
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
    """Adds details to the reports that only the process of the test has; as strings, for the
    transfer."""

    compare = None

    def __init__(self, config):
        self.config = config
        # Set in a worker of xdist.
        self.output = getattr(config, "workeroutput", None)
        self.deselected, self.files, self.dropped, self.ignored = 0, set(), 0, set()

    def left_out(self):
        """Returns the tests that will not run and that no other event reports."""
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
        # A conftest.py can silently remove tests from the list.
        self.dropped += max(0, before - len(items) - (self.deselected - told))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self):
        if self.output is not None:
            self.output["replay_left_out"] = self.left_out()

    # The argument was renamed in pytest 7.
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
        """Records a path that only the project's own settings exclude."""
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
        """Returns the project's own settings for directories and names of test files."""
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
            # A comparison may be left over from an assertion that was caught.
            if self.compare is not None and call.excinfo.typename == "AssertionError":
                report.replay_compare = self.compare
        self.compare = None


# stderr is still the process's own here: pytest replaces it later.
faulthandler.register(signal.SIGTERM, file=os.dup(2), all_threads=False, chain=True)
os.register_at_fork(after_in_child=lambda: faulthandler.unregister(signal.SIGTERM))


def _measure_nothing(options):
    """Disables pytest-cov if it is installed: only then the attribute exists, and `--no-cov` is
    valid."""
    if hasattr(options, "no_cov"):
        options.no_cov = True


@pytest.hookimpl(hookwrapper=True)
def pytest_load_initial_conftests(early_config):
    # pytest-cov starts its measurement in this hook, by these options.
    _measure_nothing(early_config.known_args_namespace)
    yield


def pytest_configure(config):
    # Workers of xdist inherit these options.
    _measure_nothing(config.option)
    observer = Observer(config)
    config.pluginmanager.register(observer, "replay-observer")
    # Processes started by tests must not write there.
    path = os.environ.pop("REPLAY_TEST_REPORT", None)
    if path and not hasattr(config, "workerinput"):
        writer = Writer(path, observer)
        config.pluginmanager.register(writer, "replay-writer")
        writer.write(ev="init", version=pytest.__version__)
        writer.write(ev="takes", options=observer.takes())
