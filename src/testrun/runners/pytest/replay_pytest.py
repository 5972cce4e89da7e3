"""pytest plugin (pytest 6 and newer, Python 3.8 and newer) that reports a run as JSON lines.

Writes the events of src/testrun/reports/events.rs to the file in REPLAY_TEST_REPORT. Under xdist
only the controlling process writes; it gets the reports of the workers.
"""

import fnmatch
import os
import re

import pytest
from replay_events import MAX_FRAMES, MAX_UNREACHED, EventFile, cut, describe, keep_end, related_errors, unknown_tests

MAX_ERRORS = 5
MAX_IGNORED = 20
# pytest's default test files and ignored directories.
USUAL_FILES = ("test_*.py", "*_test.py")
USUAL_CLOSED = ("*.egg", ".*", "_darcs", "build", "CVS", "dist", "node_modules", "venv", "{arch}")
MAX_LEAKS = 20
# pytest 6.2 and newer warn of exceptions in threads. The test still passes, unless the project
# turns warnings into errors. Exceptions in finalizers are excluded: they are rarely a fault of the
# tested code, and come at random times.
LEAKS = ("PytestUnhandledThreadExceptionWarning",)


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


def _failure(longrepr):
    """Describes what pytest shows of an error."""
    crash = getattr(longrepr, "reprcrash", None)
    if crash is None:
        # A skip is (path, line, reason). Collection errors and the death of a worker are text.
        return {"message": cut(longrepr[-1] if isinstance(longrepr, tuple) else longrepr)}
    place = {"file": str(crash.path), "line": crash.lineno}
    return {"message": cut(crash.message), "line": crash.lineno, "stack": _frames(longrepr) or [place]}


def _error(report, subtest):
    """Describes the error of a test."""
    error = _failure(report.longrepr)
    kind = getattr(report, "replay_type", None)
    # Most messages start with the class.
    lead = f"{kind}: "
    if subtest is not None:
        error["message"] = f"[{subtest}] {error['message']}"
    elif kind and error["message"].startswith(lead):
        error["message"] = error["message"][len(lead) :]
    actual, expected = getattr(report, "replay_compare", None) or (None, None)
    return {**error, "type": kind, "expected": expected, "actual": actual}


def _subtest(report):
    """Returns the name of a subtest, whose report has the id of its parent test."""
    context = getattr(report, "context", None)
    if context is None:
        return None
    kwargs = getattr(context, "kwargs", None) or {}
    named = [str(getattr(context, "msg", None) or "")]
    # pytest 9 passes representations of the values, as text.
    named += ["{}={}".format(*pair) for pair in kwargs.items()]
    return cut(" ".join(part for part in named if part))


class RunningTest:
    """A test between its start and the end of its tear-down."""

    def __init__(self, nodeid, location):
        # pytest counts this line from 0.
        line = None if location[1] is None else location[1] + 1
        self.name = {"id": nodeid, "file": location[0]}
        self.line, self.seconds, self.retries, self.is_called = line, 0.0, 0, False
        self.output = {}
        self.begin()

    def begin(self):
        self.state, self.errors, self.is_rerun = "passed", [], False

    def add(self, report):
        """Adds the report of a phase. Returns true if it is the last one."""
        self.seconds += max(0.0, report.duration)
        self.is_called |= report.when != "teardown"
        subtest = _subtest(report)
        has_failed = self.state in ("failed", "errored")
        if report.outcome == "rerun":
            self.is_rerun = True
        elif report.failed and report.when == "???":
            # A worker of xdist died; no more reports of the test will come.
            self.state = "crashed"
            self.errors.append({"message": _failure(report.longrepr)["message"]})
            return True
        elif report.failed:
            if not has_failed:
                self.state = "failed" if report.when == "call" else "errored"
            if len(self.errors) < MAX_ERRORS:
                self.errors += [_error(report, subtest), *getattr(report, "replay_related", [])]
            output = {"stdout": report.capstdout, "stderr": report.capstderr + report.caplog}
            self.output.update((name, keep_end(text)) for name, text in output.items() if text.strip())
        elif report.skipped and subtest is None and not has_failed:
            is_expected = getattr(report, "wasxfail", None) is not None
            self.state = "expected_failure" if is_expected else "skipped"
        if report.when == "teardown" and self.is_rerun:
            self.retries += 1
            self.begin()
            return False
        return report.when == "teardown"

    def result(self):
        # `--setup-plan` reports set-up and tear-down alone.
        state = "not_run" if self.state == "passed" and not self.is_called else self.state
        ms = self.seconds * 1000.0
        test = {"state": state, "line": self.line, "ms": ms, "retries": self.retries, "errors": self.errors}
        return {**self.name, **test, **self.output}


