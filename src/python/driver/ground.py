"""The inside of a Python session: runs cells one after the other, and answers questions meanwhile.

Standard library only, Python 3.8 and newer. Standard input is one end of a socket: requests come in as JSON lines, events
go out as JSON lines. Standard output and error are plain pipes, so whatever writes there (C code and child processes too)
is seen in order; a cell is over when `done` was sent, and everything it wrote before is in the pipes by then.

Requests:  {"op": "exec", "id", "code"}  and, answered at once by a thread of their own:
           {"op": "complete", "id", "code", "cursor"}, {"op": "inspect", "id", "code", "cursor", "detail"},
           {"op": "variables", "id"}, {"op": "ping", "id"}, {"op": "packages", "id", "directory"},
           {"op": "adopt", "id", "directory", "dev", "ino"}
Events:    ready, begun, display, result, late, done, reply

An interrupt (SIGINT) between `begun` and `done` is meant for the cell; at any other time it means nothing.

Cells may put anything in the place of anything: `builtins.len`, `json.dumps`, `os.write`, the `__str__` of an exception.
What runs between cells therefore stands on what it took at the start: this text has builtins of its own, and what it needs
of modules is bound to names below, compiled code where there is some (`door.py` has said `ready` and bound `FIRST`, `QUOTE`,
`QUESTIONS` and `ADOPTION`). Nothing of a value is asked without a net.
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

# What only some cells need is imported by them: a first cell waits half the time.

# The name that this text is compiled under.
OWN_NAME = "<replay>"
MAX_TEXT_CHARS = 200_000
MAX_DATA_BYTES = 8 * 1024 * 1024
MAX_MATCHES = 500
MAX_VARIABLES = 500
MAX_SHORT_CHARS = 120
MAX_SHOWN = 100
# Frames of a traceback that is made without the module for it.
MAX_PLAIN_FRAMES = 50
# To say how a cell has ended.
MAX_TRIES = 10
# Below this a cell's recursion limit leaves no room for what is said about the cell.
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
    """How JSON is read; the names are those of `json.JSONDecoder`."""

    strict, object_hook, object_pairs_hook = True, None, None
    parse_float, parse_int, parse_constant = float, int, float


try:
    # What `json` and `queue` are made of. The modules themselves take longer than most to import, as `ast` and `signal` do.
    from _json import make_scanner
    from _queue import SimpleQueue

    SCAN = make_scanner(Reading)
except ImportError:
    # Another interpreter than CPython.
    import json
    from queue import SimpleQueue

    SCAN = json.JSONDecoder().scan_once


def exact(text):
    """The same text without the class that a cell may have made for it."""
    return "".join((text, ""))


def encoded(value):
    """A value as JSON; what has no JSON is text."""
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
    """The socket to the server. Taken from standard input, which is empty from then on."""

    def __init__(self):
        self.number = DUP(0)
        SET_INHERITABLE(self.number, False)
        empty = os.open(os.devnull, os.O_RDONLY)
        DUP2(empty, 0)
        CLOSE(empty)
        self.lock = LOCK()
        self.closed = False
        # The main thread is sending, and must not be interrupted in the middle of a line.
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
        """In a child process, which has no say here."""
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
    """What an exception says of itself, or that it says nothing."""
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
    """One line about a value, however large it is."""
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
    """Takes the frames out that are none of the user's, in causes too."""
    seen, left = set(), [told]
    while left:
        one = left.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        frames = [frame for frame in one.stack if frame.filename != OWN_NAME]
        if one is told and not any(frame.filename.startswith("<cell ") for frame in frames):
            # The cell itself was not read to its end: the frames are those of the parser.
            frames = []
        one.stack = traceback.StackSummary.from_list(frames)
        left += [one.__cause__, one.__context__]
    return told


def told_plainly(error, value):
    """A traceback made of nothing but what the interpreter itself keeps."""
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
    """An exception for the reader, whatever a cell has made of it and of the modules that show it."""
    value = words(error)
    try:
        full = traceback.TracebackException(type(error), error, TRACEBACK_OF(error))
        text = shortened("".join(cleaned(full).format()))
    except BaseException:
        text = told_plainly(error, value)
    return {"name": class_name(error), "value": value, "traceback": text}
