import socket, threading

def answer(listener, text):
    def run():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.sendall(text)
            connection.close()
    threading.Thread(target=run, daemon=True).start()

def said(address, family=socket.AF_INET):
    s = socket.socket(family)
    s.settimeout(30)
    s.connect(address)
    s.sendall(b"GET / HTTP/1.0\r\n\r\n")
    text = b""
    try:
        while more := s.recv(4096):
            text += more
    except ConnectionResetError:
        pass
    return text.decode().split("\r\n\r\n")[-1][:3].rstrip("=1")

four = socket.create_server(("127.0.0.1", 0))
wild = socket.create_server(("0.0.0.0", 0))
six = socket.create_server(("::1", 0), family=socket.AF_INET6)
for listener in (four, wild, six):
    answer(listener, b"own")
print(said(four.getsockname()), said(("127.0.0.1", wild.getsockname()[1])), said(six.getsockname()[:2], socket.AF_INET6))

# A port of somebody else.
other = said(("127.0.0.1", 1))[:2]
a, b = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
a.bind(("127.0.0.1", 0))
b.sendto(b"own udp", a.getsockname())
data, sender = a.recvfrom(100)
a.sendto(data, sender)
print(other, b.recvfrom(100)[0].decode())

# Once its server is gone the port is nobody's.
at = four.getsockname()
four.shutdown(socket.SHUT_RDWR)
four.close()
print("after", said(at)[:2])
