"""Programs that call real PostgreSQL, MariaDB and Redis: recorded, and answered from there when these are gone, in the same
and in other orders.

usage: databases.py BINARY LIBRARIES

LIBRARIES is what `pip install --target` was given. Starts servers of its own, as an ordinary user; says so, and does nothing,
where they are missing. Prints one line per check; exits with 1 if one failed.
"""

import concurrent.futures
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

import database_plans
from checks import check, status
from database_plans import MISS, Case
from ports import reserved_port
from service import NOBODY, PATIENCE_SECS, ended, program, until_open

HERE = pathlib.Path(__file__).parent / "databases"
REPLAYS = 3
# In a replay nobody knows them.
SECRETS = {
    "postgres": "pg-8Jw2kqLx", "mysql": "my-Vt5nRb0c", "redis": "rd-Qz7hYf3m", "token": "tok-W1uEo9Gd", "password": "pw-Sx6bKa4T",
    "stored": "st-Hn3vMc8P", "client": "cl-Zr5jDy2U", "api": "ak-Fe0gXi7L",
}
OTHERS = {name: f"other-{name}-{secret[-4:]}" for name, secret in SECRETS.items()}
POOLS = {name: f"{jobs} jobs\n" for name, jobs in [
    ("psycopg_pool", 24), ("asyncpg", 30), ("sqlalchemy+postgresql", 18), ("sqlalchemy+mysql", 18)
]}
# What secrets_client.py says.
SEEN = json.dumps([1, 1, ["ann"], True, {"user": "ann"}]) + "\n"
# What a miss is in the clients: `internal_error` of PostgreSQL, `ER_UNKNOWN_ERROR` of MySQL, an error of Redis.
MISSES = {"psycopg": "XX000", "prepared": "XX000", "asyncpg": "XX000", "pymysql": 1105, "redis": "no"}


class Logins(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = b'{"user": "ann"}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Servers:
    """Databases with what `postgres.sql` and `mysql.sql` make, and a server over HTTP."""

    def __init__(self, place: pathlib.Path, tools: dict[str, str]):
        self.user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
        self.quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": "/"}
        self.quiet["env"] = {"PATH": os.environ["PATH"], "HOME": str(place), "TMPDIR": str(place)}
        self.place, self.tools, self.processes = place, tools, []
        self.ports = {name: reserved_port() for name in ("postgres", "mysql", "redis")}
        self.logins = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Logins)
        self.ports["http"] = self.logins.server_address[1]
        self.thread = threading.Thread(target=self.logins.serve_forever)
        self.thread.start()

    def start(self) -> bool:
        """Whether all are up and filled."""
        if self.user:
            os.chown(self.place, NOBODY, NOBODY)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            return all(list(pool.map(lambda start: start(), [self.postgres, self.mysql, self.redis])))

    def prepared(self, *command: str, text: str = "") -> None:
        subprocess.run(command, check=True, timeout=PATIENCE_SECS, input=text, text=True, **self.quiet, **self.user)

    def up(self, port: int, how: int, *command: str) -> bool:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, **self.quiet, **self.user)
        self.processes.append((process, how))
        return until_open(port, process)

    def postgres(self) -> bool:
        data, password, port = self.place / "postgres", self.place / "password", self.ports["postgres"]
        password.write_text(SECRETS["postgres"])
        options = ["-U", "owner", "-A", "scram-sha-256", f"--pwfile={password}", "-N", "-E", "UTF8", "--locale=C"]
        self.prepared(self.tools["initdb"], "-D", str(data), *options)
        flags = ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off"]
        if not self.up(port, signal.SIGINT, self.tools["postgres"], "-D", str(data), "-p", str(port), *flags):
            return False
        import psycopg

        place = f"host=127.0.0.1 port={port} user=owner password={SECRETS['postgres']} dbname=postgres"
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute(filled("postgres"))
        return True

    def mysql(self) -> bool:
        data, port = self.place / "mysql", self.ports["mysql"]
        self.prepared(self.tools["mariadb-install-db"], "--no-defaults", f"--datadir={data}", "--skip-test-db")
        server = [self.tools["mariadbd"], "--no-defaults", f"--datadir={data}"]
        self.prepared(*server, "--bootstrap", text=filled("mysql"))
        flags = [f"--port={port}", "--bind-address=127.0.0.1", "--skip-name-resolve", f"--socket={self.place}/socket"]
        return self.up(port, signal.SIGTERM, *server, *flags)

    def redis(self) -> bool:
        port = self.ports["redis"]
        flags = ["--bind", "127.0.0.1", "--save", "", "--requirepass", SECRETS["redis"], "--dir", str(self.place)]
        return self.up(port, signal.SIGTERM, self.tools["redis-server"], "--port", str(port), *flags)

    def stop(self) -> None:
        self.logins.shutdown()
        self.logins.server_close()
        self.thread.join()
        for process, how in self.processes:
            ended(process, how)


