#!/bin/sh
# Drives real agent clients with a scripted model; README.md says more.
#
# usage: tests/agents/run.sh [--only CLIENT,...] [--script NAME] [PROGRAM]
set -eu

run=$(dirname "$(realpath "$0")")/run.py
python3 "$run" install "$@"
# In a network with nothing but loopback, where that can be had.
if [ "$(id -u)" = 0 ] && unshare --net true; then
    exec unshare --net sh -c 'ip link set lo up && exec "$@"' sh python3 "$run" drive "$@"
fi
exec python3 "$run" drive "$@"
