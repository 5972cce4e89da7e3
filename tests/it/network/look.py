"""Looks for a text, which is given backwards, wherever a command can look: the environment and the memory of all processes, files.
Prints where it is."""

import contextlib
import os
import pathlib
import re
import sys

text = sys.argv[1][::-1].encode()
backwards = text[::-1]
own = str(os.getpid())
found, looked = [], {"environments": 0, "memories": 0, "files": 0}


def has(content: bytes) -> bool:
    return text in content


for pid in filter(str.isdigit, os.listdir("/proc")):
    with contextlib.suppress(OSError):
        content = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
        looked["environments"] += 1
        if has(content):
            found.append(f"environment of {pid}")
    # This one has it to look for it.
    if pid == own:
        continue
    with contextlib.suppress(OSError), open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            area = re.match(r"([0-9a-f]+)-([0-9a-f]+) r", line)
            if area and "[v" not in line:
                start, end = (int(number, 16) for number in area.groups())
                with contextlib.suppress(OSError, OverflowError, ValueError):
                    memory.seek(start)
                    if has(memory.read(end - start)):
                        found.append(f"memory of {pid}")
        looked["memories"] += 1
for top in [".", os.environ.get("HOME", "/none"), os.environ.get("TMPDIR", "/none"), "/etc", "/dev/shm", "/run"]:
    for folder, _, names in os.walk(top):
        for name in names:
            with contextlib.suppress(OSError):
                file = pathlib.Path(folder, name)
                if file.is_file() and file.stat().st_size < 1 << 24:
                    looked["files"] += 1
                    if has(file.read_bytes()):
                        found.append(str(file))
print("looked", *(what for what, count in looked.items() if count), "found", found)
