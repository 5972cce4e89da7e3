#!/bin/sh
# What people do all day with a shell, each a line of the answer: `ok NAME`, `FAIL NAME: first line of what was said`, or
# `skip NAME` if a tool of it is not installed. Works in the current directory.
#
# usage: sh everyday.sh

cd "${1:-.}" || exit 1

# task NAME "TOOL ..." COMMAND
task() {
    for tool in $2; do
        if ! command -v "$tool" >/dev/null 2>&1; then
            echo "skip $1"
            return
        fi
    done
    # A directory of its own, so that no task depends on another.
    rm -rf task && mkdir task
    if said=$(cd task && sh -c "$3" 2>&1 </dev/null); then
        echo "ok $1"
    else
        echo "FAIL $1: $(printf '%s' "$said" | grep . | tail -n 1 | cut -c 1-200)"
    fi
}

author='git -c user.name=a -c user.email=a@b'

task 'git init and commit' git "git init -q . && echo x > f && git add f && $author commit -qm one && git log --oneline"
task 'git clone' git "git init -q a && cd a && $author commit -q --allow-empty -m x && cd .. && git clone -q a b && cd b && git log"
task 'git branch, merge, stash' git "git init -q -b main . && echo 1 > f && git add f && $author commit -qm 1 && git checkout -qb s && echo 2 > f && $author commit -qam 2 && git checkout -q main && $author merge -q s && echo 3 > f && $author stash -q && grep 2 f"
task 'git worktree' git "git init -q a && cd a && $author commit -q --allow-empty -m x && git worktree add -q ../w && git worktree list"
task 'gcc' gcc "echo 'int main(void){return 0;}' > a.c && gcc a.c -o a && ./a"
task 'g++ with threads' g++ "printf '#include <thread>\nint main(){std::thread([]{}).join();}' > a.cc && g++ -pthread a.cc -o a && ./a"
task 'make -j' make "printf 'all: x y\nx:\n\ttrue\ny:\n\ttrue\n' > Makefile && make -j2"
task 'cargo build' 'cargo rustc' "cargo init -q --vcs none --name a . && cargo build -q --offline && ./target/debug/a"
task 'rustc' rustc "echo 'fn main(){}' > a.rs && rustc a.rs && ./a"
task 'python subprocess' python3 "python3 -c 'import ssl, sqlite3, socket, subprocess; subprocess.run([\"true\"], check=True)'"
task 'python process pool' python3 "printf 'import multiprocessing as m\ndef f(x): return x+1\nif __name__==\"__main__\": print(m.Pool(2).map(f,[1,2]))' > a.py && python3 a.py"
task 'python manager' python3 "printf 'import multiprocessing as m\nif __name__==\"__main__\":\n m.set_start_method(\"spawn\")\n with m.Manager() as g: d=g.dict(); d[1]=2; print(dict(d))' > a.py && python3 a.py"
task 'python asyncio' python3 "printf 'import asyncio\nasync def m():\n p=await asyncio.create_subprocess_exec(\"true\"); await p.wait()\nasyncio.run(m())' > a.py && python3 a.py"
task 'python venv' python3 "python3 -m venv --without-pip v && v/bin/python -c 'print(1)'"
task 'python tempfile' python3 "python3 -c 'import tempfile; print(tempfile.NamedTemporaryFile().name)'"
task 'python sqlite' python3 "python3 -c 'import sqlite3; c=sqlite3.connect(\"t.db\"); c.execute(\"pragma journal_mode=wal\"); c.execute(\"create table a(b)\"); c.commit()'"
task 'python unittest' python3 "printf 'import unittest\nclass A(unittest.TestCase):\n def test_a(self): self.assertEqual(1,1)\n' > test_a.py && python3 -m unittest -q"
task 'node child and worker' node "node -e 'const {Worker}=require(\"worker_threads\"); new Worker(\"1\",{eval:true}); require(\"child_process\").execSync(\"true\"); require(\"os\").cpus()'"
task 'node test runner' node "printf 'const t=require(\"node:test\"); t(\"a\",()=>{});' > a.test.js && node --test"
task 'npm init' npm 'npm init -y'
task 'java' 'java javac' "echo 'class A{public static void main(String[] a){System.out.println(1);}}' > A.java && javac A.java && java A"
task 'go build' go "printf 'module m\n' > go.mod && printf 'package main\nfunc main(){}\n' > m.go && go build -o m . && ./m"
task 'tar' 'tar gzip' 'echo x > a && tar czf t.tgz a && mkdir x && tar xzf t.tgz -C x && cmp a x/a'
task 'zip' 'zip unzip' 'echo x > a && zip -q a.zip a && unzip -qo a.zip -d x && cmp a x/a'
task 'cp, mv, ln, install, chmod, touch' '' 'echo x > a && cp -a a b && mv b c && ln c d && ln -s c e && install -m 755 a f && chmod u+x a && touch -d yesterday a && test -x f'
task 'ls -la of an allowed directory' '' 'cd .. && test -z "$(ls -la 2>&1 >/dev/null)"'
task 'extended attributes' python3 "echo x > a && python3 -c 'import os; os.setxattr(\"a\", \"user.a\", b\"1\")' 2>/dev/null || exit 0; cp -a a b && python3 -c 'import os; assert os.getxattr(\"b\", \"user.a\") == b\"1\" and \"user.a\" in os.listxattr(\"b\")'"
task 'find, xargs, sed, awk, sort' '' "printf 'b\na\n' > a && find . -type f | xargs sed -i s/a/c/ && sort a | awk 'END{exit NR!=2}'"
task 'fifo' '' 'mkfifo p && (echo hi > p &) && grep hi p'
task 'background and wait' '' 'sleep 0.1 & wait $!'
task 'ps' ps 'ps aux && ps -e | grep -q sh'
task 'nproc, free, df, id, date' 'nproc free' 'nproc && free && df . && id && date && hostname'
task 'bash process substitution' bash "bash -c 'cat <(echo 1) <<< x'"
task 'script in a terminal' script 'script -qc true /dev/null'
task 'writing to /tmp' '' 'echo x > /tmp/everyday.$$ && rm /tmp/everyday.$$'
task 'localhost server' python3 "python3 -c 'import socket
s=socket.socket(); s.bind((\"127.0.0.1\",0)); s.listen(); socket.create_connection(s.getsockname())'"
task 'unix socket' python3 "python3 -c 'import socket
s=socket.socket(socket.AF_UNIX); s.bind(\"u\"); s.listen(); socket.socket(socket.AF_UNIX).connect(\"u\")'"
task 'strace' strace 'strace -o /dev/null true'
task 'gdb' gdb 'gdb -batch -ex run -ex quit true'
task 'curl of a file' curl 'echo x > a && curl -s "file://$PWD/a"'
task 'openssl' openssl 'openssl rand -hex 4 && openssl version'
task 'nice, timeout, ionice, taskset' 'taskset ionice' 'nice true && timeout 5 true && ionice -c3 true && taskset -c 0 true'
task 'renice of itself' renice 'renice 5 $$'
task 'getent' getent 'getent passwd root'
task 'time zones and locales' '' 'TZ=Europe/Berlin date && LC_ALL=C.UTF-8 ls -la >/dev/null'
task 'ssh-keygen' ssh-keygen "ssh-keygen -q -t ed25519 -N '' -f key && ssh-keygen -lf key"
task 'perl' perl "perl -e 'use File::Temp qw(tempfile); tempfile(); print 1'"
rm -rf task
