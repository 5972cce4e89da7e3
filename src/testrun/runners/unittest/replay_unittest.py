"""Runner of unittest and of Django's test command (Python 3.8 and newer) that reports a run as JSON
lines (`replay_events`).

    python -m replay_unittest [-s START] [-t TOP] [-p PATTERN] [-k FILTER] [TARGET ...]
    python manage.py test --testrunner=replay_unittest.DjangoRunner [-k FILTER] [TARGET ...]

A target is a file, a directory or a part of a file: `tests/test_a.py::TestA::test_x`. The first
part of a test's id is the file that loads it, even if the test is inherited.
"""

import argparse
import faulthandler
import fnmatch
import functools
import inspect
import io
import os
import platform
import re
import sys
import threading
import time
import unittest
import warnings

from replay_events import MAX_TEXT, MAX_UNREACHED, EventFile, cut, describe, places, related_errors, unknown_tests

MAX_ERRORS = 5
ROOT = os.getcwd()
USUAL_PATTERN = "test*.py"


class Recorder:
    """Buffer of a stream that also keeps the end of what a test writes."""

    def __init__(self, raw):
        self.raw, self.kept = raw, bytearray()

    def write(self, data):
        self.kept += data
        if len(self.kept) > 4 * MAX_TEXT:
            del self.kept[:-MAX_TEXT]
        return self.raw.write(data)

    def take(self):
        kept, self.kept = self.kept[-MAX_TEXT:].decode("utf-8", "replace"), bytearray()
        return kept

    def __getattr__(self, name):
        return getattr(self.raw, name)


def _record(name):
    """Replaces a stream of `sys` by one that records."""
    stream = getattr(sys, name)
    recorder = Recorder(getattr(stream, "buffer", None) or io.BytesIO())
    options = {"encoding": "utf-8", "errors": "backslashreplace", "line_buffering": name == "stderr", "write_through": True}
    setattr(sys, name, io.TextIOWrapper(recorder, **options))
    return recorder


@functools.lru_cache(None)
def _below_root(path):
    path = os.path.abspath(path)
    return path[len(ROOT) + 1 :] if path.startswith(ROOT + os.sep) else path


@functools.lru_cache(None)
def _is_there(path):
    return os.path.isfile(path)


def _leaves(suite):
    """Returns the tests in a suite."""
    if not isinstance(suite, unittest.BaseTestSuite):
        return [suite]
    return [test for inner in suite if inner is not None for test in _leaves(inner)]


def _select(suite, is_selected):
    """Removes the other tests from a suite."""
    if isinstance(suite, unittest.BaseTestSuite):
        kept = (_select(inner, is_selected) for inner in suite if inner is not None)
        suite._tests = [inner for inner in kept if inner is not None]
        return suite
    return suite if is_selected(suite) else None


def _is_file(test):
    """Returns true for the placeholder of a file that was not loaded, or that skipped itself."""
    return type(test).__module__ == "unittest.loader"


def _file_of(test):
    """Returns the file of a test that no module's loader returned."""
    name = type(test).__module__
    if _is_file(test):
        path = test._testMethodName.replace(".", os.sep)
        found = (os.path.join(top, path) + end for top in sys.path for end in (".py", os.sep + "__init__.py"))
        return next(filter(os.path.isfile, found), path)
    return getattr(sys.modules.get(name), "__file__", None) or name


def _id(test):
    """Returns the node id of a test."""
    kind, name = type(test), test.id()
    own = f"{kind.__module__}.{kind.__qualname__}."
    name = f"{kind.__qualname__}::{name[len(own):]}" if name.startswith(own) else name
    return f"{test.replay_file}::{name}"


class Loader(unittest.TestLoader):
    """Loader that notes the file of each test."""

    files = ()

    def note_file(self, suite, file=None):
        for test in _leaves(suite):
            if not hasattr(test, "replay_file"):
                test.replay_file = _below_root(_file_of(test) if _is_file(test) else file or _file_of(test))
        return suite

    def loadTestsFromModule(self, module, *args, **kwargs):
        file = getattr(module, "__file__", None)
        self.files += (file,) if file else ()
        return self.note_file(super().loadTestsFromModule(module, *args, **kwargs), file)

    def loadTestsFromName(self, name, module=None):
        path = name.replace(".", os.sep) + ".py"
        if module is None and os.path.isfile(path):
            return self.load_file(path, ".")
        return self.note_file(super().loadTestsFromName(name, module))

    def load_file(self, path, top):
        path, top = os.path.abspath(path), os.path.abspath(top)
        name = os.path.relpath(path, top)[:-3].replace(os.sep, ".")
        # Another directory may have a module of the same name.
        known = getattr(sys.modules.get(name), "__file__", None)
        if known and os.path.realpath(known) != os.path.realpath(path):
            del sys.modules[name]
        if sys.path[0] != top:
            sys.path.insert(0, top)
        self._top_level_dir = top
        tests, _ = self._find_test_path(path, os.path.basename(path))
        return self.note_file(tests or self.suiteClass(), path)


