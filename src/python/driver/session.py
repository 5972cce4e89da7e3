

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
    """What a value looks like, by media type. Bytes are base64."""
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
        # The number of the cell that runs, or 0.
        self.active = 0
        self.shown = 0
        # The figures that this cell has shown.
        self.drawn = []
        self.is_interrupted = False
        self.home = os.getcwd()
        self.since = 0.0
        self.loop = None
        # Set when a request comes while tasks go on.
        self.alarm = None
        # Read when somebody asks something.
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
        # Between cells there is nothing to interrupt, and an exception there would end the session.
        if self.channel.is_shielded:
            self.is_interrupted = True
        elif self.running is not None:
            raise KeyboardInterrupt

    def send(self, event, **members):
        """Sends a line from the main thread, which an interrupt cannot cut in two."""
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

    # What is shown.

    def present(self, event, value):
        flush()
        self.shown += 1
        data, files = {}, []
        # The server counts what is beyond that.
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
        except Exception:
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

    def show_figures(self):
        """Shows the figures that are open, and closes them; not those that were shown as they are."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        figures = [pyplot.figure(number) for number in pyplot.get_fignums()] if pyplot is not None else []
        # All at first: where the time is up while one is drawn, the next cell has nothing to do with the others.
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
                # Everything that a cell can raise, `SystemExit` too, is news about the cell and no end of the session.
                error = raised
            finally:
                self.running, self.active = None, 0
        except BaseException as raised:
            # It came while the cell was being left.
            self.running, self.active = None, 0
            error = error or raised
        seconds = PERF_COUNTER() - begin
        if self.is_child:
            self.end_child(error)
        self.leave(request, error, seconds)

    def leave(self, request, error, seconds):
        """Says how a cell has ended. Nothing of the cell's is between here and the end of the line."""
        # An interrupt that comes too late for the cell is not to end the session, whatever the cell has made of interrupts.
        ON_SIGNAL(SIGINT, self.interrupted)
        self.make_headroom()
        share_streams(True)
        failure = None if error is None or exits_well(error) else told(error)
        flush(BaseException)
        self.send("done", id=request["id"], cell=self.cells, error=failure, seconds=seconds)

    def remark(self, text):
        """Says something of the session's own, where threads of earlier cells are heard: to the server it is no more."""
        self.send("late", cell=self.cells, stream="stderr", text=f"[session] {text}\n")

    def restore(self):
        """Gives a cell what the one before may have taken away, and says what that was."""
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
                # Its buffer was taken out of it.
                is_closed = True
            if SYS.get(name) is not own or is_closed:
                SYS[name] = SYS[f"__{name}__"] = make_stream(number, name) if is_closed else own
                self.remark(f"sys.{name} was replaced and is the session's own again")
        share_streams(has_leftovers())
        if not callable(SYS.get("displayhook")):
            SYS["displayhook"] = self.show_result
            self.remark("sys.displayhook could not be called and is the session's own again")

    def make_headroom(self):
        """Undoes a recursion limit that leaves no room to speak of the cell that has set it."""
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
                # The loop was stopped, or ended by what a task of an earlier cell raised.
                if task.done() or self.loop.is_closed():
                    raise
                self.remark(f"a task of an earlier cell ended the event loop ({class_name(error)}), which goes on")

    async def asked(self):
        """Waits for the next request, while tasks of earlier cells go on."""
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
        """A cell that forks comes back here twice; the child must not go on as a second session."""
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

    # The two loops.

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
                    # An answer may run code of the session's objects, for as long as that likes.
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
                # An interrupt that came too late for its cell, or what a signal handler of a cell has raised since.
                self.recover(request, error)

    def recover(self, request, error):
        """Ends a cell that was cut short while it was being left; one whose end was told already is not told again."""
        if self.is_child:
            EXIT(1)
        self.running, self.active = None, 0
        if request is None:
            return
        for _ in range(MAX_TRIES):
            try:
                return self.leave(request, error, 0.0)
            except OSError:
                # The cell has closed the channel.
                break
            except BaseException:
                # Such a handler may raise again and again.
                continue
        # Whoever waits for the cell hears at least that it is over.
        EXIT(1)


SYS, OWN = sys.__dict__, globals()
# Standard output and error as the session made them: objects, and descriptors that no cell knows of.
STREAMS, KEPT = {}, {}
SESSION = None


class Stream(io.TextIOWrapper):
    """Standard output or error while no thread of an earlier cell is there: a line costs no more than elsewhere."""


class SharedStream(Stream):
    """The same while there may be one: what it writes is none of the cell's that runs now."""

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
    """Whether threads of earlier cells are there still."""
    try:
        return any(getattr(thread, "replay_cell", None) is not None for thread in threading.enumerate())
    except Exception:
        return True


def make_stream(number, name):
    """By line, whatever it leads to, so that what is printed can be read at once."""
    raw = BUFFERED(FILE(number, "wb", closefd=False), 1 << 16)
    stream = SharedStream(raw, encoding="utf-8", errors="backslashreplace", line_buffering=True)
    stream.label = name
    STREAMS[name] = stream
    return stream


def identity(number):
    """What a descriptor leads to; None if nowhere."""
    try:
        status = FSTAT(number)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def remember(name, code):
    """Has tracebacks show the lines of a cell."""
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
    """Has every thread know the cell that it began in."""
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
    # What `show` says of a backend without a window; figures are shown when the cell ends.
    warnings.filterwarnings("ignore", message=".*(non-interactive|non-GUI backend).*", category=UserWarning)
    sys.argv = [""]
    sys.path[:0] = FIRST
    SESSION = Session(channel)
    sys.meta_path.insert(0, Libraries())
    mark_threads()
    SESSION.serve()


begin()
