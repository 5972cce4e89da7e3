"""What the checks of this folder have in common."""

failures = 0


def check(what: str, good: bool, seen: object = "") -> None:
    """Prints one line, and counts it if it failed."""
    global failures
    failures += not good
    print(f"{'ok  ' if good else 'FAIL'} python {what}" + ("" if good else f": {seen!r}"))


def status() -> int:
    """The exit status: 1 if a check failed."""
    return 1 if failures else 0