def _error(err, test, lead=""):
    """Describes the error of a test, and the related ones."""
    kind, value, tb = err
    told = describe(value)
    told["message"], told["type"] = cut(lead + (str(value) or kind.__name__)), kind.__name__
    frames = []
    while tb is not None:
        frames.append((tb.tb_frame, tb.tb_lineno))
        tb = tb.tb_next
    own = [pair for pair in frames if "__unittest" not in pair[0].f_globals]
    told["stack"] = places(own[::-1])
    compared = [frame.f_locals for frame, _ in frames if frame.f_code.co_name == "assertEqual" and (frame, _) not in own]
    if compared:
        told["actual"], told["expected"] = cut(repr(compared[0]["first"])), cut(repr(compared[0]["second"]))
    if hasattr(test, "_dt_test"):
        # The traceback has only frames of doctest.
        told["stack"] = [{"file": file, "line": int(line)} for file, line in re.findall(r'File "(.+)", line (\d+), in', str(value))[-1:]]
    return [told, *related_errors(value)]


class RunningTest:
    """A test between its start and its end."""

    def __init__(self, test):
        self.test, self.state, self.errors, self.begun = test, "passed", [], time.perf_counter()
        docs, method = getattr(test, "_dt_test", None), getattr(type(test), getattr(test, "_testMethodName", ""), None)
        code = getattr(inspect.unwrap(method), "__code__", None)
        file = docs.filename if docs else code.co_filename if code else test.replay_file
        self.line = (docs.lineno or 0) + 1 if docs else code and code.co_firstlineno
        self.name = {"id": _id(test), "file": _below_root(file) if _is_there(file) else test.replay_file}

    def add(self, state, errors):
        if self.state not in ("failed", "errored"):
            self.state = state
        self.errors += errors if len(self.errors) < MAX_ERRORS else []