class Writer(EventFile):
    def __init__(self, path, observer):
        super().__init__(path)
        self.observer = observer
        self.leaks = 0
        self.begun = set()
        self.running = {}
        self.broken = set()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session):
        # The controlling process of xdist collects no tests itself.
        items = getattr(session, "items", None)
        if items:
            self.write("collected", tests=len(items))
        self.left_out(self.observer.left_out())

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node, ids):
        self.write("collected", tests=len(ids))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node, error):
        output = getattr(node, "workeroutput", None) or {}
        self.left_out(output.get("replay_left_out") or {})
        self.write_unknown(output.get("replay_unknown") or ())

    def left_out(self, found):
        if found.get("tests"):
            self.write("deselected", tests=found["tests"], files=found["files"])
        if found.get("dropped") or found.get("count"):
            self.write("omitted", tests=found["dropped"], paths=found["ignored"], count=found["count"])

    def write_unknown(self, messages):
        # Every worker of xdist reports them.
        for message in dict.fromkeys(messages):
            if message not in self.broken:
                self.broken.add(message)
                self.write("run_error", kind="no such test", message=message)

    def pytest_collectreport(self, report):
        file = report.nodeid.split("::")[0]
        if report.failed and report.nodeid not in self.broken:
            # Every worker of xdist reports it.
            self.broken.add(report.nodeid)
            self.write("file_end", file=file, errors=[_failure(report.longrepr)])
        elif report.skipped:
            # `importorskip`, or `skip` with allow_module_level: the skipped tests are unknown.
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
            self.write("file_skipped", file=file, reason=cut(reason))

    def pytest_warning_recorded(self, warning_message, when, nodeid):
        name = warning_message.category.__name__
        if name in LEAKS and self.leaks < MAX_LEAKS:
            self.leaks += 1
            self.write("leak", test=nodeid or "", type=name, message=cut(warning_message.message))

    def pytest_runtest_logstart(self, nodeid, location):
        self.begun.add(nodeid)
        if nodeid not in self.running:
            self.running[nodeid] = RunningTest(nodeid, location)
            self.write("test_start", **self.running[nodeid].name)

    def pytest_runtest_logreport(self, report):
        test = self.running.get(report.nodeid)
        if test is None or report.when == "setup" and report.passed:
            return
        if test.add(report):
            del self.running[report.nodeid]
            self.write("test", **test.result())

    def pytest_internalerror(self, excinfo):
        self.write("run_error", kind="error outside the tests", **describe(excinfo.value))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session, exitstatus):
        asked, options = _options(session.config)
        if asked or options:
            self.write("excluding", is_filtered=asked, options=options)
        begun = {nodeid.split("::")[0] for nodeid in self.begun}
        left = [item.nodeid for item in getattr(session, "items", None) or () if item.nodeid not in self.begun]
        # For a partly run file its remaining tests, else the file.
        names = [nodeid if nodeid.split("::")[0] in begun else nodeid.split("::")[0] for nodeid in left]
        if names and begun:
            self.write("unreached", files=list(dict.fromkeys(names))[:MAX_UNREACHED])
        self.write_unknown(self.observer.unknown(session.config.args, exitstatus))
        self.end(int(exitstatus) == 0)


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
            found += [flag + cut(one) for one in ([value] if isinstance(value, str) else value)]
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
        # Ids of collected tests and classes.
        self.known = set()

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

    def unknown(self, args, exitstatus):
        """Returns the requested tests that do not exist, each with the nearest ids."""
        return unknown_tests(args if exitstatus == pytest.ExitCode.USAGE_ERROR else (), self.known)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self):
        outcome = yield
        self.known.update(node.nodeid for node in getattr(outcome.get_result(), "result", None) or ())

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session, exitstatus):
        if self.output is not None:
            self.output["replay_unknown"] = self.unknown(session.config.args, exitstatus)

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

    def patterns(self):
        """Returns the project's own settings for directories and names of test files."""
        found = []
        for name, usual in (("testpaths", ()), ("norecursedirs", USUAL_CLOSED), ("python_files", USUAL_FILES)):
            found += [f"{name}: {cut(one)}" for one in self.config.getini(name) if one not in usual]
        return found[:MAX_IGNORED]

    def pytest_runtest_protocol(self, item):
        self.compare = None

    def pytest_assertrepr_compare(self, op, left, right):
        if op == "==":
            try:
                self.compare = [cut(repr(left)), cut(repr(right))]
            except Exception:
                self.compare = None

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        report = outcome.get_result()
        if call.excinfo is not None and report.failed:
            report.replay_type = call.excinfo.typename
            report.replay_related = related_errors(call.excinfo.value)
            # A comparison may be left over from an assertion that was caught.
            if self.compare is not None and call.excinfo.typename == "AssertionError":
                report.replay_compare = self.compare
        self.compare = None


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


def _escaped(asked):
    """Returns a node id with the parameters as pytest writes them: ASCII, without control
    characters."""
    start = (asked + "[").index("[")
    return asked[:start] + re.sub(r"[^ -~]", lambda found: found[0].encode("unicode_escape").decode(), asked[start:])


def pytest_configure(config):
    if not config.getini("disable_test_id_escaping_and_forfeit_all_rights_to_community_support"):
        config.args[:] = [_escaped(asked) if "::" in asked else asked for asked in config.args]
    # Workers of xdist inherit these options.
    _measure_nothing(config.option)
    observer = Observer(config)
    config.pluginmanager.register(observer, "replay-observer")
    # Processes started by tests must not write there.
    path = os.environ.pop("REPLAY_TEST_REPORT", None)
    if path and not hasattr(config, "workerinput"):
        writer = Writer(path, observer)
        config.pluginmanager.register(writer, "replay-writer")
        writer.write("run_start", version=pytest.__version__)
        writer.write("patterns", options=observer.patterns())
