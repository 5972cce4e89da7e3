"""A session with a server over its standard input and output, for the other scripts here."""
import json
import subprocess


class Client:
    def __init__(self, command, env=None):
        """Starts `command` and shakes hands."""
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env
        )
        self.last = 0
        client = {"name": "benches", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def say(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params, received=None):
        """The whole reply, of which `result` or `error` is a part. The server sends nothing else meanwhile. `received` is called
        before the reply is parsed."""
        self.last += 1
        self.say({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        line = self.process.stdout.readline()
        if received:
            received()
        reply = json.loads(line)
        assert reply["id"] == self.last, reply
        return reply

    def call(self, tool, received=None, **arguments):
        """The whole reply to a call of a tool."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments}, received)

    def end(self):
        self.process.stdin.close()
        self.process.wait()