class Result(unittest.TestResult):
    """Result that writes events."""

    def __init__(self, writer, suite, loader):
        super().__init__()
        self.writer, self.running = writer, None
        self.recorders = [_record("stdout"), _record("stderr")]
        tests = [test for test in _leaves(suite) if not _is_file(test)]
        # Tests that have not begun, with class and module for errors of their set-up.
        self.known = {}
        for test in tests:
            name = f"{type(test).__module__}.{type(test).__qualname__}"
            self.known.setdefault(_id(test), (test.replay_file, name, type(test).__module__))
        self.left = dict.fromkeys(self.known)
        # Of these files a filter may deselect all tests.
        for file in loader.files if loader.testNamePatterns else ():
            writer.write("file_end", file=_below_root(file))
        writer.write("collected", tests=len(tests))

    def startTest(self, test):
        super().startTest(test)
        if not _is_file(test):
            self.begin(test)

    def stopTest(self, test):
        if self.running and self.running.state == "passed" and _never_ran(test):
            self.add(test, "failed", [{"message": "unittest does not run the body of a coroutine or generator here"}])
        super().stopTest(test)
        self.finish()

    def begin(self, test):
        for recorder in self.recorders:
            recorder.take()
        if not hasattr(test, "replay_file"):
            test.replay_file = _below_root(_file_of(test))
        self.running = RunningTest(test)
        self.left.pop(self.running.name["id"], None)
        self.writer.write("test_start", **self.running.name)

    def finish(self):
        running, self.running = self.running, None
        if running is None:
            return
        fields = {"state": running.state, "line": running.line, "errors": running.errors}
        if running.state in ("failed", "errored"):
            fields["stdout"], fields["stderr"] = (recorder.take() for recorder in self.recorders)
        ms = (time.perf_counter() - running.begun) * 1000.0
        self.writer.write("test", **running.name, **fields, ms=ms)

    def add(self, test, state, errors=()):
        if isinstance(test, unittest.suite._ErrorHolder):
            return self.add_hook(test.description, state, errors)
        if _is_file(test):
            event = {"reason": cut(errors[0]["message"])} if state == "skipped" else {"errors": errors[:1]}
            return self.writer.write("file_skipped" if state == "skipped" else "file_end", file=test.replay_file, **event)
        # Django reports an error of its own set-up before the test begins.
        is_early = self.running is None or self.running.test is not test
        if is_early:
            self.begin(test)
        self.running.add(state, list(errors))
        if is_early:
            self.finish()

    def add_hook(self, name, state, errors):
        """Adds the outcome of a hook such as `setUpClass (tests.test_a.TestA)`."""
        owner = name[name.find("(") + 1 : -1]
        of_hook = {key: file for key, (file, *owners) in self.known.items() if owner in owners}
        if state == "skipped":
            for key in [key for key in of_hook if key in self.left]:
                del self.left[key]
                self.writer.write("test", id=key, file=of_hook[key], state=state)
            return
        for error in errors[:1]:
            error["message"] = f"{name}: {error['type']}: {error['message']}"
        file = next(iter(of_hook.values()), None)
        if file is None:
            self.writer.write("run_error", **errors[0])
        else:
            self.writer.write("file_end", file=file, tests=len(of_hook), errors=errors)

    def addError(self, test, err):
        method = getattr(test, "_testMethodName", None)
        errors, tb, state = _error(err, test), err[2], "errored"
        while tb is not None:
            # An error of the test's own code, not of its set-up.
            state, tb = "failed" if tb.tb_frame.f_code.co_name == method else state, tb.tb_next
        self.add(test, state, errors)
        super().addError(test, err)

    def addFailure(self, test, err):
        self.add(test, "failed", _error(err, test))
        super().addFailure(test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            named = [str(subtest._message)] if isinstance(subtest._message, str) else []
            named += [f"{key}={value!r}" for key, value in subtest.params.items()]
            self.add(test, "failed", _error(err, test, f"[{cut(' '.join(named))}] "))
        super().addSubTest(test, subtest, err)

    def addSkip(self, test, reason):
        # A skipped subtest leaves the others.
        if not hasattr(test, "test_case"):
            self.add(test, "skipped", [{"message": str(reason)}])
        super().addSkip(test, reason)

    def addExpectedFailure(self, test, err):
        self.add(test, "expected_failure")
        super().addExpectedFailure(test, err)

    def addUnexpectedSuccess(self, test):
        self.add(test, "failed", [{"message": "the test passed, but is marked with expectedFailure"}])
        super().addUnexpectedSuccess(test)

    def add_leak(self, hook):
        """Returns a hook of `threading` that also reports uncaught exceptions of threads."""

        def report(args):
            running = self.running
            told = describe(args.exc_value) if args.exc_value is not None else {"message": args.exc_type.__name__}
            if args.exc_type is not SystemExit:
                where = running.name["id"] + ": " if running else ""
                told["message"] = f"{where}Exception in thread {getattr(args.thread, 'name', '')}: {told['message']}"
                self.writer.write("run_error", kind="UnhandledThreadException", **told)
            hook(args)

        return report

    def run(self, suite):
        threading.excepthook = self.add_leak(threading.excepthook)
        try:
            suite(self)
        except BaseException as error:
            self.writer.write("run_error", kind="error outside the tests", **describe(error))
            raise
        if self.left:
            self.writer.write("unreached", files=list(self.left)[:MAX_UNREACHED])
        return self


def _never_ran(test):
    """Returns true for a coroutine or generator that a plain class calls without running its body."""
    method, names = getattr(test, getattr(test, "_testMethodName", ""), None), ("run", "_callTestMethod")
    is_plain = all(getattr(type(test), name, None) is getattr(unittest.TestCase, name) for name in names)
    kinds = inspect.iscoroutinefunction, inspect.isasyncgenfunction, inspect.isgeneratorfunction
    return is_plain and any(is_kind(method) for is_kind in kinds)


def _open(version):
    faulthandler.enable(file=os.dup(2))
    # Processes started by tests must not write there.
    writer = EventFile(os.environ.pop("REPLAY_TEST_REPORT"))
    writer.write("run_start", version=version)
    return writer


def _narrow(suite, targets, writer):
    """Removes tests of files of which only parts were requested. If no test is left, reports the
    parts that do not exist."""
    whole = {target for target in targets if "::" not in target}
    parts = tuple(target for target in targets if target.split("::")[0] not in whole)
    files = {part.split("::")[0] for part in parts}

    def is_selected(test):
        file, id = test.replay_file, _id(test)
        return file not in files or _is_file(test) or any(id == part or id.startswith(part + "::") for part in parts)

    known = [_id(test) for test in _leaves(suite) if not _is_file(test)] if files else ()
    suite = _select(suite, is_selected) if files else suite
    for message in () if _leaves(suite) else unknown_tests(parts, known):
        writer.write("run_error", kind="no such test", message=message)
    return suite


def _package_root(directory):
    while os.path.isfile(os.path.join(directory, "__init__.py")):
        directory = os.path.dirname(directory)
    return directory


def _load(loader, options):
    """Loads the requested tests, or else those that discovery finds."""
    base = options.top or options.start
    suite, directories = loader.suiteClass(), [target for target in options.targets if os.path.isdir(target)]
    for path in dict.fromkeys(target.split("::")[0] for target in options.targets):
        if any(path != other and (path + os.sep).startswith(other + os.sep) for other in directories):
            continue
        path = os.path.abspath(path)
        is_own = base and (path + os.sep).startswith(os.path.abspath(base) + os.sep)
        if os.path.isdir(path):
            top = base if is_own else _package_root(path)
            suite.addTest(loader.discover(path, options.pattern, top))
        else:
            suite.addTest(loader.load_file(path, base if is_own else _package_root(os.path.dirname(path))))
    if options.targets:
        return loader.note_file(suite)
    suite.addTest(loader.discover(options.start or ".", options.pattern, options.top or options.start or "."))
    if not options.start and not suite.countTestCases():
        # Directories that are no packages.
        for name in sorted(os.listdir()):
            names = os.listdir(name) if os.path.isdir(name) and not name.startswith(".") else []
            if fnmatch.filter(names, options.pattern) and "__init__.py" not in names:
                suite.addTest(loader.discover(name, options.pattern, name))
    return loader.note_file(suite)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-s", "--start-directory", dest="start")
    parser.add_argument("-t", "--top-level-directory", dest="top")
    parser.add_argument("-p", "--pattern", default=USUAL_PATTERN)
    parser.add_argument("-k", dest="filter")
    parser.add_argument("targets", nargs="*")
    options = parser.parse_args()
    sys.argv[1:] = []
    writer = _open(platform.python_version())
    if options.pattern != USUAL_PATTERN:
        writer.write("patterns", options=[f"pattern: {options.pattern}"])
    if not sys.warnoptions:
        warnings.simplefilter("default")
    loader = unittest.defaultTestLoader = unittest.loader.defaultTestLoader = Loader()
    if options.filter is not None:
        loader.testNamePatterns = [options.filter if "*" in options.filter else f"*{options.filter}*"]
    try:
        suite = _narrow(_load(loader, options), options.targets, writer)
        result = Result(writer, suite, loader)
    except Exception as error:
        writer.write("run_error", kind="error outside the tests", **describe(error))
        writer.write("end", passed=False)
        raise
    writer.end(result.run(suite).wasSuccessful())
    sys.exit(not result.wasSuccessful())


def _django_runner():
    import django
    from django.conf import settings
    from django.test.utils import get_runner

    class DjangoRunner(get_runner(settings)):
        """The project's runner, which reports to `Result`."""

        test_loader = Loader()
        result = None

        def run_tests(self, *args, **kwargs):
            self.writer, self.parallel = _open(django.get_version()), 1
            try:
                failed = super().run_tests(*args, **kwargs)
            except BaseException as error:
                self.writer.write("run_error", kind="error outside the tests", **describe(error))
                self.writer.write("end", passed=False)
                raise
            self.writer.end(self.result.wasSuccessful())
            return failed

        def build_suite(self, labels=None, *args, **kwargs):
            paths = dict.fromkeys(target.split("::")[0] for target in labels or ())
            names = [path[:-3].replace(os.sep, ".") if path.endswith(".py") else path for path in paths]
            suite = super().build_suite(names, *args, **kwargs)
            return _narrow(self.test_loader.note_file(suite), labels or (), self.writer)

        def run_suite(self, suite, **kwargs):
            self.result = Result(self.writer, suite, self.test_loader)
            return self.result.run(suite)

        def suite_result(self, suite, result, **kwargs):
            return int(not result.wasSuccessful())

    return DjangoRunner


def __getattr__(name):
    if name == "DjangoRunner":
        return _django_runner()
    raise AttributeError(name)


if __name__ == "__main__":
    main()
