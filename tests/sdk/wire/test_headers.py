"""W30–W39: what every answer carries, and conditions."""
import re

import pytest
from wire import pk, rid_bytes, send, unique

GUID = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"


def test_W30_activity_id(container):
    mine = "2f1c0b6e-0000-4000-8000-0123456789ab"
    for answer in (send("GET", "/", headers={"x-ms-activity-id": mine}), container.read("none", "a", **{"x-ms-activity-id": mine})):
        assert answer.headers["x-ms-activity-id"] == mine
    fresh = send("GET", "/dbs").headers["x-ms-activity-id"]
    assert re.fullmatch(GUID, fresh)
    assert send("GET", "/dbs").headers["x-ms-activity-id"] != fresh
    assert mine in container.read("none", "a", **{"x-ms-activity-id": mine}).json["message"]


def test_W31_item_headers(container):
    created = container.create({"id": "1", "pk": "a"}, "a")
    read = container.read("1", "a")
    for answer in (created, read):
        h = answer.headers
        assert h["content-type"].startswith("application/json")
        assert float(h["x-ms-request-charge"]) > 0
        assert re.fullmatch(r"0:-?\d+#\d+", h["x-ms-session-token"])
        assert h["x-ms-content-path"] == container.rid and len(rid_bytes(container.rid)) == 8
        assert h["x-ms-alt-content-path"] == container.path[1:]
        assert h["etag"] == answer.json["_etag"] and re.fullmatch(r'".+"', h["etag"])
        for name in ("date", "x-ms-serviceversion", "x-ms-gatewayversion", "x-ms-schemaversion", "lsn", "x-ms-resource-quota", "x-ms-resource-usage",
                     "x-ms-last-state-change-utc", "x-ms-version"):
            assert h.get(name), name
    deleted = send("DELETE", f"{container.path}/docs/1", headers=pk("a"))
    assert deleted.status == 204 and deleted.body == b""
    assert deleted.headers["x-ms-session-token"] and float(deleted.headers["x-ms-request-charge"]) > 0


def test_W32_lsn(container):
    def lsn(answer):
        assert answer.status < 300, answer
        return int(answer.headers["lsn"])

    first = lsn(container.create({"id": "1", "pk": "a"}, "a"))
    assert lsn(container.create({"id": "2", "pk": "b"}, "b")) == first + 1
    assert lsn(send("PUT", f"{container.path}/docs/1", {"id": "1", "pk": "a", "n": 1}, pk("a"))) == first + 2
    assert lsn(send("PATCH", f"{container.path}/docs/1", [{"op": "set", "path": "/n", "value": 2}], pk("a"))) == first + 3
    assert container.create({"id": "1", "pk": "a"}, "a").status == 409
    assert lsn(container.read("2", "b")) == first + 3
    batch = {**pk("a"), "x-ms-cosmos-is-batch-request": "True", "x-ms-cosmos-batch-atomic": "True"}
    operations = [{"operationType": "Create", "resourceBody": {"id": f"b{n}", "pk": "a"}} for n in range(5)]
    assert lsn(send("POST", f"{container.path}/docs", operations, batch)) == first + 4
    deleted = send("DELETE", f"{container.path}/docs/2", headers=pk("b"))
    assert lsn(deleted) == first + 5
    assert deleted.headers["x-ms-session-token"].endswith(f"#{first + 5}")


def test_W33_feeds(container):
    for n in range(25):
        assert container.create({"id": f"{n:02}", "pk": "a"}, "a").status == 201
    whole = container.list()
    assert whole.json["_rid"] == container.rid and whole.json["_count"] == 25
    assert whole.headers["x-ms-item-count"] == "25" and "x-ms-continuation" not in whole.headers
    seen, token = [], None
    while True:
        page = container.list(**{"x-ms-max-item-count": "10"}, **({"x-ms-continuation": token} if token else {}))
        assert page.status == 200 and page.json["_count"] == len(page.json["Documents"]) <= 10
        seen += [d["id"] for d in page.json["Documents"]]
        token = page.headers.get("x-ms-continuation")
        if not token:
            break
        assert token.isascii() and len(token) < 16_000
    assert sorted(seen) == [f"{n:02}" for n in range(25)]
    assert container.list(**{"x-ms-max-item-count": "-1"}).json["_count"] == 25
    for bad in ("x", "-2", "1.5", "99999999999999999999"):
        assert container.list(**{"x-ms-max-item-count": bad}).status == 400, bad
    for bad in ("garbage", "AAAA", "%00", "{}", "x" * 3000):
        answer = container.list(**{"x-ms-continuation": bad})
        assert answer.status == 400, (bad, answer)
    page = container.list(**{"x-ms-max-item-count": "1"}).headers["x-ms-continuation"]
    assert container.list(**{"x-ms-continuation": page[:-2] + ("AA" if page[-2:] != "AA" else "BB")}).status == 400
    default = send("GET", "/dbs")
    assert {"_rid", "Databases", "_count"} <= default.json.keys()


