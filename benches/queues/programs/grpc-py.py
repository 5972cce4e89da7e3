"""Call a unary method and a server stream with a UUID and a time in each message."""
import time
import uuid

import grpc
import lab_pb2
import lab_pb2_grpc
from lab_common import INDEX, PORT, done, same


def question(number):
    return lab_pb2.Question(id=str(uuid.uuid4()), asked_ms=int(time.time() * 1000), text=f"text {number} of {INDEX}", count=3)


with grpc.insecure_channel(f"127.0.0.1:{PORT}") as channel:
    stub = lab_pb2_grpc.LabStub(channel)
    for number in range(3):
        asked = question(number)
        answer = stub.Upper(asked, timeout=8, metadata=[("x-request-id", str(uuid.uuid4()))])
        same((answer.id, answer.text), (asked.id, asked.text.upper()), f"answer {number}")
        if number == 0:
            same(answer.asked_ms > 0, True, "a time in the answer")
    asked = question(9)
    answers = [(answer.id, answer.number) for answer in stub.Count(asked, timeout=8)]
    same(answers, [(asked.id, number) for number in range(3)], "answers of the stream")
done()
