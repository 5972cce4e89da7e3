"""What databases.py records and replays: lists of (connection, statement), (connection, statement, what is to come), or both and
what a replay is to tell."""

from typing import NamedTuple

MISS = "a miss"
ORDERS = "SELECT item FROM orders ORDER BY id"
OWN = "SELECT item FROM own_orders"
T1, T2, T3 = ["of t1"], ["of t2"], ["of t3"]


class Case(NamedTuple):
    """One recording and its replays, beside one in the order of the recording."""

    name: str
    client: str
    recorded: list[tuple]
    replays: dict[str, list[tuple]]


def on(connection: int, *steps: str | tuple) -> list[tuple]:
    """Steps on one connection: a statement, or one with what is to come."""
    return [(connection, step) if isinstance(step, str) else (connection, *step) for step in steps]


def tenants(name: str, client: str, sets: str, query: str, values=("t1", "t2", "t3"), answers=(T1, T2)) -> Case:
    """Two connections, each of another tenant."""
    first, second, third = [sets.format(value) for value in values]
    one, two = answers
    unrecorded = on(3, (third, MISS), (query, MISS))
    swapped = [(1, second), (2, first), (2, query, one), (1, query, two)]
    one_connection = on(1, second, (query, two), first, (query, one))
    return Case(name, client, on(1, first, (query, one)) + on(2, second, (query, two)), {
        "on one connection": one_connection,
        # An unrecorded one comes first, while there are answers left.
        "swapped, after an unrecorded one": unrecorded + swapped,
    })


def postgres() -> list[Case]:
    insert = "INSERT INTO orders (tenant, item) VALUES ('app', 'new')"
    carts = "SELECT item FROM carts"
    numbers = [("SELECT nextval('numbers')", [number]) for number in (1, 2, 3)]
    tenant = "SET app.tenant = 't1'"
    failed = ["BEGIN", tenant, ("SELECT 1 / 0", {"error": "22012"}), (ORDERS, {"error": "25P02"})]
    cursor = lambda name: [
        f"SET app.tenant = '{name}'", "BEGIN", f"DECLARE c CURSOR FOR {ORDERS}", ("FETCH ALL FROM c", [f"of {name}"]), "COMMIT"
    ]
    local = lambda tenant, end: on(
        1, "BEGIN", f"SET LOCAL app.tenant = '{tenant}'", (ORDERS, [f"of {tenant}"]), end, (ORDERS, ["of app"])
    )
    cases = [
        tenants(f"set_config, {client}", client, "SELECT set_config('app.tenant', '{}', false)", ORDERS)
        for client in ("psycopg", "prepared", "asyncpg")
    ]
    cases += [
        tenants("SET", "psycopg", "SET app.tenant = '{}'", ORDERS),
        tenants("a view", "psycopg", "SET app.tenant = '{}'", OWN),
        tenants("set_tenant", "psycopg", "SELECT set_tenant('{}')", ORDERS),
        tenants("hello", "psycopg", "SELECT hello('{}')", ORDERS),
        tenants("a procedure", "psycopg", "CALL enter('{}')", ORDERS),
        tenants("SET ROLE", "psycopg", "SET ROLE {}", ORDERS, ("alice", "bob", "NONE"), (["of alice"], ["of bob"])),
        tenants(
            "search_path", "psycopg", "SET search_path = {}", "SELECT word FROM words", ("s1", "s2", "public"), (["of s1"], ["of s2"])
        ),
        Case("SET LOCAL", "psycopg", local("t1", "COMMIT") + local("t2", "ROLLBACK"), {
            "swapped": local("t2", "ROLLBACK") + local("t1", "COMMIT"),
            "ended otherwise": local("t1", "ROLLBACK") + local("t2", "COMMIT"),
        }),
        Case("reads around writes", "psycopg", on(
            1, "BEGIN", (ORDERS, ["of app"]), insert, (ORDERS, ["of app", "new"]), "ROLLBACK", (ORDERS, ["of app"])
        ), {
            "reads first": on(1, (ORDERS, ["of app"]), "BEGIN", insert, (ORDERS, ["of app", "new"]), "ROLLBACK"),
            "on two connections": on(1, "BEGIN", insert) + on(2, (ORDERS, ["of app"])) + on(1, (ORDERS, ["of app", "new"]), "ROLLBACK"),
            "read that was not recorded": on(1, "BEGIN", insert, ("SELECT count(*) FROM orders", MISS), "ROLLBACK"),
        }),
        Case("savepoints", "psycopg", on(
            1, "BEGIN", "SAVEPOINT a", insert, (ORDERS, ["of app", "new"]), "ROLLBACK TO a", (ORDERS, ["of app"]), "ROLLBACK"
        ), {
            "one read less": on(1, "BEGIN", "SAVEPOINT a", insert, "ROLLBACK TO a", (ORDERS, ["of app"]), "ROLLBACK"),
            "released": on(1, "BEGIN", "SAVEPOINT a", insert, "RELEASE a", (ORDERS, ["of app", "new"]), "ROLLBACK"),
        }),
        Case("commit", "asyncpg", on(
            1, (carts, []), "BEGIN", "INSERT INTO carts (item) VALUES ('pen')", (carts, ["pen"]), "COMMIT", (carts, ["pen"])
        ), {}),
        Case("three answers", "psycopg", on(1, *numbers), {
            "on three connections": [(connection, *number) for connection, number in enumerate(numbers)],
            "once too often": on(1, *numbers, ("SELECT nextval('numbers')", MISS)),
        }),
        Case("roles and tenants", "psycopg", on(
            1, "SET ROLE alice", (ORDERS, ["of alice"]), tenant, (ORDERS, T1), "RESET ROLE", (ORDERS, T1),
            "RESET ALL", (ORDERS, ["of app"]),
        ), {
            "in another order": on(
                1, (ORDERS, ["of app"]), tenant, (ORDERS, T1), "SET ROLE alice", (ORDERS, T1), "RESET ALL", (ORDERS, ["of alice"])
            ),
        }),
        Case("DISCARD ALL", "psycopg", on(1, tenant, (ORDERS, T1), "DISCARD ALL", (ORDERS, ["of app"])), {
            "in another order": on(1, (ORDERS, ["of app"]), tenant, "DISCARD ALL", tenant, (ORDERS, T1)),
        }),
        Case("a failed transaction", "psycopg", on(1, *failed, "ROLLBACK", (ORDERS, ["of app"])), {
            "read first": on(1, (ORDERS, ["of app"]), *failed, "ROLLBACK"),
        }),
        Case("cursors", "psycopg", on(1, *cursor("t1"), *cursor("t2")), {
            "swapped": on(1, *cursor("t2"), *cursor("t1")),
        }),
        Case("a changed query", "psycopg", on(1, ("SELECT word FROM s1.words WHERE word <> 'a'", ["of s1"])), {
            "another value": on(1, ("SELECT word FROM s1.words WHERE word <> 'b'", MISS)),
            "another text": on(1, ("SELECT word FROM s1.words WHERE word >= 'a'", MISS)),
        }),
        Case("an error", "psycopg", on(1, ("SELECT 1 / 0", {"error": "22012"}), ("SELECT 1", [1])), {}),
    ]
    both = "SET app.tenant = '{0}'; SELECT item FROM orders"
    cases.append(tenants("several statements", "psycopg", both, ORDERS))
    return cases


