#!/usr/bin/env python3
"""options.py PLAIN WEAK [LIBRARY] - what JWMALLOC_CONF and jw_malloc_conf do, seen from outside the process.

PLAIN and WEAK are options_plain and options_weak; LIBRARY is preloaded when given.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

plain, weak = sys.argv[1:3]
failures = []


def run(program, conf=None, *arguments):
    environment = {name: value for name, value in os.environ.items() if name != "JWMALLOC_CONF"}
    if len(sys.argv) > 3:
        environment["LD_PRELOAD"] = sys.argv[3]
    if conf is not None:
        environment["JWMALLOC_CONF"] = conf
    return subprocess.run([program, *arguments], env=environment, capture_output=True, text=True)


def expect(condition, what, result):
    if not condition:
        failures.append(what)
        print(f"WRONG {what}: exit {result.returncode}, stdout {result.stdout!r}, stderr {result.stderr[:2000]!r}")


def is_silent(conf):
    result = run(plain, conf)
    expect(result.returncode == 0 and result.stderr == "", f"silent with {conf!r}", result)


def complains_once(conf, *words):
    result = run(plain, conf)
    lines = result.stderr.splitlines()
    right = len(lines) == 1 and lines[0].startswith("jwmalloc: ") and all(word in lines[0] for word in words)
    expect(result.returncode == 0 and right, f"one line about {conf!r}", result)


def prints_json(program, conf):
    result = run(program, conf)
    try:
        report = json.loads(result.stderr)
    except ValueError:
        report = None
    expect(result.returncode == 0 and isinstance(report, dict) and report, f"JSON from {program} with {conf!r}", result)


is_silent(None)
is_silent("")
is_silent("reclaim_interval:100")
is_silent("cache_min:1M,cache_percent:0,pool_min:0,reclaim_thread:false,stats:off")
is_silent("cache_min:64K")
is_silent("reclaim_interval=200,cache_min=1M")
complains_once("reclaim_interval=soon", "reclaim_interval", "10..60000")
complains_once("stats_file:", "stats_file")
complains_once("stats_file:" + "x" * 300, "bad value in stats_file", "255")
complains_once("no_such_option:1", "no_such_option")
complains_once("reclaim_interval:soon", "reclaim_interval")
complains_once("reclaim_interval:", "reclaim_interval")
complains_once("reclaim_interval:9", "reclaim_interval")
complains_once("reclaim_interval:60001", "reclaim_interval")
complains_once("reclaim_interval:99999999999999999999999", "reclaim_interval")
complains_once("reclaim_interval:-1", "reclaim_interval")
complains_once("reclaim_thread:maybe", "reclaim_thread")
complains_once("stats:always", "stats")
complains_once("cache_min:1X", "cache_min")
complains_once("cache_min", "cache_min")
complains_once("pool_min:1,wrong:2,cache_percent:1", "wrong")

spaced = run(plain, "wrong:1 also_wrong:2")
expect(len(spaced.stderr.splitlines()) == 2, "a space separates items", spaced)

two = run(plain, "wrong:1,also_wrong:2")
expect(len(two.stderr.splitlines()) == 2, "a line for each of two mistakes", two)

# Several reports in one file, each with its process.
with tempfile.TemporaryDirectory() as folder:
    path = f"{folder}/reports"
    for _ in range(2):
        silent = run(plain, f"stats=exit,stats_format=json,stats_file={path}")
        expect(silent.returncode == 0 and silent.stderr == "", "silent where a file gets the report", silent)
    reports = [json.loads(line) for line in Path(path).read_text().splitlines()] if os.path.exists(path) else []
    good = len(reports) == 2 and reports[0]["pid"] != reports[1]["pid"] and reports[0]["program"] == plain
    good = good and all(0 < report["resident"] <= report["peak"] for report in reports)
    good = good and all(report["time"] > 1.7e9 and "objects" in report for report in reports)
    expect(good, "two reports with pid, program, time, resident, peak, counts in the file", silent)
    silent = run(plain, f"stats:exit,stats_file:{folder}/none/reports")
    expect("in objects" in silent.stderr, "to standard error where there can be no file", silent)

# The report is for the file that was standard error at the start, never for one that took its number later.
with tempfile.TemporaryDirectory() as folder:
    path = f"{folder}/database"
    redirected = run(plain, "stats:exit", "redirect", path)
    expect(redirected.returncode == 0 and Path(path).read_bytes() == b"", "nothing to another file", redirected)

# Nobody reads the report: the program's exit does not change.
reader, writer = os.pipe()
os.close(reader)
environment = dict(os.environ, JWMALLOC_CONF="stats:exit", **({"LD_PRELOAD": sys.argv[3]} if len(sys.argv) > 3 else {}))
unread = subprocess.run([plain], env=environment, stdout=subprocess.PIPE, stderr=writer, text=True)
os.close(writer)
unread.stderr = ""
expect(unread.returncode == 0, "no SIGPIPE at exit", unread)

# A bad value leaves the default in force, and what stands around it still counts.
shown = run(plain, "confirm:true,reclaim_interval:nonsense,cache_percent:33")
expect("reclaim_interval:500" in shown.stderr.replace(" ", ""), "the default stays", shown)
expect("cache_percent:33" in shown.stderr.replace(" ", ""), "the neighbour of a mistake counts", shown)

text = run(plain, "stats:exit")
expect(text.returncode == 0 and len(text.stderr.splitlines()) > 5, "statistics as text", text)
prints_json(plain, "stats:exit,stats_format:json")
prints_json(weak, None)
overruled = run(weak, "stats:off")
expect(overruled.stderr == "", "the environment overrules the symbol", overruled)

for _ in range(20):
    single = run(plain, "reclaim_thread:false", "threads")
    expect(single.stdout.strip() == "1", "no thread with reclaim_thread:false", single)
unasked = run(plain, "reclaim_start:0", "threads")
expect(unasked.stdout.strip() == "1", "no thread in a program without threads", unasked)
started = run(plain, "reclaim_start:0,reclaim_thread:true", "threads")
expect(started.stdout.strip() == "2", "a thread with reclaim_start:0", started)

if os.path.exists("/sys/kernel/mm/transparent_hugepage"):
    expect(run(plain, None, "huge").stdout.strip() == "0", "no huge pages unasked", run(plain, None, "huge"))
    huge = run(plain, "huge_pages:true", "huge")
    expect(huge.returncode == 0 and int(huge.stdout) > 0, "huge pages with huge_pages:true", huge)

named = run(plain, None, "unnamed")
if named.returncode != 77:
    expect(named.returncode == -signal.SIGSYS, "mappings are named", named)
    unnamed = run(plain, "mapping_names:false", "unnamed")
    expect(unnamed.returncode == 0 and unnamed.stderr == "", "no mapping is named with mapping_names:false", unnamed)

sys.exit(bool(failures))
