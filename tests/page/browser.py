# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium, driven through the DevTools protocol on a pair of pipes (--remote-debugging-pipe)."""
import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading


def find():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    def __init__(self, width=1280, height=900):
        self.folder = tempfile.mkdtemp(prefix="wharf-page-")
        read_commands, self.commands = os.pipe()
        self.answers, write_answers = os.pipe()

        def pipes():
            # The browser reads commands from descriptor 3 and writes to 4; the first dup2 must not overwrite a source.
            commands, answers = os.dup(read_commands), os.dup(write_answers)
            high = [os.dup2(commands, 103), os.dup2(answers, 104)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--remote-debugging-pipe", f"--user-data-dir={self.folder}", f"--window-size={width},{height}", "about:blank"],
            preexec_fn=pipes, close_fds=False, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(read_commands)
        os.close(write_answers)
        self.events, self.results, self.last = [], {}, 0
        self.news = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()
        target = self._call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self.session = self._call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Performance"):
            self.call(f"{domain}.enable")
        self.resize(width, height)

    def _read(self):
        rest = b""
        while True:
            try:
                data = os.read(self.answers, 1 << 16)
            except OSError:
                data = b""
            if not data:
                return
            *messages, rest = (rest + data).split(b"\0")
            with self.news:
                for text in messages:
                    message = json.loads(text)
                    if "id" in message:
                        self.results[message["id"]] = message
                    else:
                        self.events.append(message)
                self.news.notify_all()

    def _call(self, method, params=None, session=None, seconds=120):
        self.last += 1
        message = {"id": self.last, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        with self.news:
            if not self.news.wait_for(lambda: message["id"] in self.results, timeout=seconds):
                raise TimeoutError(f"the browser did not answer {method}")
            answer = self.results.pop(message["id"])
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def call(self, method, params=None, seconds=120):
        return self._call(method, params, self.session, seconds)

    def resize(self, width, height, dark=False):
        self.call("Emulation.setDeviceMetricsOverride",
                  {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
        self.call("Emulation.setEmulatedMedia",
                  {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})

    def open(self, url):
        self.call("Page.navigate", {"url": url})

    def eval(self, expression, seconds=120):
        result = self.call("Runtime.evaluate", {"expression": expression, "returnByValue": True, "awaitPromise": True}, seconds)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("exception", {}).get("description", "exception"))
        return result["result"].get("value")

    def wait(self, expression, seconds=120):
        """Waits in the page for the expression to be true."""
        return self.eval(f"""new Promise((resolve, reject) => {{
            const end = Date.now() + {int(seconds * 1000)};
            (function look() {{
                const late = Date.now() > end;
                let value; try {{ value = ({expression}); }} catch (error) {{ value = false; }}
                if (value) resolve(value); else if (late) reject(new Error("waited in vain for: " + {json.dumps(expression)}));
                else setTimeout(look, 30);
            }})(); }})""", seconds + 120)

    def key(self, key, text=""):
        code = {"Escape": 27, "Enter": 13, "ArrowDown": 40, "ArrowUp": 38}.get(key, 0)
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", {"type": kind, "key": key, "code": key, "text": text if kind == "keyDown" else "",
                                                 "windowsVirtualKeyCode": code})

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", {"format": "png"})["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def metric(self, name):
        return {m["name"]: m["value"] for m in self.call("Performance.getMetrics")["metrics"]}[name]

    def problems(self):
        """What the page logged as an error: exceptions, refusals by the content security policy."""
        with self.news:
            found = [e["params"] for e in self.events if e["method"] == "Runtime.exceptionThrown"]
            found += [e["params"] for e in self.events if e["method"] == "Log.entryAdded" and e["params"]["entry"]["level"] == "error"]
        return found

    def requests(self):
        with self.news:
            return [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(10)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass
        os.close(self.commands)
        shutil.rmtree(self.folder, ignore_errors=True)
