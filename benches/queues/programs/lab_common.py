"""Give each program its address, its index among four, a deadline and waits."""
import faulthandler
import os
import sys
import time

PORT = int(os.environ["PORT"])
INDEX = os.environ.get("INDEX", "0")
faulthandler.dump_traceback_later(float(os.environ.get("DEADLINE", "20")), exit=True)


def wait_for(condition, what, seconds=8):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain for " + what
        time.sleep(0.01)


def same(got, wanted, what):
    assert got == wanted, f"{what}: got {got!r}, wanted {wanted!r}"


def done():
    print(f"ok {INDEX}", flush=True)
    os._exit(0)


def fix_ids():
    """Make the same UUIDs in each run: a control of the laboratory itself."""
    import random
    import uuid

    numbers = random.Random(INDEX)
    uuid.uuid4 = lambda: uuid.UUID(int=numbers.getrandbits(128), version=4)


if os.environ.get("FIXED"):
    fix_ids()
