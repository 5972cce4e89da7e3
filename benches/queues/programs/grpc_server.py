"""Serve lab.proto on PORT."""
import os
import time
from concurrent import futures

import grpc
import lab_pb2
import lab_pb2_grpc


class Lab(lab_pb2_grpc.LabServicer):
    def Upper(self, request, _context):
        return lab_pb2.Answer(id=request.id, asked_ms=request.asked_ms, text=request.text.upper())

    def Count(self, request, _context):
        for number in range(request.count):
            time.sleep(0.05)
            yield lab_pb2.Answer(id=request.id, asked_ms=request.asked_ms, text=request.text, number=number)


server = grpc.server(futures.ThreadPoolExecutor(8))
lab_pb2_grpc.add_LabServicer_to_server(Lab(), server)
assert server.add_insecure_port(f"127.0.0.1:{os.environ['PORT']}")
server.start()
server.wait_for_termination()
