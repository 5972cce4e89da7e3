"""The inside of a Python session: runs cells one after the other, and answers questions meanwhile.

Standard library only, Python 3.8 and newer. Standard input is one end of a socket: requests come in as JSON lines, events
go out as JSON lines. Standard output and error are plain pipes, so whatever writes there (C code and child processes too)
is seen in order; a cell is over when `done` was sent, and everything it wrote before is in the pipes by then.

Requests:  {"op": "exec", "id", "code"}  and, answered at once by a thread of their own:
           {"op": "complete", "id", "code", "cursor"}, {"op": "inspect", "id", "code", "cursor", "detail"},
           {"op": "variables", "id"}, {"op": "ping", "id"}, {"op": "packages", "id", "directory"}
Events:    ready, begun, display, result, late, done, reply

An interrupt (SIGINT) between `begun` and `done` is meant for the cell; at any other time it means nothing.
"""

import sys

# A `json.py` of the project is not what is meant here. It is what cells mean: its place comes back below.
FIRST = sys.path[:1] if sys.path[:1] == [""] else []
del sys.path[:len(FIRST)]

import ast
import binascii
import builtins
import importlib
import io
import json
import linecache
import os
import queue
import re
import signal
import threading
import time
import traceback
import types
import warnings

# What only some cells need is imported by them: a session starts in half the time.

# The name that this text is compiled under.
OWN_NAME = "<replay>"
MAX_TEXT_CHARS = 200_000
MAX_DATA_BYTES = 8 * 1024 * 1024
MAX_MATCHES = 500
MAX_VARIABLES = 500
MAX_SHORT_CHARS = 120
MAX_SHOWN = 100
# `CO_COROUTINE` of the module `inspect`.
CO_COROUTINE = 0x80

KINDS = (
    ("text/html", "_repr_html_"),
    ("image/png", "_repr_png_"),
    ("image/jpeg", "_repr_jpeg_"),
    ("image/svg+xml", "_repr_svg_"),
    ("text/markdown", "_repr_markdown_"),
    ("text/latex", "_repr_latex_"),
    ("application/json", "_repr_json_"),
)
SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg", "image/svg+xml": ".svg"}


class Channel:
    """The socket to the server. Taken from standard input, which is empty from then on."""

    def __init__(self):
        self.number = os.dup(0)
        os.set_inheritable(self.number, False)
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
        self.lock = threading.Lock()
        self.closed = False
        # The main thread is sending, and must not be interrupted in the middle of a line.
        self.is_shielded = False

    def lines(self):
        rest = b""
        while True:
            part = os.read(self.number, 1 << 16)
            if not part:
                return
            *whole, rest = (rest + part).split(b"\n")
            yield from whole

    def send(self, event, **members):
        line = json.dumps({"event": event, **members}, default=str).encode("utf-8", "backslashreplace") + b"\n"
        with self.lock:
            rest = memoryview(line)
            while rest and not self.closed:
                rest = rest[os.write(self.number, rest):]

    def forget(self):
        """In a child process, which has no say here."""
        self.lock = threading.Lock()
        self.closed = True
        os.close(self.number)


def shortened(text, most=MAX_TEXT_CHARS):
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def plain(value):
    try:
        return repr(value)
    except Exception as error:
        return f"<{type(value).__name__} whose repr() raises {type(error).__name__}: {error}>"


def brief(value):
    """One line about a value, however large it is."""
    import reprlib

    if isinstance(value, (str, bytes, int, list, tuple, dict, set, frozenset)):
        short = reprlib.Repr()
        short.maxlist = short.maxtuple = short.maxset = short.maxfrozenset = short.maxdict = 20
        short.maxstring = short.maxlong = short.maxother = MAX_SHORT_CHARS
        try:
            text = short.repr(value)
        except Exception:
            text = plain(value)
    else:
        text = plain(value)
    text = " ".join(text.split())
    return text if len(text) <= MAX_SHORT_CHARS else text[: MAX_SHORT_CHARS - 3] + "..."


