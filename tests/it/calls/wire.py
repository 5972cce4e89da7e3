# What a command gets onto a device of a network namespace in which there are only that device and lo.
import select, socket, subprocess, sys
neighbour = "lladdr 02:00:00:00:00:01 dev d0"
for line in ["link set lo up", "link add d0 type veth peer name d1", "link set d0 up", "link set d1 up",
             "addr add 198.51.100.2/24 dev d0", "-6 addr add 2001:db8::2/64 dev d0 nodad",
             "route add default via 198.51.100.1", "neigh add 198.51.100.1 " + neighbour,
             "neigh add 198.51.100.7 " + neighbour, "neigh add 198.51.100.9 " + neighbour,
             "-6 neigh add 2001:db8::9 " + neighbour]:
    subprocess.run(["ip", *line.split()], check=True)
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
wire.bind(("d1", 0))
ran = subprocess.run(sys.argv[1:])
seen = set()
groups = [socket.inet_aton("239.76.69.65"), socket.inet_aton("239.76.69.64"), socket.inet_pton(socket.AF_INET6, "ff05::4c:4541:4b")]
while select.select([wire], [], [], 0.2)[0]:
    frame = wire.recv(65535)
    if b"LEAK" in frame: seen.add("datagram " + frame[frame.index(b"LEAK") + 5:].decode())
    elif any(group in frame for group in groups): seen.add("membership")
    elif frame[12:14] == b"\x08\x00" and frame[23] == 6: seen.add("tcp to " + socket.inet_ntoa(frame[30:34]))
for line in sorted(seen):
    print(line)
sys.exit(ran.returncode)
