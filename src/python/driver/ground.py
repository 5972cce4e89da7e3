"""Driver inside a Python session: runs cells one after the other, and answers requests meanwhile.

Standard library only, Python 3.8 and newer. Standard input is one end of a socket: requests come in
as JSON lines, events go out as JSON lines. Standard output and error are plain pipes, so all output
is read in order, also from C code and child processes. A cell is over when `done` was sent; all its
earlier output is in the pipes by then.

Requests:  {"op": "exec", "id", "code"}  and, answered at once by a thread of their own:
           {"op": "complete", "id", "code", "cursor"}, {"op": "inspect", "id", "code", "cursor", "detail"},
           {"op": "variables", "id"}, {"op": "ping", "id"}, {"op": "packages", "id", "directory"},
           {"op": "adopt", "id", "directory", "dev", "ino"}
Events:    ready, begun, display, result, late, done, reply

An interrupt (SIGINT) between `begun` and `done` is meant for the cell; at any other time it is ignored.

Cells may replace anything: `builtins.len`, `json.dumps`, `os.write`, the `__str__` of an exception.
Code between cells therefore uses only objects saved at the start. This source has builtins of its
own, and binds functions of modules to the names below, compiled ones where possible. (`start.py` has
sent `ready` and bound `FIRST`, `QUOTE`, `QUESTIONS` and `ADOPTION`.) All access to a cell's values
is guarded by `try`.
"""

import sys

import _ast
import _signal
import binascii
import builtins
import importlib
import io
import linecache
import os
import re
import threading
import time
import traceback
import types
import warnings

# Modules that few cells need are imported on demand: this halves the wait of a first cell.

# File name of this source in compiled code.
OWN_NAME = "<replay>"
MAX_TEXT_CHARS = 200_000
MAX_DATA_BYTES = 8 * 1024 * 1024
MAX_MATCHES = 500
MAX_VARIABLES = 500
MAX_SHORT_CHARS = 120
MAX_SHOWN = 100
# Maximum frames of a traceback made without the `traceback` module.
MAX_PLAIN_FRAMES = 50
# Attempts to report the end of a cell.
MAX_TRIES = 10
# A recursion limit below this leaves no room for the report on a cell.
MIN_RECURSION = 200
USUAL_RECURSION = 1000
# `CO_COROUTINE` of the module `inspect`.
CO_COROUTINE = 0x80

CLOSE, DUP, DUP2, EXIT, FSTAT, READ, WRITE = os.close, os.dup, os.dup2, os._exit, os.fstat, os.read, os.write
SET_INHERITABLE = os.set_inheritable
FILE, BUFFERED = io.FileIO, io.BufferedWriter
MONOTONIC, PERF_COUNTER = time.monotonic, time.perf_counter
LOCK, GET_IDENT = threading.Lock, threading.get_ident
ON_SIGNAL, SIGINT = _signal.signal, _signal.SIGINT
ONLY_AST, TOP_LEVEL_AWAIT = _ast.PyCF_ONLY_AST, _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
EXPRESSION, EXPRESSION_STATEMENT = _ast.Expression, _ast.Expr
GET_RECURSION, SET_RECURSION = sys.getrecursionlimit, sys.setrecursionlimit
CLASS_NAME = type.__dict__["__name__"].__get__
TRACEBACK_OF = BaseException.__dict__["__traceback__"].__get__
EXIT_CODE = SystemExit.__dict__["code"].__get__
LONE = re.compile("[\ud800-\udfff]")
MAIN = GET_IDENT()


class Reading:
    """Options of the JSON scanner, with the names of `json.JSONDecoder`."""

    strict, object_hook, object_pairs_hook = True, None, None
    parse_float, parse_int, parse_constant = float, int, float


try:
    # The C parts of `json` and `queue`. The whole modules take longer to import, and so do `ast`
    # and `signal`.
    from _json import make_scanner
    from _queue import SimpleQueue

    SCAN = make_scanner(Reading)
except ImportError:
    # Another interpreter than CPython.
    import json
    from queue import SimpleQueue

    SCAN = json.JSONDecoder().scan_once


def exact(text):
    """Converts an instance of a `str` subclass to a plain `str`."""
    return "".join((text, ""))


