"""Headless Chromium by its DevTools protocol, over a pipe: no port, no driver, only the standard library."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

# --no-sandbox: the tests may run as root, and the pages are our own.
_FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
          "--disable-component-update", "--disable-sync", "--disable-quic", "--hide-scrollbars",
          "--remote-debugging-pipe"]


class Browser:
    def __init__(self):
        self._profile = tempfile.mkdtemp(prefix="page-test-")
        commands, self._out = os.pipe()
        self._in, answers = os.pipe()
        # The browser reads commands from descriptor 3 and answers on 4.
        words = ["bash", "-c", f'exec "$@" 3<&{commands} 4>&{answers}', "-", "chromium", *_FLAGS,
                 f"--user-data-dir={self._profile}", "about:blank"]
        self._process = subprocess.Popen(words, pass_fds=(commands, answers), stdin=subprocess.DEVNULL,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self._rest, self._number, self.events = b"", 0, []

    def close(self):
        os.close(self._out)  # without its pipe the browser ends
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        shutil.rmtree(self._profile, ignore_errors=True)

    def _receive(self):
        while b"\0" not in self._rest:
            piece = os.read(self._in, 1 << 20)
            if not piece:
                raise RuntimeError("the browser has ended; is the Debian package chromium installed?")
            self._rest += piece
        message, self._rest = self._rest.split(b"\0", 1)
        message = json.loads(message)
        if "method" in message:
            self.events.append(message)
        return message

    def call(self, method, session=None, **params):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def wait_for(self, event, session):
        seen = 0
        while True:
            for message in self.events[seen:]:
                if message["method"] == event and message.get("sessionId") == session:
                    return
            seen = len(self.events)
            self._receive()

    def open(self, url, **look):
        return Page(self, url, **look)


class Page:
    """A page that has been loaded and drawn."""

    def __init__(self, browser, url, width=1280, height=800, scale=1, dark=False, scripts=True):
        self._browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                  mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Page.navigate", url=url)
        browser.wait_for("Page.loadEventFired", self._session)
        time.sleep(0.3)  # a paint or two

    def call(self, method, **params):
        return self._browser.call(method, self._session, **params)

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def mouse(self, kind, x, y, **more):
        """kind: "Moved", "Pressed" or "Released"."""
        self.call("Input.dispatchMouseEvent", type=f"mouse{kind}", x=x, y=y, **more)

    def drag(self, start, end, modifiers=0):
        self.mouse("Moved", *start)
        self.mouse("Pressed", *start, button="left", clickCount=1, modifiers=modifiers)
        for share in (0.5, 1):
            at = [a + share * (b - a) for a, b in zip(start, end)]
            self.mouse("Moved", *at, button="left", buttons=1, modifiers=modifiers)
        self.mouse("Released", *end, button="left", clickCount=1, modifiers=modifiers)

    def click(self, x, y, count=1):
        self.mouse("Moved", x, y)
        for number in range(1, count + 1):
            self.mouse("Pressed", x, y, button="left", clickCount=number)
            self.mouse("Released", x, y, button="left", clickCount=number)

    def centre(self, selector):
        """Scrolls there."""
        return self.evaluate(f"(() => {{ const e = document.querySelector({selector!r});"
                             "e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
                             "return [r.left + r.width / 2, r.top + r.height / 2]; })()")

    def paper_pages(self):
        """How many sheets of A4 it takes."""
        data = base64.b64decode(self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)["data"])
        return data.count(b"/Type /Page\n") + data.count(b"/Type /Page ")

    def events(self, method):
        return [e["params"] for e in self._browser.events
                if e["method"] == method and e.get("sessionId") == self._session]

    def requests(self):
        return [e["request"]["url"] for e in self.events("Network.requestWillBeSent")]

    def complaints(self):
        """Errors of scripts, and what the browser has refused or could not make sense of."""
        thrown = [e["exceptionDetails"]["text"] for e in self.events("Runtime.exceptionThrown")]
        return thrown + [e["entry"]["text"] for e in self.events("Log.entryAdded") if e["entry"]["level"] == "error"]

    def screenshot(self, path, whole=False):
        shot = {"format": "png", "captureBeyondViewport": whole}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            shot["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", **shot)["data"]))

    def close(self):
        self.call("Page.close")
