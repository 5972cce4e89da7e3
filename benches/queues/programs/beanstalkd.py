"""Put jobs into a tube, reserve and delete them."""
import uuid

import greenstalk
from lab_common import INDEX, PORT, done, same

TUBE = f"jobs-{INDEX}"
producer = greenstalk.Client(("127.0.0.1", PORT), use=TUBE)
worker = greenstalk.Client(("127.0.0.1", PORT), watch=TUBE)
wanted = []
for number in range(3):
    text = f"job {number} {uuid.uuid4()}"
    wanted.append((producer.put(text), text))
received = []
for _ in range(3):
    job = worker.reserve(timeout=5)
    received.append((job.id, job.body))
    worker.delete(job)
same(received, wanted, "jobs")
late = f"late {uuid.uuid4()}"
place = producer.put(late, delay=1)
job = worker.reserve(timeout=5)
same((job.id, job.body), (place, late), "the late job")
worker.delete(job)
same(worker.stats_tube(TUBE)["current-jobs-ready"], 0, "jobs left")
producer.close()
worker.close()
done()
