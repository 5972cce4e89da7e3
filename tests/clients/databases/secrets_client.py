"""Shows its secrets to everybody: passwords of servers, a column, an update, JSON over HTTP.

usage: secrets_client.py SETTINGS

SETTINGS is JSON: ports and secrets. Prints what came.
"""

import json
import sys
import urllib.request

import psycopg
import redis


def main() -> None:
    told = json.loads(sys.argv[1])
    ports, secrets = told["ports"], told["secrets"]
    seen = []
    place = f"host=127.0.0.1 port={ports['postgres']} user=app password={secrets['postgres']} dbname=postgres"
    with psycopg.connect(place, autocommit=True) as connection:
        insert = "INSERT INTO users (id, name, token) VALUES (%s, 'ann', %s) ON CONFLICT DO NOTHING"
        seen.append(connection.execute(insert, (1, secrets["token"])).rowcount)
        changed = connection.execute(f"UPDATE users SET password = '{secrets['password']}' WHERE id = 1")
        seen.append(changed.rowcount)
        query = "SELECT name FROM users WHERE token = %s"
        seen.append([row[0] for row in connection.execute(query, (secrets["token"],))])
    keys = redis.Redis("127.0.0.1", ports["redis"], password=secrets["redis"], decode_responses=True)
    seen.append(keys.set("user:1:token", secrets["stored"]))
    body = json.dumps({"user": "ann", "clientSecret": secrets["client"], "api": {"key": secrets["api"]}}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{ports['http']}/login", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        seen.append(json.load(response))
    print(json.dumps(seen))


main()
