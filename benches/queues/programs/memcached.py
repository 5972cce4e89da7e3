"""Use memcached: set with and without a reply, get, cas, delete, a key with a UUID."""
import uuid

from lab_common import INDEX, PORT, done, same
from pymemcache.client.base import Client

client = Client(("127.0.0.1", PORT))
plain, session = f"plain-{INDEX}", f"sess:{uuid.uuid4()}"
identity = str(uuid.uuid4())
same(client.get(plain), None, "value before it is set")
same(client.set(plain, b"one", noreply=False), True, "set with a reply")
same(client.get(plain), b"one", "value")
client.set(plain, b"two", noreply=True)
same(client.get(plain), b"two", "value that was set without a reply")
same(client.set(session, identity, noreply=False), True, "set of the session")
same(client.get(session), identity.encode(), "the session")
value, unique = client.gets(session)
same(value, identity.encode(), "the session by gets")
same(client.cas(session, b"changed", unique, noreply=False), True, "cas")
same(client.cas(session, b"again", unique, noreply=False), False, "cas with an old number")
same(client.get_many([plain, session]), {plain: b"two", session: b"changed"}, "many values")
same(client.set(f"n-{INDEX}", b"1", noreply=False), True, "set of a number")
same(client.incr(f"n-{INDEX}", 4), 5, "incr")
same(client.delete(session, noreply=False), True, "delete")
same(client.get(session), None, "the session after its end")
client.quit()
done()
