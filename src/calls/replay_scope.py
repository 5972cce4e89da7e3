"""Plugin of pytest: tells replay which test runs in this process."""

import json
import os
from socket import socket

import pytest


address = os.environ.get("KEPLOY_MOCK_AGENT", "").rpartition("/")[2]


def tell(action, test):
    global address
    try:
        host, port = address.split(":")
        body = json.dumps({"name": test, "pid": os.getpid()})
        head = "POST /agent/scope/%s HTTP/1.0\r\nContent-Length: %d\r\n\r\n"
        with socket() as agent:
            agent.settimeout(2)
            agent.connect((host, int(port)))
            agent.sendall((head % (action, len(body)) + body).encode())
            agent.recv(1)
    except OSError:
        address = ""
    except Exception:
        # The tests go on: without an address, or where a test forbids sockets.
        pass


@pytest.fixture(autouse=True)
def _replay_scope(request):
    tell("begin", request.node.nodeid)
    yield
    tell("end", request.node.nodeid)
