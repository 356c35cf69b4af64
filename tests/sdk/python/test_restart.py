"""Continuation tokens outlive the server: B98. The test runs a server of its own (ORRERY_BIN) over a data folder."""
import json
import os
import re
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections import Counter
from pathlib import Path

import pytest
from azure.cosmos import PartitionKey

import conftest

BINARY = os.environ.get("ORRERY_BIN")
PAGE, RESTARTS = 7, 4
ITEMS = [{"id": f"i{n}", "pk": f"k{n % 17}", "n": n * 73 % 90, "tie": n % 3, "g": f"g{n % 40}"} for n in range(90)]
COMPOSITE = [[{"path": "/tie", "order": "descending"}, {"path": "/n", "order": "ascending"}]]


def ordered(row):
    return row


BY_TIE = sorted(ITEMS, key=lambda i: i["tie"])
# A query, its rows, and what of a row the order fixes (None: rows in any order). The SDK sends all of them whole and hands the
# server's tokens through, so no kind of query is left out but those of one row, which have no second page (AVG and the like).
CASES = [
    ("SELECT VALUE c.n FROM c", list(range(90)), None),
    ("SELECT VALUE c.n FROM c WHERE c.n >= 10", list(range(10, 90)), None),
    ("SELECT VALUE c.n FROM c ORDER BY c.n", list(range(90)), ordered),
    ("SELECT VALUE c.n FROM c ORDER BY c.n DESC", list(range(89, -1, -1)), ordered),
    ("SELECT c.tie, c.id FROM c ORDER BY c.tie", [{"tie": i["tie"], "id": i["id"]} for i in BY_TIE], lambda r: r["tie"]),
    ("SELECT VALUE c.n FROM c ORDER BY c.tie DESC, c.n", [i["n"] for i in sorted(ITEMS, key=lambda i: (-i["tie"], i["n"]))], ordered),
    ("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 5 LIMIT 50", list(range(5, 55)), ordered),
    ("SELECT DISTINCT VALUE c.g FROM c", [f"g{n}" for n in range(40)], None),
    ("SELECT c.g, COUNT(1) AS k FROM c GROUP BY c.g", [{"g": g, "k": k} for g, k in Counter(i["g"] for i in ITEMS).items()], None),
]


class Server:
    def __init__(self, folder):
        self.folder, self.port, self.process = Path(folder), 0, None

    def start(self):
        """Returns the endpoint once it is ready; the port stays the same from the second time on."""
        log = self.folder / "log"
        with log.open("wb") as out:
            arguments = ["serve", "--data", self.folder / "data", "--port", str(self.port), "--unthrottled"]
            self.process = subprocess.Popen([BINARY, *arguments], stdout=out, stderr=subprocess.STDOUT)
        for _ in range(600):
            found = re.search(r"https?://[^ \"/]+:(\d+)", log.read_text())
            if found and self.ready(f"http://127.0.0.1:{found[1]}"):
                self.port = int(found[1])
                return f"http://127.0.0.1:{self.port}"
            assert self.process.poll() is None, f"the server ended: {log.read_text()}"
            time.sleep(0.1)
        raise AssertionError(f"the server did not become ready: {log.read_text()}")

    def ready(self, endpoint):
        try:
            with urllib.request.urlopen(f"{endpoint}/ready", timeout=2) as answer:
                return answer.status == 200
        except OSError:
            return False

    def stop(self, by):
        self.process.send_signal(by)
        return self.process.wait(60)


@pytest.fixture
def server():
    with tempfile.TemporaryDirectory(prefix="orrery-restart-") as folder:
        server = Server(folder)
        yield server
        if server.process and server.process.poll() is None:
            server.stop(signal.SIGKILL)


@pytest.mark.skipif(not BINARY, reason="ORRERY_BIN is not set: it runs a server of its own")
async def test_B98_tokens_after_restarts(sdk, server, monkeypatch):
    async def connect():
        monkeypatch.setattr(conftest, "ENDPOINT", server.start())
        return await sdk.client()

    client = await connect()
    database = await sdk(client.create_database, "restart")
    key = PartitionKey(path="/pk", version=2)
    await sdk(database.create_container, "c", key, offer_throughput=18000, indexing_policy={"compositeIndexes": COMPOSITE})
    container = client.get_database_client("restart").get_container_client("c")
    for item in ITEMS:
        await sdk(container.create_item, item)
    cross = {"enable_cross_partition_query": True} if sdk.flavour == "sync" else {}
    pages, tokens = [[] for _ in CASES], [None] * len(CASES)
    for round in range(100):
        for at, (text, _, _) in enumerate(CASES):
            if round and not tokens[at]:
                continue
            page, tokens[at] = await sdk.first_page(container.query_items(text, max_item_count=PAGE, **cross), tokens[at])
            pages[at].append(page)
        if round < RESTARTS:
            assert all(tokens), "every query has more to give"
            by = (signal.SIGTERM, signal.SIGKILL)[round % 2]
            assert server.stop(by) == (0 if by == signal.SIGTERM else -by)
            container = (await connect()).get_database_client("restart").get_container_client("c")
        elif not any(tokens):
            break
    assert not any(tokens), "the pages must come to an end"
    for (text, expected, order), got in zip(CASES, pages):
        rows = [row for page in got for row in page]
        assert sorted(rows, key=json.dumps) == sorted(expected, key=json.dumps), text
        assert not order or list(map(order, rows)) == list(map(order, expected)), text
        assert all(len(page) <= PAGE for page in got), text
