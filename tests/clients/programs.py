"""Programs that are recorded against real servers, and answered from there when these are gone: gRPC, MongoDB, Java, and
programs without a C library of the system's.

usage: programs.py BINARY LIBRARIES

LIBRARIES is what `pip install --target` was given. Says on stderr which programs are not there and so are not run. Prints one
line per check; exits with 1 if one failed.
"""

import http.server
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

from checks import check, status
from ports import reserved_port

PATIENCE_SECS = 120
HERE = pathlib.Path(__file__).parent / "programs"


class Paths(http.server.BaseHTTPRequestHandler):
    """Answers with the path and how often it was asked for."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self) -> None:
        asked = self.server.asked
        asked[self.path] = asked.get(self.path, 0) + 1
        body = f"{self.path} {asked[self.path]}".encode()
        self.send_response_only(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class OverHttp:
    """A server in this process."""

    def __init__(self, _: pathlib.Path):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Paths)
        self.server.asked = {}
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Process:
    """A server that is a program of its own."""

    def __init__(self, command: list[str], libraries: pathlib.Path, place: pathlib.Path):
        environment = {**os.environ, "PYTHONPATH": str(libraries), "HOME": str(place)}
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, env=environment, text=True, cwd=place, **streams)

    def stop(self) -> None:
        self.process.stdin.close()
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class OverGrpc(Process):
    def __init__(self, libraries: pathlib.Path, place: pathlib.Path):
        super().__init__([sys.executable, str(HERE / "grpc_server.py")], libraries, place)
        self.port = int(self.process.stdout.readline())


class Documents(Process):
    """NX-27017, a server of MongoDB's wire protocol that can be installed like any package."""

    def __init__(self, libraries: pathlib.Path, place: pathlib.Path):
        self.port = reserved_port()
        line = "import sys; from nx_27017.nx_27017 import main; sys.exit(main())"
        flags = ["--db", "memory", "--log-file", "log", "--pid-file", "pid", "--host", "127.0.0.1", "--port", str(self.port)]
        super().__init__([sys.executable, "-c", line, *flags], libraries, place)
        end = time.monotonic() + PATIENCE_SECS
        while time.monotonic() < end and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)


def replay(binary: str, work: pathlib.Path, variables: dict[str, str], *words: str) -> subprocess.CompletedProcess:
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), **variables}
    return subprocess.run(
        [binary, "calls", *words], cwd=work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_SECS
    )


def round_trip(binary: str, name: str, start, command: list[str], expected: str, prepare, variables: dict[str, str] | None = None) -> None:
    variables = variables or {}
    with tempfile.TemporaryDirectory(prefix="replay-programs-") as directory:
        work = pathlib.Path(directory) / "work"
        work.mkdir()
        prepare(work)
        server = start(pathlib.Path(directory))
        try:
            program = [*command, str(server.port)]
            recorded = replay(binary, work, variables, "record", "--", *program)
        finally:
            server.stop()
        good = recorded.returncode == 0 and expected in recorded.stdout
        check(f"{name}: is recorded", good, recorded.stderr + recorded.stdout)
        # The last one is for users who cannot make namespaces.
        for isolation in [["--isolation", "seccomp"], ["--isolation", "strict"], ["--sandbox", "landlock"]]:
            tested = replay(binary, work, variables, "test", *isolation, "--", *program)
            same = (tested.returncode, tested.stdout) == (0, recorded.stdout) and "not used" not in tested.stderr
            check(f"{name}: says the same without its server ({' '.join(isolation)})", same, tested.stderr + tested.stdout)


def missing(name: str, what: str) -> None:
    print(f"programs.py: {name} is not run: {what} is not there", file=sys.stderr)


def main() -> int:
    binary, libraries = sys.argv[1], pathlib.Path(sys.argv[2])
    python = ["python3"]

    def scripts(work: pathlib.Path) -> None:
        shutil.copytree(libraries, work / "lib")
        for script in HERE.glob("*_client.py"):
            shutil.copy(script, work)

    expected = "refuse [] FAILED_PRECONDITION 'not öpen: 100%' [('reason', 'never')]\nhalfway [b'first'] DATA_LOSS 'lost' []"
    grpc = lambda place: OverGrpc(libraries, place)
    round_trip(binary, "gRPC", grpc, [*python, "grpc_client.py"], expected, scripts)
    documents = lambda place: Documents(libraries, place)
    round_trip(binary, "MongoDB", documents, [*python, "mongo_client.py"], "duplicate 11000", scripts)

    def compiled(command: list[str], environment: dict[str, str]):
        def prepare(work: pathlib.Path) -> None:
            subprocess.run(command, cwd=work, check=True, env={**os.environ, **environment}, timeout=PATIENCE_SECS)
        return prepare

    for name, compiler in [("static C", "cc"), ("static C with musl", "musl-gcc")]:
        if shutil.which(compiler) is None:
            missing(name, compiler)
            continue
        prepare = compiled([compiler, "-static", "-O1", "-w", "-o", "client", str(HERE / "client.c")], {})
        round_trip(binary, name, OverHttp, ["./client"], "/127.0.0.1 1", prepare)
    if shutil.which("javac") is None:
        missing("Java", "a JDK")
    else:
        java = lambda work: shutil.copy(HERE / "Client.java", work)
        own = {"JAVA_TOOL_OPTIONS": "-Dclient.option=kept"}
        expected = "option kept\n200 /localhost 1\n200 /127.0.0.1 1\n200 /127.0.0.1 2\n200 /old 1\n/raw 1\n/0 1\n"
        round_trip(binary, "Java", OverHttp, ["java", "Client.java"], expected, java, own)
    if shutil.which("go") is None:
        missing("Go", "go")
    else:
        with tempfile.TemporaryDirectory() as cache:
            environment = {"CGO_ENABLED": "0", "GOCACHE": cache, "GOFLAGS": "-mod=mod", "GO111MODULE": "off"}
            prepare = compiled(["go", "build", "-o", "client", str(HERE / "client.go")], environment)
            round_trip(binary, "Go", OverHttp, ["./client"], "200 /localhost 1\n200 /127.0.0.1 1\n200 /127.0.0.1 2", prepare)
    return status()


if __name__ == "__main__":
    sys.exit(main())
