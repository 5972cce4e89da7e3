"""The official Python SDK against `replay mock`, in both of its ways to open.

usage: python_mock.py BINARY MANIFEST EXPECTATIONS

Prints one line per check; exits with 1 if one failed.
"""

import pathlib
import sys

import anyio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from mcp.types import ElicitResult

failures = 0


def check(what: str, good: bool, seen: object = "") -> None:
    global failures
    failures += not good
    print(f"{'ok  ' if good else 'FAIL'} python mock {what}" + ("" if good else f": {seen!r}"))


async def elicited(context, params) -> ElicitResult:
    return ElicitResult(action="accept", content={"name": "Ada"})


async def session(binary: str, manifest: str, expectations: str, mode: str) -> None:
    args = ["mock", "--tools-from", manifest, "--expect", expectations]
    server = StdioServerParameters(command=binary, args=args)
    async with Client(stdio_client(server), mode=mode, elicitation_callback=elicited) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        check(f"{mode}: lists", tools == ["get_weather", "fails", "ask"], tools)
        weather = await client.call_tool("get_weather", {"city": "Rome"})
        check(f"{mode}: calls", weather.structured_content == {"city": "Rome"}, weather)
        try:
            wrong = await client.call_tool("get_weather", {"city": 5})
            check(f"{mode}: is refused wrong arguments", False, wrong)
        except MCPError as error:
            check(f"{mode}: is refused wrong arguments", "of type string" in error.message, error.message)
        failed = await client.call_tool("fails", {})
        check(f"{mode}: sees a failed tool", failed.is_error is True, failed)
        asked = await client.call_tool("ask", {})
        check(f"{mode}: is asked", asked.content[0].text == "hello Ada", asked)
        read = await client.read_resource("users://7")
        check(f"{mode}: reads", read.contents[0].text == "user 7", read)
        prompt = await client.get_prompt("triage", {"severity": "high"})
        check(f"{mode}: gets a prompt", prompt.messages[0].content.text == "Severity high.", prompt)


async def main(*args: str) -> None:
    with anyio.fail_after(60):
        await session(*args, "auto")
        await session(*args, "legacy")


anyio.run(main, *(str(pathlib.Path(arg).resolve()) for arg in sys.argv[1:4]))
sys.exit(1 if failures else 0)
