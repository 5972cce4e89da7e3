"""One call of each kind over gRPC."""

import sys

sys.path.insert(0, "lib")
import grpc


def ended(call) -> str:
    return f"{call.code().name} {call.details()!r} {[tuple(pair) for pair in call.trailing_metadata()]}"


with grpc.insecure_channel(f"127.0.0.1:{sys.argv[1]}") as channel:
    method = lambda kind, name: getattr(channel, kind)(f"/shop.Orders/{name}")
    answer, call = method("unary_unary", "Greet").with_call(b"\x00bytes", metadata=(("who", "me"),), timeout=30)
    print("greet", answer, [tuple(pair) for pair in call.initial_metadata()], ended(call))
    stream = method("unary_stream", "Count")(b"5", timeout=30)
    print("count", list(stream), ended(stream))
    for kind, name in [("unary_unary", "Refuse"), ("unary_stream", "Halfway"), ("unary_unary", "Unknown")]:
        got = []
        try:
            answer = method(kind, name)(b"", timeout=30)
            got.extend(answer)
        except grpc.RpcError as error:
            print(name.lower(), got, ended(error))
    answer, call = method("stream_unary", "Add").with_call(iter([b"1", b"2", b"39"]), timeout=30)
    print("add", answer, ended(call))
    large, call = method("unary_unary", "Greet").with_call(b"x" * 3_000_000, timeout=30)
    print("large", len(large))
