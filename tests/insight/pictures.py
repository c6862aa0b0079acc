"""pictures.py - makes the pictures of docs/insight.md anew, of programs of its tour.

usage: pictures.py [BUILD]"""

import io
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import started

TOOLS = started.with_packages()
BUILD = Path(sys.argv[1] if len(sys.argv) > 1 else started.ROOT / "build").resolve()

import browser  # noqa: E402
from PIL import Image  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.text import Text  # noqa: E402

FOLDER = started.ROOT / "docs/insight/pictures"
COLOURS = 256
WINDOW = (1280, 1110)
MOST = 120 << 10  # bytes of a picture
PYTHON = ["python3", "-c", 'import json; [json.loads("[1, 2]") for i in range(100000)]']
NODE = """const { Worker } = require("worker_threads");
for (let i = 0; i < 3; i++) new Worker("JSON.stringify([...Array(1e5).keys()])", { eval: true })"""
TERMINAL = 118  # columns
LINES = 26  # of the map
STYLE = "<style>body{margin:0}pre{margin:0;padding:8px;font:12px/1.25 'DejaVu Sans Mono',monospace;float:left}</style>"


def jw(*words: object, **environment: str) -> str:
    command = [sys.executable, "-B", str(TOOLS), "--build", str(BUILD), *map(str, words)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | environment)
    return done.stdout


def smaller(path: Path, width: int) -> None:
    """With few colours, and so wide."""
    with Image.open(path) as picture:
        size = (width, round(picture.height * width / picture.width))
        scaled = picture.convert("RGB").resize(size, Image.Resampling.LANCZOS)
        scaled.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)
    assert path.stat().st_size < MOST, f"{path}: {path.stat().st_size} bytes"
    print(f"{path.relative_to(started.ROOT)}: {path.stat().st_size >> 10} KB")


def terminal(shown: str, path: Path) -> None:
    console = Console(record=True, width=TERMINAL, file=io.StringIO())
    for line in shown.splitlines():
        console.print(Text.from_ansi(line), soft_wrap=True)
    path.write_text(STYLE + console.export_html(inline_styles=True, code_format="<pre>{code}</pre>"))


def redis_on_jwmalloc(folder: Path) -> str:
    """What top and map show of it."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = str(one.getsockname()[1])
    with subprocess.Popen(
        ["redis-server", "--port", port, "--save", ""], cwd=folder, stdout=subprocess.DEVNULL,
        env=os.environ | {"LD_PRELOAD": str(BUILD / "libjwmalloc.so"), "JWMALLOC_CONF": "watch:true"},
    ) as server:  # fmt: skip
        try:
            time.sleep(1)
            subprocess.run(["redis-benchmark", "-p", port, "-q", "-n", "20000", "-t", "set,get,lpush"], check=True,
                           stdout=subprocess.DEVNULL)  # fmt: skip
            looks = [jw(*words, FORCE_COLOR="1", COLUMNS=str(TERMINAL)).splitlines()
                     for words in (("top", "--once", server.pid), ("map", server.pid))]  # fmt: skip
        finally:
            with suppress(ProcessLookupError):
                server.send_signal(signal.SIGTERM)
    return "\n".join([*looks[0], *looks[1][:LINES]])


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trace, page = folder / "app.jwt", folder / "page.html"
        window = browser.Browser()
        try:
            jw("record", "-o", trace, "--", "node", "-e", NODE)
            jw("report", trace, "-o", page)
            for size, said, width, top in ((WINDOW, "report", 960, "body"), (browser.PHONE, "phone", 390, ".plots")):
                view = browser.Page(window, page, size)
                view.scroll_through()
                view.value(f"scrollTo(0, document.querySelector('{top}').offsetTop)")
                view.picture(FOLDER / f"{said}.png")
                smaller(FOLDER / f"{said}.png", width)
            jw("record", "--stacks", "-o", trace, "--", *PYTHON)
            jw("report", trace, "-o", page)
            view = browser.Page(window, page, browser.WIDE)
            view.scroll_through()
            view.picture(FOLDER / "flames.png", "figure:has(.flame)")
            smaller(FOLDER / "flames.png", 960)
            terminal(redis_on_jwmalloc(folder), page)
            view = browser.Page(window, page, browser.WIDE)
            view.picture(FOLDER / "watch.png", "pre")
            smaller(FOLDER / "watch.png", view.value('document.querySelector("pre").offsetWidth'))
        finally:
            window.close()


if browser.PROGRAM is None:
    sys.exit("chromium is not installed (Debian's package: chromium)")
main()
