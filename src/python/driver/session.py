

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


def forms(value):
    """Returns the representations of a value by media type. Bytes are base64."""
    found = {}
    kind = type(value)
    if getattr(kind, "_repr_mimebundle_", None) is not None:
        try:
            bundle = value._repr_mimebundle_()
            bundle = bundle[0] if issubclass(type(bundle), tuple) else bundle
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
        form = form[0] if issubclass(type(form), tuple) else form
        if form is not None:
            found[media] = form
    if "text/plain" not in found:
        found["text/plain"] = plain(value)
    return found


class Session:
    def __init__(self, channel):
        self.channel = channel
        self.cells = 0
        self.running = None
        # Number of the running cell, or 0.
        self.active = 0
        self.shown = 0
        # Figures that this cell has displayed.
        self.drawn = []
        self.is_interrupted = False
        self.home = os.getcwd()
        self.since = 0.0
        self.loop = None
        # Event for a new request while tasks run.
        self.alarm = None
        # Created at the first request.
        self.answers = None
        self.is_child = False
        module = types.ModuleType("__main__")
        module.__builtins__ = builtins
        sys.modules["__main__"] = module
        self.names = module.__dict__
        self.queue = SimpleQueue()
        self.questions = SimpleQueue()
        sys.displayhook = self.show_result
        builtins.display = self.display
        ON_SIGNAL(SIGINT, self.interrupted)
        os.register_at_fork(after_in_child=self.forked)

    def interrupted(self, _number, _frame):
        # Between cells an exception would end the session.
        if self.channel.is_shielded:
            self.is_interrupted = True
        elif self.running is not None:
            raise KeyboardInterrupt

    def send(self, event, **members):
        """Sends a line from the main thread. An interrupt cannot cut the line in two."""
        channel = self.channel
        if GET_IDENT() != MAIN:
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

    # Display of values.

    def present(self, event, value):
        flush()
        self.shown += 1
        data, files = {}, []
        # The server counts the values beyond the limit.
        for media, form in forms(value).items() if self.shown <= MAX_SHOWN else ():
            if media in SUFFIXES:
                content = form if issubclass(type(form), bytes) else unpacked(str(form), media)
                files.append(self.save(content, SUFFIXES[media]))
                if media != "image/svg+xml" and len(content) <= MAX_DATA_BYTES:
                    data[media] = binascii.b2a_base64(content, newline=False).decode()
            elif issubclass(type(form), str):
                data[media] = shortened(form)
            elif media == "application/json":
                data[media] = shortened(encoded(form))
        self.send(event, id=self.running, data=data, files=[file for file in files if file])

    def save(self, content, suffix):
        """Saves a picture below `outputs`. Returns the path, or None if it cannot be written."""
        try:
            # In the session's start directory, even after a `chdir` of a cell.
            os.makedirs(os.path.join(self.home, "outputs"), exist_ok=True)
            for number in range(1, 10_000):
                path = os.path.join("outputs", f"cell{self.cells}-{number}{suffix}")
                try:
                    with open(os.path.join(self.home, path), "xb") as file:
                        file.write(content)
                    return path
                except FileExistsError:
                    continue
        except Exception:
            pass
        return None

    def display(self, *values, **_options):
        """Displays values like a cell's last expression."""
        for value in values:
            self.present("display", value)

    def show_result(self, value):
        if value is not None:
            self.names["_"] = value
            self.present("result", value)

    def show_figures(self):
        """Displays and closes the open figures, except those displayed unchanged before."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        figures = [pyplot.figure(number) for number in pyplot.get_fignums()] if pyplot is not None else []
        # Close all first: if drawing one times out, the next cell must not get the others.
        for figure in figures:
            pyplot.close(figure)
        for figure in figures:
            if figure.stale or figure not in self.drawn:
                self.present("display", figure)

    # Cells.

    def execute(self, request):
        self.cells += 1
        name, code = f"<cell {self.cells}>", request["code"]
        error, self.shown, self.drawn, self.is_interrupted = None, 0, [], False
        begin = PERF_COUNTER()
        self.since = MONOTONIC()
        try:
            try:
                self.restore()
                remember(name, code)
                self.active, self.running = self.cells, request["id"]
                self.send("begun", id=request["id"])
                self.run_cell(code, name)
                self.show_figures()
            except BaseException as raised:
                # Any exception of a cell, also `SystemExit`, is a result of the cell and must not
                # end the session.
                error = raised
            finally:
                self.running, self.active = None, 0
        except BaseException as raised:
            # The exception came after the cell's code.
            self.running, self.active = None, 0
            error = error or raised
        seconds = PERF_COUNTER() - begin
        if self.is_child:
            self.end_child(error)
        self.leave(request, error, seconds)

    def leave(self, request, error, seconds):
        """Reports the end of a cell. None of the cell's code runs until the line is sent."""
        # A late interrupt must not end the session, even if the cell changed the handler.
        ON_SIGNAL(SIGINT, self.interrupted)
        self.make_headroom()
        share_streams(True)
        failure = None if error is None or exits_well(error) else told(error)
        flush(BaseException)
        self.send("done", id=request["id"], cell=self.cells, error=failure, seconds=seconds)

    def remark(self, text):
        """Reports a remark of the session through the channel for late output."""
        self.send("late", cell=self.cells, stream="stderr", text=f"[session] {text}\n")

    def restore(self):
        """Restores streams, limits and hooks that an earlier cell changed, and reports the
        changes."""
        ON_SIGNAL(SIGINT, self.interrupted)
        self.make_headroom()
        for number, name in ((1, "stdout"), (2, "stderr")):
            if identity(number) != identity(KEPT[name]):
                DUP2(KEPT[name], number)
                self.remark(f"descriptor {number} led elsewhere and is {name} again")
            own = STREAMS[name]
            try:
                is_closed = own.closed
            except ValueError:
                # Its buffer was detached.
                is_closed = True
            if SYS.get(name) is not own or is_closed:
                SYS[name] = SYS[f"__{name}__"] = make_stream(number, name) if is_closed else own
                self.remark(f"sys.{name} was replaced and is the session's own again")
        share_streams(has_leftovers())
        if not callable(SYS.get("displayhook")):
            SYS["displayhook"] = self.show_result
            self.remark("sys.displayhook could not be called and is the session's own again")

    def make_headroom(self):
        """Resets a recursion limit that leaves no room for the report on the cell."""
        limit = GET_RECURSION()
        if limit < MIN_RECURSION:
            SET_RECURSION(USUAL_RECURSION)
            self.remark(f"the recursion limit was {limit} and is {USUAL_RECURSION} again")

    def run_cell(self, code, name):
        tree = compile(code, name, "exec", ONLY_AST)
        last = tree.body.pop() if tree.body and type(tree.body[-1]) is EXPRESSION_STATEMENT else None
        parts = [compile(tree, name, "exec", TOP_LEVEL_AWAIT)] if tree.body else []
        if last is not None:
            parts.append(compile(EXPRESSION(last.value), name, "eval", TOP_LEVEL_AWAIT))
        if any(part.co_flags & CO_COROUTINE for part in parts):
            value = self.run_in_loop(self.awaited(parts))
        else:
            for part in parts:
                value = eval(part, self.names)
        if last is not None:
            SYS["displayhook"](value)

    async def awaited(self, parts):
        for part in parts:
            value = eval(part, self.names)
            if part.co_flags & CO_COROUTINE:
                value = await value
        return value

    def run_in_loop(self, work):
        import asyncio

        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
        task = self.loop.create_task(work)
        while True:
            try:
                return self.loop.run_until_complete(task)
            except KeyboardInterrupt:
                task.cancel()
                try:
                    self.loop.run_until_complete(task)
                except BaseException:
                    pass
                raise
            except BaseException as error:
                # The loop was stopped, or ended by an exception of an earlier cell's task.
                if task.done() or self.loop.is_closed():
                    raise
                self.remark(f"a task of an earlier cell ended the event loop ({class_name(error)}), which goes on")

    async def asked(self):
        """Waits for the next request while tasks of earlier cells run."""
        import asyncio

        self.alarm = asyncio.Event()
        if self.queue.empty():
            await self.alarm.wait()

    def next_request(self):
        loop = self.loop
        if loop is not None and not loop.is_closed():
            import asyncio

            if asyncio.all_tasks(loop):
                self.run_in_loop(self.asked())
        return self.queue.get()

    def end_child(self, error):
        """Ends a forked child process, which must not go on as a second session."""
        status = 1
        try:
            if error is None or exits_well(error):
                status = 0
            elif issubclass(type(error), SystemExit):
                code = EXIT_CODE(error)
                status = code if issubclass(type(code), int) else 1
            else:
                traceback.print_exception(type(error), error, TRACEBACK_OF(error))
            flush(BaseException)
        finally:
            EXIT(status & 0xFF)

    # Loops for requests and replies.

    def listen(self):
        try:
            for line in self.channel.lines():
                request = SCAN(line.decode(), 0)[0]
                if request["op"] == "exec":
                    self.queue.put(request)
                    if self.alarm is not None:
                        self.loop.call_soon_threadsafe(self.alarm.set)
                elif request["op"] in ("ping", "adopt"):
                    self.reply(request)
                else:
                    # A reply may run code of the session's objects for any time.
                    self.questions.put(request)
        finally:
            # Nobody is there any more.
            EXIT(0)

    def think(self):
        while True:
            self.reply(self.questions.get())

    def answer(self, request):
        asked = request["op"]
        if asked == "ping":
            seconds = MONOTONIC() - self.since if self.running is not None else None
            return {"busy": self.running is not None, "seconds": seconds, "test": 6 * 7}
        if asked == "adopt":
            return adopt(self, request["directory"], request["dev"], request["ino"])
        if self.answers is None:
            exec(compile(QUESTIONS, OWN_NAME, "exec"), OWN)
            self.answers = OWN["Questions"](self.names)
        return self.answers.answer(request)

    def reply(self, request):
        try:
            line = spoken("reply", id=request["id"], **self.answer(request))
        except BaseException as error:
            line = spoken("reply", id=request["id"], error=f"{class_name(error)}: {words(error)}")
        try:
            self.channel.put(line)
        except OSError:
            # Nobody is there any more, which the thread that listens hears.
            pass

    def serve(self):
        for loop in (self.listen, self.think):
            threading.Thread(target=loop, name="replay", daemon=True).start()
        while True:
            request = None
            try:
                request = self.next_request()
                self.execute(request)
            except BaseException as error:
                # A late interrupt, or an exception of a cell's signal handler.
                self.recover(request, error)

    def recover(self, request, error):
        """Finishes a cell that was interrupted while it was reported. Never reports an end
        twice."""
        if self.is_child:
            EXIT(1)
        self.running, self.active = None, 0
        if request is None:
            return
        for _ in range(MAX_TRIES):
            try:
                return self.leave(request, error, 0.0)
            except OSError:
                # A cell has closed the channel.
                break
            except BaseException:
                # A signal handler may raise again and again.
                continue
        # The end of the process tells the waiting call that the cell is over.
        EXIT(1)


