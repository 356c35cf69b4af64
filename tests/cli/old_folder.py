"""What the folders of tests/cli/folders hold, and what a server must answer that opens one of them.

They were written by the program as it was before documents, records and errors got their present forms. To add a folder of another
version, build that version and run:

    ORRERY_BIN=… python3 old_folder.py NAME      writes folders/NAME-clean.tar.gz and folders/NAME-killed.tar.gz
"""
import base64
import hashlib
import hmac
import http.client
import json
import pathlib
import signal
import sys
import tarfile
import tempfile
import time
import urllib.parse
from email.utils import formatdate

FOLDERS = pathlib.Path(__file__).parent / "folders"
SAMPLE_PROCEDURE = "function bump(id) { getContext().getResponse().setBody(id); }"
PLAIN = "dbs/shop/colls/orders"
TREE = "dbs/shop/colls/tree"
RULES = "dbs/shop/colls/rules"
SPLIT = "dbs/shop/colls/split"
VIEW = "dbs/shop/colls/by_city"
ANSWERED = ("x-ms-request-charge", "etag", "x-ms-session-token", "x-ms-item-count", "x-ms-substatus")


def request(server, method, path, body=None, headers=None, resource=None):
    """One signed request: status, chosen headers, body."""
    from support import KEY

    segments = path.split("/")
    feed = len(segments) % 2 == 1
    kind, link = resource or (segments[-1] if feed else segments[-2], "/".join(segments[:-1] if feed else segments))
    date = formatdate(usegmt=True)
    text = f"{method.lower()}\n{kind}\n{link}\n{date.lower()}\n\n"
    signature = base64.b64encode(hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()).decode()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    connection.request(method, "/" + "/".join(urllib.parse.quote(s, safe="") for s in segments),
                       body=None if body is None else json.dumps(body),
                       headers={"x-ms-date": date, "x-ms-version": "2020-07-15", "content-type": "application/json", "x-ms-activity-id": "old-folder",
                                "authorization": urllib.parse.quote(f"type=master&ver=1.0&sig={signature}", safe=""), **(headers or {})})
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer.status, dict((k.lower(), v) for k, v in answer.getheaders()), json.loads(data) if data else None


def key(*values):
    return {"x-ms-documentdb-partitionkey": json.dumps(list(values))}


