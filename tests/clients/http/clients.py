"""FastMCP and the clients that everybody writes in ten lines (curl, httpx, fetch) drive the built program over HTTP.

usage: clients.py BINARY WALLS NODE

WALLS is what --sandbox gets, NODE is the Node.js that runs fetch. The examples are run as they stand, with the address of
the server in the place of their own.

Prints one line per check; exits with 1 if one failed.
"""

import asyncio
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from fastmcp.client import Client
from fastmcp.client.auth import BearerAuth
from fastmcp.exceptions import ToolError

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from checks import check, status  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
TOKEN = "correct horse battery staple"


def serve(binary: str, work: pathlib.Path, walls: str, environment: dict[str, str]):
    """A server on a free port, and its address."""
    args = ["--mcp-server", "--allow", f"{work}:rw", "--sandbox", walls, "--tools", "files,command,python"]
    command = [binary, *args, "--http", "127.0.0.1:0", "--rate-limit", "0"]
    server = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={"PATH": "/usr/local/bin:/usr/bin:/bin", **environment}
    )
    return server, next(found[0] for line in server.stderr if (found := re.search(r"http://\S+/mcp", line)))


def run_example(name: str, runner: list[str], address: str, expected: str) -> None:
    text = (HERE / "examples" / name).read_text().replace("http://localhost:8000/mcp", address)
    with tempfile.TemporaryDirectory(prefix="replay-example-") as place:
        script = pathlib.Path(place) / name
        script.write_text(text)
        done = subprocess.run([*runner, script], capture_output=True, text=True, timeout=60)
    output = done.stdout
    if output.startswith("{"):
        output = json.loads(output)["result"]["structuredContent"]["stdout"]
    check(f"{name}: {expected.strip()}", output.strip() == expected, (done.stdout, done.stderr))


async def drive(address: str, work: pathlib.Path) -> None:
    file = work / "hello.txt"
    file.write_text("hello world\n")
    async with Client(address, auth=BearerAuth(TOKEN)) as client:
        tools = {tool.name for tool in await client.list_tools()}
        check("fastmcp lists the tools", {"read_file", "run_python_code", "execute_command"} <= tools, tools)
        read = await client.call_tool("read_file", {"path": str(file)})
        check("fastmcp reads", read.content[0].text == "hello world\n", read)
        await client.call_tool("edit_file", {"path": str(file), "edits": [{"oldText": "hello", "newText": "bye"}]})
        check("fastmcp edits", file.read_text() == "bye world\n", file.read_text())
        await client.call_tool("run_python_code", {"code": "x = 41"})
        ran = await client.call_tool("run_python_code", {"code": "x + 1"})
        check("fastmcp keeps variables", ran.data["result"] == "42", ran)
        try:
            await client.call_tool("read_file", {"path": "/etc/hostname"})
            check("fastmcp is denied what is outside", False)
        except Exception as error:  # noqa: BLE001 (which one depends on the revision)
            check("fastmcp is denied what is outside", "/etc/hostname" in str(error), error)
        try:
            failed = await client.call_tool("execute_command", {"command": "exit 3"})
            check("fastmcp tells a failed command", False, failed)
        except ToolError as error:
            check("fastmcp tells a failed command", "exit code: 3" in str(error), error)


def main(binary: str, walls: str, node: str) -> None:
    with tempfile.TemporaryDirectory(prefix="replay-client-") as name:
        work = pathlib.Path(name).resolve()
        server, address = serve(binary, work, walls, {})
        with server:
            try:
                run_example("curl.sh", ["sh"], address, "6 from curl")
                run_example("httpx_client.py", [sys.executable], address, "Hello from raw HTTP!")
                run_example("fastmcp_client.py", [sys.executable], address, "Hello, World!")
                run_example("fetch.cjs", [node], address, "Hello from JavaScript!")
            finally:
                server.terminate()
        check("the server ends", server.returncode == 0, server.returncode)
        server, address = serve(binary, work, walls, {"REPLAY_TOKEN": TOKEN})
        with server:
            try:
                asyncio.run(asyncio.wait_for(drive(address, work), 120))
            finally:
                server.terminate()


main(str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2], sys.argv[3])
sys.exit(status())
