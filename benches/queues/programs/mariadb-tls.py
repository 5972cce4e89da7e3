"""Use MariaDB as a user that must encrypt: write rows with a UUID and read them back."""
import datetime
import ssl
import uuid

import pymysql
from lab_common import INDEX, PORT, done, same

client = pymysql.connect(
    host="localhost", port=PORT, user="lab", password="lab-password-1", database="lab", ssl=ssl.create_default_context(), connect_timeout=8
)
with client.cursor() as cursor:
    cursor.execute("SHOW STATUS LIKE 'Ssl_cipher'")
    assert cursor.fetchone()[1], "the connection is not encrypted"
    cursor.execute(f"CREATE TABLE orders{INDEX} (id CHAR(36) PRIMARY KEY, number INT, made DATETIME)")
    wanted = []
    for number in range(3):
        wanted.append((number, str(uuid.uuid4())))
        now = datetime.datetime.now().replace(microsecond=0)
        cursor.execute(f"INSERT INTO orders{INDEX} VALUES (%s, %s, %s)", (wanted[-1][1], number, now))
        client.commit()
    cursor.execute(f"SELECT number, id FROM orders{INDEX} ORDER BY number")
    same(list(cursor.fetchall()), wanted, "rows")
    cursor.execute(f"SELECT number FROM orders{INDEX} WHERE id = %s", (wanted[1][1],))
    same(cursor.fetchall(), ((1,),), "row of the second id")
client.close()
done()
