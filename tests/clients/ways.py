"""Three services of ordinary size, recorded once while they answer requests, and asked again in seven ways when their databases
are gone: SQLAlchemy on PostgreSQL, Drizzle on MariaDB, Go's database/sql on PostgreSQL, each with a pool and a cache in Redis.

usage: ways.py BINARY LIBRARIES BOARDS [NOTES]

LIBRARIES is what `pip install --target` was given, BOARDS has board.mjs with its packages, and `board`, built of board.go. NOTES
is a file that is told what was answered otherwise, and what `replay calls` said. Prints a table, and one line per check; exits
with 1 if one failed.
"""

import collections
import concurrent.futures
import dataclasses
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import typing
import urllib.error
import urllib.request
import uuid

from checks import check, status
from databases import OTHERS, SECRETS, Servers, found_tools
from ports import reserved_port
from service import PATIENCE_SECS, ended, until_open

HERE = pathlib.Path(__file__).parent / "ways"
STORIES = json.loads((HERE / "stories.json").read_text())
AT_ONCE = 10
SEEDS = (1, 2, 3)
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# What each run makes anew, by the names that the services give it.
ANEW = {"createdAt", "token"}
# What later requests of a story need, the end of the path that gives it, and in which field.
MADE = {"PROJECT": ("/projects", "id"), "TASK": ("/tasks", "id"), "TOKEN": ("/sessions", "token")}
UNASKED = "not asked: what it needs was not given"
MISS = "no recording answers this call"
KINDS = ("equal", "of another time", "missed", "wrong")
# How many answers in a hundred are to be the recorded ones, and how many those or what the same request was answered at another
# time of the recording: in another order, a list that is asked between writes has no answer that is the right one.
FLOORS = {
    "recorded order": (100, 100), "reversed": (85, 97), "shuffled": (85, 97), "ten at once": (85, 93), "reads twice": (93, 97),
}


class Answer(typing.NamedTuple):
    """What a service said; `shape` leaves out what each run makes anew."""

    request: str
    code: int
    shape: str
    said: str


Story = list[list[Answer]]
Way = typing.Callable[[int], typing.Any]


def shaped(said: object, ids: dict[str, str]) -> object:
    """The same without what each run makes anew: ids are told from each other by their order in the answer."""
    if isinstance(said, dict):
        return {name: "anew" if name in ANEW else shaped(value, ids) for name, value in said.items()}
    if isinstance(said, list):
        return [shaped(value, ids) for value in said]
    if isinstance(said, str):
        return UUID.sub(lambda found: ids.setdefault(found[0], f"id {len(ids)}"), said)
    return said


def sent(port: int, method: str, path: str, body: object, token: str | None) -> tuple[int, str]:
    head = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, head, method=method)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_SECS) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except OSError as error:
        return 0, json.dumps(str(error))


def asked(port: int, request: list, known: dict[str, str]) -> Answer:
    """`known` has what the story was given until then, and is told the next."""
    method, path, body, token = [*request, None, None][:4]
    needed = [name for name in MADE if name in path or name == token]
    if not known.keys() >= set(needed):
        return Answer(json.dumps(request), 0, "", UNASKED)
    for name in needed:
        path = path.replace(name, known[name])
    code, text = sent(port, method, path, body, known.get(token))
    said = json.loads(text or "null")
    for name, (end, field) in MADE.items():
        if code == 201 and path.endswith(end):
            known[name] = said[field]
    return Answer(json.dumps(request), code, json.dumps([code, shaped(said, {})], sort_keys=True), text.strip())


def told(port: int, story: list[list], times: int) -> Story:
    """The answers to each request of a story; reads are asked so many times."""
    known: dict[str, str] = {}
    return [[asked(port, request, known) for _ in range(times if request[0] == "GET" else 1)] for request in story]


def strangers(port: int) -> list[tuple[int, str]]:
    """What ids and a token that nobody was given are answered, but for that they are unknown or missed."""
    token = uuid.uuid4().hex + uuid.uuid4().hex[:16]
    answers = [sent(port, method, f"/tasks/{uuid.uuid4()}", body, None) for method, body in [("GET", None), ("PATCH", {"status": "done"})]]
    answers += [sent(port, "DELETE", f"/tasks/{uuid.uuid4()}", None, None), sent(port, "GET", "/me", None, token)]
    return [(code, text) for code, text in answers if code not in (401, 404) and MISS not in text]