def forms(value):
    """What a value looks like, by media type. Bytes are base64."""
    found = {}
    kind = type(value)
    if getattr(kind, "_repr_mimebundle_", None) is not None:
        try:
            bundle = value._repr_mimebundle_()
            bundle = bundle[0] if isinstance(bundle, tuple) else bundle
            found.update(bundle or {})
        except Exception:
            pass
    for media, name in KINDS:
        method = getattr(kind, name, None)
        if media in found or method is None:
            continue
        try:
            form = method(value)
        except Exception:
            continue
        form = form[0] if isinstance(form, tuple) else form
        if form is not None:
            found[media] = form
    if "text/plain" not in found:
        found["text/plain"] = plain(value)
    return found


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


class Session:
    def __init__(self, channel):
        self.channel = channel
        self.cells = 0
        self.running = None
        # The number of the cell that runs, or 0.
        self.active = 0
        self.shown = 0
        self.is_interrupted = False
        self.home = os.getcwd()
        self.since = 0.0
        self.loop = None
        self.importable = None
        self.is_child = False
        module = types.ModuleType("__main__")
        module.__builtins__ = builtins
        sys.modules["__main__"] = module
        self.names = module.__dict__
        self.queue = queue.SimpleQueue()
        self.questions = queue.SimpleQueue()
        sys.displayhook = self.show_result
        builtins.display = self.display
        signal.signal(signal.SIGINT, self.interrupted)
        os.register_at_fork(after_in_child=self.forked)

    def interrupted(self, _number, _frame):
        # Between cells there is nothing to interrupt, and an exception there would end the session.
        if self.channel.is_shielded:
            self.is_interrupted = True
        elif self.running is not None:
            raise KeyboardInterrupt

    def send(self, event, **members):
        """Sends a line from the main thread, which an interrupt cannot cut in two."""
        channel = self.channel
        if threading.get_ident() != MAIN:
            return channel.send(event, **members)
        channel.is_shielded = True
        try:
            channel.send(event, **members)
        finally:
            channel.is_shielded = False
        if self.is_interrupted:
            self.is_interrupted = False
            if self.running is not None:
                raise KeyboardInterrupt

    def forked(self):
        self.is_child = True
        self.channel.forget()

    # What is shown.

    def present(self, event, value):
        flush()
        self.shown += 1
        if self.shown > MAX_SHOWN:
            return
        data, files = {}, []
        for media, form in forms(value).items():
            if media in SUFFIXES:
                content = form if isinstance(form, bytes) else str(form).encode()
                files.append(self.save(content, SUFFIXES[media]))
                if media != "image/svg+xml" and len(content) <= MAX_DATA_BYTES:
                    data[media] = binascii.b2a_base64(content, newline=False).decode()
            elif isinstance(form, str):
                data[media] = shortened(form)
            elif media == "application/json":
                data[media] = shortened(json.dumps(form, default=str))
        self.send(event, id=self.running, data=data, files=[file for file in files if file])

    def save(self, content, suffix):
        """Keeps a picture below `outputs`; the path, or None where that cannot be written."""
        try:
            # Where the session began, wherever a cell has gone since.
            os.makedirs(os.path.join(self.home, "outputs"), exist_ok=True)
            for number in range(1, 10_000):
                path = os.path.join("outputs", f"cell{self.cells}-{number}{suffix}")
                try:
                    with open(os.path.join(self.home, path), "xb") as file:
                        file.write(content)
                    return path
                except FileExistsError:
                    continue
        except OSError:
            pass
        return None

    def display(self, *values, **_options):
        """Shows values as a cell's last expression is shown."""
        for value in values:
            self.present("display", value)

    def show_result(self, value):
        if value is not None:
            self.names["_"] = value
            self.present("result", value)

    def show_figures(self, *_arguments, **_options):
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None:
            return
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            picture = io.BytesIO()
            figure.savefig(picture, format="png", bbox_inches="tight")
            pyplot.close(figure)
            self.present("display", Picture(picture.getvalue()))
        pyplot.show = self.show_figures

    # Cells.

    def execute(self, request):
        self.cells += 1
        name, code = f"<cell {self.cells}>", request["code"]
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        notes = self.restored()
        error, self.shown, self.is_interrupted = None, 0, False
        begin = time.perf_counter()
        self.since = time.monotonic()
        try:
            try:
                self.active, self.running = self.cells, request["id"]
                self.send("begun", id=request["id"])
                self.run_cell(code, name)
                self.show_figures()
            except BaseException as raised:
                # Everything that a cell can raise, `SystemExit` too, is news about the cell and no end of the session.
                error = raised
            finally:
                self.running, self.active = None, 0
        except KeyboardInterrupt as raised:
            # It came while the cell was being left.
            self.running, self.active = None, 0
            error = error or raised
        seconds = time.perf_counter() - begin
        if self.is_child:
            self.end_child(error)
        if isinstance(error, SystemExit) and not error.code:
            error = None
        told = None if error is None else self.told(error)
        del error
        flush()
        self.send("done", id=request["id"], cell=self.cells, error=told, seconds=seconds, notes=notes,
                  unshown=max(0, self.shown - MAX_SHOWN))

    def restored(self):
        """Gives a cell what the one before may have taken away; what that was."""
        notes = []
        signal.signal(signal.SIGINT, self.interrupted)
        for number, name in ((1, "stdout"), (2, "stderr")):
            try:
                is_same = os.path.sameopenfile(number, KEPT[name])
            except OSError:
                is_same = False
            if not is_same:
                os.dup2(KEPT[name], number)
                notes.append(f"descriptor {number} led elsewhere and is {name} again")
            own = STREAMS[name]
            if getattr(sys, name) is not own or own.closed:
                if own.closed:
                    own = make_stream(number, name)
                setattr(sys, name, own)
                setattr(sys, f"__{name}__", own)
                notes.append(f"sys.{name} was replaced and is the session's own again")
        return notes

    def run_cell(self, code, name):
        tree = ast.parse(code, name)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        if tree.body:
            self.evaluate(compile(tree, name, "exec", flags))
        if last is not None:
            value = self.evaluate(compile(ast.Expression(last.value), name, "eval", flags))
            sys.displayhook(value)

    def evaluate(self, compiled):
        if not compiled.co_flags & CO_COROUTINE:
            return eval(compiled, self.names)
        import asyncio

        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
        task = self.loop.create_task(eval(compiled, self.names))
        try:
            return self.loop.run_until_complete(task)
        except KeyboardInterrupt:
            task.cancel()
            try:
                self.loop.run_until_complete(task)
            except BaseException:
                pass
            raise

    def end_child(self, error):
        """A cell that forks comes back here twice; the child must not go on as a second session."""
        status = 0
        if isinstance(error, SystemExit):
            status = error.code if isinstance(error.code, int) else int(error.code is not None)
        elif error is not None:
            traceback.print_exception(type(error), error, error.__traceback__)
            status = 1
        flush()
        os._exit(status & 0xFF)

    def told(self, error):
        try:
            told = traceback.TracebackException(type(error), error, error.__traceback__)
            text = "".join(cleaned(told).format())
        except Exception:
            text = f"{type(error).__name__}, which cannot be shown\n"
        try:
            value = str(error)
        except Exception:
            value = ""
        return {"name": type(error).__name__, "value": shortened(value), "traceback": shortened(text)}

    # Questions, also while a cell runs.

    def answer(self, request):
        asked = request["op"]
        if asked == "complete":
            return self.complete(request["code"], request["cursor"])
        if asked == "inspect":
            return self.inspect(request["code"], request["cursor"], request.get("detail", 0))
        if asked == "variables":
            return self.variables()
        if asked == "ping":
            seconds = time.monotonic() - self.since if self.running is not None else None
            return {"busy": self.running is not None, "seconds": seconds, "test": 6 * 7}
        if asked == "packages":
            import site

            site.addsitedir(request["directory"])
            # In front of what the system has, as in a session that starts with them.
            if request["directory"] in sys.path:
                sys.path.remove(request["directory"])
            sys.path.insert(1, request["directory"])
            importlib.invalidate_caches()
            return {}
        return {"error": f"unknown op {asked!r}"}

    def complete(self, code, cursor):
        cursor = max(0, min(cursor, len(code)))
        matches, start = self.complete_plainly(code, code[:cursor])
        if matches:
            return {"matches": matches[:MAX_MATCHES], "cursor_start": start, "cursor_end": cursor}
        try:
            # What names lead to is known at once; only the rest is worth the seconds that this may take.
            import jedi

            lines = code[:cursor].split("\n")
            found = jedi.Interpreter(code, [dict(self.names)]).complete(len(lines), len(lines[-1]))
            length = found[0].get_completion_prefix_length() if found else 0
            matches, start = [one.name for one in found], cursor - length
        except Exception:
            # No jedi, or one that fails on this code.
            pass
        return {"matches": matches[:MAX_MATCHES], "cursor_start": start, "cursor_end": cursor}

    def complete_plainly(self, code, before):
        token = re.search(r"[\w.]*$", before).group()
        start = len(before) - len(token)
        owner, dot, part = token.rpartition(".")
        if dot:
            value = self.look_up(owner, before)
            names = [] if value is MISSING else dir(value)
            start += len(owner) + 1
        elif re.search(r"^\s*(?:import|from)\s+\w*$", before.rpartition("\n")[2]):
            names = self.modules()
        else:
            import keyword

            names = self.names.keys() | set(dir(builtins)) | set(keyword.kwlist)
            # What the code is about to make.
            names |= {name for names in MADE.findall(code) for name in names if name and name != token}
        matches = sorted(name for name in list(names) if name.startswith(part) and "." not in name)
        # What is private is offered to who begins to spell it.
        return [name for name in matches if part.startswith("_") or not name.startswith("_")], start

    def modules(self):
        """Names of what can be imported."""
        if self.importable is None:
            import pkgutil

            known = getattr(sys, "stdlib_module_names", None) or sys.builtin_module_names
            self.importable = set(known) | {found.name for found in pkgutil.iter_modules()}
        return self.importable | sys.modules.keys()

    def imported(self, name, code):
        """What a name is that the code itself imports, if that is there already or part of Python."""
        known = getattr(sys, "stdlib_module_names", sys.builtin_module_names)
        for line in IMPORTS.finditer(code):
            package, names = line.groups()
            for one in names.split(","):
                words = one.split()
                # `import a.b` makes the name `a`, and `import a.b as c` the name `c`.
                is_plain = not package and len(words) == 1
                if not words or (words[0].partition(".")[0] if is_plain else words[-1]) != name:
                    continue
                module = package or (name if is_plain else words[0])
                if module not in sys.modules and (module.partition(".")[0] not in known or module in EGGS):
                    continue
                try:
                    found = importlib.import_module(module)
                    return getattr(found, words[0]) if package else found
                except Exception:
                    continue
        return MISSING

    def look_up(self, dotted, code=""):
        first, *rest = dotted.split(".")
        value = self.names.get(first, getattr(builtins, first, MISSING))
        if value is MISSING:
            value = self.imported(first, code)
        for name in rest:
            try:
                value = getattr(value, name)
            except Exception:
                return MISSING
        return value

    def inspect(self, code, cursor, detail):
        import inspect

        cursor = max(0, min(cursor, len(code)))
        before = re.search(r"[\w.]*$", code[:cursor]).group()
        after = re.match(r"\w*", code[cursor:]).group()
        name = (before + after).strip(".")
        # Inside the brackets of a call the function is meant.
        if not name:
            called = re.search(r"([\w.]+)\([^()]*$", code[:cursor])
            name = called.group(1) if called else ""
        value = self.look_up(name, code) if name else MISSING
        if value is MISSING:
            return {"found": False, "data": {}}
        lines = [f"Name: {name}", f"Type: {type(value).__name__}"]
        try:
            lines.append(f"Signature: {name}{inspect.signature(value)}")
        except (TypeError, ValueError):
            lines.append(f"Value: {brief(value)}")
        documentation = inspect.getdoc(value)
        if documentation:
            lines.append("Docstring:\n" + (documentation if detail else shortened(documentation, 2000)))
        for title, question in (("File", inspect.getsourcefile), ("Source", inspect.getsource)):
            if title == "Source" and not detail:
                continue
            try:
                lines.append(f"{title}: {question(value)}")
            except Exception:
                pass
        data = {"text/plain": shortened("\n".join(lines))}
        method = getattr(type(value), "_repr_html_", None)
        if method is not None:
            try:
                data["text/html"] = shortened(method(value))
            except Exception:
                pass
        return {"found": True, "data": data}

    def variables(self):
        found = []
        for name, value in list(self.names.items()):
            if name.startswith("_") or isinstance(value, types.ModuleType):
                continue
            one = {"name": name, "type": type(value).__name__, "value": brief(value)}
            for member in ("shape", "__len__"):
                try:
                    size = getattr(value, member)
                    one["size"] = str(size() if callable(size) else size)
                    break
                except Exception:
                    continue
            found.append(one)
            if len(found) == MAX_VARIABLES:
                break
        return {"variables": found}

    # The two loops.

    def listen(self):
        for line in self.channel.lines():
            request = json.loads(line)
            if request["op"] == "exec":
                self.queue.put(request)
            elif request["op"] == "ping":
                self.reply(request)
            else:
                # An answer may run code of the session's objects, for as long as that likes.
                self.questions.put(request)
        # Nobody is there any more.
        os._exit(0)

    def think(self):
        while True:
            self.reply(self.questions.get())

    def reply(self, request):
        try:
            reply = self.answer(request)
        except BaseException as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        self.channel.send("reply", id=request["id"], **reply)

    def serve(self):
        for loop in (self.listen, self.think):
            threading.Thread(target=loop, name="replay", daemon=True).start()
        version = ".".join(map(str, sys.version_info[:3]))
        self.channel.send("ready", version=version, executable=sys.executable, prefix=sys.prefix, pid=os.getpid())
        while True:
            try:
                self.execute(self.queue.get())
            except KeyboardInterrupt:
                # Too late for the cell that it was meant for.
                continue


