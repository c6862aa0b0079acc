#!/usr/bin/env bash
# no_install.sh JW - with --no-install a command names the packages that it misses, fails, and installs nothing;
# without, it names them before it installs them. The packages are missing because PATH has only a few commands.
set -euo pipefail
jw=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for command in bash env dirname readlink sort dpkg-query gcc id mktemp tail rm; do
    path=$(command -v "$command" || true)
    [ -z "$path" ] || ln -s "$path" "$work/$command"
done
if [ ! -e "$work/dpkg-query" ]; then
    echo "skipped: not a Debian or Ubuntu system"
    exit 77
fi
printf '#!%s\necho called >>%s\n' "$(command -v bash)" "$work/log" >"$work/apt-get"
cp "$work/apt-get" "$work/sudo"
chmod +x "$work/apt-get" "$work/sudo"

for arguments in "--no-install setup check" "setup --no-install check" "setup check --no-install"; do
    status=0
    # shellcheck disable=SC2086 # a list of words
    said=$(PATH=$work "$jw" $arguments 2>&1) || status=$?
    [[ $status = 1 && $said = *"not installed because of --no-install"*shellcheck* ]] || {
        echo "jw $arguments: status $status, said: $said"
        exit 1
    }
done
[ ! -e "$work/log" ] || { echo "--no-install has installed something" && exit 1; }

said=$(PATH=$work "$jw" setup check 2>&1)
[[ $said = *"about to install these Debian packages"*shellcheck* ]] || { echo "not named: $said" && exit 1; }
[ -e "$work/log" ] || { echo "nothing was installed" && exit 1; }
