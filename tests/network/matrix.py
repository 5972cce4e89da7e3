"""Which clients reach what the rules allow, and nothing else; in both tiers, as root and as another user.

usage: python3 tests/network/matrix.py PROGRAM [--rows REGEX] [--settings REGEX] [--out FILE]

As root, on a machine with unshare(1), ip(8), setpriv(1) and openssl(1). All servers are on the loopback device of a network of the script's
own (world.py). Every client is run by `execute_command` of a server of tools under three sets of rules: its host is allowed; its requests are
(so TLS is opened); another host is. What arrived is counted on the device itself. No client is told of a proxy. Prints a table in
Markdown; exits with 1 if a cell is not as it should be. A client that is not installed is "not here"; PATH should hold what everybody may run.
That wget with GnuTLS fails in the tier landlock where TLS is opened is known (docs/network.md).
"""

import argparse
import base64
import contextlib
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import zipfile

import world
from world import ALLOWED, ALLOWED_6, CLOSED_6, PLAIN, SILENT_6, Server, World, run

HOSTS = {
    "web.example.com": [ALLOWED],
    "git.example.com": [ALLOWED],
    "npm.example.com": [ALLOWED],
    "pypi.example.com": [ALLOWED],
    "crates.example.com": [ALLOWED],
    "go.example.com": [ALLOWED],
    "maven.example.com": [ALLOWED],
    "db.example.com": [ALLOWED],
    "both.example.com": [CLOSED_6, ALLOWED],
    "six.example.com": [ALLOWED_6],
    "slow.example.com": [SILENT_6, ALLOWED],
    "elsewhere.example.com": [world.DENIED],
}
WEB = "web.example.com"

FETCH_NODE = "fetch('https://web.example.com/hello').then(r => r.text()).then(t => console.log(t), e => { console.log(String(e), String(e.cause)); process.exit(1) })"
FETCH_JAVA = """
import java.net.URI;
import java.net.http.*;
public class Fetch {
    public static void main(String[] arguments) throws Exception {
        var request = HttpRequest.newBuilder(URI.create("https://web.example.com/hello")).build();
        System.out.println(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body());
    }
}
"""
FETCH_GO = """
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	answer, err := http.Get("https://web.example.com/hello")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	body, _ := io.ReadAll(answer.Body)
	fmt.Println(string(body))
}
"""
# Linked with nothing: its own system calls, on x86-64 (syscall(2)).
FETCH_C = """
static long call(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}
void _start(void) {
    static const char request[] = "GET /hello HTTP/1.0\\r\\nHost: 11.0.0.6\\r\\n\\r\\n";
    static const unsigned char address[16] = {2, 0, 0, 80, 11, 0, 0, 6};
    static char answer[4096];
    long one = call(41, 2, 1, 0);
    long failed = call(42, one, (long)address, 16);
    if (failed == 0) {
        call(1, one, (long)request, sizeof request - 1);
        for (long got; (got = call(0, one, (long)answer, sizeof answer)) > 0;)
            call(1, 1, (long)answer, got);
    }
    call(231, failed != 0, 0, 0);
}
"""
FETCH_ASYNCIO = """
import asyncio, ssl, sys
async def fetch(host, port, tls, **more):
    reader, writer = await asyncio.open_connection(host, port, ssl=ssl.create_default_context() if tls else None, **more)
    writer.write(f"GET /hello HTTP/1.1\\r\\nHost: {host}\\r\\nConnection: close\\r\\n\\r\\n".encode())
    print((await reader.read()).decode())
if sys.argv[1:]:
    asyncio.run(fetch("both.example.com", 80, False, happy_eyeballs_delay=0.25))
else:
    asyncio.run(fetch("web.example.com", 443, True))
"""

