"""The official Python SDK drives the built program, over stdio and over HTTP, in both of its ways to open.

usage: python_client.py BINARY WALLS

WALLS is what --sandbox gets.

Prints one line per check; exits with 1 if one failed.
"""

import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import anyio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from checks import check, status


def text(result) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


async def denied(client: Client, path: pathlib.Path) -> str:
    """The message of a denied read, which is an error or a failed result."""
    try:
        result = await client.call_tool("read_file", {"path": str(path)})
    except MCPError as error:
        return error.message
    return text(result) if result.is_error else ""


@contextlib.contextmanager
def reached(binary: str, args: list[str], way: str):
    """What a client connects to."""
    if way == "stdio":
        yield stdio_client(StdioServerParameters(command=binary, args=args))
        return
    command = [binary, *args, "--http", "127.0.0.1:0"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as server:
        try:
            yield next(found[0] for line in server.stderr if (found := re.search(r"http://\S+/mcp", line)))
        finally:
            server.terminate()


async def session(binary: str, walls: str, way: str, mode: str, version: str) -> None:
    with tempfile.TemporaryDirectory(prefix="replay-client-") as name:
        root = pathlib.Path(name).resolve()
        work, secret = root / "work", root / "secret.txt"
        work.mkdir()
        secret.write_text("TOPSECRET")
        file = work / "hello.txt"
        file.write_text("hello world\nsecond line\n")
        args = ["--mcp-server", "--allow", f"{work}:rw", "--sandbox", walls]
        with reached(binary, args, way) as server:
            async with Client(server, mode=mode) as client:
                await drive(client, walls, f"{way} {mode}", version, work, secret, file)


async def drive(client, walls, mode, version, work, secret, file) -> None:
    check(f"{mode}: speaks {version}", client.protocol_version == version, client.protocol_version)
    tools = {tool.name for tool in (await client.list_tools()).tools}
    wanted = {"read_file", "edit_file", "grep_files", "execute_command"}
    check(f"{mode}: lists the tools", wanted <= tools, tools)

    read = await client.call_tool("read_file", {"path": str(file)})
    check(f"{mode}: reads", text(read) == "hello world\nsecond line\n", text(read))
    edits = [{"oldText": "hello", "newText": "goodbye"}]
    await client.call_tool("edit_file", {"path": str(file), "edits": edits})
    check(f"{mode}: edits", file.read_text() == "goodbye world\nsecond line\n", file.read_text())
    grep = await client.call_tool("grep_files", {"directory": str(work), "regex": "^second"})
    check(f"{mode}: searches", f"{file}:2:second line" in text(grep), text(grep))
    run = await client.call_tool("execute_command", {"command": "echo from a shell; pwd"})
    check(f"{mode}: runs", "from a shell" in text(run) and str(work) in text(run), text(run))
    failed = await client.call_tool("execute_command", {"command": "exit 3"})
    check(f"{mode}: tells a failed command", failed.is_error is True, failed)
    kept = await client.call_tool("execute_command", {"command": f"cat {secret}"})
    check(f"{mode}: keeps commands inside", walls == "off" or "TOPSECRET" not in text(kept), text(kept))
    serving = "mkfifo go; echo up; read line < go; echo got $line; sleep 60"
    started = await client.call_tool("execute_command", {"command": serving, "background": True})
    command_id = started.structured_content["commandId"]
    await client.call_tool("execute_command", {"command": "until [ -p go ]; do :; done; echo it > go"})
    seen = await client.call_tool("follow_command", {"commandId": command_id, "until": "got it"})
    check(f"{mode}: follows a background command", "got it" in text(seen), text(seen))
    ended = await client.call_tool("follow_command", {"commandId": command_id, "end": True})
    check(f"{mode}: ends it", ended.structured_content["running"] is False, text(ended))
    message = await denied(client, secret)
    check(f"{mode}: says why it denies", str(secret) in message and "TOPSECRET" not in message, message)


def as_the_readme_says(binary: str) -> None:
    """Runs the client of README.md as it stands there."""
    readme = pathlib.Path(__file__).resolve().parents[2] / "README.md"
    program = re.search(r"```python\n(.*?)```", readme.read_text(), re.DOTALL)[1]
    with tempfile.TemporaryDirectory(prefix="replay-client-") as name:
        root = pathlib.Path(name).resolve()
        (root / "bin").mkdir()
        (root / "bin/replay").symlink_to(binary)
        (root / "work").mkdir()
        (root / "work/a.txt").write_text("TODO: rest\nTODO: sleep\n")
        path = {**os.environ, "PATH": f"{root}/bin:{os.environ['PATH']}"}
        command = [sys.executable, "-c", program]
        ended = subprocess.run(command, cwd=root / "work", env=path, capture_output=True, text=True, timeout=60)
        expected = "".join(f"{root}/work/a.txt:{line}\n" for line in ("1:TODO: rest", "2:TODO: sleep")) + "[2 matches]\n"
        check("README: the client", ended.stdout == expected, (ended.stdout, ended.stderr))


async def main(binary: str, walls: str) -> None:
    with anyio.fail_after(120):
        for way in ("stdio", "http"):
            await session(binary, walls, way, "auto", "2026-07-28")
            await session(binary, walls, way, "legacy", "2025-11-25")


anyio.run(main, str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2])
as_the_readme_says(str(pathlib.Path(sys.argv[1]).resolve()))
sys.exit(status())
