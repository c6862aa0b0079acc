#!/usr/bin/env bash
# setup.sh - installs the Debian packages that are missing for a purpose, and only those.
set -euo pipefail

# A package is missing when its command is; one without a command of its own, when dpkg does not know it.
declare -A packages=(
    [python]="python3:python3"
    [build]="python3:python3 gcc:gcc :libc6-dev cmake:cmake ninja:ninja-build objdump:binutils"
    [tests]="g++:g++ :libcmocka-dev valgrind:valgrind tmux:tmux"
    [programs]="git:git sqlite3:sqlite3 redis-server:redis-server redis-benchmark:redis-tools node:nodejs"
    [clang]="clang-16:clang-16"
    [fuzz]="clang-16:clang-16 :libclang-rt-16-dev"
    [coverage]="llvm-cov-16:llvm-16"
    [i386]="g++:g++ :g++-GCC-multilib"
    [aarch64]="aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu aarch64-linux-gnu-g++:g++-aarch64-linux-gnu
               qemu-aarch64:qemu-user"
    [riscv64]="riscv64-linux-gnu-gcc:gcc-riscv64-linux-gnu riscv64-linux-gnu-g++:g++-riscv64-linux-gnu
               qemu-riscv64:qemu-user"
    [armv7]="arm-linux-gnueabihf-gcc:gcc-arm-linux-gnueabihf arm-linux-gnueabihf-g++:g++-arm-linux-gnueabihf
             qemu-arm:qemu-user"
    [kernel]="aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu aarch64-linux-gnu-g++:g++-aarch64-linux-gnu
              qemu-system-aarch64:qemu-system-arm :debian-archive-keyring"
    [kernel64]="make:make flex:flex bison:bison bc:bc xz:xz-utils"
    [musl]="musl-gcc:musl-tools"
    [check]="clang-format-16:clang-format-16 clang-tidy-16:clang-tidy-16 shellcheck:shellcheck :python3-venv"
    [valgrind]="valgrind:valgrind"
    [verify]="python3:python3 gcc:gcc clang-16:clang-16 opt-16:llvm-16 :libc6-dev addr2line:binutils"
    [peers]="g++:g++ make:make cargo:cargo :libjemalloc2 :libmimalloc2.0 :libtcmalloc-minimal4 :libtbbmalloc2
             :libclang-rt-16-dev valgrind:valgrind"
    [report]=":python3-venv :libunwind8"
)
purposes="build tests programs clang fuzz i386 aarch64 riscv64 armv7 musl check valgrind verify peers report"

usage() {
    echo "usage: ./jw setup [--no-install] [PURPOSE...]"
    echo
    echo "Installs the Debian or Ubuntu packages that are missing, as root or through sudo, and nothing else."
    echo "It first says which packages these are. With --no-install it only says so, and fails if there are any."
    echo "Every other command installs what it needs in the same way, and takes --no-install too."
    echo "Purposes and their packages (default: all purposes):"
    # shellcheck disable=SC2086 # a list of words
    list_packages $purposes
    echo "Only if named, as few tests need them:"
    list_packages kernel kernel64
}

list_packages() {
    local purpose entry
    for purpose in "$@"; do
        printf '  %s:' "$purpose"
        for entry in ${packages[$purpose]}; do printf ' %s' "$(package_of "$entry")"; done
        echo
    done
}

# The package of an entry; the compiler's 32-bit half must be of its own version.
package_of() {
    local version name=${1#*:}
    version=$(gcc -dumpversion 2>/dev/null || echo 12)
    echo "${name/GCC/${version%%.*}}"
}

is_there() {
    local command=${1%%:*}
    if [ -n "$command" ]; then
        command -v "$command" >/dev/null
    else
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$(package_of "$1")" 2>/dev/null)" = installed ]
    fi
}

missing_of() {
    local entry
    for entry in ${packages[$1]}; do
        is_there "$entry" || package_of "$entry"
    done
}

install_packages() {
    local sudo=()
    if [ -n "${JW_NO_INSTALL-}" ]; then
        echo "jw: missing Debian packages, not installed because of --no-install: $*" >&2
        exit 1
    fi
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "jw: missing Debian packages: $*. Please run as root: apt-get install $*" >&2
            exit 1
        fi
        sudo=(sudo)
    fi
    echo "jw: about to install these Debian packages (--no-install prevents that): $*" >&2
    local log
    log=$(mktemp)
    local apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300)
    if ! { "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "$@"; } >"$log" 2>&1; then
        tail -15 "$log" >&2
        echo "jw: could not install: $*" >&2
        exit 1
    fi
    rm -f "$log"
}

main() {
    local wanted=() purpose
    for purpose in "$@"; do
        case $purpose in
            -h | --help) usage && exit 0 ;;
        esac
        [ -n "${packages[$purpose]-}" ] || { echo "jw: unknown purpose '$purpose'" >&2 && usage >&2 && exit 2; }
    done
    # shellcheck disable=SC2086 # a list of words
    [ $# -gt 0 ] || set -- $purposes
    if ! command -v dpkg-query >/dev/null; then
        echo "jw: not a Debian or Ubuntu system, so nothing is installed; ./jw setup --help lists what is needed" >&2
        exit 0
    fi
    # The compiler first: which version it is decides what else is needed.
    for purpose in "$@"; do
        [ "$purpose" != i386 ] || command -v g++ >/dev/null || install_packages g++
    done
    mapfile -t wanted < <(for purpose in "$@"; do missing_of "$purpose"; done | sort -u)
    [ ${#wanted[@]} = 0 ] || install_packages "${wanted[@]}"
}

main "$@"