NPM = 'npm install --no-audit --no-fund --prefix "$d" --cache "$d/c" --registry https://npm.example.com/npm/ tiny && cat "$d"/node_modules/tiny/index.js'
PIP = '/usr/bin/python3 -m pip install -q --no-cache-dir --target "$d" --index-url https://pypi.example.com/simple/ tiny && cat "$d/tiny.py"'
UV = 'uv pip install -q --no-cache --python /usr/bin/python3 --target "$d" --index-url https://pypi.example.com/simple/ tiny && cat "$d/tiny.py"'
CARGO = 'cp -r crate "$d/x" && cd "$d/x" && CARGO_HOME="$d/h" cargo fetch && cat "$d"/h/registry/src/*/tiny-1.0.0/src/lib.rs'
GO = 'cp -r gomod "$d/x" && cd "$d/x" && GOFLAGS=-modcacherw GOPATH="$d/p" GOCACHE="$d/c" GOSUMDB=off GOPROXY=https://go.example.com/go go mod download && cat "$d"/p/pkg/mod/example.com/tiny@v1.0.0/tiny.go'
MAVEN = 'cp -r maven "$d/x" && cd "$d/x" && mvn -q -B -s settings.xml -Dmaven.repo.local="$d/r" validate && cat "$d"/r/com/example/tiny/1.0.0/tiny-1.0.0.pom'
SSH = "-F none -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o ConnectTimeout=20 -i key"

# Name; programs that it needs; HOST:PORT; a line of shell, in which $d is an empty directory; what it prints when it has arrived.
CLIENTS = [
    ("curl", ["curl"], WEB, 443, "curl -sS https://web.example.com/hello", "hello"),
    ("curl, HTTP", ["curl"], WEB, 80, "curl -sS http://web.example.com/hello", "hello"),
    ("wget", ["wget"], WEB, 443, "wget -t 1 -qO- https://web.example.com/hello", "hello"),
    ("git over HTTPS", ["git"], "git.example.com", 443, 'git clone -q https://git.example.com/repository.git "$d/x" && cat "$d/x/file"', "hello"),
    ("git over ssh", ["git", "ssh", "sshd"], "git.example.com", 22, 'GIT_SSH_COMMAND="ssh ' + SSH + '" git clone -q ssh://root@git.example.com@REPOSITORY "$d/x" && cat "$d/x/file"', "hello"),
    ("npm", ["npm"], "npm.example.com", 443, NPM, "hello"),
    ("pip", ["/usr/lib/python3/dist-packages/pip"], "pypi.example.com", 443, PIP, "hello"),
    ("uv", ["uv"], "pypi.example.com", 443, UV, "hello"),
    ("cargo", ["cargo"], "crates.example.com", 443, CARGO, "hello"),
    ("go", ["go"], "go.example.com", 443, GO, "hello"),
    ("Node's fetch", ["node"], WEB, 443, f'node -e "{FETCH_NODE}"', "hello"),
    ("Java's HttpClient", ["java", "javac"], WEB, 443, "java -cp . Fetch", "hello"),
    ("Maven", ["mvn"], "maven.example.com", 443, MAVEN, "hello"),
    ("psql", ["psql", "postgres", "initdb"], "db.example.com", 5432, "psql -h db.example.com -U postgres -Atc \"select 'hello'\" postgres", "hello"),
    ("redis-cli", ["redis-cli", "redis-server"], "db.example.com", 6379, "redis-cli -h db.example.com echo hello", "hello"),
    ("mariadb", ["mariadb", "mariadbd", "mariadb-install-db"], "db.example.com", 3306, "mariadb --skip-ssl -h db.example.com -u guest -Ne \"select 'hello'\"", "hello"),
    ("Go, static", ["go"], WEB, 443, "./fetch-go", "hello"),
    ("C, static, own system calls", ["cc"], PLAIN, 80, "./fetch-c", "hello"),
    ("Python's asyncio", ["python3"], WEB, 443, "/usr/bin/python3 asyncio_fetch.py", "hello"),
    ("asyncio, happy eyeballs", ["python3"], "both.example.com", 80, "/usr/bin/python3 asyncio_fetch.py both", "hello"),
    ("curl, happy eyeballs", ["curl"], "both.example.com", 80, "curl -sS http://both.example.com/hello", "hello"),
    ("curl, IPv6 that does not answer", ["curl"], "slow.example.com", 80, "curl -sS http://slow.example.com/hello", "hello"),
    ("curl, IPv6 alone", ["curl"], "six.example.com", 80, "curl -sS http://six.example.com/hello", "hello"),
]
HTTP_PORTS = (80, 443)
# What a user would tell clients that bring authorities of their own about one of theirs. Where TLS is opened, `replay` says it.
TRUST = {
    name: "/etc/ssl/certs/ca-certificates.crt" for name in ["SSL_CERT_FILE", "PIP_CERT", "NODE_EXTRA_CA_CERTS"]
}


