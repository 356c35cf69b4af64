"""Reads a change feed over one connection: how fast, at what cost for the server, and how soon after the write. Sends bulk, too.

    reader.py speed PORT KEY PID         the whole feed, from the beginning, three times: the last one counts
    reader.py lag PORT KEY PID SECONDS   beside whatever else writes: from a write's answer to the feed that shows it
    reader.py bulk PORT KEY PID          bulk requests of 100 creates, one after the other: what the server alone takes
"""
import base64
import hashlib
import hmac
import json
import os
import socket
import sys
import time
import urllib.parse
from email.utils import formatdate

LINK = "dbs/bench/colls/items"


class Connection:
    def __init__(self, port, key):
        self.key = base64.b64decode(key)
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray(8 << 20)

    def request(self, method, path, kind, link, headers, body=b""):
        date = formatdate(usegmt=True)
        text = f"{method.lower()}\n{kind}\n{link}\n{date.lower()}\n\n"
        signature = base64.b64encode(hmac.new(self.key, text.encode(), hashlib.sha256).digest()).decode()
        lines = [f"{method} /{path} HTTP/1.1", "host: 127.0.0.1", f"x-ms-date: {date}", "x-ms-version: 2020-07-15",
                 "authorization: " + urllib.parse.quote(f"type=master&ver=1.0&sig={signature}", safe=""),
                 f"content-length: {len(body)}", *(f"{name}: {value}" for name, value in headers.items())]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode() + body)
        have = 0
        view = memoryview(self.buffer)
        while (end := self.buffer.find(b"\r\n\r\n", 0, have)) < 0:
            have += self.receive(view[have:])
        head = bytes(view[:end]).decode().split("\r\n")
        status = int(head[0].split()[1])
        fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
        length = int(fields.get("content-length", 0))
        while have < end + 4 + length:
            have += self.receive(view[have:])
        return status, fields, view[end + 4 : end + 4 + length]

    def receive(self, view):
        count = self.socket.recv_into(view)
        if count == 0:
            raise SystemExit("the server closed the connection")
        return count

    def feed(self, position, range_id=None, count=1000):
        headers = {"A-IM": "Incremental Feed", "x-ms-max-item-count": count}
        if position:
            headers["If-None-Match"] = position
        if range_id is not None:
            headers["x-ms-documentdb-partitionkeyrangeid"] = range_id
        return self.request("GET", f"{LINK}/docs", "docs", LINK, headers)


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ranges(connection):
    _, _, body = connection.request("GET", f"{LINK}/pkranges", "pkranges", LINK, {})
    return [one["id"] for one in json.loads(bytes(body))["PartitionKeyRanges"]]


def speed(connection, pid):
    for attempt in range(3):
        changes = size = pages = 0
        began, cpu = time.perf_counter(), cpu_seconds(pid)
        for range_id in ranges(connection):
            position = None
            while True:
                status, fields, body = connection.feed(position, range_id)
                if status == 304:
                    break
                if status != 200:
                    raise SystemExit(f"status {status}: {bytes(body[:500])!r}")
                position = fields["etag"]
                changes += int(fields["x-ms-item-count"])
                size += len(body)
                pages += 1
        seconds, cpu = time.perf_counter() - began, cpu_seconds(pid) - cpu
    print(json.dumps({
        "workload": "feed", "changes": changes, "mb": round(size / 1e6, 1), "pages": pages, "seconds": round(seconds, 2), "server_cpu_seconds": round(cpu, 2),
        "changes_per_second": round(changes / seconds), "mb_per_second": round(size / 1e6 / seconds, 1),
        "changes_per_core_second": round(changes / cpu), "mb_per_core_second": round(size / 1e6 / cpu, 1)}))


def lag(connection, writer, seconds):
    key = "feed-lag"
    definition = json.loads(bytes(connection.request("GET", LINK, "colls", LINK, {})[2]))
    name = definition["partitionKey"]["paths"][0].strip("/")
    headers = {"x-ms-documentdb-partitionkey": json.dumps([key]), "content-type": "application/json"}
    status, fields, body = connection.request("GET", f"{LINK}/docs", "docs", LINK, {
        "A-IM": "Incremental Feed", "If-None-Match": "*", "x-ms-documentdb-partitionkey": json.dumps([key])})
    position, times, end, number = fields["etag"], [], time.time() + seconds, 0
    while time.time() < end:
        number += 1
        mark = f"lag-{os.getpid()}-{number}"
        item = json.dumps({"id": mark, name: key}).encode()
        status, _, body = writer.request("POST", f"{LINK}/docs", "docs", LINK, headers, item)
        if status != 201:
            raise SystemExit(f"status {status}: {bytes(body[:500])!r}")
        answered = time.perf_counter()
        while True:
            status, fields, body = connection.request("GET", f"{LINK}/docs", "docs", LINK, {
                "A-IM": "Incremental Feed", "If-None-Match": position, "x-ms-max-item-count": 1000,
                "x-ms-documentdb-partitionkeyrangeid": range_of(writer, key, headers)})
            position = fields["etag"]
            if status == 200 and mark.encode() in bytes(body):
                break
        times.append((time.perf_counter() - answered) * 1000)
    times.sort()
    print(json.dumps({"workload": "feed lag", "samples": len(times), "lag_ms_p50": round(times[len(times) // 2], 2),
                      "lag_ms_p99": round(times[len(times) * 99 // 100], 2), "lag_ms_max": round(times[-1], 2)}))


def bulk(connection, requests=100):
    times = []
    range_id = ranges(connection)[0]
    headers = {"content-type": "application/json", "x-ms-cosmos-is-batch-request": "True", "x-ms-cosmos-batch-atomic": "False",
               "x-ms-cosmos-batch-continue-on-error": "True", "x-ms-documentdb-partitionkeyrangeid": range_id}
    for number in range(requests):
        items = [{"id": f"bulk-{number}-{i}", "pk": f"bulk-{number * 100 + i}", "n": i, "text": "x" * 960} for i in range(100)]
        body = json.dumps([{"operationType": "Create", "partitionKey": json.dumps([item["pk"]]), "resourceBody": item} for item in items])
        began = time.perf_counter()
        status, _, answer = connection.request("POST", f"{LINK}/docs", "docs", LINK, headers, body.encode())
        times.append((time.perf_counter() - began) * 1000)
        if status != 200:
            raise SystemExit(f"status {status}: {bytes(answer[:500])!r}")
    times.sort()
    print(json.dumps({"workload": "bulk request of 100", "requests": requests, "ms_p50": round(times[requests // 2], 2)}))


RANGE = None


def range_of(writer, key, headers):
    """The range that serves the key; the container is not split meanwhile."""
    global RANGE
    if RANGE is None:
        _, fields, _ = writer.request("GET", f"{LINK}/docs", "docs", LINK, {"x-ms-documentdb-partitionkey": json.dumps([key]), "x-ms-max-item-count": 1})
        RANGE = fields["x-ms-documentdb-partitionkeyrangeid"]
    return RANGE


what, port, key, pid = sys.argv[1:5]
if what == "speed":
    speed(Connection(int(port), key), pid)
elif what == "bulk":
    bulk(Connection(int(port), key))
else:
    lag(Connection(int(port), key), Connection(int(port), key), float(sys.argv[5]))
