"""Times programs side by side: the wall clock of each run until it ends, and the processor time of all that it started, also after that.

usage: time.py ROUNDS NAME=COMMAND...

Every round runs each command once, in turn. A command that does not exit with 0 ends the measurement.
"""

import ctypes
import os
import resource
import statistics
import subprocess
import sys
import time


def used():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def reap():
    try:
        while os.wait():
            pass
    except ChildProcessError:
        pass


def main():
    # PR_SET_CHILD_SUBREAPER: who tidies up after the end comes to this process.
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    quiet = subprocess.DEVNULL
    rounds, named = int(sys.argv[1]), [word.split("=", 1) for word in sys.argv[2:]]
    times = {name: ([], []) for name, _ in named}
    for _ in range(rounds):
        for name, command in named:
            before, begin = used(), time.perf_counter()
            subprocess.run(command.split(), stdin=quiet, stdout=quiet, stderr=quiet, check=True)
            times[name][0].append((time.perf_counter() - begin) * 1e3)
            reap()
            times[name][1].append((used() - before) * 1e3)
    print("| | best | 10 % | median | processor time, median |\n|---|--:|--:|--:|--:|")
    for name, (wall, processor) in times.items():
        wall.sort()
        row = [wall[0], wall[len(wall) // 10], statistics.median(wall), statistics.median(processor)]
        print(f"| {name} | " + " | ".join(f"{value:.1f}" for value in row) + " |")


main()
