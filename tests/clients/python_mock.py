"""The official Python SDK against `replay mock`, in both of its ways to open.

usage: python_mock.py BINARY MANIFEST EXPECTATIONS

Prints one line per check; exits with 1 if one failed.
"""

import pathlib
import sys
import tempfile

import anyio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from mcp.types import CreateMessageResult, ElicitResult, ListRootsResult, Root, TextContent

from checks import check, status


async def elicited(context, params) -> ElicitResult:
    return ElicitResult(action="accept", content={"name": "Ada"})


async def sampled(context, params) -> CreateMessageResult:
    text = f"{params.messages[0].content.text}? 42"
    return CreateMessageResult(role="assistant", content=TextContent(type="text", text=text), model="m")


async def roots(context) -> ListRootsResult:
    return ListRootsResult(roots=[Root(uri="file:///home/ada", name="home")])


async def listening(client: Client, manifest: pathlib.Path) -> None:
    """What a client of 2026-07-28 hears: a resource that changes, and a manifest that is edited."""
    log = "file:///w/log"
    async with client.listen(tools_list_changed=True, resource_subscriptions=[log]) as subscription:
        events = aiter(subscription)
        updated = await anext(events)
        check("mock listens: a resource", type(updated).__name__ == "ResourceUpdated" and updated.uri == log, updated)
        read = await client.read_resource(log)
        check("mock listens: and reads it", read.contents[0].text == "two", read)
        manifest.write_text(manifest.read_text().replace("name: fails", "name: fails_still"))
        changed = await anext(events)
        check("mock listens: a list", type(changed).__name__ == "ToolsListChanged", changed)
        tools = [tool.name for tool in (await client.list_tools()).tools]
        check("mock listens: and asks for it", "fails_still" in tools, tools)


async def session(binary: str, written: str, expectations: str, mode: str) -> None:
    with tempfile.TemporaryDirectory(prefix="replay-mock-") as name:
        manifest = pathlib.Path(name) / "mock.yaml"
        manifest.write_text(pathlib.Path(written).read_text())
        await served(binary, manifest, expectations, mode)


async def served(binary: str, manifest: pathlib.Path, expectations: str, mode: str) -> None:
    args = ["mock", "--tools-from", str(manifest), "--expect", expectations]
    server = StdioServerParameters(command=binary, args=args)
    callbacks = {"elicitation_callback": elicited, "sampling_callback": sampled, "list_roots_callback": roots}
    async with Client(stdio_client(server), mode=mode, **callbacks) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        check(f"mock {mode}: lists", tools == ["get_weather", "fails", "ask", "think", "where"], tools)
        weather = await client.call_tool("get_weather", {"city": "Rome"})
        check(f"mock {mode}: calls", weather.structured_content == {"city": "Rome"}, weather)
        try:
            # Since 2026-07-28 that is a result that says so.
            wrong = await client.call_tool("get_weather", {"city": 5})
            refused = mode == "auto" and wrong.is_error and "of type string" in wrong.content[0].text
            check(f"mock {mode}: is refused wrong arguments", refused, wrong)
        except MCPError as error:
            refused = mode == "legacy" and "of type string" in error.message
            check(f"mock {mode}: is refused wrong arguments", refused, error.message)
        failed = await client.call_tool("fails", {})
        check(f"mock {mode}: sees a failed tool", failed.is_error is True, failed)
        asked = await client.call_tool("ask", {})
        check(f"mock {mode}: is asked", asked.content[0].text == "hello Ada", asked)
        thought = await client.call_tool("think", {"about": "life"})
        check(f"mock {mode}: samples", thought.content[0].text == "m says life? 42", thought)
        where = await client.call_tool("where", {})
        check(f"mock {mode}: tells its roots", where.content[0].text == "at file:///home/ada", where)
        read = await client.read_resource("users://7")
        check(f"mock {mode}: reads", read.contents[0].text == "user 7", read)
        prompt = await client.get_prompt("triage", {"severity": "high"})
        check(f"mock {mode}: gets a prompt", prompt.messages[0].content.text == "Severity high.", prompt)
        if mode == "auto":
            await listening(client, manifest)


async def main(*args: str) -> None:
    with anyio.fail_after(60):
        await session(*args, "auto")
        await session(*args, "legacy")


anyio.run(main, *(str(pathlib.Path(arg).resolve()) for arg in sys.argv[1:4]))
sys.exit(status())
