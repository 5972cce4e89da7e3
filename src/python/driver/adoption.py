

# Longest tick of a kernel's clock, twice.
LATE_NS = 20_000_000
# Variables with paths that say where modules are; relative ones are another place in each directory.
PLACES = ("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE")


def version_of(path):
    """Which version of a file or directory there is, and of the link that leads to it; None if there is none."""
    try:
        found = os.lstat(path), os.stat(path)
    except OSError:
        return None
    return [(status.st_dev, status.st_ino, status.st_mode, status.st_mtime_ns, status.st_ctime_ns) for status in found]


def is_newer(version, moment_ns):
    return version is not None and any(status[4] >= moment_ns for status in version)


class Footing:
    """What the start of this interpreter stood on, as far as a look at files tells it: one that starts later is the same as
    long as this is."""

    def __init__(self, begun_ns, search_path):
        # PATH as the shell had it that started this: a manager of versions puts another one into the environment.
        places = search_path.split(os.pathsep)
        self.programs = [os.path.join(place, "python3") for place in places]
        found = [path for path in self.programs if os.path.isfile(path) and os.access(path, os.X_OK)]
        # Anything else than the interpreter itself may start another one elsewhere, or later, for reasons of its own.
        self.is_direct = (
            all(os.path.isabs(place) for place in places)
            and found != []
            and os.path.realpath(found[0]) == os.path.realpath(sys.executable)
        )
        self.is_rooted = all(
            os.path.isabs(place) for name in PLACES for place in os.environ.get(name, os.sep).split(os.pathsep)
        )
        site = sys.modules.get("site")
        # Packages of the user may come to be there later, as those of the system.
        self.places = [place for place in [*sys.path, getattr(site, "USER_SITE", None), sys.prefix] if place]
        home = os.path.dirname(sys.executable)
        self.files = [*self.programs, sys.executable]
        self.files += [os.path.join(place, "pyvenv.cfg") for place in (home, os.path.dirname(home))]
        # All that was imported: what runs by itself at the start (`sitecustomize`, files `.pth`) may import anything.
        files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
        self.files += [file for file in files if isinstance(file, str)]
        self.state = self.look()
        # What has changed since the start began need not be what it stands on. The kernel's stamps are some milliseconds late.
        self.is_sound = not any(is_newer(version, begun_ns - LATE_NS) for version in self.state)

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
        return self.is_sound and (self.is_rooted or is_same_directory) and self.look() == self.state


# Only one that waits for a session has it.
FOOTING = Footing(int(sys.argv[2]), sys.argv[3]) if sys.argv[4:] == ["spare"] else None


def adopt(session, directory, device, inode):
    """Has the interpreter be what one that started now in this directory would be, or says that it cannot."""
    if FOOTING is None or not FOOTING.is_direct:
        return {"is_stand_in": True}
    os.chdir(directory)
    here = os.stat(os.curdir)
    if (here.st_dev, here.st_ino) != (device, inode):
        return {"error": "another directory has taken its name"}
    if not FOOTING.holds_in(directory == session.home):
        return {"error": "an interpreter that started now might be another one"}
    session.home = os.getcwd()
    if "PWD" in os.environ:
        os.environ["PWD"] = session.home
    importlib.invalidate_caches()
    return {"cpu_seconds": time.process_time()}
