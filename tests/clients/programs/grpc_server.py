"""A gRPC server whose messages are bytes; prints its port."""

import sys
from concurrent import futures

import grpc


def greet(request: bytes, context: grpc.ServicerContext) -> bytes:
    context.send_initial_metadata((("seen", dict(context.invocation_metadata()).get("who", "nobody")),))
    context.set_trailing_metadata((("took", "1ms"), ("digest-bin", b"\x00\xff")))
    return b"hello " + request


def count(request: bytes, context: grpc.ServicerContext):
    for number in range(int(request)):
        yield b"%d" % number
    context.set_trailing_metadata((("counted", request.decode()),))


def refuse(request: bytes, context: grpc.ServicerContext) -> bytes:
    context.set_trailing_metadata((("reason", "never"),))
    context.abort(grpc.StatusCode.FAILED_PRECONDITION, "not öpen: 100%")


def halfway(request: bytes, context: grpc.ServicerContext):
    yield b"first"
    context.abort(grpc.StatusCode.DATA_LOSS, "lost")


def add(requests, context: grpc.ServicerContext) -> bytes:
    return b"%d" % sum(int(request) for request in requests)


def main() -> None:
    handlers = {
        "Greet": grpc.unary_unary_rpc_method_handler(greet),
        "Count": grpc.unary_stream_rpc_method_handler(count),
        "Refuse": grpc.unary_unary_rpc_method_handler(refuse),
        "Halfway": grpc.unary_stream_rpc_method_handler(halfway),
        "Add": grpc.stream_unary_rpc_method_handler(add),
    }
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("shop.Orders", handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    sys.stdin.read()
    server.stop(0).wait()


main()