class Picture:
    """A figure that has been drawn."""

    def __init__(self, png):
        self.png = png

    def _repr_png_(self):
        return self.png

    def __repr__(self):
        return "<figure>"


MISSING = object()
IMPORTS = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+)?import[ \t]+([\w., \t]+)", re.MULTILINE)
MADE = re.compile(r"\b(?:def|class|as|for|import)[ \t]+(\w+)|\b(\w+)[ \t]*=(?!=)")
# Modules that do something when they are imported.
EGGS = ("antigravity", "this", "idlelib", "turtledemo")
MAIN = threading.get_ident()
# Standard output and error as the session made them: objects, and descriptors that no cell knows of.
STREAMS, KEPT = {}, {}
SESSION = None


class Stream(io.TextIOWrapper):
    """Standard output or error. What a thread of an earlier cell writes is none of the cell's that runs now."""

    def write(self, text):
        if threading.get_ident() != MAIN and SESSION is not None and not SESSION.is_child:
            cell = getattr(threading.current_thread(), "replay_cell", None)
            if cell is not None and cell != SESSION.active:
                SESSION.channel.send("late", cell=cell, stream=self.label, text=shortened(str(text)))
                return len(text)
        return super().write(text)


def make_stream(number, name):
    """By line, whatever it leads to, so that what is printed can be read at once."""
    raw = os.fdopen(number, "wb", 1 << 16, closefd=False)
    stream = Stream(raw, encoding="utf-8", errors="backslashreplace", line_buffering=True)
    stream.label = name
    STREAMS[name] = stream
    return stream


def flush():
    for stream in (sys.stdout, sys.stderr, *STREAMS.values()):
        try:
            stream.flush()
        except Exception:
            pass


def streams():
    for number, name in ((1, "stdout"), (2, "stderr")):
        KEPT[name] = os.dup(number)
        os.set_inheritable(KEPT[name], False)
        stream = make_stream(number, name)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def mark_threads():
    """Has every thread know the cell that it began in."""
    start = threading.Thread.start

    def marked(thread):
        thread.replay_cell = getattr(threading.current_thread(), "replay_cell", None) or SESSION.active or None
        start(thread)

    threading.Thread.start = marked


def begin():
    global SESSION
    channel = Channel()
    streams()
    os.environ.setdefault("MPLBACKEND", "Agg")
    # What `show` says of a backend without a window; figures are shown when the cell ends.
    warnings.filterwarnings("ignore", message=".*(non-interactive|non-GUI backend).*", category=UserWarning)
    sys.argv = [""]
    sys.path[:0] = FIRST
    SESSION = Session(channel)
    mark_threads()
    SESSION.serve()


begin()
