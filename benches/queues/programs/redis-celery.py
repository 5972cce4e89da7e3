"""Run Celery's worker and its client in one program, with Redis as broker and for results."""
import logging
import uuid

from celery import Celery
from celery.contrib.testing.worker import start_worker
from lab_common import INDEX, PORT, done, same

logging.disable(logging.WARNING)
app = Celery("lab", broker=f"redis://127.0.0.1:{PORT}/0", backend=f"redis://127.0.0.1:{PORT}/0")
app.conf.task_default_queue = f"jobs-{INDEX}"
app.conf.worker_hijack_root_logger = False


@app.task(name="lab.join")
def join(number, text):
    return {"number": number, "text": text.upper()}


with start_worker(app, pool="solo", perform_ping_check=False, hostname=f"w{INDEX}@lab", loglevel="ERROR", shutdown_timeout=30):
    for number in range(3):
        text = str(uuid.uuid4())
        same(join.delay(number, text).get(timeout=8), {"number": number, "text": text.upper()}, f"result {number}")
    done()
