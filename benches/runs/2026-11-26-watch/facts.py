#!/usr/bin/env python3
"""What inotify says of changes to a file: a watch of its directory, and one of the file itself.

usage: python3 facts.py DIR, a directory on ext4, XFS or Btrfs in which it makes `a`, which is watched, and `b`, which is not.
Prints a table in Markdown: the change, whether ctime was stamped, the events of both watches, and whether a read lease is given then, which
the kernel refuses while anybody has the file open for writing.
"""
import ctypes
import fcntl
import mmap
import os
import struct
import sys
import time
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
NAMES = {
    0x2: "MODIFY", 0x4: "ATTRIB", 0x8: "CLOSE_WRITE", 0x10: "CLOSE_NOWRITE", 0x20: "OPEN", 0x40: "MOVED_FROM", 0x80: "MOVED_TO",
    0x100: "CREATE", 0x200: "DELETE", 0x400: "DELETE_SELF", 0x800: "MOVE_SELF", 0x2000: "UNMOUNT", 0x4000: "Q_OVERFLOW", 0x8000: "IGNORED",
}  # fmt: skip
ALL = 0xFEE  # But IN_ACCESS and IN_CLOSE_NOWRITE.
SYS_IO_SETUP, SYS_IO_GETEVENTS, SYS_IO_SUBMIT = 206, 208, 209  # x86-64


def watch(path):
    fd = LIBC.inotify_init1(os.O_NONBLOCK)
    if LIBC.inotify_add_watch(fd, os.fsencode(path), ALL) < 0:
        raise OSError(ctypes.get_errno(), "inotify_add_watch", path)
    return fd


def events(fd):
    try:
        data = os.read(fd, 1 << 16)
    except BlockingIOError:
        return "nothing"
    said = []
    while data:
        _, mask, _, length = struct.unpack_from("iIII", data)
        said += [name for bit, name in NAMES.items() if mask & bit]
        data = data[16 + length :]
    return " ".join(said)


def aio_write(fd, text):
    """A write by io_submit(2)."""
    context, buffer = ctypes.c_ulong(), ctypes.create_string_buffer(text)
    assert LIBC.syscall(SYS_IO_SETUP, 1, ctypes.byref(context)) == 0
    block = struct.pack("QIiHhIQQqQII", 0, 0, 0, 1, 0, fd, ctypes.addressof(buffer), len(text), 0, 0, 0, 0)
    block = ctypes.create_string_buffer(block, len(block))
    done, blocks = ctypes.create_string_buffer(32), (ctypes.c_void_p * 1)(ctypes.addressof(block))
    assert LIBC.syscall(SYS_IO_SUBMIT, context, 1, blocks) == 1
    assert LIBC.syscall(SYS_IO_GETEVENTS, context, 1, 1, done, None) == 1


def is_writer_free(path):
    """Whether a read lease is given: nobody has the file open, or mapped, for writing."""
    fd = os.open(path, os.O_RDONLY)
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except BlockingIOError:
        return False
    finally:
        os.close(fd)
    return True


def main():
    os.chdir(sys.argv[1])
    for name in "ab":
        Path(name).mkdir(exist_ok=True)
    file, other = Path("a/f"), Path("b/g")
    other.unlink(missing_ok=True)
    file.write_bytes(bytes(4096))
    state = {}

    def row(what, change):
        time.sleep(0.02)  # So that two stamps differ.
        before = file.stat().st_ctime_ns
        change()
        stamped = "yes" if file.stat().st_ctime_ns != before else "no"
        said = " | ".join(events(fd) for fd in (directory, itself))
        print(f"| {what} | {stamped} | {said} | {'yes' if is_writer_free(file) else 'no'} |")
        for fd in (directory, itself):
            events(fd)

    def opens(path):
        state["fd"] = os.open(path, os.O_RDWR)

    directory, itself = watch("a"), watch(file)
    print("| change | ctime stamped | watch of the directory | watch of the file | lease given |\n|---|---|---|---|---|")
    row("open for writing", lambda: opens(file))
    fd, pages = state["fd"], mmap.mmap(state["fd"], 4096)  # It has a descriptor of its own.
    row("write", lambda: os.pwrite(fd, b"x", 0))
    row("io_submit(2) of a write", lambda: aio_write(fd, b"y"))
    os.fsync(fd)
    row("store to a shared mapping, page clean", lambda: pages.__setitem__(0, 1))
    row("store to a shared mapping, page dirty", lambda: pages.__setitem__(1, 1))
    os.close(fd)
    pages.flush()
    row("store to a shared mapping, the file closed", lambda: pages.__setitem__(2, 1))
    row("munmap", pages.close)
    row("link(2) to `b/g`", lambda: os.link(file, other))
    row("open `b/g` for writing", lambda: opens(other))
    row("write to `b/g`", lambda: os.pwrite(state["fd"], b"z", 0))
    row("close `b/g`", lambda: os.close(state["fd"]))
    row("truncate(2) of `b/g`", lambda: os.truncate(other, 0))

main()
