"""Events of src/testrun/reports/events.rs, for the reporters of Python's runners (3.8 and newer).

Processes forked by a test do not write. SIGTERM ends a run at its timeout: each process then
writes its stack to stderr.
"""

import difflib
import faulthandler
import itertools
import json
import os
import signal
import sys
import threading
import traceback

MAX_TEXT = 16384
MAX_FRAMES = 20
MAX_RELATED = 10
MAX_HELD = 5
MAX_NEAR = 3
MAX_UNREACHED = 100
# Beyond this limit only names and outcomes are written.
MAX_DETAIL_CHARS = 32 * 1024 * 1024


def cut(text):
    text = str(text)
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT]


def keep_end(text):
    return text if len(text) <= MAX_TEXT else text[-MAX_TEXT:]


def places(walked):
    """Returns the places of frames: for a traceback innermost first, for a thread in stack
    order."""
    return [{"file": frame.f_code.co_filename, "line": line} for frame, line in itertools.islice(walked, MAX_FRAMES)]


def _is_own(frame):
    return os.path.dirname(frame.f_code.co_filename) == os.path.dirname(__file__)


def describe(error, lead=""):
    """Describes an exception in one line, with its places."""
    try:
        words = str(error)
    except Exception:
        words = ""
    name = lead + type(error).__name__
    stack = [pair for pair in traceback.walk_tb(error.__traceback__) if not _is_own(pair[0])][::-1]
    return {"message": cut(f"{name}: {words}" if words else name), "stack": places(stack)}


def related_errors(error):
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
                found.append(describe(other, lead))
    return found[:MAX_RELATED]


def held_threads():
    """Returns the threads that Python waits for at its end."""
    frames, own = sys._current_frames(), threading.current_thread()
    found = []
    for thread in threading.enumerate():
        if thread is not own and not thread.daemon and thread.is_alive():
            frame = frames.get(thread.ident)
            stack = places(traceback.walk_stack(frame)) if frame else []
            found.append({"message": cut(f"the thread `{thread.name}`"), "stack": stack})
    return found[:MAX_HELD]


def unknown_tests(asked, known):
    """Describes the requested tests that are not known, each with the nearest ids of its file."""
    found = []
    for one in asked:
        file, _, name = one.partition("::")
        of_file = [nodeid for nodeid in known if nodeid.startswith(file + "::")]
        if name and of_file and one not in of_file:
            near = difflib.get_close_matches(one, sorted(of_file), MAX_NEAR, 0.0)
            found.append(cut(f"{one}; did you mean {', '.join(near)}?"))
    return found


class EventFile:
    """The report of a run."""

    def __init__(self, path):
        self.file = open(path, "a", encoding="utf-8", errors="replace")
        self.written = 0
        self.process = os.getpid()

    def write(self, event, **fields):
        if os.getpid() != self.process:
            return
        if self.written > MAX_DETAIL_CHARS and event == "test":
            fields = {key: value for key, value in fields.items() if key not in ("errors", "stdout", "stderr")}
        line = json.dumps({"event": event, **fields}) + "\n"
        self.written += len(line)
        self.file.write(line)
        self.file.flush()

    def end(self, passed):
        held = held_threads()
        if held:
            self.write("held", errors=held)
        self.write("end", passed=passed)


# stderr is still the process's own here: pytest replaces it later.
faulthandler.register(signal.SIGTERM, file=os.dup(2), all_threads=False, chain=True)
os.register_at_fork(after_in_child=lambda: faulthandler.unregister(signal.SIGTERM))