SYS, OWN = sys.__dict__, globals()
# The session's own standard output and error: stream objects, and descriptors unknown to cells.
STREAMS, KEPT = {}, {}
SESSION = None


class Stream(io.TextIOWrapper):
    """Standard output or error without threads of earlier cells: as fast as a plain stream."""


class SharedStream(Stream):
    """Standard output or error with possible threads of earlier cells, whose text is sent as late
    output."""

    def write(self, text):
        if GET_IDENT() != MAIN and SESSION is not None and not SESSION.is_child:
            cell = getattr(threading.current_thread(), "replay_cell", None)
            if cell is not None and cell != SESSION.active:
                SESSION.channel.send("late", cell=cell, stream=self.label, text=shortened(str(text)))
                return len(text)
        return super().write(text)


def share_streams(is_shared):
    for stream in STREAMS.values():
        stream.__class__ = SharedStream if is_shared else Stream


def has_leftovers():
    """Returns true if threads of earlier cells still run."""
    try:
        return any(getattr(thread, "replay_cell", None) is not None for thread in threading.enumerate())
    except Exception:
        return True


def make_stream(number, name):
    """Creates a line-buffered stream, so that printed text can be read at once."""
    raw = BUFFERED(FILE(number, "wb", closefd=False), 1 << 16)
    stream = SharedStream(raw, encoding="utf-8", errors="backslashreplace", line_buffering=True)
    stream.label = name
    STREAMS[name] = stream
    return stream


