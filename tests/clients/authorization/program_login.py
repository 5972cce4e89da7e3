"""Programs with a login of their own: mcp-remote, Codex and Claude Code.

usage: program_login.py PROGRAM URL WAY [TOOL|PAUSE_MS...]

PROGRAM is a path; its name decides how it is driven. A script in place of the browser consents at once. Codex and
Claude Code log in, and Claude Code also connects; neither calls tools. Prints a JSON object for each event.
"""

import json
import os
import pty
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Follows the redirects to the program, unless the page is not on this machine.
BROWSER = """#!/bin/sh
case "$1" in
http://127.0.0.1:*) curl --silent --location --max-time 10 "$1" >/dev/null & ;;
*) echo "$1" >>"$HOME/strays" ;;
esac
"""


def say(**event):
    print(json.dumps(event), flush=True)


def terminal(command, environment, seconds):
    """Runs a command in a terminal, and returns its output."""
    child, master = pty.fork()
    if child == 0:
        os.execvpe(command[0], command, environment)
    end, output = time.monotonic() + seconds, b""
    while time.monotonic() < end:
        if select.select([master], [], [], 1)[0]:
            try:
                part = os.read(master, 65536)
            except OSError:
                break
            if not part:
                break
            output += part
    else:
        os.kill(child, 9)
    os.waitpid(child, 0)
    return output.decode(errors="replace")


def remote(program, url, steps, environment):
    command = [program, url, "--allow-http"]
    pipe = subprocess.PIPE
    child = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment)
    answers = b""

    def send(message):
        try:
            child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            child.stdin.flush()
        except BrokenPipeError:
            pass

    def answer(id):
        nonlocal answers
        end = time.monotonic() + 15
        while time.monotonic() < end:
            *lines, answers = answers.split(b"\n")
            for line in lines:
                message = json.loads(line)
                if message.get("id") == id and "method" not in message:
                    return message
            if select.select([child.stdout], [], [], 0.5)[0]:
                part = os.read(child.stdout.fileno(), 65536)
                if not part:
                    break
                answers += part
        return {}

    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a-client", "version": "1"}}
    send({"id": 0, "method": "initialize", "params": client})
    if "result" in answer(0):
        send({"method": "notifications/initialized"})
        for number, step in enumerate(steps, 1):
            if step.isdigit():
                time.sleep(int(step) / 1000)
                continue
            send({"id": number, "method": "tools/call", "params": {"name": step, "arguments": {}}})
            found = answer(number)
            if "result" in found and not found["result"].get("isError"):
                say(text=found["result"]["content"][0]["text"])
            else:
                say(failed=found)
    child.kill()
    child.wait()


def codex(program, url, environment):
    terminal([program, "mcp", "add", "mock", "--url", url], environment, 20)
    output = terminal([program, "mcp", "login", "mock"], environment, 20)
    say(**{"text": "logged in"} if "Successfully logged in" in output else {"failed": output[-200:]})


def claude(program, url, environment):
    subprocess.run(
        [program, "mcp", "add", "--transport", "http", "mock", url],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=30,
    )
    terminal([program, "mcp", "login", "mock"], environment, 20)
    output = terminal([program, "mcp", "list"], environment, 30)
    say(**{"text": "connected"} if "Connected" in output else {"failed": output[-200:]})


def main(program, url, _way, steps):
    with tempfile.TemporaryDirectory(dir=Path.home(), ignore_cleanup_errors=True) as home:
        browser = Path(home) / "bin/xdg-open"
        browser.parent.mkdir()
        browser.write_text(BROWSER)
        browser.chmod(0o755)
        path = f"{browser.parent}:{os.environ['PATH']}"
        environment = {**os.environ, "HOME": home, "PATH": path, "BROWSER": str(browser)}
        name = Path(program).name
        if name == "mcp-remote":
            hook = Path(__file__).resolve().parent / "strays.mjs"
            environment |= {"NODE_OPTIONS": f"--import {hook}", "STRAYS": f"{home}/strays"}
            remote(program, url, steps, environment)
        else:
            os.chdir(home)
            {"codex": codex, "claude": claude}[name](program, url, environment)
        strays = Path(home) / "strays"
        if strays.exists():
            say(strays=strays.read_text())


main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
