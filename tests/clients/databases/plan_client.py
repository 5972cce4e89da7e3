"""Carries out a plan on databases, and prints what came: a list in JSON, with one entry for each statement.

usage: plan_client.py CLIENT PORT PASSWORD PLAN

CLIENT is `psycopg`, `prepared` (psycopg that prepares every statement), `asyncpg`, `pymysql` or `redis`. PLAN is JSON:
[[connection, statement], ...]. An entry is null where there are no rows, else the first column of all; of an error it is
{"error": code}.
"""

import asyncio
import json
import sys


def psycopg(port: int, password: str, threshold: int | None = None):
    import psycopg

    place = f"host=127.0.0.1 port={port} user=app password={password} dbname=postgres"
    connection = psycopg.connect(place, autocommit=True, prepare_threshold=threshold)

    def run(statement: str) -> object:
        try:
            cursor = connection.execute(statement)
            while cursor.nextset():
                pass
            return None if cursor.description is None else [row[0] for row in cursor.fetchall()]
        except psycopg.Error as error:
            return {"error": error.sqlstate}

    return run


def prepared(port: int, password: str):
    return psycopg(port, password, 0)


def asyncpg(port: int, password: str):
    import asyncpg

    loop = asyncio.new_event_loop()
    place = {"host": "127.0.0.1", "port": port, "user": "app", "password": password, "database": "postgres"}
    connection = loop.run_until_complete(asyncpg.connect(**place))

    async def answer(statement: str) -> object:
        try:
            if statement.startswith("SELECT"):
                return [row[0] for row in await connection.fetch(statement)]
            await connection.execute(statement)
            return None
        except asyncpg.PostgresError as error:
            return {"error": error.sqlstate}

    return lambda statement: loop.run_until_complete(answer(statement))


def pymysql(port: int, password: str):
    import pymysql

    connection = pymysql.connect(host="127.0.0.1", port=port, user="app", password=password, database="shop", autocommit=True)
    cursor = connection.cursor()

    def run(statement: str) -> object:
        try:
            cursor.execute(statement)
            return None if cursor.description is None else [row[0] for row in cursor.fetchall()]
        except pymysql.Error as error:
            return {"error": error.args[0]}

    return run


def redis(port: int, password: str):
    import redis

    connection = redis.Redis("127.0.0.1", port, password=password, decode_responses=True, single_connection_client=True)

    def run(command: str) -> object:
        try:
            return connection.execute_command(*command.split())
        except redis.RedisError as error:
            return {"error": str(error).split()[0]}

    return run


def main() -> None:
    client, port, password, plan = sys.argv[1:]
    connections = {}
    answers = []
    for connection, statement in json.loads(plan):
        if connection not in connections:
            connections[connection] = globals()[client](int(port), password)
        answers.append(connections[connection](statement))
    print(json.dumps(answers))


main()
