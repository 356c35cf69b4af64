"""A server for the tests, the program as a child, and a pseudo-terminal."""
import base64
import fcntl
import hashlib
import hmac
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from email.utils import formatdate

PROGRAM = os.environ["ORRERY_BIN"]
KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
PATIENCE = 120  # seconds; a loaded machine may be slow
SERVER = None


class Server:
    """A server of its own on a free port."""

    def __init__(self, *arguments):
        self.folder = tempfile.TemporaryDirectory(prefix="orrery-cli-")
        log = self.log = pathlib.Path(self.folder.name) / "server.log"
        self.process = subprocess.Popen([PROGRAM, "serve", "--port", "0", *(arguments or ("--memory",))], stdout=log.open("w"),
                                        stderr=subprocess.STDOUT, env={"PATH": os.environ["PATH"]}, cwd=self.folder.name)
        end = time.monotonic() + PATIENCE
        self.port = None
        while self.port is None:
            found = re.search(r"http://[^ /]+:(\d+)/", log.read_text())
            if found:
                self.port = int(found.group(1))
            elif self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("the server did not start: " + log.read_text())
            else:
                time.sleep(0.02)
        self.endpoint = f"http://127.0.0.1:{self.port}"

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self.folder.cleanup()

    def rest(self, method, path, body=None, headers=None):
        """The protocol from the test's side; path like dbs/d/colls/c/docs."""
        segments = path.split("/")
        feed = len(segments) % 2 == 1
        kind = segments[-1] if feed else segments[-2]
        link = "/".join(segments[:-1] if feed else segments)
        date = formatdate(usegmt=True)
        text = f"{method.lower()}\n{kind}\n{link}\n{date.lower()}\n\n"
        signature = base64.b64encode(hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()).decode()
        request = urllib.request.Request(
            f"{self.endpoint}/{'/'.join(urllib.parse.quote(s, safe='') for s in segments)}", method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"x-ms-date": date, "x-ms-version": "2020-07-15", "content-type": "application/json",
                     "authorization": urllib.parse.quote(f"type=master&ver=1.0&sig={signature}", safe=""), **(headers or {})})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            data = answer.read()
            return json.loads(data) if data else None

    def own(self, method, name, what, body=None):
        """Orrery's own endpoints of a container."""
        link = f"containers/{name}/{what}"
        date = formatdate(usegmt=True)
        text = f"{method.lower()}\n_orrery\n{link}\n{date.lower()}\n\n"
        signature = base64.b64encode(hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()).decode()
        request = urllib.request.Request(
            f"{self.endpoint}/_orrery/{link}", method=method, data=None if body is None else json.dumps(body).encode(),
            headers={"x-ms-date": date, "x-ms-version": "2020-07-15", "content-type": "application/json",
                     "authorization": urllib.parse.quote(f"type=master&ver=1.0&sig={signature}", safe="")})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.loads(answer.read())

    def ranges(self, name):
        return [r["id"] for r in self.rest("GET", f"dbs/{name.replace('/', '/colls/')}/pkranges")["PartitionKeyRanges"]]

    def set_throughput(self, name, throughput):
        rid = self.rest("GET", f"dbs/{name.replace('/', '/colls/')}")["_rid"]
        offer = next(o for o in self.rest("GET", "offers", headers={"x-ms-max-item-count": "1000"})["Offers"] if o["offerResourceId"] == rid)
        offer["content"]["offerThroughput"] = throughput
        # By _rid: the signature covers it in lower case.
        date = formatdate(usegmt=True)
        text = f"put\noffers\n{offer['_rid'].lower()}\n{date.lower()}\n\n"
        signature = base64.b64encode(hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()).decode()
        request = urllib.request.Request(f"{self.endpoint}/offers/{offer['_rid']}", method="PUT", data=json.dumps(offer).encode(),
                                         headers={"x-ms-date": date, "x-ms-version": "2020-07-15", "content-type": "application/json",
                                                  "authorization": urllib.parse.quote(f"type=master&ver=1.0&sig={signature}", safe="")})
        urllib.request.urlopen(request, timeout=PATIENCE).read()

    def container(self, name, key="/pk", throughput=10000):
        database, container = name.split("/")
        try:
            self.rest("POST", "dbs", {"id": database})
        except urllib.error.HTTPError as error:
            if error.code != 409:
                raise
        self.rest("POST", f"dbs/{database}/colls", {"id": container, "partitionKey": {"paths": [key], "kind": "Hash", "version": 2}},
                  {"x-ms-offer-throughput": str(throughput)})


