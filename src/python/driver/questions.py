"""Replies beside the cells: completion, inspection, variables, packages. Read at the first request."""

MISSING = object()
IMPORTS = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+)?import[ \t]+([\w., \t]+)", re.MULTILINE)
KEYS = re.compile(r"([\w.]+)\[(['\"])([^'\"\]]*)$")
MEMBERS = re.compile(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]+(?:[\w \t,]*,[ \t]*)?(\w*)$")
MADE = re.compile(r"\b(?:def|class|as|for|import)[ \t]+(\w+)|\b(\w+)[ \t]*=(?!=)")
# Modules with side effects on import.
EGGS = ("antigravity", "this", "idlelib", "turtledemo")


class Questions:
    """Answers requests on a thread of its own while a cell may run. Reading an object may run its
    code."""

    def __init__(self, names):
        self.names = names
        self.importable = None

    def answer(self, request):
        asked = request["op"]
        if asked == "complete":
            return self.complete(request["code"], request["cursor"])
        if asked == "inspect":
            return self.inspect(request["code"], request["cursor"], request.get("detail", 0))
        if asked == "variables":
            return self.variables()
        if asked == "packages":
            import site

            site.addsitedir(request["directory"])
            # Before the system's packages, as in a session that starts with them.
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
            # Names are looked up at once. Only the rest is worth the seconds that jedi may take.
            import jedi

            lines = code[:cursor].split("\n")
            found = jedi.Interpreter(code, [dict(self.names)]).complete(len(lines), len(lines[-1]))
            length = found[0].get_completion_prefix_length() if found else 0
            matches, start = [one.name for one in found], cursor - length
        except Exception:
            # jedi is missing or fails on this code.
            pass
        return {"matches": matches[:MAX_MATCHES], "cursor_start": start, "cursor_end": cursor}

    def complete_plainly(self, code, before):
        line = before.rpartition("\n")[2]
        for pattern, names_in in ((KEYS, self.keys_in), (MEMBERS, self.members_of)):
            found = pattern.search(line)
            if found is not None:
                part = found.groups()[-1]
                return sorted(name for name in names_in(found) if name.startswith(part)), len(before) - len(part)
        token = re.search(r"[\w.]*$", before).group()
        start = len(before) - len(token)
        owner, dot, part = token.rpartition(".")
        if dot:
            value = self.look_up(owner, before)
            names = [] if value is MISSING else dir(value)
            start += len(owner) + 1
        elif re.search(r"^\s*(?:import|from)\s+\w*$", line):
            names = self.modules()
        else:
            import keyword

            names = self.names.keys() | set(dir(builtins)) | set(keyword.kwlist)
            # Names that the code defines.
            names |= {name for names in MADE.findall(code) for name in names if name and name != token}
        matches = sorted(name for name in list(names) if name.startswith(part) and "." not in name)
        # Offer private names only after a leading underscore.
        return [name for name in matches if part.startswith("_") or not name.startswith("_")], start

    def keys_in(self, found):
        value = self.look_up(found.group(1))
        try:
            # IPython calls this method first.
            keys = getattr(type(value), "_ipython_key_completions_", None) or type(value).keys
            return [key for key in keys(value) if type(key) is str]
        except Exception:
            return []

    def members_of(self, found):
        module, part = self.module(found.group(1)), found.group(2)
        return [] if module is MISSING else [name for name in dir(module) if part or not name.startswith("_")]

    def modules(self):
        """Returns the names of importable modules."""
        if self.importable is None:
            import pkgutil

            known = getattr(sys, "stdlib_module_names", None) or sys.builtin_module_names
            self.importable = set(known) | {found.name for found in pkgutil.iter_modules()}
        return self.importable | sys.modules.keys()

    def module(self, name):
        """Returns a module if it is imported already or part of the standard library."""
        known = getattr(sys, "stdlib_module_names", sys.builtin_module_names)
        if name not in sys.modules and (name.partition(".")[0] not in known or name in EGGS):
            return MISSING
        try:
            return importlib.import_module(name)
        except Exception:
            return MISSING

    def imported(self, name, code):
        """Returns the value of a name that the code itself imports."""
        for line in IMPORTS.finditer(code):
            package, names = line.groups()
            for one in names.split(","):
                words = one.split()
                # `import a.b` defines the name `a`, and `import a.b as c` the name `c`.
                is_plain = not package and len(words) == 1
                if not words or (words[0].partition(".")[0] if is_plain else words[-1]) != name:
                    continue
                module = self.module(package or (name if is_plain else words[0]))
                if module is MISSING:
                    continue
                try:
                    return getattr(module, words[0]) if package else module
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
        # Inside the brackets of a call, inspect the function.
        if not name:
            called = re.search(r"([\w.]+)\([^()]*$", code[:cursor])
            name = called.group(1) if called else ""
        value = self.look_up(name, code) if name else MISSING
        if value is MISSING:
            return {"found": False, "data": {}}
        lines = [f"Name: {name}", f"Type: {class_name(value)}"]
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
            if type(name) is not str or name.startswith("_") or issubclass(type(value), types.ModuleType):
                continue
            one = {"name": name, "type": class_name(value)}
            try:
                one["value"] = brief(value)
            except BaseException as error:
                # An error in this value must not hide the others.
                one["value"] = f"<its repr() raises {class_name(error)}>"
            for member in ("shape", "__len__"):
                try:
                    size = getattr(value, member)
                    one["size"] = str(size() if callable(size) else size)
                    break
                except BaseException:
                    continue
            found.append(one)
            if len(found) == MAX_VARIABLES:
                break
        return {"variables": found}