def mysql() -> list[Case]:
    cases = [
        tenants(f"MySQL: {name}", "pymysql", sets, OWN)
        for name, sets in [
            ("set_tenant", "CALL set_tenant('{}')"),
            ("a procedure", "CALL enter('{}')"),
            ("login_as", "SELECT login_as('{}')"),
        ]
    ]
    cases.append(tenants("MySQL: SET @tenant", "pymysql", "SET @tenant = '{}'", OWN))
    cases.append(tenants("MySQL: hello", "pymysql", "DO hello('{}')", OWN))
    insert = "INSERT INTO orders (tenant, item) VALUES ('t1', 'new')"
    query = "SELECT item FROM orders WHERE tenant = 't1' ORDER BY id"
    hour, text = "SELECT hour(from_unixtime(0))", "SELECT 'a' || 'b'"
    cases += [
        tenants("MySQL: USE", "pymysql", "USE {}", "SELECT max(item) FROM orders", ("shop", "other", "mysql"), (T3, ["of other"])),
        tenants("MySQL: time_zone", "pymysql", "SET time_zone = '{}'", hour, ("+00:00", "+09:00", "+05:00"), ([0], [9])),
        tenants("MySQL: sql_mode", "pymysql", "SET sql_mode = '{}'", text, ("ANSI_QUOTES", "PIPES_AS_CONCAT", "ORACLE"), ([0], ["ab"])),
        Case("MySQL: transactions", "pymysql", on(
            1, "BEGIN", (query, T1), insert, (query, [*T1, "new"]), "ROLLBACK", (query, T1)
        ), {
            "reads first": on(1, (query, T1), "BEGIN", insert, (query, [*T1, "new"]), "ROLLBACK"),
            "on two connections": on(1, "BEGIN", insert) + on(2, (query, T1)) + on(1, (query, [*T1, "new"]), "ROLLBACK"),
        }),
        Case("MySQL: savepoints", "pymysql", on(
            1, "BEGIN", "SAVEPOINT a", insert, (query, [*T1, "new"]), "ROLLBACK TO SAVEPOINT a", (query, T1), "ROLLBACK"
        ), {
            "one read less": on(1, "BEGIN", "SAVEPOINT a", insert, "ROLLBACK TO SAVEPOINT a", (query, T1), "ROLLBACK"),
        }),
        Case("MySQL: autocommit", "pymysql", on(
            1, "SET autocommit = 0", (query, T1), insert, (query, [*T1, "new"]), "ROLLBACK", (query, T1)
        ), {
            "read first": on(1, (query, T1), "SET autocommit = 0", insert, (query, [*T1, "new"]), "ROLLBACK"),
        }),
        Case("MySQL: a changed query", "pymysql", on(1, (query, T1)), {
            "another value": on(1, (query.replace("t1", "t2"), MISS)),
        }),
    ]
    return cases


def redis() -> list[Case]:
    return [
        Case("Redis: three answers", "redis", on(1, ("INCR visits", 1), ("INCR visits", 2), ("INCR visits", 3)), {
            "on three connections": [(1, "INCR visits", 1), (2, "INCR visits", 2), (3, "INCR visits", 3)],
        }),
        Case("Redis: SELECT", "redis", on(1, "SET cart:1 pen", ("GET cart:1", "pen"), "SELECT 1", ("GET cart:1", None)), {
            "on two connections": on(2, "SELECT 1", ("GET cart:1", None)) + on(1, ("GET cart:1", "pen")),
            "another cart": on(1, ("GET cart:2", MISS)),
        }),
    ]
