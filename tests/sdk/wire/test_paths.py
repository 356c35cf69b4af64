"""W10–W19: routes, methods, names and _rids in paths."""
import urllib.parse

import pytest
from wire import ENDPOINT, exchange, now, pk, rid_bytes, send, token, unique


def test_W10_slashes(container):
    assert container.create({"id": "1", "pk": "a"}, "a").status == 201
    item = f"{container.path}/docs/1"
    for path in (item, item + "/", "/" + item, "/" + item + "/"):
        answer = send("GET", path, headers=pk("a"))
        assert answer.status == 200 and answer.json["id"] == "1", (path, answer)
    for path in ("/dbs", "/dbs/", "//dbs"):
        assert send("GET", path).status == 200, path
    assert send("POST", f"{container.path}/docs/", {"id": "2", "pk": "a"}, pk("a")).status == 201


@pytest.mark.parametrize("tail", [
    "/docs/a%2Fb", "/docs/..", "/docs/%2e%2e", "/docs/../../..", "/docs/%5C", "/docs/%00%2F", "/docs/%zz", "/docs/%", "/docs/1/unknown", "/docs/1/attachments/x/y",
    "/nonsense", "/nonsense/1", "/docs//", "/docs/%ff", "/docs/1;x=y", "/docs/1?x=%zz",
])
def test_W11_path_tricks(container, tail):
    assert container.create({"id": "1", "pk": "a"}, "a").status == 201
    path = container.path + tail
    answer = send("GET", path, headers=pk("a"), resource=("docs", urllib.parse.unquote(path.split("?")[0], errors="replace").strip("/")))
    assert answer.status in (200, 400, 401, 404, 405), answer
    if answer.status == 200:
        assert tail in ("/docs//", "/docs/1?x=%zz"), answer
    else:
        assert answer.json["code"] and answer.json["message"]
    assert container.read("1", "a").status == 200


def test_W11_nothing_outside_the_tree():
    for path in ("/etc/passwd", "/..", "/../../etc/passwd", "/_explorer/../../etc/passwd", "/_explorer/%2e%2e/%2e%2e/etc/passwd", "/dbs/../../x"):
        reply = exchange(f"GET {path} HTTP/1.1\r\nhost: {ENDPOINT.netloc}\r\nconnection: close\r\n\r\n".encode())
        assert reply.startswith(b"HTTP/1.1 4"), (path, reply[:200])
        assert b"root:" not in reply


def test_W12_methods(container):
    name = container.path
    for method, path in (("PUT", "/dbs"), ("PATCH", "/dbs"), ("DELETE", "/dbs"), ("PATCH", name), ("POST", f"{name}/docs/1"), ("PUT", f"{name}/docs"),
                         ("DELETE", f"{name}/docs"), ("POST", f"{name}/pkranges"), ("DELETE", "/")):
        answer = send(method, path, {} if method != "DELETE" else None, pk("a"))
        assert answer.status in (400, 404, 405), (method, path, answer)
        assert answer.json["code"] and answer.json["message"]
    for method in ("FOO", "TRACE", "CONNECT", "get", "GET1"):
        date = now()
        reply = exchange(
            f"{method} /dbs HTTP/1.1\r\nhost: {ENDPOINT.netloc}\r\nx-ms-date: {date}\r\nauthorization: {token(method, 'dbs', '', date)}\r\n"
            "content-length: 0\r\nconnection: close\r\n\r\n".encode()
        )
        status = int(reply.split(b" ")[1])
        assert status in (400, 401, 404, 405, 501), (method, reply[:200])


def test_W13_rid_routing(database, container):
    assert container.create({"id": "1", "pk": "a"}, "a").status == 201
    doc = container.read("1", "a").json
    db, coll, item = database["_rid"], container.rid, doc["_rid"]
    low = str.lower
    answer = send("GET", f"/dbs/{db}", resource=("dbs", low(db)))
    assert answer.status == 200 and answer.json["id"] == database["id"], answer
    answer = send("GET", f"/dbs/{db}/colls/{coll}", resource=("colls", low(coll)))
    assert answer.status == 200 and answer.json["id"] == container.id, answer
    answer = send("GET", f"/dbs/{db}/colls/{coll}/pkranges", resource=("pkranges", low(coll)))
    assert answer.status == 200 and answer.json["_rid"] == coll, answer
    answer = send("GET", f"/dbs/{db}/colls/{coll}/docs", resource=("docs", low(coll)))
    assert answer.status == 200 and [d["id"] for d in answer.json["Documents"]] == ["1"], answer
    answer = send("GET", f"/dbs/{db}/colls/{coll}/docs/{item}", headers=pk("a"), resource=("docs", low(item)))
    assert answer.status == 200 and answer.json["id"] == "1", answer
    gone = "AAAAAA=="
    assert send("GET", f"/dbs/{gone}/colls/{coll}", resource=("colls", low(coll))).status in (400, 404)


def test_W14_names(database):
    for name in ("", "x" * 256, "a/b", "a\\b", "a?b", "a#b", "trailing "):
        answer = send("POST", "/dbs", {"id": name})
        assert answer.status == 400, (name, answer)
        assert send("POST", f"/dbs/{database['id']}/colls", {"id": name, "partitionKey": {"paths": ["/pk"]}}).status == 400, name
    for body in ({}, {"id": 5}, {"id": None}, [], "x", None):
        assert send("POST", "/dbs", body if body is not None else b"null").status == 400, body
    long = unique() + "é" * 200
    assert send("POST", "/dbs", {"id": long}).status == 201
    assert send("GET", "/dbs/" + urllib.parse.quote(long)).status == 200
    assert send("DELETE", "/dbs/" + urllib.parse.quote(long)).status == 204


def test_W15_a_name_that_looks_like_a_rid():
    name = "KjtMXQ=="
    send("DELETE", f"/dbs/{name}")
    created = send("POST", "/dbs", {"id": name})
    assert created.status in (201, 400), created
    if created.status == 201:
        assert send("GET", f"/dbs/{name}").json["_rid"] == created.json["_rid"]
        assert send("DELETE", f"/dbs/{name}").status == 204
    assert len(rid_bytes("KjtMXQ==")) == 4
