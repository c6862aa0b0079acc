#!/usr/bin/env bash
# no_install.sh JW - with --no-install a command names the packages that it misses, fails, and installs nothing;
# without, it names them before it installs them. Debian's packages are missing because PATH has only a few commands.
# Python's are missing because the commands are those of a copy of the tree, which has no build. --help needs none.
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
rm "$work/log"

mkdir "$work/tree"
cp -R "$(dirname "$jw")"/{jw,tools,insight,bench,CMakePresets.json} "$work/tree"
jw=$work/tree/jw
rm "$work/dpkg-query" # no Debian packages from here on
ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$work/python3"

for command in bench demo build test fuzz reliability verify options asm entropy check docs record profile report \
    replay trace "trace export"; do
    status=0
    # shellcheck disable=SC2086 # a list of words
    said=$(COLUMNS=100 PATH=$work "$jw" --no-install $command --help 2>&1) || status=$?
    [[ $status = 0 && $said = "usage: "* ]] || { echo "jw $command --help: status $status, said: $said" && exit 1; }
    while IFS= read -r line; do
        [ ${#line} -le 100 ] || { echo "jw $command --help: a line of ${#line} columns: $line" && exit 1; }
    done <<<"$said"
done
[ ! -e "$work/tree/build" ] || { echo "--help has made something: $(ls "$work/tree/build")" && exit 1; }

for venv in bench insight; do
    command=bench
    [ $venv = bench ] || command="report app.jwt"
    status=0
    # shellcheck disable=SC2086 # a list of words
    said=$(PATH=$work "$jw" --no-install $command 2>&1) || status=$?
    [[ $status = 1 && $said = *"not installed because of --no-install: "*matplotlib==* ]] || {
        echo "jw --no-install $command: status $status, said: $said"
        exit 1
    }
    [ ! -e "$work/tree/build/$venv-venv" ] || { echo "--no-install has installed something" && exit 1; }

    : >"$work/tree/build/$venv-venv" # a file where the packages would be, so installing fails at once
    [ $venv = bench ] || command="record -- true --no-install" # an argument of the program
    status=0
    # shellcheck disable=SC2086 # a list of words
    said=$(PATH=$work "$jw" $command 2>&1) || status=$?
    [[ $status = 1 && $said = *"about to install these Python packages"*matplotlib==* ]] || {
        echo "jw $command: status $status, not named: $said"
        exit 1
    }
done