def in_order(order: typing.Iterable[int], times: int = 1) -> Way:
    return lambda port: {number: told(port, STORIES[number], times) for number in order}


def at_once(port: int) -> dict[int, Story]:
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(enumerate(pool.map(lambda story: told(port, story, 1), STORIES)))


def ways() -> list[tuple[str, Way]]:
    every = range(len(STORIES))
    return [
        ("recorded order", in_order(every)),
        ("reversed", in_order(every[::-1])),
        *[("shuffled", in_order(random.Random(seed).sample(every, len(every)))) for seed in SEEDS],
        ("ten at once", at_once),
        ("reads twice", in_order(every, 2)),
    ]


@dataclasses.dataclass
class Service:
    name: str
    command: list[str]
    database: str
    cache: int

    def environment(self, ports: dict[str, int], secrets: dict[str, str], port: int) -> dict[str, str]:
        server = "mysql" if self.database.startswith("mysql") else "postgres"
        url = self.database.format(password=secrets[server], place=f"127.0.0.1:{ports[server]}")
        redis = f"redis://:{secrets['redis']}@127.0.0.1:{ports['redis']}/{self.cache}"
        return {"DATABASE_URL": url, "REDIS_URL": redis, "PORT": str(port)}


def services(boards: pathlib.Path) -> list[Service]:
    postgres = "://owner:{password}@{place}/"
    every = [
        Service("SQLAlchemy", ["python3", str(HERE / "board.py")], f"postgresql+psycopg{postgres}sqlalchemy", 1),
        Service("Drizzle", ["node", str(boards / "board.mjs")], "mysql://app:{password}@{place}/shop", 2),
        Service("Go", [str(boards / "board")], f"postgres{postgres}go?sslmode=disable", 3),
    ]
    return [each for each in every if os.path.exists(each.command[-1])]


class Bench:
    """Where the services run."""

    def __init__(self, binary: str, libraries: pathlib.Path, boards: pathlib.Path, work: pathlib.Path, ports: dict[str, int]):
        self.binary, self.work, self.ports = binary, work, ports
        self.walls = ["--isolation", "seccomp", "--allow", f"{work}:rw"]
        self.walls += [word for place in (libraries, boards, HERE) for word in ("--allow-read", str(place))]
        kept = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
        self.own = {**kept, "PYTHONPATH": str(libraries), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, service: Service, how: str, secrets: dict[str, str], way: Way) -> tuple[typing.Any, str]:
        """What the way got, or None if nothing listens, and what `replay calls` and the service said."""
        port = reserved_port()
        environment = {**self.own, **service.environment(self.ports, secrets, port)}
        command = [self.binary, "calls", how, "--path", f"sets/{service.name}", *self.walls, "--", *service.command]
        with tempfile.TemporaryFile("w+", errors="replace") as log:
            streams = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            process = subprocess.Popen(command, cwd=self.work, env=environment, **streams)
            answers = way(port) if until_open(port, process) else None
            ended(process, signal.SIGTERM)
            log.seek(0)
            return answers, log.read()


def kind(answer: Answer, recorded: Answer, elsewhere: set[str]) -> str:
    """How an answer stands to the recorded one. `elsewhere` has what else the same request was answered in the recording."""
    if answer.shape == recorded.shape:
        return "equal"
    if answer.shape in elsewhere:
        return "of another time"
    return "missed" if answer.said == UNASKED or MISS in answer.said else "wrong"


def judged(recorded: dict[int, Story], answers: dict[int, Story]) -> list[tuple[str, Answer, Answer]]:
    """Each answer, how it stands to the recorded one, and that one."""
    elsewhere = collections.defaultdict(set)
    for [answer] in itertools.chain(*recorded.values()):
        # What a story made is its own, and has one right answer in any order.
        if not any(name in answer.request for name in MADE):
            elsewhere[answer.request].add(answer.shape)
    pairs = [pair for number, story in answers.items() for pair in zip(story, recorded[number])]
    return [(kind(again, first, elsewhere[first.request]), again, first) for each, [first] in pairs for again in each]


