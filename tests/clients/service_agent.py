"""The service of service.py, recorded and tested by an agent: `npm start` and `npm test` as calls of `keploy_mock_record` and
`keploy_mock_test` through the official Python SDK.

usage: service_agent.py BINARY SERVICE-DIRECTORY

Needs PostgreSQL and Redis; says so, and does nothing, where they are missing. Prints one line per check; exits with 1 if one
failed.
"""

import json
import os
import pathlib
import shutil
import sys
import tempfile

import anyio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from checks import check, status
from ports import reserved_port
from service import PATIENCE_SECS, SECRETS, TOKEN, Servers, asked, program, settings


async def listens(port: int) -> bool:
    with anyio.move_on_after(PATIENCE_SECS):
        while True:
            try:
                await (await anyio.connect_tcp("127.0.0.1", port)).aclose()
                return True
            except OSError:
                await anyio.sleep(0.05)
    return False


async def record(client: Client, port: int, requests: list) -> list:
    """What the service answers. It is ended by the end of the call, as by an agent that has seen enough."""
    answers = []
    async with anyio.create_task_group() as group:
        group.start_soon(client.call_tool, "keploy_mock_record", {"command": "npm start"})
        if await listens(port):
            for request in requests:
                answers.append(await anyio.to_thread.run_sync(asked, port, *request))
        group.cancel_scope.cancel()
    return answers


async def sets(client: Client) -> list[str]:
    """The sets there are, once there is one."""
    found = []
    with anyio.move_on_after(PATIENCE_SECS):
        while not found:
            listed = await client.call_tool("keploy_list_mocks", {})
            found = listed.structured_content["mockSets"]
            await anyio.sleep(0.05)
    return found


async def session(binary: str, source: pathlib.Path, tools: list[str], mode: str) -> None:
    with tempfile.TemporaryDirectory(prefix="replay-service-") as name:
        place = pathlib.Path(name)
        place.chmod(0o755)
        work = place / "orders"
        shutil.copytree(source, work, symlinks=True)
        servers = Servers(place, *tools)
        port = reserved_port()
        requests = json.loads((work / "requests.json").read_text())
        args = ["--mcp-server", "--allow", f"{work}:rw", "--tools", "files,command,calls", "--network", "host"]
        server = StdioServerParameters(command=binary, args=args, env={"PATH": os.environ["PATH"], "HOME": str(place)})
        async with Client(stdio_client(server), mode=mode) as client:
            try:
                check(f"{mode}: databases start", servers.up)
                (work / "settings.json").write_text(settings(servers, port, SECRETS))
                answers = await record(client, port, requests)
            finally:
                await anyio.to_thread.run_sync(servers.stop)
            check(f"{mode}: the service answers while it is recorded", len(answers) == len(requests), answers)
            names = await sets(client)
            kept = "".join(path.read_text() for path in work.glob("keploy/*/mocks.yaml"))
            leaked = [secret for secret in [*SECRETS.values(), TOKEN] if secret in kept]
            check(f"{mode}: one set is kept, without a secret", len(names) == 1 and kept != "" and leaked == [], (names, leaked))
            (work / "answers.json").write_text(json.dumps(answers))
            others = {name: f"other-{name}" for name in SECRETS}
            (work / "settings.json").write_text(settings(servers, port, others))
            tested = (await client.call_tool("keploy_mock_test", {"command": "npm test"})).structured_content
            good = tested["success"] and tested["isolated"] and (tested["mocksMissed"], tested["appExitCode"]) == (0, 0)
            check(f"{mode}: its test passes without any server", good, tested)


async def main(binary: str, source: pathlib.Path) -> None:
    tools = [program(name) for name in ("initdb", "postgres", "redis-server")]
    if None in tools:
        print("service_agent.py: not run: it needs PostgreSQL (initdb, postgres) and Redis (redis-server)", file=sys.stderr)
        return
    for mode in ["auto", "legacy"]:
        await session(binary, source, tools, mode)


anyio.run(main, str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]))
sys.exit(status())
