"""What differs from run to run: a lock with a token of its own in Redis, and rows with keys that the program made.

usage: noise_client.py REDIS-PORT REDIS-PASSWORD POSTGRES-PORT POSTGRES-PASSWORD CART

CART is data: which cart is asked for. Prints what came.
"""

import json
import sys
import uuid

import psycopg
import redis


def main() -> None:
    redis_port, redis_password, port, password, cart = sys.argv[1:]
    keys = redis.Redis("127.0.0.1", int(redis_port), password=redis_password, decode_responses=True)
    seen = []
    for name in ("stock", "mail"):
        lock = keys.lock(f"lock:{name}", timeout=60)
        seen.append(lock.acquire())
        lock.release()
    try:
        keys.set(f"cart:{cart}", f"pen for {cart}")
        seen.append(keys.get(f"cart:{cart}"))
    except redis.ResponseError:
        seen.append("miss")
    place = f"host=127.0.0.1 port={port} user=app password={password} dbname=postgres"
    with psycopg.connect(place) as connection:
        for name in ("mail", "bill"):
            connection.execute("INSERT INTO jobs (id, name) VALUES (%s, %s)", (uuid.uuid4(), name))
        seen.append([row[0] for row in connection.execute("SELECT name FROM jobs ORDER BY name")])
        connection.rollback()
    print(json.dumps(seen))


main()
