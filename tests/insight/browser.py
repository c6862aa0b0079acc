"""browser.py - opens pages in headless Chromium, which is spoken to by its own pipe: no port, and no further package.

Debian's package is called chromium."""

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WIDE, PHONE = (1280, 900), (390, 800)
PATIENCE = 120  # seconds for one answer, on a busy machine
HEAD = (
    "--headless=new", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe", "--disable-background-networking",
)  # fmt: skip


def high(number: int) -> int:
    """Above 3 and 4, where Chromium has its pipe."""
    copied = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(number)
    return copied


class Browser:
    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="jw-browser-")
        (theirs, self.output), (self.input, answers) = (tuple(map(high, os.pipe())) for _ in range(2))
        root = ("--no-sandbox",) if os.getuid() == 0 else ()
        with open(os.devnull, "r+b") as nothing:
            self.process = subprocess.Popen(
                [PROGRAM, *HEAD, *root, f"--user-data-dir={self.folder}", "about:blank"],
                stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True, close_fds=False,
                preexec_fn=lambda: (os.dup2(theirs, 3), os.dup2(answers, 4)),
            )  # fmt: skip
        os.close(theirs)
        os.close(answers)
        self.number, self.read, self.said = 0, b"", []

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.input)
        os.close(self.output)
        for _ in range(50):  # its last processes may still write there
            shutil.rmtree(self.folder, ignore_errors=True)
            if not Path(self.folder).exists():
                break
            time.sleep(0.1)

    def message(self) -> dict:
        while b"\0" not in self.read:
            ready, _, _ = select.select([self.input], [], [], PATIENCE)
            data = os.read(self.input, 1 << 20) if ready else b""
            if not data:
                raise RuntimeError("Chromium has ended" if ready else "Chromium says nothing")
            self.read += data
        text, self.read = self.read.split(b"\0", 1)
        return json.loads(text)

    def ask(self, method: str, session: str | None = None, **parameters: object) -> dict:
        self.number += 1
        question = {"id": self.number, "method": method, "params": parameters}
        rest = memoryview(json.dumps(question | ({"sessionId": session} if session else {})).encode() + b"\0")
        while rest:
            rest = rest[os.write(self.output, rest) :]
        while (answer := self.message()).get("id") != self.number:
            self.said.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]


class Page:
    """A file, opened in a window of that size. `said` is what went wrong: errors, and requests for another thing."""

    def __init__(self, browser: Browser, path: Path, size: tuple[int, int]) -> None:
        self.browser, self.size, self.url = browser, size, path.resolve().as_uri()
        target = browser.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Runtime", "Log", "Network", "Page"):
            self.ask(f"{part}.enable")
        phone = size[0] < 600
        self.ask("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1],
                 deviceScaleFactor=2 if phone else 1, mobile=phone)  # fmt: skip
        self.ask("Page.navigate", url=self.url)
        while not any(self.is_mine(one, "Page.loadEventFired") for one in browser.said):
            browser.said.append(browser.message())

    def ask(self, method: str, **parameters: object) -> dict:
        return self.browser.ask(method, self.session, **parameters)

    def is_mine(self, said: dict, *methods: str) -> bool:
        return said.get("sessionId") == self.session and said["method"] in methods

    def value(self, expression: str) -> object:
        """Of JavaScript; of a promise what it promises."""
        answer = self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def scroll_through(self) -> None:
        """As a reader does: what is drawn late is drawn then."""
        self.value("""(async () => {
            for (let at = 0; at < document.documentElement.scrollHeight; at += innerHeight / 2) {
                scrollTo(0, at);
                await new Promise(requestAnimationFrame);
                await new Promise(done => setTimeout(done, 30));
            }
            scrollTo(0, 0);
        })()""")

    @property
    def said(self) -> list[str]:
        found = []
        for one in self.browser.said:
            told = self.is_mine(one, "Runtime.consoleAPICalled") and one["params"]["type"] in ("error", "warning")
            if told or self.is_mine(one, "Runtime.exceptionThrown", "Log.entryAdded"):
                found.append(json.dumps(one["params"])[:500])
            elif self.is_mine(one, "Network.requestWillBeSent", "Network.webSocketCreated"):
                url = one["params"].get("url") or one["params"]["request"]["url"]
                if not url.startswith(("data:", "blob:")) and url != self.url:
                    found.append(f"a request for {url[:200]}")
        return found

    def picture(self, path: Path, selector: str | None = None) -> None:
        """Of an element, or of the window."""
        x, y, width, height = 0, self.value("scrollY"), *self.size
        if selector:
            found = self.value(f"""(() => {{ const box = document.querySelector({json.dumps(selector)})
                .getBoundingClientRect(); return [box.x + scrollX, box.y + scrollY, box.width, box.height] }})()""")
            x, y, width, height = found
        shot = self.ask("Page.captureScreenshot", captureBeyondViewport=True,
                        clip={"x": x, "y": y, "width": width, "height": height, "scale": 1})  # fmt: skip
        path.write_bytes(base64.b64decode(shot["data"]))