def test_W34_metadata_headers(database, container):
    read = send("GET", container.path, headers={"x-ms-documentdb-populatequotainfo": "True"})
    quota, usage = read.headers["x-ms-resource-quota"], read.headers["x-ms-resource-usage"]
    for text in (quota, usage):
        fields = dict(f.split("=") for f in text.rstrip(";").split(";"))
        assert {"functions", "storedProcedures", "triggers", "documentSize", "documentsSize", "documentsCount", "collectionSize"} <= fields.keys(), text
    assert read.headers["x-ms-documentdb-collection-index-transformation-progress"] == "100"
    assert read.headers["x-ms-alt-content-path"] == f"dbs/{database['id']}"
    assert send("GET", f"/dbs/{database['id']}").headers["etag"] == database["_etag"]


def test_W35_error_bodies(container):
    def nested(answer, code, text):
        assert answer.json["code"] == code
        found = re.match(r"Message: (\{.*\})\r\nActivityId: " + GUID, answer.json["message"])
        assert found, answer.json["message"]
        import json

        assert json.loads(found.group(1)) == {"Errors": [text]}

    assert container.create({"id": "1", "pk": "a"}, "a").status == 201
    nested(container.create({"id": "1", "pk": "a"}, "a"), "Conflict", "Resource with specified id or name already exists.")
    missing = container.read("none", "a")
    assert missing.status == 404 and missing.sub == 0 and missing.json["code"] == "NotFound"
    assert re.search(r"\r\nActivityId: " + GUID, missing.json["message"]) and "does not exist" in missing.json["message"]
    stale = send("PUT", f"{container.path}/docs/1", {"id": "1", "pk": "a"}, {**pk("a"), "if-match": '"x"'})
    assert stale.status == 412 and stale.json["code"] == "PreconditionFailed"
    gone = send("GET", f"/dbs/{unique()}/colls/c/docs/1", headers=pk("a"))
    assert gone.status == 404 and gone.sub == 1003 and gone.json["code"] == "NotFound"
    assert send("GET", f"/dbs/{unique()}").status == 404
    assert send("POST", "/dbs", {"id": container.db}).json["code"] == "Conflict"


def test_W36_conditions(container):
    etag = container.create({"id": "1", "pk": "a"}, "a").headers["etag"]
    item = f"{container.path}/docs/1"
    same = container.read("1", "a", **{"if-none-match": etag})
    assert same.status == 304 and same.body == b"" and same.headers["etag"] == etag
    assert float(same.headers["x-ms-request-charge"]) == 1.0
    assert container.read("1", "a", **{"if-none-match": '"other"'}).status == 200
    for method, body in (("PUT", {"id": "1", "pk": "a"}), ("PATCH", [{"op": "set", "path": "/x", "value": 1}]), ("DELETE", None)):
        assert send(method, item, body, {**pk("a"), "if-match": '"other"'}).status == 412, method
    assert container.read("1", "a").headers["etag"] == etag
    upsert = {"x-ms-documentdb-is-upsert": "True", "if-match": '"other"'}
    assert container.create({"id": "1", "pk": "a"}, "a", **upsert).status == 412
    assert container.create({"id": "new", "pk": "a"}, "a", **{"if-match": '"other"'}).status == 201  # ignored by create
    assert send("PUT", item, {"id": "1", "pk": "a"}, {**pk("a"), "if-match": "*"}).status == 200


def test_W37_session_tokens(container):
    created = container.create({"id": "1", "pk": "a"}, "a")
    lsn = int(created.headers["lsn"])
    for good in (created.headers["x-ms-session-token"], f"0:-1#{lsn}", f"0:1#{lsn}#1={lsn}", f"7:-1#99999,0:-1#{lsn}", ""):
        assert container.read("1", "a", **{"x-ms-session-token": good}).status == 200, good
    ahead = container.read("1", "a", **{"x-ms-session-token": f"0:-1#{lsn + 1000}"})
    assert (ahead.status, ahead.sub) == (404, 1002), ahead
    for bad in ("x", "0:", "0:-1#x", "0", "0:-1#99999999999999999999999"):
        answer = container.read("1", "a", **{"x-ms-session-token": bad})
        assert answer.status in (200, 400), (bad, answer)


@pytest.mark.parametrize("level,status", [("Session", 200), ("Eventual", 200), ("ConsistentPrefix", 200), ("Strong", 400), ("BoundedStaleness", 400), ("Loud", 400)])
def test_W38_consistency_level(container, level, status):
    assert container.create({"id": "1", "pk": "a"}, "a").status == 201
    assert container.read("1", "a", **{"x-ms-consistency-level": level}).status == status


def test_W39_minimal_response(container):
    minimal = {"prefer": "return=minimal"}
    created = container.create({"id": "1", "pk": "a"}, "a", **minimal)
    assert created.status == 201 and created.body == b"" and created.headers["etag"]
    replaced = send("PUT", f"{container.path}/docs/1", {"id": "1", "pk": "a", "n": 1}, {**pk("a"), **minimal})
    assert replaced.status == 200 and replaced.body == b""
    patched = send("PATCH", f"{container.path}/docs/1", [{"op": "incr", "path": "/n", "value": 1}], {**pk("a"), **minimal})
    assert patched.status == 200 and patched.body == b""
    read = container.read("1", "a", **minimal)
    assert read.json["n"] == 2 and read.headers["etag"] == patched.headers["etag"]
    assert container.create({"id": "1", "pk": "a"}, "a", **minimal).json["code"] == "Conflict"
