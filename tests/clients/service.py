"""A service of Express, PostgreSQL, Redis and another service over HTTP: recorded while it serves, and its own test answered
from there when all of these are gone and every secret is another one.

usage: service.py BINARY SERVICE-DIRECTORY

Needs PostgreSQL and Redis; says so, and does nothing, where they are missing. As root it runs as an ordinary user as well,
and once more without namespaces, as where such a user may make none. Prints one line per check; exits with 1 if one failed.
"""

import glob
import gzip
import http.server
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

from checks import check, status
from ports import reserved_port

PATIENCE_SECS = 60
# An ordinary user that every system has: "nobody" (Debian Policy Manual, 9.2.2).
NOBODY = 65534
SECRETS = {"prices": "pr1ces-s3cret", "key": "k3y-s3cret", "postgres": "pg-s3cret", "redis": "rd-s3cret"}
TOKEN = "t0ken-s3cret"


class Prices(http.server.BaseHTTPRequestHandler):
    """Logs in who knows the password, and tells prices, compressed, to who has the token."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, code: int, said: object, **fields: str) -> None:
        body = gzip.compress(json.dumps(said).encode(), mtime=0)
        self.send_response(code)
        for name, value in {"Content-Type": "application/json", "Content-Encoding": "gzip", **fields}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        good = asked == {"user": "shop", "password": SECRETS["prices"]}
        self.reply(200 if good else 401, {"access_token": TOKEN, "expires_in": 3600} if good else {})

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        good = self.headers["Authorization"] == f"Bearer {TOKEN}" and query == f"api_key={SECRETS['key']}"
        cents = {"/price/pen": 120, "/price/ink%20%26%20paper": 999}.get(path)
        self.reply(401 if not good else 404 if cents is None else 200, {"cents": cents})


def program(name: str) -> str | None:
    """PostgreSQL's programs are not on the path of Debian."""
    return shutil.which(name) or next(iter(sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), reverse=True)), None)


def until_open(port: int, process: subprocess.Popen) -> bool:
    """Whether somebody listens there before the time is up."""
    end = time.monotonic() + PATIENCE_SECS
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return True
        except OSError:
            time.sleep(0.05)
    return False


def ended(process: subprocess.Popen, how: int) -> int:
    process.send_signal(how)
    try:
        return process.wait(PATIENCE_SECS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


class Servers:
    """All that the service calls. PostgreSQL refuses to run as root."""

    def __init__(self, place: pathlib.Path, initdb: str, postgres: str, redis: str):
        self.ports = {name: reserved_port() for name in ("postgres", "redis")}
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL, "cwd": "/"}
        data = place / "postgres"
        data.mkdir()
        password = place / "password"
        password.write_text(SECRETS["postgres"])
        if user:
            os.chown(data, NOBODY, NOBODY)
        options = ["-U", "shop", "-A", "scram-sha-256", f"--pwfile={password}", "-N", "-E", "UTF8", "--locale=C"]
        subprocess.run([initdb, "-D", str(data), *options], check=True, **quiet, **user)
        flags = ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off"]
        self.postgres = subprocess.Popen([postgres, "-D", str(data), "-p", str(self.ports["postgres"]), *flags], **quiet, **user)
        options = ["--port", str(self.ports["redis"]), "--bind", "127.0.0.1", "--save", "", "--requirepass", SECRETS["redis"]]
        self.redis = subprocess.Popen([redis, *options, "--dir", str(place)], **quiet)
        self.prices = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Prices)
        self.thread = threading.Thread(target=self.prices.serve_forever)
        self.thread.start()
        self.up = until_open(self.ports["postgres"], self.postgres) and until_open(self.ports["redis"], self.redis)

    def stop(self) -> None:
        self.prices.shutdown()
        self.prices.server_close()
        self.thread.join()
        ended(self.postgres, signal.SIGINT)
        ended(self.redis, signal.SIGTERM)


