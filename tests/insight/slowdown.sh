#!/usr/bin/env bash
# slowdown.sh - how much longer Redis takes for its benchmark while it is recorded or profiled; beside
# heaptrack, if that is there.
# No test: it reads the clock, and a busy machine makes that useless; processor time is steadier.
# usage: tests/insight/slowdown.sh [RUNS]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The benchmark's time with a server that is started by the words given.
measure() {
    local name=$1 port=7391 server start
    shift
    "$@" redis-server --port $port --bind 127.0.0.1 --dir "$work" --save '' >"$work/log" 2>&1 &
    server=$!
    until redis-cli -p $port ping 2>/dev/null | grep -q PONG; do kill -0 $server; sleep 0.05; done
    start=$(date +%s%N)
    redis-benchmark -p $port -q -n 200000 -c 20 -P 16 -r 20000 -d 200 -t set,get,lpush,hset,zadd,rpop >/dev/null
    echo "$name $((($(date +%s%N) - start) / 1000000)) ms, the server's own processor time:" \
        "$(redis-cli -p $port info cpu | awk -F: '/used_cpu_(user|sys):/ {sum += $2} END {print sum}') s"
    redis-cli -p $port shutdown nosave >/dev/null 2>&1 || true
    wait $server || true
}

for ((run = 0; run < ${1:-3}; run++)); do
    measure alone env
    measure profiled "$root/jw" profile -o "$work/redis.pb.gz" --
    measure recorded "$root/jw" record -o "$work/redis.jwt" --
    measure "with stacks" "$root/jw" record --stacks -o "$work/redis.jwt" --
    if command -v heaptrack >/dev/null; then measure heaptrack heaptrack -o "$work/heaptrack"; fi
done