def packages(www: pathlib.Path) -> None:
    """A registry of each kind, made of files."""

    def tar(name: str, content: bytes) -> bytes:
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w:gz") as archive:
            for path, text in json.loads(content).items():
                entry = tarfile.TarInfo(f"{name}/{path}")
                entry.size = len(text)
                archive.addfile(entry, io.BytesIO(text.encode()))
        return made.getvalue()

    def zipped(files: dict[str, str]) -> bytes:
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as archive:
            for path, text in files.items():
                archive.writestr(path, text)
        return made.getvalue()

    def put(path: str, content: str | bytes) -> None:
        (www / path).parent.mkdir(parents=True, exist_ok=True)
        (www / path).write_bytes(content.encode() if isinstance(content, str) else content)

    put("hello", "hello\n")
    package = {"name": "tiny", "version": "1.0.0", "main": "index.js"}
    archive = tar("package", json.dumps({"package.json": json.dumps(package), "index.js": "// hello\n"}).encode())
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode()
    package["dist"] = {"tarball": "https://npm.example.com/files/tiny.tgz", "integrity": integrity}
    put("files/tiny.tgz", archive)
    put("npm/tiny", json.dumps({"name": "tiny", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": package}}))
    wheel = "tiny-1.0.0-py3-none-any.whl"
    info = {"METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0.0\n", "WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    record = "tiny.py,,\n" + "".join(f"tiny-1.0.0.dist-info/{name},,\n" for name in [*info, "RECORD"])
    files = {"tiny.py": "# hello\n", **{f"tiny-1.0.0.dist-info/{name}": text for name, text in {**info, "RECORD": record}.items()}}
    put(f"files/{wheel}", zipped(files))
    put("simple/tiny/index.html", f'<!DOCTYPE html><html><body><a href="/files/{wheel}">{wheel}</a></body></html>')
    manifest = '[package]\nname = "tiny"\nversion = "1.0.0"\nedition = "2021"\n'
    crate = tar("tiny-1.0.0", json.dumps({"Cargo.toml": manifest, "src/lib.rs": "// hello\n"}).encode())
    put("crates/config.json", json.dumps({"dl": "https://crates.example.com/dl/{crate}-{version}"}))
    entry = {"name": "tiny", "vers": "1.0.0", "deps": [], "cksum": hashlib.sha256(crate).hexdigest(), "features": {}, "yanked": False}
    put("crates/ti/ny/tiny", json.dumps(entry) + "\n")
    put("dl/tiny-1.0.0", crate)
    module = "module example.com/tiny\n\ngo 1.19\n"
    put("go/example.com/tiny/@v/list", "v1.0.0\n")
    put("go/example.com/tiny/@v/v1.0.0.info", '{"Version":"v1.0.0","Time":"2026-01-01T00:00:00Z"}')
    put("go/example.com/tiny/@v/v1.0.0.mod", module)
    prefix = "example.com/tiny@v1.0.0"
    put("go/example.com/tiny/@v/v1.0.0.zip", zipped({f"{prefix}/go.mod": module, f"{prefix}/tiny.go": "package tiny // hello\n"}))
    project = "<project><modelVersion>4.0.0</modelVersion><groupId>com.example</groupId><artifactId>tiny</artifactId><version>1.0.0</version><packaging>pom</packaging><name>hello</name></project>"
    put("maven/com/example/tiny/1.0.0/tiny-1.0.0.pom", project)
    put("maven/com/example/tiny/1.0.0/tiny-1.0.0.pom.sha1", hashlib.sha1(project.encode()).hexdigest())
    source = www.parent / "source"
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.com"]
    run("git", "init", "-q", source)
    (source / "file").write_text("hello\n")
    run("git", "-C", source, "add", "file")
    run("git", "-C", source, *identity, "commit", "-qm", "x")
    run("git", "clone", "-q", "--bare", source, www / "repository.git")
    run("git", "-C", www / "repository.git", "update-server-info")


def fill(work: pathlib.Path, place: pathlib.Path, built: pathlib.Path) -> None:
    """What clients find in their directory."""
    files = {
        "asyncio_fetch.py": FETCH_ASYNCIO,
        "crate/Cargo.toml": '[package]\nname = "x"\nversion = "1.0.0"\nedition = "2021"\n[dependencies]\ntiny = "1.0.0"\n',
        "crate/src/lib.rs": "",
        "crate/.cargo/config.toml": '[source.crates-io]\nreplace-with = "own"\n[source.own]\nregistry = "sparse+https://crates.example.com/crates/"\n',
        "gomod/go.mod": "module example.com/x\n\ngo 1.19\n\nrequire example.com/tiny v1.0.0\n",
        "gomod/x.go": 'package x\n\nimport _ "example.com/tiny"\n',
        "maven/settings.xml": "<settings><mirrors><mirror><id>own</id><mirrorOf>*</mirrorOf><url>https://maven.example.com/maven</url></mirror></mirrors></settings>",
        "maven/pom.xml": "<project><modelVersion>4.0.0</modelVersion><parent><groupId>com.example</groupId><artifactId>tiny</artifactId><version>1.0.0</version></parent><artifactId>x</artifactId><packaging>pom</packaging></project>",
    }
    for path, text in files.items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(text)
    for path in built.iterdir():
        shutil.copy(path, work)
    shutil.copy(place / "client-key", work / "key")
    (work / "key").chmod(0o600)


def build(built: pathlib.Path) -> None:
    """The programs of the matrix that are compiled."""
    built.mkdir()
    source = built.parent / "src"
    source.mkdir()
    environment = {"PATH": world.PATH, "HOME": str(source), "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod", "GO111MODULE": "off"}
    if shutil.which("go"):
        (source / "fetch.go").write_text(FETCH_GO)
        run("go", "build", "-o", built / "fetch-go", source / "fetch.go", env=environment)
    if shutil.which("cc"):
        (source / "fetch.c").write_text(FETCH_C)
        run("cc", "-O1", "-static", "-nostdlib", "-fno-stack-protector", "-o", built / "fetch-c", source / "fetch.c")
    if shutil.which("javac"):
        (source / "Fetch.java").write_text(FETCH_JAVA)
        run("javac", "-d", built, source / "Fetch.java")


def servers(one: World, www: pathlib.Path) -> None:
    """All that clients ask for, each at its port."""
    for address, port in [(ALLOWED, 80), (ALLOWED, 443), (PLAIN, 80), (ALLOWED_6, 80), (world.DENIED, 80), (world.DENIED, 443)]:
        one.files(address, port, www)
    one.silence(SILENT_6, 80)
    log = (one.place / "servers.log").open("w")
    as_nobody = ["setpriv", f"--reuid={world.NOBODY}", f"--regid={world.NOBODY}", "--clear-groups", "--"]

    def start(*words) -> None:
        subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", env={"PATH": world.PATH})

    def folder(name: str) -> pathlib.Path:
        made = one.place / name
        made.mkdir()
        os.chown(made, world.NOBODY, world.NOBODY)
        return made

    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", one.place / "client-key")
    if sshd := shutil.which("sshd"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", one.place / "host-key")
        run("mount", "-t", "tmpfs", "none", "/run")
        os.mkdir("/run/sshd", 0o755)
        one.bind("/etc/passwd", pathlib.Path("/etc/passwd").read_text() + "sshd:x:64999:64999::/run/sshd:/usr/sbin/nologin\n")
        options = {"AuthorizedKeysFile": one.place / "client-key.pub", "StrictModes": "no", "HostKey": one.place / "host-key",
                   "ListenAddress": ALLOWED, "PidFile": "none", "UsePAM": "no"}
        start(sshd, "-D", "-e", "-f", "/dev/null", *[f"-o{name}={value}" for name, value in options.items()])
    if shutil.which("postgres") and shutil.which("initdb"):
        data = folder("postgres")
        run(*as_nobody, "initdb", "-D", data, "-U", "postgres", "--auth=trust", cwd="/")
        (data / "pg_hba.conf").write_text("host all all 0.0.0.0/0 trust\n")
        start(*as_nobody, "postgres", "-D", data, "-h", ALLOWED, "-k", "", "-c", "fsync=off")
    if shutil.which("redis-server"):
        start(*as_nobody, "redis-server", "--bind", ALLOWED, "--protected-mode", "no", "--save", "", "--dir", folder("redis"))
    if shutil.which("mariadbd") and shutil.which("mariadb-install-db"):
        data = folder("mariadb")
        run(*as_nobody, "mariadb-install-db", "--no-defaults", f"--datadir={data}", "--skip-test-db", "--auth-root-authentication-method=normal", cwd="/")
        (one.place / "init.sql").write_text("create user guest@'%';\n")
        start(*as_nobody, "mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={data}/socket", f"--bind-address={ALLOWED}", "--skip-name-resolve", f"--init-file={one.place}/init.sql")
    for port, program in [(22, "sshd"), (5432, "postgres"), (6379, "redis-server"), (3306, "mariadbd")]:
        until = time.monotonic() + 60
        while shutil.which(program):
            with contextlib.suppress(OSError):
                world.socket.create_connection((ALLOWED, port)).close()
                break
            if time.monotonic() > until:
                sys.exit(f"{program} does not listen:\n{(one.place / 'servers.log').read_text()[-3000:]}")
            time.sleep(0.05)


def rules(kind: str) -> list[str]:
    flags = []
    for name, _, host, port, _, _ in CLIENTS:
        if kind == "opened" and port in HTTP_PORTS:
            scheme = "https" if port == 443 else "http"
            flags.append(f"GET,HEAD,POST {scheme}://{host}/**")
        elif kind != "denied":
            flags.append(f"{host}:{port}")
    if kind == "denied":
        flags.append("elsewhere.example.com")
    return [word for rule in dict.fromkeys(flags) for word in ("--allow-host", rule)]


def matrix(one: World, arguments: argparse.Namespace) -> int:
    program = world.program_for(one, arguments.program)
    www, built = one.place / "www", one.place / "built"
    www.mkdir()
    packages(www)
    build(built)
    servers(one, www)
    clients = [client for client in CLIENTS if re.search(arguments.rows, client[0])]
    columns, cells, faults = [], {}, []
    for nobody in (False, True):
        for tier in ("namespaces", "landlock"):
            for kind in ("allowed", "opened", "denied"):
                column = f"{'nobody' if nobody else 'root'} {tier} {kind}"
                if not re.search(arguments.settings, column):
                    continue
                columns.append(column)
                work = one.place / f"work-{len(columns)}"
                work.mkdir()
                fill(work, one.place, built)
                if nobody:
                    run("chown", "-R", f"{world.NOBODY}:{world.NOBODY}", work)
                flags = ["--sandbox", tier, *rules(kind), *[word for name, value in TRUST.items() if kind == "allowed" for word in ("--env", f"{name}={value}")]]
                server = Server(program, work, flags, nobody)
                try:
                    for client in clients:
                        cell, fault = attempt(one, server, kind, client, www)
                        cells[client[0], column] = cell
                        if fault:
                            faults.append(f"{client[0]}, {column}: {fault}")
                        print(f"{column}: {client[0]}: {cell}", file=sys.stderr, flush=True)
                finally:
                    server.close()
    table = [f"| client | {' | '.join(columns)} |", "|---|" + "--|" * len(columns)]
    table += ["| " + " | ".join([client[0], *[cells[client[0], column] for column in columns]]) + " |" for client in clients]
    return world.told(table, faults, arguments)


def attempt(one: World, server: Server, kind: str, client: tuple, www: pathlib.Path) -> tuple[str, str | None]:
    """What stands in the table, and what is wrong with it."""
    name, needs, host, port, line, expected = client
    if not all(shutil.which(need) or os.path.exists(need) for need in needs):
        return "not here", None
    if kind == "opened" and port not in HTTP_PORTS:
        return "", None
    line = line.replace("@REPOSITORY", f"{www}/repository.git")
    one.wire.take()
    begun = time.monotonic()
    said = server.sh(f'd=$(mktemp -d); ( {line} ); s=$?; chmod -R u+w "$d"; rm -rf "$d"; exit $s', 60)
    took = time.monotonic() - begun
    arrived = one.wire.take()
    seconds = f", {took:.0f} s" if took >= 5 else ""
    elsewhere = [place for place in arrived if not place.endswith(f":{port}")]
    if kind == "denied":
        told = re.search(rf"blocked: {re.escape(host)}:{port}(?:, (\d+) times)?", said)
        good = told and not arrived and "[exit code: 0]" not in said
        times = int(told[1] or 1) if told else 0
        return f"0, {times} blocked{seconds}" if good else "WRONG", None if good else f"{arrived} {said[-1500:]}"
    good = expected in said and "[exit code: 0]" in said and arrived and not elsewhere and "blocked" not in said
    return f"{len(arrived)}{seconds}" if good else f"{len(arrived)}, FAILS", None if good else f"{arrived} {said[-1500:]}"


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sys.exit(world.begin(__doc__, HOSTS, matrix))