def fill(server):
    """Everything that a folder can hold, a little of each."""

    def must(method, path, body=None, headers=None, resource=None):
        status, _, answer = request(server, method, path, body, headers, resource)
        assert status < 300, (status, method, path, answer)
        return answer

    hash2 = lambda path: {"paths": [path], "kind": "Hash", "version": 2}
    must("POST", "dbs", {"id": "shop"})
    must("POST", "dbs", {"id": "shared"}, {"x-ms-offer-throughput": "800"})
    must("POST", "dbs/shared/colls", {"id": "guest", "partitionKey": hash2("/pk")})
    must("POST", "dbs/shop/colls", {"id": "orders", "partitionKey": hash2("/city"), "defaultTtl": -1, "changeFeedPolicy": {"retentionDuration": 1440},
                                    "computedProperties": [{"name": "upper", "query": "SELECT VALUE UPPER(c.name) FROM c"}],
                                    "indexingPolicy": {"indexingMode": "consistent", "includedPaths": [{"path": "/*"}], "excludedPaths": [{"path": "/secret/*"}],
                                                       "compositeIndexes": [[{"path": "/n", "order": "ascending"}, {"path": "/name", "order": "descending"}]],
                                                       "spatialIndexes": [{"path": "/at/*", "types": ["Point", "Polygon"]}]}},
         {"x-ms-offer-throughput": "1000"})
    must("POST", "dbs/shop/colls", {"id": "tree", "partitionKey": {"paths": ["/tenant", "/user"], "kind": "MultiHash", "version": 2}})
    must("POST", "dbs/shop/colls", {"id": "rules", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 1},
                                    "uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/mail"]}, {"paths": ["/a", "/b"]}]},
                                    "conflictResolutionPolicy": {"mode": "LastWriterWins", "conflictResolutionPath": "/n"}},
         {"x-ms-cosmos-offer-autopilot-settings": json.dumps({"maxThroughput": 4000})})
    must("POST", "dbs/shop/colls", {"id": "split", "partitionKey": hash2("/pk")}, {"x-ms-offer-throughput": "12000"})
    source = must("GET", PLAIN)["_rid"]
    must("POST", "dbs/shop/colls", {"id": "by_city", "partitionKey": hash2("/name"),
                                    "materializedViewDefinition": {"sourceCollectionId": "orders", "sourceCollectionRid": source,
                                                                   "definition": "SELECT c.name, c.n FROM c"}})
    cities = ["Rome", "Oslo", "Līvāni", None, 7, True]
    for i in range(60):
        city = cities[i % len(cities)]
        must("POST", f"{PLAIN}/docs", {"id": f"o{i}", "city": city, "name": f"name {i % 9}", "n": i, "big": 9007199254740993 + i, "real": i / 7,
                                       "tags": ["a", {"b": i % 3}, None], "secret": {"x": i}, "at": {"type": "Point", "coordinates": [i / 2, i / 3]},
                                       "text": "ä€🙂 \u0001 \" \\ /", **({"ttl": 2147483647} if i % 5 == 0 else {})}, key(city))
    for i in range(0, 60, 7):
        city = cities[i % len(cities)]
        must("PUT", f"{PLAIN}/docs/o{i}", {"id": f"o{i}", "city": city, "name": "replaced", "n": -i}, key(city))
    for i in range(3, 60, 11):
        must("DELETE", f"{PLAIN}/docs/o{i}", None, key(cities[i % len(cities)]))
    for i in range(12):
        must("POST", f"{TREE}/docs", {"id": f"t{i}", "tenant": f"t{i % 3}", "user": i % 4}, key(f"t{i % 3}", i % 4))
    for i in range(10):
        must("POST", f"{RULES}/docs", {"id": f"r{i}", "pk": i % 2, "mail": f"m{i}@x", "a": i, "b": {"c": 1}}, key(i % 2))
    for i in range(80):
        must("POST", f"{SPLIT}/docs", {"id": f"s{i}", "pk": f"k{i}", "n": i}, key(f"k{i}"))
    for i in range(5):
        must("POST", "dbs/shared/colls/guest/docs", {"id": f"g{i}", "pk": "x"}, key("x"))
    must("POST", f"{PLAIN}/sprocs", {"id": "bump", "body": SAMPLE_PROCEDURE})
    must("POST", f"{PLAIN}/triggers", {"id": "stamp", "body": "function stamp() {}", "triggerType": "Pre", "triggerOperation": "Create"})
    must("POST", f"{PLAIN}/udfs", {"id": "twice", "body": "function twice(x) { return 2 * x; }"})
    must("POST", "dbs/shop/users", {"id": "ann"})
    must("POST", "dbs/shop/users/ann/permissions", {"id": "p", "permissionMode": "Read", "resource": PLAIN, "resourcePartitionKey": ["Rome"]})
    must("POST", "dbs/shop/clientencryptionkeys", {"id": "cek", "encryptionAlgorithm": "AEAD_AES_256_CBC_HMAC_SHA256", "wrappedDataEncryptionKey": "AAECAwQFBgcICQ==",
                                                   "keyWrapMetadata": {"name": "m", "value": "v", "type": "t", "algorithm": "RSA-OAEP"}})


