# A network with a loopback device alone, names in hosts(5), and servers that ask for a secret. Arguments: the directory of the
# test, then the program, which has the secret in its environment.
set -e
ip link set lo up
for address in 11.0.0.2 11.0.0.3; do ip addr add $address dev lo; done
cat > "$1/hosts" <<'END'
127.0.0.1 localhost
11.0.0.2 api.example.com db.example.com
11.0.0.3 other.example.com
END
mount --bind "$1/hosts" /etc/hosts
mkfifo "$1/ready" "$1/alive"
python3 "$1/credentials.py" "$1" < "$1/alive" > "$1/ready" &
# The servers end with whoever has this open.
exec 9> "$1/alive"
read -r _ < "$1/ready"
SSL_CERT_FILE="$1/authority.pem" REAL=$(cat "$1/secret")
export SSL_CERT_FILE REAL
shift
exec "$@"