def found_tools(who: str) -> dict[str, str]:
    """The programs of the servers, or none, which is said."""
    # Debian's place of MariaDB's server is not on an ordinary user's path.
    names = ("initdb", "postgres", "mariadb-install-db", "mariadbd", "redis-server")
    tools = {name: program(name) or shutil.which(name, path="/usr/sbin") for name in names}
    absent = [name for name, found in tools.items() if found is None]
    if absent:
        print(f"{who}: not run: {', '.join(absent)} not there (PostgreSQL, MariaDB, Redis)", file=sys.stderr)
    return {} if absent else tools


def filled(name: str) -> str:
    """A file of SQL with the password in its place."""
    return (HERE / f"{name}.sql").read_text().replace("'PASSWORD'", f"'{SECRETS[name]}'")


class Bench:
    """Where the programs run."""

    def __init__(self, binary: str, libraries: pathlib.Path, work: pathlib.Path, ports: dict[str, int]):
        self.binary, self.libraries, self.work, self.ports = binary, libraries, work, ports

    def replay(self, *words: str, **variables: str) -> subprocess.CompletedProcess:
        """What `replay calls` did, with these variables in its environment."""
        kept = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
        own = {"PYTHONPATH": str(self.libraries), "PYTHONDONTWRITEBYTECODE": "1"}
        options = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "timeout": 2 * PATIENCE_SECS}
        return subprocess.run([self.binary, "calls", *words], cwd=self.work, env={**kept, **own, **variables}, **options)

    def program(self, way: list[str], name: str, script: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess:
        walls = ["--allow", f"{self.work}:rw", "--allow-read", str(self.libraries)]
        return self.replay(*way, "--path", f"sets/{name}", *walls, "--", "python3", f"{script}_client.py", *arguments, **variables)

    def plan(self, way: str, secrets: dict[str, str], case: Case, steps: list[tuple]) -> subprocess.CompletedProcess:
        server = {"pymysql": "mysql", "redis": "redis"}.get(case.client, "postgres")
        said = json.dumps([step[:2] for step in steps])
        name = re.sub(r"\W+", "-", case.name)
        return self.program([way], name, "plan", case.client, str(self.ports[server]), secrets[server], said)


    def pool(self, way: str, secrets: dict[str, str], name: str) -> subprocess.CompletedProcess:
        server = "mysql" if name.endswith("mysql") else "postgres"
        return self.program([way], name, "pool", name, str(self.ports[server]), secrets[server])

    def noise(self, way: list[str], secrets: dict[str, str], cart: str) -> subprocess.CompletedProcess:
        ports = [str(self.ports["redis"]), secrets["redis"], str(self.ports["postgres"]), secrets["postgres"]]
        return self.program(way, "noise", "noise", *ports, cart)

    def secrets(self, way: str, secrets: dict[str, str]) -> subprocess.CompletedProcess:
        # What no place tells is known by its value.
        variables = {f"{name.upper()}_SECRET": secrets[name] for name in ["token", "password", "stored", "api"]}
        return self.program([way], "secrets", "secrets", json.dumps({"ports": self.ports, "secrets": secrets}), **variables)


def noise(bench: Bench, recorded: list[subprocess.CompletedProcess], pool: concurrent.futures.Executor) -> None:
    """What two recordings differ in is learned, and what the program was asked for is not."""
    seen = lambda cart: json.dumps([True, True, cart, ["bill", "mail"]]) + "\n"
    good = [(done.returncode, done.stdout) for done in recorded] == [(0, seen("pen for 7"))] * 2
    check("databases, noise: is recorded twice", good, [done.stdout + done.stderr for done in recorded])
    one, two = sorted(path.name for path in bench.work.glob("sets/noise/*"))
    learned = bench.replay("noise", "--path", "sets/noise", "--allow", f"{bench.work}:rw", one, two, "--write")
    check("databases, noise: is learned", learned.returncode == 0, learned.stdout + learned.stderr)
    again = list(pool.map(lambda name: bench.noise(["test", "--mock", name], OTHERS, "7"), [one, two, one][:REPLAYS]))
    odd = [done.stdout + done.stderr for done in again if (done.returncode, done.stdout) != (0, seen("pen for 7"))]
    check(f"databases, noise: {REPLAYS} replays", not odd, odd)
    other = bench.noise(["test"], OTHERS, "8")
    whole = (other.returncode, other.stdout) == (1, seen("miss")) and "missed: Redis" in other.stderr and "cart:8" in other.stderr
    check("databases, noise: another cart is a miss", whole, other.stdout + other.stderr)


def differences(case: Case, steps: list[tuple], done: subprocess.CompletedProcess, replayed: bool) -> list[str]:
    """What is other than the plan says."""
    misses = sum(MISS in step[2:] for step in steps)
    found = []
    if done.returncode != (1 if misses else 0):
        found.append(f"exit status {done.returncode}")
    try:
        answers = json.loads(done.stdout)
    except ValueError:
        return [*found, done.stdout, done.stderr]
    for step, answer in zip(steps, answers, strict=True):
        wanted = step[2] if len(step) > 2 else "no error"
        if wanted == MISS:
            wanted = {"error": MISSES[case.client]}
        elif wanted == "no error" and not (isinstance(answer, dict) and "error" in answer):
            continue
        if answer != wanted:
            found.append(f"{step[:2]}: {answer}, not {wanted}")
    told = re.search(r"replay: replayed .* (\d+) missed", done.stderr)
    if replayed and int(told[1] if told else 0) != misses:
        found.append(f"{misses} misses are not told")
    found += [f"does not tell {step[3]}" for step in steps if replayed and step[3:] and step[3] not in done.stderr]
    return [*found, done.stderr] if found else []


def main() -> int:
    binary, libraries = os.path.realpath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    tools = found_tools("databases.py")
    if not tools:
        return 0
    sys.path.insert(0, str(libraries))
    cases = [*database_plans.postgres(), *database_plans.mysql(), *database_plans.redis()]
    pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
    with pool, tempfile.TemporaryDirectory(prefix="replay-databases-") as directory:
        place = pathlib.Path(directory)
        place.chmod(0o755)
        work, data = place / "work", place / "data"
        shutil.copytree(HERE, work)
        data.mkdir()
        servers = Servers(data, tools)
        try:
            started = servers.start()
            check("databases start", started)
            if not started:
                return status()
            bench = Bench(binary, libraries, work, servers.ports)
            recorded = list(pool.map(lambda case: bench.plan("record", SECRETS, case, case.recorded), cases))
            pooled = list(pool.map(lambda name: bench.pool("record", SECRETS, name), POOLS))
            noisy = list(pool.map(lambda _: bench.noise(["record"], SECRETS, "7"), range(2)))
            secret = bench.secrets("record", SECRETS)
        finally:
            servers.stop()
        for case, done in zip(cases, recorded, strict=True):
            found = differences(case, case.recorded, done, False)
            check(f"databases, {case.name}: is recorded", not found, found)
        replays = [(case, how, steps) for case in cases for how, steps in {"as recorded": case.recorded, **case.replays}.items()]
        replayed = pool.map(lambda each: bench.plan("test", OTHERS, each[0], each[2]), replays)
        for (case, how, steps), done in zip(replays, replayed, strict=True):
            found = differences(case, steps, done, True)
            check(f"databases, {case.name}: {how}", not found, found)
        for name, done in zip(POOLS, pooled, strict=True):
            whole = (done.returncode, done.stdout) == (0, POOLS[name])
            check(f"databases, pool of {name}: is recorded", whole, done.stdout + done.stderr)
            again = list(pool.map(lambda _: bench.pool("test", OTHERS, name), range(REPLAYS)))
            odd = [each.stdout + each.stderr for each in again if (each.returncode, each.stdout) != (0, POOLS[name])]
            check(f"databases, pool of {name}: {REPLAYS} replays in any order", not odd, odd)
        noise(bench, noisy, pool)
        check("databases, secrets: are recorded", (secret.returncode, secret.stdout) == (0, SEEN), secret.stdout + secret.stderr)
        kept = {path: path.read_text() for path in work.glob("sets/*/*/mocks.yaml")}
        leaked = [(path, text) for path, text in kept.items() if any(secret in text for secret in SECRETS.values())]
        check("databases, secrets: are in no file", len(kept) == len(cases) + len(POOLS) + 3 and not leaked, leaked)
        again = bench.secrets("test", OTHERS)
        check("databases, secrets: others do", (again.returncode, again.stdout) == (0, SEEN), again.stdout + again.stderr)
    return status()


if __name__ == "__main__":
    sys.exit(main())