def encoded(value):
    """Encodes a value as JSON; values without a JSON form become text."""
    kind = type(value)
    if value is None or kind is bool:
        return "null" if value is None else "true" if value else "false"
    if kind is int:
        return int.__repr__(value)
    if kind is float:
        return float.__repr__(value) if value - value == 0 else "null"
    if issubclass(kind, str):
        text = exact(value)
        return QUOTE(LONE.sub(lambda found: "\\u%04x" % ord(found[0]), text) if LONE.search(text) else text)
    if issubclass(kind, dict):
        names = [(name if issubclass(type(name), str) else str(name), one) for name, one in dict.items(value)]
        return "{" + ",".join([f"{encoded(name)}:{encoded(one)}" for name, one in names]) + "}"
    if issubclass(kind, (list, tuple)):
        return "[" + ",".join([encoded(one) for one in value]) + "]"
    return encoded(str(value))


def spoken(event, **members):
    return encoded({"event": event, **members}).encode() + b"\n"


class Channel:
    """Socket to the server. Takes over standard input, which is empty from then on."""

    def __init__(self):
        self.number = DUP(0)
        SET_INHERITABLE(self.number, False)
        empty = os.open(os.devnull, os.O_RDONLY)
        DUP2(empty, 0)
        CLOSE(empty)
        self.lock = LOCK()
        self.closed = False
        # True while the main thread sends: an interrupt must not cut the line.
        self.is_shielded = False

    def lines(self):
        rest = b""
        while True:
            part = READ(self.number, 1 << 16)
            if not part:
                return
            *whole, rest = (rest + part).split(b"\n")
            yield from whole

    def send(self, event, **members):
        self.put(spoken(event, **members))

    def put(self, line):
        with self.lock:
            rest = memoryview(line)
            while rest and not self.closed:
                rest = rest[WRITE(self.number, rest):]

    def forget(self):
        """Closes the channel in a child process."""
        self.lock = LOCK()
        self.closed = True
        CLOSE(self.number)


def shortened(text, most=MAX_TEXT_CHARS):
    text = exact(text)
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def class_name(value):
    return CLASS_NAME(type(value))


def words(error):
    """Returns the message of an exception, or a placeholder if its `str()` raises."""
    try:
        return shortened(str(error))
    except BaseException:
        return "<no words: its str() raises>"


def plain(value):
    try:
        return repr(value)
    except Exception as error:
        return f"<{class_name(value)} whose repr() raises {class_name(error)}: {words(error)}>"


def brief(value):
    """Describes a value of any size in one line."""
    import reprlib

    if issubclass(type(value), (str, bytes, int, list, tuple, dict, set, frozenset)):
        short = reprlib.Repr()
        short.maxlist = short.maxtuple = short.maxset = short.maxfrozenset = short.maxdict = 20
        short.maxstring = short.maxlong = short.maxother = MAX_SHORT_CHARS
        try:
            text = short.repr(value)
        except Exception:
            text = plain(value)
    else:
        text = plain(value)
    text = " ".join(exact(text).split())
    return text if len(text) <= MAX_SHORT_CHARS else text[: MAX_SHORT_CHARS - 3] + "..."


def cleaned(told):
    """Removes the driver's own frames, in causes too."""
    seen, left = set(), [told]
    while left:
        one = left.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        frames = [frame for frame in one.stack if frame.filename != OWN_NAME]
        if one is told and not any(frame.filename.startswith("<cell ") for frame in frames):
            # The cell itself was not parsed to its end: the frames are those of the parser.
            frames = []
        one.stack = traceback.StackSummary.from_list(frames)
        left += [one.__cause__, one.__context__]
    return told


def told_plainly(error, value):
    """Formats a traceback from the interpreter's own attributes alone."""
    lines, trace = ["Traceback (most recent call last):\n"], TRACEBACK_OF(error)
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename != OWN_NAME:
            lines.append(f'  File "{code.co_filename}", line {trace.tb_lineno}, in {code.co_name}\n')
        trace = trace.tb_next
    if len(lines) > MAX_PLAIN_FRAMES:
        lines[1:-MAX_PLAIN_FRAMES] = ["  [...]\n"]
    return "".join(lines) + f"{class_name(error)}: {value}\n"


def told(error):
    """Formats an exception, even if a cell has changed it or the modules that format it."""
    value = words(error)
    try:
        full = traceback.TracebackException(type(error), error, TRACEBACK_OF(error))
        text = shortened("".join(cleaned(full).format()))
    except BaseException:
        text = told_plainly(error, value)
    return {"name": class_name(error), "value": value, "traceback": text}
