"""Ports for servers that have to be told one before they start.

A port that the kernel chose may be another's before the server has it: the kernel gives it to whoever asks next, and to
connections. So these are ports that the kernel gives to nobody by itself, and a mark keeps each from other tests of this machine."""

import pathlib
import random
import socket

marks = []


def reserved_port() -> int:
    """A port that no other test gets while this process lives."""
    least, most = map(int, pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    outside = [port for port in range(10_000, 65_536) if not least <= port <= most]
    for port in random.sample(outside, len(outside)):
        mark = socket.socket(socket.AF_UNIX)
        try:
            mark.bind(f"\0replay-tests-port-{port}")
            with socket.socket() as one:
                one.bind(("0.0.0.0", port))
        except OSError:
            mark.close()
            continue
        marks.append(mark)
        return port
    raise OSError(f"the kernel gives all ports but {len(outside)} to anybody (ip_local_port_range), and those are taken")
