#!/usr/bin/env bash
# redis.sh - a server under redis-benchmark, then a fixed set of commands: same answers, and same digest of all data.
source "$(dirname "$0")/common.sh"
need redis-server redis-cli redis-benchmark
need_python
version=$(redis-server --version | sed -n 's/.*\bv=\([0-9.]*\).*/\1/p')
at_least "${version:-0}" 6.0 || skip "Redis ${version:-of an unknown version} is older than 6.0"
options=()
if at_least "$version" 7.0; then options=(--enable-debug-command yes); fi # before that nobody had to ask

cat >commands.txt <<'COMMANDS'
FLUSHALL
DEBUG POPULATE 20000 key 300
EVAL "for i=1,20000 do redis.call('HSET','h'..(i%500),'f'..i,string.rep('x',i%900)) end return 1" 0
EVAL "for i=1,20000 do redis.call('ZADD','z'..(i%50),(i*7919)%10007,'m'..i) end return 1" 0
EVAL "for i=1,20000 do redis.call('RPUSH','l'..(i%70),string.rep('y',i%3000)) end return 1" 0
EVAL "for i=1,500 do redis.call('APPEND','grow',string.rep('z',i*10)) end return redis.call('STRLEN','grow')" 0
EVAL "local n=0 for i=1,20000,3 do n=n+redis.call('DEL','key:'..i) end return n" 0
SORT l3 ALPHA LIMIT 0 3
ZRANGEBYSCORE z7 100 900 LIMIT 0 20
DEBUG RELOAD
DEBUG DIGEST
DBSIZE
COMMANDS

# Answers to the commands after the benchmark; a free port, for several may run at a time.
serve() {
    local name=$1 port
    shift
    port=$("$python" -c "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); print(s.getsockname()[1])")
    mkdir "$name"
    "$@" redis-server --port "$port" --bind 127.0.0.1 --dir "$work/$name" --save '' --io-threads 2 \
        "${options[@]}" --lazyfree-lazy-user-del yes >"$name.log" 2>&1 &
    server=$!
    until redis-cli -p "$port" ping 2>/dev/null | grep -q PONG; do kill -0 "$server"; done
    redis-benchmark -p "$port" -q -n 15000 -c 20 -P 8 -r 20000 -d 200 \
        -t set,get,incr,lpush,rpop,sadd,hset,zadd,lrange_100,mset >"$name-benchmark.log"
    redis-cli -p "$port" bgsave >/dev/null
    redis-cli -p "$port" <commands.txt >"$name.txt"
    grep -q libjwmalloc "/proc/$server/maps" && touch "$name.preloaded"
    redis-cli -p "$port" shutdown nosave >/dev/null || true
    wait "$server"
    server=
}

serve system system
serve jw jw
[ -e jw.preloaded ] && [ ! -e system.preloaded ]
if grep -q -i "err\b" jw.txt; then cat jw.txt; exit 1; fi
same system.txt jw.txt
tail -n 2 jw.txt
