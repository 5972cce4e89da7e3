

# Longest tick of a kernel's clock, twice.
LATE_NS = 20_000_000
# Where the managers of versions that stand in the place of `python3` look which one is meant.
VERSION_FILES = (".python-version", ".tool-versions", "mise.toml", ".mise.toml", "mise.local.toml")


def version_of(path):
    """Which version of a file or directory there is; None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns


def interpreter_in_path():
    """What `exec python3` of a shell finds."""
    for place in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(place, "python3")
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return sys.executable


class Footing:
    """What the start of this interpreter stood on, as far as a look at files tells it: one that starts later is the same as
    long as this is."""

    def __init__(self, begun_ns):
        site = sys.modules.get("site")
        # Packages of the user may come to be there later, as those of the system.
        self.places = [place for place in [*sys.path, getattr(site, "USER_SITE", None), sys.prefix] if place]
        program = interpreter_in_path()
        self.is_direct = os.path.realpath(program) == os.path.realpath(sys.executable)
        self.files = [program, sys.executable]
        if not self.is_direct:
            # A program that decides by the directory, and by what its user chose for all of them.
            here = os.getcwd()
            self.files.append(os.path.join(os.path.dirname(program), os.pardir, "version"))
            while True:
                self.files += [os.path.join(here, name) for name in VERSION_FILES]
                if here == os.path.dirname(here):
                    break
                here = os.path.dirname(here)
        self.state = self.look()
        # What has changed since the start began need not be what it stands on. The kernel's stamps are some milliseconds late.
        self.is_sound = all(version is None or version[3] < begun_ns - LATE_NS for version in self.state)

    def look(self):
        found = [version_of(place) for place in self.places + self.files]
        for place in self.places:
            try:
                names = sorted(name for name in os.listdir(place) if name.endswith(".pth"))
            except OSError:
                continue
            found += [version_of(os.path.join(place, name)) for name in names]
        return found

    def holds_in(self, is_same_directory):
        return self.is_sound and (self.is_direct or is_same_directory) and self.look() == self.state


# Only one that waits for a session has it.
FOOTING = Footing(int(sys.argv[2])) if sys.argv[3:] == ["spare"] else None


def adopt(session, directory, device, inode):
    """Has the interpreter be what one that started now in this directory would be, or says that it cannot."""
    os.chdir(directory)
    here = os.stat(os.curdir)
    if (here.st_dev, here.st_ino) != (device, inode):
        return {"error": "another directory has taken its name"}
    if FOOTING is None or not FOOTING.holds_in(directory == session.home):
        return {"error": "an interpreter that started now might be another one"}
    session.home = os.getcwd()
    if "PWD" in os.environ:
        os.environ["PWD"] = session.home
    importlib.invalidate_caches()
    return {"cpu_seconds": time.process_time()}
