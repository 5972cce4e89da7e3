#!/bin/sh
# How many processes live on after their command: each way to stay alive, in each tier, tried many times. The test counts
# them in /proc and fails at the first one.
#
# usage: sh benches/survivors.sh [ROUNDS]
set -eu
cd "$(dirname "$0")/.."
REPLAY_TEST_REQUIRE_SANDBOX=1 REPLAY_TEST_ROUNDS="${1:-200}" cargo test --release --test it \
    walls::endings::e85_processes_end_with_their_call -- --nocapture