def settings(servers: Servers, port: int, secrets: dict[str, str]) -> str:
    there = {"host": "127.0.0.1"}
    return json.dumps({
        "port": port,
        "postgres": {**there, "port": servers.ports["postgres"], "user": "shop", "database": "postgres", "password": secrets["postgres"]},
        "redis": {**there, "port": servers.ports["redis"]},
        "redisPassword": secrets["redis"],
        "prices": f"http://127.0.0.1:{servers.prices.server_address[1]}",
        "pricesPassword": secrets["prices"],
        "pricesKey": secrets["key"],
    })


def asked(port: int, method: str, path: str, body: object) -> tuple[int, object]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_SECS) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def round_trip(binary: str, source: pathlib.Path, tools: list[str], who: str, user: dict, walls: list[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="replay-service-") as name:
        place = pathlib.Path(name)
        place.chmod(0o755)
        work = place / "orders"
        shutil.copytree(source, work, symlinks=True)
        home = place / "home"
        home.mkdir()
        (work / "settings.json").touch()
        if user:
            for each in [work, home, work / "settings.json"]:
                os.chown(each, NOBODY, NOBODY)
        def replay(*words: str) -> subprocess.Popen:
            environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": "/tmp"}
            streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
            return subprocess.Popen([binary, "calls", *words], cwd=work, env=environment, text=True, **streams, **user)

        servers = Servers(place, *tools)
        try:
            check(f"{who}: databases start", servers.up)
            port = reserved_port()
            (work / "settings.json").write_text(settings(servers, port, SECRETS))
            recorder = replay("record", *walls, "--", "npm", "start")
            listens = until_open(port, recorder)
            requests = json.loads((work / "requests.json").read_text())
            answers = [asked(port, *request) for request in requests] if listens else []
            recorder.send_signal(signal.SIGTERM)
            _, told = recorder.communicate(timeout=PATIENCE_SECS)
        finally:
            servers.stop()
        check(f"{who}: the service is recorded while it serves", "recorded " in told and len(answers) == len(requests), told)
        codes = [201, 200, 404, 200, 200, 201, 422, 200, 200, 200, 500]
        check(f"{who}: it answers as it should", [code for code, _ in answers] == codes, answers)
        kept = "".join(path.read_text() for path in work.glob("keploy/*/mocks.yaml"))
        leaked = [secret for secret in [*SECRETS.values(), TOKEN] if secret in kept]
        check(f"{who}: no secret is in the set", kept != "" and leaked == [], leaked)

        (work / "answers.json").write_text(json.dumps(answers))
        others = {name: f"other-{name}" for name in SECRETS}
        (work / "settings.json").write_text(settings(servers, port, others))
        # Without namespaces there is only one way to be without a network.
        for isolation in [walls] if walls else [["--isolation", "seccomp"], ["--isolation", "strict"]]:
            tester = replay("test", *isolation, "--", "npm", "test")
            said, told = tester.communicate(timeout=2 * PATIENCE_SECS)
            whole = tester.returncode == 0 and "missed" not in told and "replayed " in told and "not used" not in told
            check(f"{who}: its test passes without any server ({' '.join(isolation)})", whole, told + said)


def main() -> int:
    binary, source = sys.argv[1:]
    tools = [program(name) for name in ("initdb", "postgres", "redis-server")]
    if None in tools:
        print("service.py: not run: it needs PostgreSQL (initdb, postgres) and Redis (redis-server)", file=sys.stderr)
        return 0
    round_trip(binary, pathlib.Path(source), tools, "service", {}, [])
    if os.getuid() == 0:
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        round_trip(binary, pathlib.Path(source), tools, "service of an ordinary user", user, [])
        who, walls = "service of an ordinary user without namespaces", ["--sandbox", "landlock"]
        round_trip(binary, pathlib.Path(source), tools, who, user, walls)
    return status()


if __name__ == "__main__":
    sys.exit(main())
