#!/usr/bin/env python3
"""Opens a page in headless Chromium and does what a reader would do.

usage: browser.py PAGE STEP...

Steps: NAME=EXPRESSION prints the name and what a JavaScript expression comes to, as JSON, and do:EXPRESSION prints
nothing; key:NAME presses a key (ArrowLeft, Tab, +, n); type:TEXT types; width:N or width:NxN
sets the window's width, or width and height; dark and light choose the colour scheme; shot:FILE takes a picture of the whole page; pdf:FILE
prints it. At the end, one line each for what the page asked the network for, and for errors and what a policy forbade:
"requested: URL", "error: TEXT". A status other than 0: the browser did not do as it was told.

It talks to the browser through a pipe, by Chromium's DevTools protocol, and needs nothing but Python and Chromium.
"""
import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
KEYS = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9, "Enter": 13, "Home": 36}
HEIGHT = 900
SECONDS = 120


class Browser:
    def __init__(self, folder):
        path = next(filter(None, map(shutil.which, BROWSERS)), None)
        if not path:
            sys.exit("browser.py: no Chromium was found")
        to_it, self.to = os.pipe()
        self.come, from_it = os.pipe()
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-background-networking", f"--user-data-dir={folder}", "--remote-debugging-pipe"]
        self.process = subprocess.Popen(
            ["timeout", str(SECONDS), "bash", "-c", 'exec 3<&"$1" 4>&"$2"; shift 2; exec "$@"', "-", str(to_it),
             str(from_it), path, *flags, "about:blank"], pass_fds=(to_it, from_it), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_it)
        os.close(from_it)
        self.rest, self.number, self.session = b"", 0, None
        self.requests, self.errors, self.loaded = [], [], False

    def receive(self):
        while b"\0" not in self.rest:
            part = os.read(self.come, 1 << 20)
            if not part:
                sys.exit("browser.py: the browser has ended")
            self.rest += part
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def note(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.errors.append(str(params["args"]))
        elif method == "Page.loadEventFired":
            self.loaded = True

    def ask(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit(f"browser.py: {method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def open(self, url):
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Page", "Runtime", "Log", "Network"):
            self.ask(part + ".enable")
        self.width(1280)
        self.ask("Page.navigate", url=url)
        while not self.loaded:
            self.note(self.receive())

    def js(self, expression):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            sys.exit(f"browser.py: {expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def key(self, name):
        text = {"text": "\r" if name == "Enter" else name} if len(name) == 1 or name == "Enter" else {}
        code = KEYS.get(name, ord(name[0]))
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=name, windowsVirtualKeyCode=code, nativeVirtualKeyCode=code,
                     **(text if kind == "keyDown" else {}))

    def width(self, width, height=HEIGHT):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def scheme(self, name):
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def write(self, method, path, **params):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.ask(method, **params)["data"]))

    def step(self, step):
        named = re.match(r"(\w+)=(.*)", step, re.DOTALL)
        kind, _, value = step.partition(":")
        if named:
            print(named[1], json.dumps(self.js(named[2])))
        elif kind == "do":
            self.js(value)
        elif kind == "key":
            self.key(value)
        elif kind == "type":
            self.ask("Input.insertText", text=value)
        elif kind == "width":
            self.width(*map(int, value.split("x")))
        elif kind in ("dark", "light"):
            self.scheme(kind)
        elif kind == "shot":
            self.write("Page.captureScreenshot", value, captureBeyondViewport=True, format="png")
        elif kind == "pdf":
            self.write("Page.printToPDF", value, printBackground=True)
        else:
            sys.exit(f"browser.py: no such step: {step}")

    def close(self):
        os.write(self.to, json.dumps({"id": 0, "method": "Browser.close"}).encode() + b"\0")
        self.process.wait()


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    url = "file://" + os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(folder)
        browser.open(url)
        for step in sys.argv[2:]:
            browser.step(step)
        browser.js("new Promise(done => setTimeout(done, 100))")  # what it still has to say
        browser.close()
    for request in browser.requests:
        if request != url:
            print("requested:", request)
    for error in browser.errors:
        print("error:", error)


main()
