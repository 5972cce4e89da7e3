"""Four threads or tasks that work for three tenants on the connections of a pool, in another order each time.

usage: pool_client.py POOL PORT PASSWORD

POOL is `psycopg_pool`, `asyncpg`, `sqlalchemy+postgresql` or `sqlalchemy+mysql`. Prints how many jobs were done, and before it
each answer that is of another tenant or an error.
"""

import asyncio
import random
import sys
import threading

WORKERS = 4
QUERY = "SELECT item FROM orders ORDER BY id"
SETS = "SELECT set_config('app.tenant', {}, {})"


def jobs(kinds: list[str]) -> list[tuple[str, str]]:
    """One of each kind and tenant, twice, in any order."""
    every = [(kind, tenant) for kind in kinds for tenant in ("t1", "t2", "t3") for _ in range(2)]
    random.SystemRandom().shuffle(every)
    return every


def steps(kind: str, tenant: str, place: str) -> list[tuple[str, list, list | None]]:
    """What a job says, what it binds, and what is to come."""
    own = [f"of {tenant}"]
    return {
        "session": [(SETS.format(place, "false"), [tenant], None), (QUERY, [], own)],
        "bound": [(SETS.format(place, "false"), [tenant], None), (f"SELECT item FROM orders WHERE id > {place} ORDER BY id", [0], own)],
        "procedure": [(f"CALL enter({place})", [tenant], None), (QUERY, [], own)],
        "transaction": [
            ("BEGIN", [], None),
            (SETS.format(place, "true"), [tenant], None),
            (QUERY, [], own),
            (f"INSERT INTO orders (tenant, item) VALUES ({place}, 'new')", [tenant], None),
            (QUERY, [], [*own, "new"]),
            ("ROLLBACK", [], None),
        ],
        "local": [
            ("BEGIN", [], None),
            (SETS.format(place, "true"), [tenant], None),
            (QUERY, [], own),
            ("COMMIT", [], None),
        ],
        "role": [
            ("SET app.tenant = ''", [], None),
            ("SET ROLE " + {"t1": "alice", "t2": "bob", "t3": "NONE"}[tenant], [], None),
            (QUERY, [], {"t1": ["of alice"], "t2": ["of bob"], "t3": ["of app"]}[tenant]),
            ("RESET ROLE", [], None),
        ],
    }[kind]


def compare(job: tuple[str, str], wanted: list | None, got: list) -> None:
    if wanted is not None and got != wanted:
        print("wrong", job, wanted, got)


def in_threads(every: list[tuple[str, str]], work) -> None:
    def take(mine: list[tuple[str, str]]) -> None:
        for job in mine:
            try:
                work(job)
            except Exception as error:
                print("error", job, repr(error)[:200])

    threads = [threading.Thread(target=take, args=(every[index::WORKERS],)) for index in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(len(every), "jobs")


def psycopg_pool(port: int, password: str) -> None:
    from psycopg_pool import ConnectionPool

    place = f"host=127.0.0.1 port={port} user=app password={password} dbname=postgres"
    # After two of the same a statement is prepared, so that a connection has it prepared or not as the jobs fall. No job is
    # rolled back: after that psycopg says `DEALLOCATE ALL` where something was prepared, so that how often falls out otherwise.
    pool = ConnectionPool(place, min_size=2, max_size=3, kwargs={"autocommit": True, "prepare_threshold": 2}, open=True)

    def work(job: tuple[str, str]) -> None:
        with pool.connection() as connection:
            for statement, bound, wanted in steps(*job, "%s"):
                cursor = connection.execute(statement, bound or None)
                compare(job, wanted, [row[0] for row in cursor.fetchall()] if cursor.description else [])

    with pool:
        in_threads(jobs(["session", "bound", "local", "role"]), work)


def asyncpg(port: int, password: str) -> None:
    import asyncpg

    async def main() -> None:
        # This pool resets a connection that comes back; one that does not leaves open what a procedure set there.
        every = jobs(["session", "bound", "procedure", "transaction", "role"])
        left = iter(every)
        options = {"host": "127.0.0.1", "port": port, "user": "app", "password": password, "database": "postgres"}
        async with asyncpg.create_pool(**options, min_size=2, max_size=3) as pool:

            async def work() -> None:
                for job in left:
                    async with pool.acquire() as connection:
                        try:
                            for statement, bound, wanted in steps(*job, "$1"):
                                if bound or statement.startswith("SELECT"):
                                    compare(job, wanted, [row[0] for row in await connection.fetch(statement, *bound)])
                                else:
                                    await connection.execute(statement)
                        except asyncpg.PostgresError as error:
                            print("error", job, repr(error)[:200])

            await asyncio.gather(*[work() for _ in range(WORKERS)])
        print(len(every), "jobs")

    asyncio.run(main())


def sqlalchemy(url: str, sets: str, query: str, **arguments: object) -> None:
    from sqlalchemy import create_engine, text

    engine = create_engine(url, pool_size=2, max_overflow=1, connect_args=arguments)

    def work(job: tuple[str, str]) -> None:
        kind, tenant = job
        own = [f"of {tenant}"]
        with engine.connect() as connection:
            read = lambda: [row[0] for row in connection.execute(text(query))]
            connection.execute(text(sets), {"tenant": tenant})
            compare(job, own, read())
            if kind == "reads":
                connection.commit()
                return
            savepoint = connection.begin_nested() if kind == "savepoint" else None
            connection.execute(text("INSERT INTO orders (tenant, item) VALUES (:tenant, 'new')"), {"tenant": tenant})
            compare(job, [*own, "new"], read())
            if savepoint:
                savepoint.rollback()
                compare(job, own, read())
            connection.rollback()

    in_threads(jobs(["reads", "writes", "savepoint"]), work)
    engine.dispose()


def main() -> None:
    pool, port, password = sys.argv[1:]
    place = f"app:{password}@127.0.0.1:{port}"
    if pool == "sqlalchemy+postgresql":
        # These jobs are rolled back, see psycopg_pool().
        sqlalchemy(f"postgresql+psycopg://{place}/postgres", SETS.format(":tenant", "true"), QUERY, prepare_threshold=None)
    elif pool == "sqlalchemy+mysql":
        sqlalchemy(f"mysql+pymysql://{place}/shop", "SET @tenant = :tenant", "SELECT item FROM own_orders ORDER BY id")
    else:
        globals()[pool](int(port), password)


main()