def environment(**more):
    return {"PATH": os.environ["PATH"], "HOME": more.pop("HOME", "/nonexistent"), "ORRERY_ENDPOINT": SERVER.endpoint, "TERM": "xterm",
            "LC_ALL": "C.UTF-8", **more}


def run(*arguments, stdin=None, expect=0, env=None, cwd=None):
    """Runs the program to its end, without a terminal."""
    done = subprocess.run([PROGRAM, *arguments], input=stdin, capture_output=True, text=True, timeout=PATIENCE * 2, env=env or environment(),
                          cwd=cwd, stdin=subprocess.DEVNULL if stdin is None else None)
    if expect is not None and done.returncode != expect:
        raise AssertionError(f"exit code {done.returncode}, not {expect}: {arguments}\n{done.stdout}\n{done.stderr}")
    return done


def query(container, text):
    out = run("shell", container, "-q", "-f", "jsonl", "-e", text).stdout
    return [json.loads(line) for line in out.splitlines()]


class Terminal:
    """The program on a pseudo-terminal. `screen` is everything it wrote."""

    def __init__(self, *arguments, columns=100, rows=30, env=None):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(PROGRAM, [PROGRAM, *arguments], env or environment())
        self.resize(columns, rows)
        self.screen = ""
        self.seen = 0
        self.code = None

    def resize(self, columns, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _read(self, timeout):
        ready, _, _ = select.select([self.fd], [], [], timeout)
        if not ready:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        if not data:
            return None
        self.screen += data.decode(errors="replace")
        return True

    def expect(self, pattern):
        """Waits until the pattern shows after what was expected before; gives the match."""
        end = time.monotonic() + PATIENCE
        while True:
            found = re.search(pattern, self.screen[self.seen:])
            if found:
                self.seen += found.end()
                return found
            if self._read(0.2) is None or time.monotonic() > end:
                raise AssertionError(f"{pattern!r} did not come; since then: {self.screen[self.seen:]!r}")

    def sees(self, pattern, seconds):
        """Whether the pattern shows within a time; the next expect() finds it too."""
        end = time.monotonic() + seconds
        while not re.search(pattern, self.screen[self.seen:]):
            if self._read(0.05) is None or time.monotonic() > end:
                return False
        return True

    def send(self, text):
        os.write(self.fd, text.encode())

    def line(self, text):
        self.send(text + "\n")

    def wait(self):
        """The exit code, once it has ended."""
        end = time.monotonic() + PATIENCE
        while self._read(0.2) is not None:
            if time.monotonic() > end:
                raise AssertionError(f"it does not end: {self.screen[-2000:]!r}")
        _, status = os.waitpid(self.pid, 0)
        self.code = os.waitstatus_to_exitcode(status)
        return self.code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.code is None:
            try:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
            except ProcessLookupError:
                pass
        os.close(self.fd)


class Case(unittest.TestCase):
    """Each test has a folder and a container of its own."""

    throughput = 10000
    key = "/pk"

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="orrery-cli-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.container = f"{type(self).__name__}/{self._testMethodName}"
        SERVER.container(self.container, self.key, self.throughput)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def items(self, count, **more):
        return [{"id": str(i), "pk": f"k{i % 7}", "n": i, **more} for i in range(count)]

    def jsonl(self, name, items):
        return self.write(name, "".join(json.dumps(item) + "\n" for item in items))

    def count(self):
        return query(self.container, "SELECT VALUE COUNT(1) FROM c")[0]
