#!/usr/bin/env bash
# busy.sh - a program that forks and threads heavily; JW_BUSY names it.
source "$(dirname "$0")/common.sh"

system "$JW_BUSY" >system.txt
jw "$JW_BUSY" >jw.txt
same system.txt jw.txt
wc -c jw.txt