def identity(number):
    """Returns the device and inode of a descriptor; None if it is closed."""
    try:
        status = FSTAT(number)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def remember(name, code):
    """Registers a cell's source, so that tracebacks show its lines."""
    try:
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    except Exception:
        pass


def exits_well(error):
    if not issubclass(type(error), SystemExit):
        return False
    code = EXIT_CODE(error)
    return code is None or issubclass(type(code), int) and int.__eq__(code, 0)


def flush(caught=Exception):
    for stream in (SYS.get("stdout"), SYS.get("stderr"), *STREAMS.values()):
        try:
            stream.flush()
        except caught:
            pass


def streams():
    for number, name in ((1, "stdout"), (2, "stderr")):
        KEPT[name] = DUP(number)
        SET_INHERITABLE(KEPT[name], False)
        stream = make_stream(number, name)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def mark_threads():
    """Marks every thread with the cell that started it."""
    start = threading.Thread.start

    def marked(thread):
        thread.replay_cell = getattr(threading.current_thread(), "replay_cell", None) or SESSION.active or None
        start(thread)

    threading.Thread.start = marked


def begin():
    global SESSION
    if ADOPTION:
        exec(compile(ADOPTION, OWN_NAME, "exec"), OWN)
    channel = Channel()
    streams()
    os.environ.setdefault("MPLBACKEND", "Agg")
    # Warnings of `show` for a backend without a window. Figures are displayed at the end of the
    # cell.
    warnings.filterwarnings("ignore", message=".*(non-interactive|non-GUI backend).*", category=UserWarning)
    sys.argv = [""]
    sys.path[:0] = FIRST
    SESSION = Session(channel)
    sys.meta_path.insert(0, Libraries())
    mark_threads()
    SESSION.serve()


begin()
