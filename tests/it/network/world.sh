# A network with a loopback device alone, names in hosts(5), and servers. Arguments: the directory of the test, then the program.
set -e
ip link set lo up
for address in 11.0.0.2 11.0.0.3 11.0.0.4 10.0.0.9 169.254.169.254 2a00::2; do ip addr add $address dev lo; done
cat > "$1/hosts" <<'END'
127.0.0.1 localhost here.example.com
11.0.0.2 api.example.com www.example.com
2a00::2 six.example.com
11.0.0.3 evil.example.com whole.example.com other.example.net
10.0.0.9 private.example.com
169.254.169.254 meta.example.com
END
echo "nameserver 11.0.0.4
options timeout:2 attempts:1" > "$1/resolv.conf"
for file in hosts resolv.conf; do mount --bind "$1/$file" /etc/$file; done
mkfifo "$1/ready" "$1/alive"
python3 "$1/servers.py" "$1/notes" 11.0.0.2:80 11.0.0.2:443 11.0.0.2:8080 11.0.0.2:8081 11.0.0.2:8082 11.0.0.2:8083 11.0.0.2:8443 11.0.0.3:80 11.0.0.3:53 10.0.0.9:80 169.254.169.254:80 127.0.0.1:80 2a00::2:80 < "$1/alive" > "$1/ready" &
# The servers end with whoever has this open.
exec 9> "$1/alive"
read -r _ < "$1/ready"
if [ -e "$1/careful.py" ]; then
  ip addr add 11.0.0.5 dev lo
  echo "11.0.0.5 secure.example.com whole.example.com closed.example.com bad.example.com" >> "$1/hosts"
  mkfifo "$1/ready-too"
  python3 "$1/careful.py" "$1/notes" "$1/server.pem" 11.0.0.5:80 11.0.0.5:443 11.0.0.5:8080 < "$1/alive" > "$1/ready-too" 9>&- &
  read -r _ < "$1/ready-too"
fi
if [ -e "$1/proxies.py" ]; then
  ip addr add 11.0.0.6 dev lo
  mkfifo "$1/ready-proxies"
  python3 "$1/proxies.py" "$1/notes" "$1/proxies.pem" < "$1/alive" > "$1/ready-proxies" 9>&- &
  read -r _ < "$1/ready-proxies"
fi
if [ -e "$1/open-files" ]; then ulimit -n "$(cat "$1/open-files")"; fi
shift
exec "$@"