def noted(title: str, found: list[tuple[str, Answer, Answer]], log: str) -> str:
    """What was not as recorded."""
    odd = [(what, again, first) for what, again, first in found if what != "equal"]
    said = [f"{what}: {again.request}: {again.said}\n  recorded: {first.said}\n" for what, again, first in odd]
    return f"## {title}\n{''.join(said)}{log}\n"


def row(*cells: object) -> None:
    print(f"| {' | '.join(str(cell) for cell in cells)} |")


def compared(bench: Bench, recorded: list[tuple[Service, dict[int, Story]]], notes: typing.TextIO) -> collections.defaultdict:
    """Asks each service in each way. By way: how many answers stand how to the recorded ones."""
    jobs = [(service, first, way, ask) for service, first in recorded for way, ask in ways()]
    totals = collections.defaultdict(collections.Counter)
    row("service", "way", *KINDS)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        done = pool.map(lambda job: bench.run(job[0], "test", OTHERS, lambda port: (strangers(port), job[3](port))), jobs)
        for (service, first, way, _), (asked, log) in zip(jobs, done):
            strange, answers = asked or ([], {})
            found = judged(first, answers)
            notes.write(noted(f"{service.name}, {way}", found, log))
            counts = collections.Counter(what for what, _, _ in found)
            row(service.name, way, *[counts[each] for each in KINDS])
            wrong = [each for each in found if each[0] == "wrong"]
            check(f"ways, {service.name}, {way}: no answer is of another question", answers and not wrong, wrong or log)
            check(f"ways, {service.name}, {way}: ids and a token of nobody get no answer of another", not strange, strange)
            totals[way] += counts
    return totals


def recorded_once(bench: Bench, whole: list[Service]) -> list[tuple[Service, dict[int, Story]]]:
    with concurrent.futures.ThreadPoolExecutor() as pool:
        done = list(pool.map(lambda service: bench.run(service, "record", SECRETS, in_order(range(len(STORIES)))), whole))
    codes = [[answer.code for story in (answers or {}).values() for [answer] in story] for answers, _ in done]
    good = all(each == codes[0] and 0 not in each and max(each, default=500) < 500 for each in codes)
    check("ways: all services answer alike while they are recorded", good, [log for _, log in done] if not all(codes) else codes)
    return [(service, answers or {}) for service, (answers, _) in zip(whole, done)]


def own_databases(servers: Servers) -> None:
    import psycopg

    place = f"host=127.0.0.1 port={servers.ports['postgres']} user=owner password={SECRETS['postgres']} dbname=postgres"
    with psycopg.connect(place, autocommit=True) as connection:
        for name in ("sqlalchemy", "go"):
            connection.execute(f"CREATE DATABASE {name}")


def main() -> int:
    binary, (libraries, boards) = os.path.realpath(sys.argv[1]), [pathlib.Path(each).resolve() for each in sys.argv[2:4]]
    tools = found_tools("ways.py")
    if not tools:
        return 0
    sys.path.insert(0, str(libraries))
    with open((sys.argv[4:] or [os.devnull])[0], "w") as notes, tempfile.TemporaryDirectory(prefix="replay-ways-") as directory:
        place = pathlib.Path(directory)
        place.chmod(0o755)
        work, data = place / "work", place / "data"
        work.mkdir()
        data.mkdir()
        servers = Servers(data, tools)
        try:
            started = servers.start()
            check("ways: databases start", started)
            if not started:
                return status()
            own_databases(servers)
            bench = Bench(binary, libraries, boards, work, servers.ports)
            recorded = recorded_once(bench, services(boards))
        finally:
            servers.stop()
        for way, counts in compared(bench, recorded, notes).items():
            row("all", way, *[counts[each] for each in KINDS])
            shares = [100 * sum(counts[each] for each in KINDS[:last]) / max(1, sum(counts.values())) for last in (1, 2)]
            least = FLOORS[way]
            what = f"ways, {way}: {least[0]} % are answered as recorded, {least[1]} % so or as at another time"
            check(what, all(share >= floor for share, floor in zip(shares, least)), shares)
    return status()


if __name__ == "__main__":
    sys.exit(main())
