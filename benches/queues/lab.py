#!/usr/bin/env python3
"""Measure how well `replay calls` records programs of real servers and answers them without.

lab.py [--replay BIN] [--only NAMES] [--runs N] [--times4] [--fixed] [--list]

`prepare.sh` installs the servers and clients first.
"""
import argparse
import ctypes
import fcntl
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

Q = pathlib.Path(os.environ.get("QUEUES", pathlib.Path.home() / ".cache/replay-queues"))
HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS, OUT, HOMES = HERE / "programs", Q / "out", Q / "homes"
PYTHON = str(Q / "venv/bin/python")
CERTS = Q / "certs"


def free_port():
    """Choose a port below those that the system gives to clients, so that it stays free between two servers."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def tag_of(binary):
    """Name a binary by its own name, or by its checkout if that is only `replay`."""
    path = pathlib.Path(binary)
    if path.name != "replay":
        return path.name
    parts = [part for part in path.parent.parts if part not in ("/", "target", "debug", "release")]
    return "-".join(parts) or "replay"


# ---- servers: each gives a list of (command, environment), started in order; the last one listens on the port


def rabbitmq(port, directory):
    epmd = free_port()
    (directory / "plugins").write_text("[].\n")
    (directory / "rabbitmq.conf").write_text("")
    names = {
        "HOME": directory, "RABBITMQ_NODENAME": f"lab{port}@localhost", "RABBITMQ_NODE_PORT": port,
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1", "RABBITMQ_DIST_PORT": free_port(), "ERL_EPMD_PORT": epmd,
        "RABBITMQ_MNESIA_BASE": directory / "mnesia", "RABBITMQ_LOG_BASE": directory / "log",
        "RABBITMQ_PID_FILE": directory / "pid", "RABBITMQ_ENABLED_PLUGINS_FILE": directory / "plugins",
        "RABBITMQ_CONFIG_FILE": directory / "rabbitmq", "ERL_EPMD_ADDRESS": "127.0.0.1",
    }
    environment = {name: str(value) for name, value in names.items()}
    return [
        (["epmd", "-port", str(epmd), "-address", "127.0.0.1"], environment),
        (["/usr/lib/rabbitmq/bin/rabbitmq-server"], environment),
    ]


def mosquitto(port, directory):
    text = f"listener {port} 127.0.0.1\nallow_anonymous true\nuser root\npersistence false\n"
    (directory / "mosquitto.conf").write_text(text)
    return [(["mosquitto", "-c", str(directory / "mosquitto.conf")], {})]


def nats(port, directory):
    return [(["nats-server", "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(directory)], {})]


def redis(port, directory):
    return [(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(directory)], {})]


def memcached(port, _directory):
    return [(["memcached", "-u", "root", "-l", "127.0.0.1", "-p", str(port), "-U", "0"], {})]


def beanstalkd(port, _directory):
    return [(["beanstalkd", "-l", "127.0.0.1", "-p", str(port)], {})]


def kafka(port, directory):
    address = f"tcp://127.0.0.1:{port}"
    command = [str(Q / "tansu"), "broker", "--listener-url", address, "--advertised-listener-url", address]
    return [(command + ["--storage-engine", "memory://tansu/"], {})]


def mariadb(port, directory):
    template = Q / "cache/mariadb"
    if not template.exists():
        subprocess.run(
            ["mariadb-install-db", "--no-defaults", f"--datadir={template}", "--user=root", "--skip-test-db"],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
    shutil.copytree(template, directory / "data")
    users = [f"CREATE USER lab@'{host}' IDENTIFIED BY 'lab-password-1' REQUIRE SSL;\nGRANT ALL ON lab.* TO lab@'{host}';\n"
             for host in ("localhost", "127.0.0.1", "::1")]
    (directory / "init.sql").write_text("CREATE DATABASE lab;\n" + "".join(users))
    return [([
        "mariadbd", "--no-defaults", f"--datadir={directory}/data", "--user=root", "--bind-address=127.0.0.1",
        f"--port={port}", f"--socket={directory}/s", f"--init-file={directory}/init.sql",
        f"--ssl-cert={CERTS}/server.crt", f"--ssl-key={CERTS}/server.key", f"--pid-file={directory}/pid",
    ], {})]


def own(name, **environment):
    def server(_port, _directory):
        return [([PYTHON, str(PROGRAMS / name)], environment)]
    return server


TLS = {"SSL_CERT_FILE": str(CERTS / "ca.crt")}

# name: (program, server, more of its environment, of every second replay)
TABLE = {
    "mqtt": ("mqtt.py", mosquitto, {}, {}),
    "mqtt-idle": ("mqtt-idle.py", mosquitto, {"IDLE": "2"}, {"IDLE": "5"}),
    "pika-rpc": ("pika-rpc.py", rabbitmq, {}, {}),
    "aio-pika": ("aio-pika.py", rabbitmq, {}, {}),
    "amqplib": ("amqplib.js", rabbitmq, {}, {}),
    "nats": ("nats-py.py", nats, {}, {}),
    "natsjs": ("natsjs.js", nats, {}, {}),
    "pika-idle": ("pika-idle.py", rabbitmq, {"IDLE": "2"}, {"IDLE": "5"}),
    "nats-idle": ("nats-idle.py", nats, {"IDLE": "2"}, {"IDLE": "5"}),
    "kafka-idle": ("kafka-idle.py", kafka, {"IDLE": "2"}, {"IDLE": "5"}),
    "kafka-python": ("kafka-python.py", kafka, {}, {}),
    "aiokafka": ("aiokafka-py.py", kafka, {}, {}),
    "confluent-kafka": ("confluent-kafka.py", kafka, {}, {}),
    "kafkajs": ("kafkajs.js", kafka, {}, {}),
    "redis-pubsub": ("redis-pubsub.py", redis, {}, {}),
    "redis-bullmq": ("redis-bullmq.js", redis, {}, {}),
    "redis-celery": ("redis-celery.py", redis, {}, {}),
    "memcached": ("memcached.py", memcached, {}, {}),
    "beanstalkd": ("beanstalkd.py", beanstalkd, {}, {}),
    "smtp": ("smtp.py", own("smtp_server.py"), {}, {}),
    "smtp-starttls": ("smtp-starttls.py", own("smtp_server.py", CERT=str(CERTS / "server.pem")), TLS, {}),
    "websocket": ("websocket.py", own("websocket_server.py"), {}, {}),
    "websocketjs": ("websocketjs.js", own("websocket_server.py"), {}, {}),
    "grpc": ("grpc-py.py", own("grpc_server.py"), {}, {}),
    "mariadb-tls": ("mariadb-tls.py", mariadb, TLS, {}),
}


def make_certificates():
    if (CERTS / "server.pem").exists():
        return
    CERTS.mkdir(exist_ok=True)
    (CERTS / "ext").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    for line in (
        "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 3650 -subj /CN=lab-authority"
        " -addext keyUsage=critical,keyCertSign,cRLSign",
        "req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=localhost",
        "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out server.crt -days 3650 -extfile ext",
    ):
        subprocess.run(["openssl", *line.split()], cwd=CERTS, check=True, stderr=subprocess.DEVNULL)
    (CERTS / "server.pem").write_text((CERTS / "server.key").read_text() + (CERTS / "server.crt").read_text())


class Server:
    """Run the server of a program on a port, fresh, until the block ends."""

    def __init__(self, make, port, name):
        self.make, self.port, self.directory, self.running = make, port, Q / "servers" / name, []

    def __enter__(self):
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        self.log = open(self.directory / "log.txt", "w")
        for command, environment in self.make(self.port, self.directory):
            self.running.append(subprocess.Popen(
                command, env={**os.environ, "PORT": str(self.port), **environment}, cwd=self.directory,
                stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True, preexec_fn=end_with_parent,
            ))
        try:
            self.wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def wait(self):
        end = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if time.monotonic() > end or self.running[-1].poll() is not None:
                    raise RuntimeError(f"the server did not start: see {self.directory}/log.txt")
                time.sleep(0.1)

    def __exit__(self, *_):
        for process in reversed(self.running):
            end_group(process)
        self.log.close()


def end_with_parent():
    """Ask the system to end this process when the laboratory ends in whatever way."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def end_group(process):
    """End a process that we started, and its own session's group."""
    for number, patience in ((signal.SIGTERM, 8), (signal.SIGKILL, 8)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass
        try:
            process.wait(patience)
            return
        except subprocess.TimeoutExpired:
            pass


class Lab:
    def __init__(self, options, name):
        self.options, self.name = options, name
        self.program, self.make_server, self.more, self.second = TABLE[name]
        self.label = name + ("-x4" if options.times4 else "") + ("-fixed" if options.fixed else "")
        self.tag = tag_of(options.replay)
        self.lock()
        self.port = free_port()
        self.home = HOMES / self.tag / self.label
        self.work = self.home / "work"
        shutil.rmtree(self.home, ignore_errors=True)
        self.work.mkdir(parents=True)
        for old in OUT.glob(f"{self.label}-{self.tag}-*.txt"):
            old.unlink()

    def lock(self):
        """Wait for another laboratory that measures the same program with the same binary."""
        (Q / "locks").mkdir(exist_ok=True)
        self.locked = open(Q / "locks" / f"{self.tag}-{self.label}", "w")
        fcntl.flock(self.locked, fcntl.LOCK_EX)

    def command(self):
        path = str(PROGRAMS / self.program)
        program = ["/usr/bin/node", path] if path.endswith(".js") else [PYTHON, path]
        return [PYTHON, str(PROGRAMS / "four.py"), *program] if self.options.times4 else program

    def run(self, what, command, more={}):
        """Run a command to its end; return its status, its sorted output and what it said, and keep all."""
        environment = {
            **os.environ, "HOME": str(self.home), "PORT": str(self.port), "NODE_PATH": str(Q / "node/node_modules"),
            "PYTHONDONTWRITEBYTECODE": "1", **({"FIXED": "1"} if self.options.fixed else {}), **self.more, **more,
        }
        began = time.monotonic()
        process = subprocess.Popen(
            command, env=environment, cwd=self.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
        )
        try:
            output, said = process.communicate(timeout=80)
            status = process.returncode
        except subprocess.TimeoutExpired:
            end_group(process)
            output, said = process.communicate()
            status = "hangs"
        (OUT / f"{self.label}-{self.tag}-{what}.txt").write_text(
            f"$ {' '.join(command)}\nstatus {status} after {time.monotonic() - began:.1f} s\n"
            f"---- stdout\n{output}---- stderr\n{said}"
        )
        return status, sorted(output.splitlines()), said

    def replay(self, verb):
        allowed = [f"--allow={place}:ro" for place in (Q / "venv", Q / "node", PROGRAMS, CERTS)]
        return [self.options.replay, "calls", verb, "--timeout-secs=60", *allowed, f"--allow={self.work}:rw", "--", *self.command()]

    def measure(self):
        with Server(self.make_server, self.port, f"{self.tag}-{self.label}"):
            status, wanted, said = self.run("plain", self.command())
        if status != 0:
            return ["-", "plain fails", "-", last_line(said)]
        with Server(self.make_server, self.port, f"{self.tag}-{self.label}"):
            status, output, said = self.run("record", self.replay("record"))
        found = re.search(r"recorded (\d+) calls", said)
        calls = found[1] if found else "0"
        if status != 0 or output != wanted:
            return [calls, f"fails ({status})", "-", miss_of(status, output == wanted, said)]
        good, first_miss = 0, ""
        for number in range(1, self.options.runs + 1):
            status, output, said = self.run(f"test{number}", self.replay("test"), self.second if number % 2 == 0 else {})
            if status == 0 and output == wanted:
                good += 1
            elif not first_miss:
                first_miss = f"[{number}] " + miss_of(status, output == wanted, said)
        return [calls, "ok", f"{good}/{self.options.runs}", first_miss]


def last_line(said):
    lines = [line for line in said.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "(said nothing)"


def miss_of(status, same_output, said):
    lines = said.splitlines()
    for place, line in enumerate(lines):
        if "missed:" in line:
            following = lines[place + 1].strip() if place + 1 < len(lines) else ""
            return (line[:260] + " | " + following[:200]) if lines[place + 1 : place + 2] and lines[place + 1].startswith("  ") else line[:260]
    errors = [line for line in lines if re.match(r"\w*(Error|Exception|Timeout)|.*Error\b.*:", line) and not line.startswith(" ")]
    reason = errors[-1] if errors else last_line(said)
    return f"no miss, status {status}, output {'same' if same_output else 'differs'}: {reason[:240]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replay", default=str(HERE.parents[1] / "target/release/replay"))
    parser.add_argument("--only", default="", help="names, with commas")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--times4", action="store_true", help="four processes of the program at once")
    parser.add_argument("--fixed", action="store_true", help="the same UUIDs in each run: a control of the laboratory")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    options.replay = os.path.abspath(options.replay)
    if options.list:
        return print("\n".join(TABLE))
    names = [name for name in options.only.split(",") if name] or list(TABLE)
    unknown = [name for name in names if name not in TABLE]
    if unknown:
        sys.exit(f"unknown: {', '.join(unknown)}; known: {', '.join(TABLE)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
    make_certificates()
    OUT.mkdir(exist_ok=True)
    (Q / "cache").mkdir(exist_ok=True)
    print("| program | calls | record | replays | first miss of the first bad replay |\n|---|--:|---|--:|---|", flush=True)
    all_good = True
    for name in names:
        lab = Lab(options, name)
        try:
            row = lab.measure()
        except RuntimeError as error:
            row = ["-", "no server", "-", str(error)]
        all_good &= row[2] == f"{options.runs}/{options.runs}"
        print("| " + " | ".join([lab.label, *(str(cell).replace("|", "¦") for cell in row)]) + " |", flush=True)
    sys.exit(0 if all_good else 1)


main()
