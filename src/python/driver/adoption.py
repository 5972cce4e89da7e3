"""Adoption of a spare interpreter by a session. Only spare interpreters read this source."""

# Variables with module search paths. A relative path means another place in each directory.
PLACES = ("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE")
# Matches a shim of pyenv, and captures the root of that pyenv.
SHIM = re.compile(r'^export PYENV_ROOT="([^"$`\\]+)"$.*^exec "[^"$`]+/libexec/pyenv" exec "\$program" "\$@"$', re.M | re.S)
MAX_SHIM_BYTES = 4096
# Known hooks of pyenv and pyenv-virtualenv: none changes the started version or its place.
HOOKS = ("conda.bash", "pip-rehash.bash", "python-config.bash", "system-site-packages.bash")
HOOKED = ("exec", "version-name", "which")


def version_of(path):
    """Returns the version of a file or directory, and of the symlink to it; None if it does not
    exist."""
    try:
        found = os.lstat(path), os.stat(path)
    except OSError:
        return None
    return [(status.st_dev, status.st_ino, status.st_mode, status.st_mtime_ns, status.st_ctime_ns) for status in found]


def names_in(directory):
    """Returns the sorted names in a directory; empty if it cannot be read."""
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []


def is_newer(version, moment_ns):
    return version is not None and any(status[4] >= moment_ns for status in version)


def start_of(path):
    """Returns the beginning of a text file, or an empty text."""
    try:
        with open(path, "rb") as file:
            return file.read(MAX_SHIM_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


class Pyenv:
    """The interpreter behind pyenv's `python3`: the version in a variable or in the nearest version
    file (`pyenv help version-file`)."""

    def __init__(self, root, named):
        self.root, self.named = root, named
        self.file = self.version_file(os.getcwd())
        self.hooks = [os.path.join(place, part) for place in os.environ.get("PYENV_HOOK_PATH", "").split(os.pathsep)
                      for part in HOOKED]
        self.files = [self.file, *self.hooks] if self.file else self.hooks
        # pyenv takes the newest version with the given prefix.
        self.files += [os.path.join(root, name) for name in ("libexec", "libexec/pyenv", "libexec/pyenv-exec", "versions")]

    def version_file(self, directory):
        """Returns the version file for this directory; None if a variable names the version."""
        while not self.named:
            path = os.path.join(directory, ".python-version")
            if os.path.isfile(path):
                return path
            if directory == os.path.dirname(directory):
                return os.path.join(self.root, "version")
            directory = os.path.dirname(directory)
        return None

    def is_plain(self, others):
        """Returns true if pyenv acted only in known ways; `others` are the later programs in
        PATH."""
        lines = [line.split() for line in (start_of(self.file).splitlines() if self.file else [self.named])]
        asked = [words[0] for words in lines if words and not words[0].startswith("#")] or ["system"]
        version = os.environ.get("PYENV_VERSION", "")
        prefix = asked[0][len("python-"):] if asked[0].startswith("python-") else asked[0]
        started = os.path.join(self.root, "versions", version, "bin", "python3")
        if version == "system":
            others = [path for path in others if os.path.dirname(path) != os.path.join(self.root, "shims")]
            is_own = others != [] and os.path.realpath(others[0]) == os.path.realpath(sys.executable)
        else:
            is_own = started == sys.executable
        return (
            is_own
            and len(asked) == 1
            and f"{version}.".startswith(f"{prefix}.")
            and os.environ.get("PYENV_ROOT") == self.root
            and os.environ.get("PYENV_DIR") == os.getcwd()
            and all(name in HOOKS for place in self.hooks for name in names_in(place) if name.endswith(".bash"))
        )


class Footing:
    """Files and variables that the start of this interpreter depended on. While they are unchanged,
    a new interpreter would be the same."""

    def __init__(self, begun_ns, search_path, version):
        # PATH of the starting shell: a version manager changes PATH in the environment.
        places = search_path.split(os.pathsep)
        self.programs = [os.path.join(place, "python3") for place in places]
        found = [path for path in self.programs if os.path.isfile(path) and os.access(path, os.X_OK)]
        shim = SHIM.search(start_of(found[0])) if found else None
        self.pyenv = Pyenv(shim[1], version) if shim else None
        # A wrapper may start another interpreter elsewhere or later.
        self.is_direct = found != [] and all(os.path.isabs(place) for place in places) and (
            self.pyenv.is_plain(found[1:]) if self.pyenv
            else os.path.realpath(found[0]) == os.path.realpath(sys.executable)
        )
        self.is_rooted = all(
            os.path.isabs(place) for name in PLACES for place in os.environ.get(name, os.sep).split(os.pathsep)
        )
        site = sys.modules.get("site")
        # User and system packages may be installed later.
        self.places = [place for place in [*sys.path, getattr(site, "USER_SITE", None), sys.prefix] if place]
        home = os.path.dirname(sys.executable)
        self.files = [*self.programs, sys.executable, *(self.pyenv.files if self.pyenv else [])]
        self.files += [os.path.join(place, "pyvenv.cfg") for place in (home, os.path.dirname(home))]
        # All imported modules: code that runs at the start (`sitecustomize`, `.pth` files) may
        # import anything.
        files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
        self.files += [file for file in files if isinstance(file, str)]
        self.state = self.look()
        # Files changed since the start began may differ from the ones that were read.
        self.is_sound = not any(is_newer(version, begun_ns) for version in self.state)

    def look(self):
        found = [version_of(place) for place in self.places + self.files]
        for place in self.places:
            found += [version_of(os.path.join(place, name)) for name in names_in(place) if name.endswith(".pth")]
        return found

    def holds_in(self, is_same_directory):
        if self.pyenv and self.pyenv.version_file(os.getcwd()) != self.pyenv.file:
            return False
        return self.is_sound and (self.is_rooted or is_same_directory) and self.look() == self.state


FOOTING = Footing(int(sys.argv[4]), *sys.argv[5:7])


def adopt(session, directory, device, inode):
    """Makes this interpreter equal to one started now in this directory, or returns the reason why
    it cannot."""
    if not FOOTING.is_direct:
        return {"is_stand_in": True}
    os.chdir(directory)
    here = os.stat(os.curdir)
    if (here.st_dev, here.st_ino) != (device, inode):
        return {"error": "another directory has taken its name"}
    if not FOOTING.holds_in(directory == session.home):
        return {"error": "an interpreter that started now might be another one"}
    session.home = os.getcwd()
    for name in ("PWD", "PYENV_DIR"):
        if name in os.environ:
            os.environ[name] = session.home
    importlib.invalidate_caches()
    return {"cpu_seconds": time.process_time()}
