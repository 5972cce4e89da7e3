"""The same work through ipykernel, driven by jupyter_client: prints the figures of one round, in seconds, and a count."""

import statistics
import sys
import time

from jupyter_client.manager import KernelManager

CELLS, LINES = int(sys.argv[1]), int(sys.argv[2])


def run(client, code, each):
    asked = client.execute(code)
    while True:
        message = client.get_iopub_msg(timeout=120)
        if message["parent_header"].get("msg_id") != asked:
            continue
        if message["msg_type"] == "stream":
            each(message["content"]["text"])
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            break
    while client.get_shell_msg(timeout=120)["parent_header"].get("msg_id") != asked:
        pass


begin = time.perf_counter()
manager = KernelManager()
manager.start_kernel()
client = manager.client()
client.start_channels()
client.wait_for_ready(timeout=60)
run(client, "x=1", lambda text: None)
start = time.perf_counter() - begin

times = []
for _ in range(CELLS):
    begin = time.perf_counter()
    run(client, "x=1", lambda text: None)
    times.append(time.perf_counter() - begin)

texts = []
begin = time.perf_counter()
run(client, f"for i in range({LINES}): print(i)", texts.append)
lines = time.perf_counter() - begin
client.stop_channels()
manager.shutdown_kernel(now=True)
print(start, statistics.median(times), lines, len("".join(texts)))
