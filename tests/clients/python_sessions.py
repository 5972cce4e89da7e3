"""A data analysis in Python sessions, with the official Python SDK over stdio.

usage: python_sessions.py BINARY WALLS LIBRARIES

WALLS is what --sandbox gets, LIBRARIES what `pip install --target` was given: matplotlib.

Prints one line per check; exits with 1 if one failed.
"""

import base64
import pathlib
import sys
import tempfile

import anyio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from checks import check, status

PLOT = """
import matplotlib.pyplot as plt
plt.plot([1, 2, 3], [v * 2 for v in values])
plt.title('values')
plt.show()
"""


async def analysis(binary: str, walls: str, libraries: str, mode: str) -> None:
    with tempfile.TemporaryDirectory(prefix="replay-client-") as name:
        work = pathlib.Path(name).resolve() / "work"
        work.mkdir()
        (work / "data.csv").write_text("value\n1\n2\n3\n")
        args = ["--mcp-server", "--allow", f"{work}:rw", "--allow", libraries, "--tools", "files,python", "--sandbox", walls]
        async with Client(stdio_client(StdioServerParameters(command=binary, args=args)), mode=mode) as client:

            async def call(tool: str, progress_callback=None, **arguments):
                result = await client.call_tool(tool, arguments, progress_callback=progress_callback)
                # What programs written for such servers do: the structure is a dictionary.
                return result, result.structured_content

            def said(what: str, good: bool, seen: object) -> None:
                check(f"{mode}: {what}", good, seen)

            _, made = await call("create_session", session_id="analysis", environment=[f"PYTHONPATH={libraries}"])
            said("makes a session", made["session_id"] == "analysis" and made["status"] == "created", made)
            _, switched = await call("switch_session", session_id="analysis")
            said("switches", (switched["previous_session"], switched["current_session"]) == ("default", "analysis"), switched)
            load = "import csv\nvalues = [int(row['value']) for row in csv.DictReader(open('data.csv'))]\nprint(len(values))"
            _, ran = await call("run_python_code", code=load)
            said("prints", (ran["stdout"], ran["stderr"], ran["outputs"], ran["new_files"]) == ("3\n", "", [], []), ran)
            _, ran = await call("run_python_code", code="sum(values)")
            said("keeps variables", ran["result"] == "6" and ran["execution_time"] > 0, ran)

            result, ran = await call("run_python_code", code=PLOT, timeout=120)
            images = [block for block in result.content if block.type == "image"]
            said("draws", len(images) == 1 and images[0].mime_type == "image/png", [ran, len(images)])
            picture = base64.b64decode(images[0].data) if images else b""
            kept = [work / path for path in ran["outputs"]]
            same = len(kept) == 1 and kept[0].read_bytes() == picture
            said("keeps the picture", same and picture.startswith(b"\x89PNG") and ran["outputs"] == ran["new_files"], ran)
            change = "open('report.txt', 'w').write('6')\nopen('data.csv', 'a').write('4\\n')\nNone"
            _, ran = await call("run_python_code", code=change)
            said("tells files", (ran["new_files"], ran["modified_files"]) == (["report.txt"], ["data.csv"]), ran)

            result, ran = await call("run_python_code", code="def f(n):\n    return 1 / n\nf(0)")
            where = ran["error"]["name"] == "ZeroDivisionError" and 'line 2, in f' in ran["error"]["traceback"]
            said("tells an error", result.is_error is True and where, ran)
            result, ran = await call("run_python_code", code="import time\nprint('on')\ntime.sleep(60)", timeout=1)
            said("ends at the timeout", ran["timed_out"] and ran["stdout"] == "on\n" and not ran["state_lost"], ran)
            _, ran = await call("run_python_code", code="values[0]")
            said("keeps variables over a timeout", ran["result"] == "1", ran)

            _, found = await call("code_completion", code="values.app", cursor_pos=10)
            said("completes", (found["matches"], found["cursor_start"], found["cursor_end"]) == (["append"], 7, 10), found)
            _, found = await call("inspect_object", code="f", cursor_pos=1, detail_level=1)
            said("inspects", found["found"] and "return 1 / n" in found["data"]["text/plain"], found)

            reports = []

            async def report(progress: float, total: float | None, message: str | None) -> None:
                reports.append((progress, total, message))

            counting = "import time\nfor n in range(4):\n    print('step', n, flush=True)\n    time.sleep(0.3)"
            await call("run_python_code", code=counting, timeout=60, progress_callback=report)
            texts = "".join(message or "" for _, _, message in reports)
            said("reports output while it runs", "step 1" in texts and all(total == 60_000 for _, total, _ in reports), reports)
            reports.clear()
            await call("run_python_code", code=counting, timeout=60, stream=False, progress_callback=report)
            said("reports without output", reports != [] and all("step" not in (message or "") for *_, message in reports), reports)

            async with anyio.create_task_group() as group:
                ended = {}

                async def endless() -> None:
                    ended["result"], ended["ran"] = await call("run_python_code", code="while True: pass", timeout=100)

                group.start_soon(endless)
                health = {"busy": False}
                while not health["busy"]:
                    _, health = await call("get_kernel_health")
                _, told = await call("interrupt_session")
            said("interrupts", ended["ran"]["error"]["name"] == "KeyboardInterrupt" and told["session_id"] == "analysis", [ended, told])
            _, health = await call("get_kernel_health")
            healthy = health["status"] == "healthy" and health["memory_usage"] > 0 and health["num_threads"] > 0
            said("is healthy", healthy and health["uptime"] > 0, health)
            _, check_ = await call("check_kernel_responsiveness")
            said("responds", check_["responsive"] is True and check_["response_time"] < 10, check_)
            _, listed = await call("list_sessions")
            names = (sorted(listed["sessions"]), listed["active_session"], listed["total_sessions"])
            said("lists sessions", names == (["analysis", "default"], "analysis", 2), listed)


async def main(binary: str, walls: str, libraries: str) -> None:
    with anyio.fail_after(300):
        for mode in ("auto", "legacy"):
            await analysis(binary, walls, libraries, mode)


anyio.run(main, str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2], str(pathlib.Path(sys.argv[3]).resolve()))
sys.exit(status())