def answers(server):
    """Question by question what the folder says."""
    out = {}

    def ask(name, method, path, body=None, headers=None):
        status, head, answer = request(server, method, path, body, headers)
        if isinstance(answer, dict):
            for permission in answer.get("Permissions", []):
                permission.pop("_token", None)
        out[name] = {"status": status, "head": {k: head[k] for k in ANSWERED if k in head}, "body": answer}

    def query(name, path, text, headers=None):
        ask(name, "POST", f"{path}/docs", {"query": text, "parameters": []},
            {"content-type": "application/query+json", "x-ms-documentdb-isquery": "true", "x-ms-documentdb-query-enablecrosspartition": "true",
             "x-ms-max-item-count": "1000", **(headers or {})})

    ask("databases", "GET", "dbs")
    for database in ("shop", "shared"):
        ask(f"containers of {database}", "GET", f"dbs/{database}/colls")
    ask("offers", "GET", "offers", headers={"x-ms-max-item-count": "1000"})
    ask("users", "GET", "dbs/shop/users")
    ask("permissions", "GET", "dbs/shop/users/ann/permissions")
    ask("encryption keys", "GET", "dbs/shop/clientencryptionkeys")
    for kind in ("sprocs", "triggers", "udfs"):
        ask(kind, "GET", f"{PLAIN}/{kind}")
    for path in (PLAIN, TREE, RULES, SPLIT, VIEW, "dbs/shared/colls/guest"):
        ask(f"ranges of {path}", "GET", f"{path}/pkranges")
        ask(f"items of {path}", "GET", f"{path}/docs", headers={"x-ms-max-item-count": "1000"})
        query(f"all of {path}", path, "SELECT * FROM c")
        query(f"count of {path}", path, "SELECT VALUE COUNT(1) FROM c")
        ask(f"changes of {path}", "GET", f"{path}/docs", headers={"a-im": "Incremental feed", "x-ms-max-item-count": "1000"})
    ask("one item", "GET", f"{PLAIN}/docs/o1", headers=key("Oslo"))
    ask("a deleted item", "GET", f"{PLAIN}/docs/o3", headers=key(None))
    ask("a procedure", "POST", f"{PLAIN}/sprocs/bump", ["o1"], key("Oslo"))
    for name, text in {
        "by order": "SELECT c.id, c.n FROM c ORDER BY c.n DESC",
        "by composite": "SELECT c.id FROM c ORDER BY c.n ASC, c.name DESC",
        "by range": "SELECT VALUE c.id FROM c WHERE c.n > 10 AND c.n <= 30",
        "by large number": "SELECT VALUE c.id FROM c WHERE c.big = 9007199254740994",
        "by computed property": "SELECT VALUE c.id FROM c WHERE c.upper = 'NAME 4'",
        "by place": "SELECT VALUE c.id FROM c WHERE ST_DISTANCE(c.at, {'type':'Point','coordinates':[3,2]}) < 300000",
        "by group": "SELECT c.name, COUNT(1) AS n FROM c GROUP BY c.name",
        "by element": "SELECT VALUE c.id FROM c JOIN t IN c.tags WHERE t.b = 2",
        "by function": "SELECT VALUE udf.twice(c.n) FROM c WHERE c.n = 20",
    }.items():
        query(name, PLAIN, text)
    query("by prefix of a key", TREE, "SELECT VALUE c.id FROM c WHERE c.tenant = 't1'")
    ask("a second item with a unique key", "POST", f"{RULES}/docs", {"id": "new", "pk": 0, "mail": "m0@x", "a": 99, "b": 1}, key(0))
    return out


def wait_for_view(server):
    end = time.monotonic() + 120
    while time.monotonic() < end:
        orders = request(server, "POST", f"{PLAIN}/docs", {"query": "SELECT VALUE COUNT(1) FROM c"}, COUNTING)[2]["Documents"]
        shown = request(server, "POST", f"{VIEW}/docs", {"query": "SELECT VALUE COUNT(1) FROM c WHERE c.name = 'replaced' OR c.n > 0"}, COUNTING)[2]["Documents"]
        if shown and shown[0] >= orders[0] - 1:
            return
        time.sleep(0.1)
    raise AssertionError("the materialized view does not follow")


COUNTING = {"content-type": "application/query+json", "x-ms-documentdb-isquery": "true", "x-ms-documentdb-query-enablecrosspartition": "true"}


def unpack(name, folder):
    with tarfile.open(FOLDERS / f"{name}.tar.gz") as archive:
        archive.extractall(folder)
    return pathlib.Path(folder) / "data", json.loads((pathlib.Path(folder) / "answers.json").read_text())


def make(name):
    from support import Server

    FOLDERS.mkdir(exist_ok=True)
    for ending in ("clean", "killed"):
        with tempfile.TemporaryDirectory(prefix="orrery-old-") as folder:
            data = pathlib.Path(folder) / "data"
            arguments = ("--data", str(data), "--unthrottled", "--no-recording", "--cache-mb", "8")
            with Server(*arguments) as server:
                fill(server)
                wait_for_view(server)
                if ending == "clean":
                    server.stop()
            if ending == "clean":
                with Server(*arguments) as server:
                    server.own("POST", "shop/split", "split", {"rangeId": "0"})
                    while len(server.ranges("shop/split")) < 3:
                        time.sleep(0.1)
                    said = answers(server)
                    server.stop()
            else:
                with Server(*arguments) as server:
                    request(server, "POST", f"{PLAIN}/docs", {"id": "last", "city": "Rome", "name": "last"}, key("Rome"))
                    wait_for_view(server)
                    said = answers(server)
                    server.process.send_signal(signal.SIGKILL)
                    server.process.wait()
            for leftover in data.rglob("LOG*"):
                leftover.unlink()
            texts = pathlib.Path(folder) / "answers.json"
            texts.write_text(json.dumps(said, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
            with tarfile.open(FOLDERS / f"{name}-{ending}.tar.gz", "w:gz") as archive:
                archive.add(data, "data")
                archive.add(texts, "answers.json")


if __name__ == "__main__":
    make(sys.argv[1])
