#!/usr/bin/env bash
# sshd.sh - a login by key at OpenSSH's server, whose children shut themselves in before they listen to a stranger.
source "$(dirname "$0")/common.sh"
PATH=$PATH:/usr/sbin
need sshd ssh ssh-keygen
need_python
[ "$(id -u)" -eq 0 ] || { echo "skipped: only root can log users in"; exit 77; }

# A directory of its own: sshd trusts keys only below directories that nobody else can write to.
keys=$(mktemp -d /root/jw-sshd.XXXXXX)
trap 'leave $?; rm -rf "$keys"' EXIT
mkdir -p /run/sshd
for name in host user; do ssh-keygen -q -t ed25519 -N "" -f "$keys/$name"; done
cp "$keys/user.pub" "$keys/authorized"

login() {
    local name=$1 port
    shift
    port=$("$python" -c "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); print(s.getsockname()[1])")
    "$@" "$(command -v sshd)" -D -e -f /dev/null -p "$port" -o ListenAddress=127.0.0.1 -o HostKey="$keys/host" \
        -o AuthorizedKeysFile="$keys/authorized" -o PidFile="$work/$name.pid" -o PermitRootLogin=prohibit-password \
        -o UsePAM=no -o MaxStartups=1000 >"$name.log" 2>&1 &
    shell=$!
    until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && [ -s "$name.pid" ]; do kill -0 "$shell"; done
    server=$(cat "$name.pid") # not the shell that the function runs in
    for _ in 1 2 3; do
        system ssh -n -p "$port" -i "$keys/user" -o IdentitiesOnly=yes -o BatchMode=yes \
            -o UserKnownHostsFile=/dev/null -o StrictHostKeyChecking=no -o LogLevel=ERROR -F none \
            root@127.0.0.1 "seq 1 20000" >>"$name.txt"
    done
    if grep -q libjwmalloc "/proc/$server/maps"; then touch "$name.preloaded"; fi
    kill "$server"
    wait "$shell" || true
    server=
}

login system system
login jw jw
[ -e jw.preloaded ]
[ ! -e system.preloaded ]
[ "$(wc -l <jw.txt)" -eq 60000 ]
same system.txt jw.txt
echo "three logins each"
