#!/usr/bin/env bash
# redis_memory.sh - a Redis that is made for jemalloc asks our mallctl: INFO, MEMORY PURGE and MEMORY DOCTOR are right;
# MEMORY MALLOC-STATS is our report, by malloc_stats_print.
# 60 MB come; two of three objects go; then all.
source "$(dirname "$0")/common.sh"
need redis-server redis-cli
need_python
asks=$(nm -D "$(command -v redis-server)" 2>/dev/null || true)
[[ $asks == *" U mallctl"* ]] || skip "this Redis asks no mallctl of a library"
port=$("$python" -c "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); print(s.getsockname()[1])")
env LD_PRELOAD="$JW_LIBRARY" redis-server --port "$port" --bind 127.0.0.1 --dir "$work" --save '' >server.log 2>&1 &
server=$!
until redis-cli -p "$port" ping 2>/dev/null | grep -q PONG; do kill -0 "$server"; done
grep -q libjwmalloc "/proc/$server/maps"

ask() { redis-cli -p "$port" "$@"; }
# A field of INFO memory. Redis looks every 100 ms, so the third look is new.
field() {
    sleep 0.5
    ask info memory | tr -d '\r' | sed -n "s/^$1://p"
}

before=$(field allocator_allocated)
ask eval "for i=1,60000 do redis.call('SET','key:'..i,string.rep('x',1000)) end return 1" 0 >filled
full=$(field allocator_allocated) used=$(ask info memory | tr -d '\r' | sed -n 's/^used_memory://p')
active=$(field allocator_active) resident=$(field allocator_resident) process=$(field used_memory_rss)
echo "allocated $before, then $full of $used that Redis counts; active $active, resident $resident, RSS $process"
((full - before > 60000000 && full - before < 90000000))
# Redis counts usable sizes. The hardened build's are what was asked for; the slots are counted as allocated.
share=5
[[ ${JW_HARDENED:-0} == 0 ]] || share=4
((full >= used - used / 10 && full <= used + used / share && active >= full && resident >= active))
((resident <= process + process / 4)) # what the allocator may have in memory is what the process has

# What stays lies in all slabs, so they cannot leave: the doctor must call it fragmentation.
ask eval "for i=1,60000 do if i%3>0 then redis.call('DEL','key:'..i) end end return 1" 0 >emptied
freed=$(field allocator_allocated) active=$(field allocator_active)
ask memory doctor >advice
echo "a third left: allocated $freed, active $active; the doctor: $(grep -o 'High [a-zA-Z ]*' advice | tr '\n' ';')"
((freed < full - 35000000 && active > freed * 2))
grep -q "High allocator fragmentation" advice

# Then everything goes, and after MEMORY PURGE it has left the process, too.
ask flushall sync >flushed
[ "$(ask memory purge)" = OK ]
left=$(field allocator_resident) rss=$(field used_memory_rss)
echo "nothing left: resident $left, RSS $rss"
((left < resident - 45000000 && rss < process - 40000000))
ask memory doctor >advice
if grep -q "High allocator" advice; then cat advice; exit 1; fi

ask memory malloc-stats >report
grep -q "^jwmalloc " report
grep -q "^backend: " report
ask shutdown nosave >/dev/null || true
wait "$server"
server=
