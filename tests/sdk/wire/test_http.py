"""W80–W99: the emulators' paths, malformed HTTP, and features that are refused."""
import socket
import ssl

import pytest
import wire
from wire import ENDPOINT, exchange, now, pk, raw_socket, send, token


def get(path, **headers):
    return send("GET", path, sign=False, headers=headers)


def test_W80_probes():
    for path in ("/alive", "/ready", "/status"):
        assert get(path).status == 200, path


def test_W81_certificate():
    answer = get("/_explorer/emulator.pem")
    assert answer.status == 200 and answer.body.startswith(b"-----BEGIN CERTIFICATE-----")
    ssl.PEM_cert_to_DER_cert(answer.body.decode().strip().split("-----END CERTIFICATE-----")[0] + "-----END CERTIFICATE-----")
    trust = ssl.create_default_context(cadata=answer.body.decode())
    with socket.create_connection((ENDPOINT.hostname, ENDPOINT.port), timeout=30) as plain:
        with trust.wrap_socket(plain, server_hostname="localhost") as tls:  # the same port speaks TLS
            assert tls.version() in ("TLSv1.2", "TLSv1.3")
            tls.sendall(b"GET /alive HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            assert tls.recv(64).startswith(b"HTTP/1.1 200")
    with socket.create_connection((ENDPOINT.hostname, ENDPOINT.port), timeout=30) as plain:
        with trust.wrap_socket(plain, server_hostname="127.0.0.1") as tls:
            assert tls.version()


def test_W82_browser():
    answer = get("/", accept="text/html,application/xhtml+xml")
    assert answer.status in (301, 302, 303, 307, 308), answer
    assert "/_explorer" in answer.headers["location"]
    assert get("/", accept="application/json").status == 401


def test_W83_account_document():
    answer = send("GET", "/")
    account = answer.json
    assert account["id"] != "localhost"
    location = account["writableLocations"][0]["databaseAccountEndpoint"]
    assert location.startswith(f"{ENDPOINT.scheme}://") and f":{ENDPOINT.port}" in location
    assert account["readableLocations"] and account["enableMultipleWriteLocations"] is False
    assert account["userConsistencyPolicy"]["defaultConsistencyLevel"] == "Session"
    engine = __import__("json").loads(account["queryEngineConfiguration"])
    assert engine["maxSqlQueryInputLength"] == 524288
    assert account["systemReplicationPolicy"]["maxReplicasetSize"] >= 1
    dialled = send("GET", "/", headers={"host": f"localhost:{ENDPOINT.port}"}).json["writableLocations"][0]["databaseAccountEndpoint"]
    assert dialled.rstrip("/") == f"{ENDPOINT.scheme}://localhost:{ENDPOINT.port}"
    assert "thinClientReadableLocations" not in account


def lines(method, path, body=b"", **headers):
    kind, link = wire.resource_of(path)
    date = now()
    head = {"host": ENDPOINT.netloc, "x-ms-date": date, "x-ms-version": "2020-07-15", "authorization": token(method, kind, link, date),
            "content-length": str(len(body)), **headers}
    text = "".join(f"{k}: {v}\r\n" for k, v in head.items() if v is not None)
    return f"{method} {path} HTTP/1.1\r\n{text}\r\n".encode() + body


def statuses(reply):
    return [int(part.split(b" ")[0]) for part in reply.split(b"HTTP/1.1 ")[1:]]


def test_W84_pipelining(container):
    s = raw_socket()
    s.settimeout(30)
    key = pk("a")["x-ms-documentdb-partitionkey"]
    data = b"".join(lines("POST", f"{container.path}/docs", b'{"id":"%d","pk":"a"}' % n, **{"x-ms-documentdb-partitionkey": key}) for n in range(5))
    s.sendall(data + lines("GET", f"{container.path}/docs", connection="close"))
    reply = b""
    while piece := s.recv(65536):
        reply += piece
    s.close()
    assert statuses(reply) == [201] * 5 + [200], reply[:300]
    assert container.list().json["_count"] == 5


def test_W85_chunked_body(container):
    key = pk("a")["x-ms-documentdb-partitionkey"]
    head = lines("POST", f"{container.path}/docs", **{"content-length": None, "transfer-encoding": "chunked", "x-ms-documentdb-partitionkey": key, "connection": "close"})
    reply = exchange(head + b'7\r\n{"id":"\r\n9;ext=1\r\n1","pk":"\r\n3\r\na"}\r\n0\r\ntrailer: x\r\n\r\n')
    assert statuses(reply) == [201], reply
    for bad in (b"zz\r\n{}\r\n0\r\n\r\n", b"-1\r\n{}\r\n0\r\n\r\n", b"2\r\n{}xx\r\n0\r\n\r\n", b"FFFFFFFFFFFFFFFFF\r\n{}", b"2 \x00\r\n{}\r\n0\r\n\r\n"):
        reply = exchange(head + bad)
        assert reply == b"" or statuses(reply)[0] in (400, 413), (bad, reply[:200])
    assert container.list().json["_count"] == 1


@pytest.mark.parametrize("data", [
    b"\r\n\r\n\r\n", b"GET\r\n\r\n", b"GET /dbs\r\n\r\n", b"GET /dbs HTTP/9.9\r\nhost: x\r\n\r\n", b"GET /dbs HTTP/1.1\r\n\r\n", b"GET /dbs HTTP/1.1\r\nhost x\r\n\r\n",
    b"GET /dbs HTTP/1.1\r\nhost: x\r\n folded: y\r\n\r\n", b"GET /dbs HTTP/1.1\r\nhost: x\r\nbad header: y\r\n\r\n", b"GET /dbs HTTP/1.1\nhost: x\n\n",
    b"GET /db\x00s HTTP/1.1\r\nhost: x\r\n\r\n", b"GET /dbs HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n", b"POST /dbs HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}",
    b"POST /dbs HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", b"POST /dbs HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip\r\n\r\n",
    b"POST /dbs HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999999999\r\n\r\n", b"GET /dbs HTTP/1.1\r\nhost: x\r\nx: " + b"y" * 200_000 + b"\r\n\r\n",
    b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n", b"GET /dbs HTTP/1.1\r\nhost: x\r\n" + b"".join(b"h%d: v\r\n" % n for n in range(20_000)) + b"\r\n",
    bytes(range(256)) * 4, b"\x16\x03\x01" + b"\x00" * 50, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
])
def test_W86_malformed_http(data):
    reply = exchange(data)
    if reply.startswith(b"HTTP/1."):
        assert 400 <= int(reply.split(b" ")[1]) < 600 and int(reply.split(b" ")[1]) not in (500, 503), reply[:200]
    assert get("/alive").status == 200


def test_W87_early_close(container):
    key = pk("a")["x-ms-documentdb-partitionkey"]
    whole = lines("POST", f"{container.path}/docs", b'{"id":"1","pk":"a"}', **{"x-ms-documentdb-partitionkey": key})
    for cut in (1, 20, len(whole) // 2, len(whole) - 1):
        s = raw_socket()
        s.sendall(whole[:cut])
        s.close()
    assert get("/alive").status == 200
    assert container.list().json["_count"] == 0


def test_W88_expect_continue(container):
    key = pk("a")["x-ms-documentdb-partitionkey"]
    body = b'{"id":"1","pk":"a"}'
    s = raw_socket()
    s.settimeout(30)
    s.sendall(lines("POST", f"{container.path}/docs", **{"content-length": str(len(body)), "expect": "100-continue", "x-ms-documentdb-partitionkey": key, "connection": "close"}))
    first = s.recv(65536)
    assert first.startswith(b"HTTP/1.1 100"), first[:100]
    s.sendall(body)
    rest = b""
    while piece := s.recv(65536):
        rest += piece
    s.close()
    assert statuses(first + rest)[-1] == 201


def test_W89_keep_alive_and_head(container):
    s = raw_socket()
    s.settimeout(30)
    for _ in range(3):
        s.sendall(lines("GET", container.path))
        data = b""
        while not (b"\r\n\r\n" in data and wire.complete(data)):
            piece = s.recv(65536)
            assert piece, "the connection must stay open"
            data += piece
        assert data.startswith(b"HTTP/1.1 200")
    s.close()
    head = send("HEAD", container.path)
    assert head.status in (200, 405) and head.body == b""


def test_W90_change_feed_never_breaks(container):
    assert container.create({"id": "1", "pk": "a"}, "a").status == 201
    for headers in ({"a-im": "Incremental Feed"}, {"a-im": "Incremental feed", "if-none-match": "*"}, {"a-im": "Full-Fidelity Feed"}, {"a-im": "Nonsense"},
                    {"a-im": "Incremental Feed", "if-none-match": '"x"'}, {"a-im": "Incremental Feed", "x-ms-documentdb-partitionkeyrangeid": "0"}):
        answer = container.list(**headers)
        assert answer.status in (200, 304, 400), (headers, answer)
        if answer.status == 400:
            assert answer.json["message"]
        if answer.status in (200, 304):
            assert answer.headers["etag"]
    assert container.list(**{"a-im": "Nonsense"}).status == 400


def test_W91_query_plan(wide):
    answer = send("POST", f"{wide.path}/docs", {"query": "SELECT * FROM c"},
                  {"x-ms-cosmos-is-query-plan-request": "True", "x-ms-cosmos-supported-query-features": "Aggregate, OrderBy", "x-ms-cosmos-query-version": "1.0"})
    assert answer.status == 200, answer
    plan = answer.json
    assert plan["queryInfo"]["rewrittenQuery"] in ("", None) and plan["queryInfo"]["orderBy"] == []
    assert plan["queryRanges"] == [{"min": "", "max": "FF", "isMinInclusive": True, "isMaxInclusive": False}]
    assert wide.list().json["_count"] == 0  # a plan request never creates


@pytest.mark.parametrize("text", ["SELECT", "SELECT * FROM", "", "DROP TABLE c", "SELECT * FROM c WHERE", "SELECT * FROM c WHERE c.x = @missing", "x" * 600_000])
def test_W92_bad_queries(container, text):
    answer = send("POST", f"{container.path}/docs", {"query": text}, {"content-type": "application/query+json", "x-ms-documentdb-query-enablecrosspartition": "True"})
    assert answer.status in ((200, 400) if "@missing" in text else (400, 413)), answer
    if answer.status >= 400:
        assert answer.json["code"] and answer.json["message"]
    for body in (b"", b"{}", b"5", b'{"query":5}', b'{"query":"SELECT * FROM c","parameters":5}'):
        assert send("POST", f"{container.path}/docs", body, {"content-type": "application/query+json"}).status == 400, body


def test_W93_routes_of_later_slices(container):
    """Either they work or they say clearly that they do not; nothing is silently accepted."""
    for method, path, body in (
        ("POST", f"{container.path}/sprocs", {"id": "s", "body": "function(){}"}), ("GET", f"{container.path}/sprocs", None), ("POST", f"{container.path}/sprocs/s", []),
        ("POST", f"{container.path}/triggers", {"id": "t", "body": "function(){}", "triggerType": "Pre", "triggerOperation": "All"}),
        ("POST", f"{container.path}/udfs", {"id": "u", "body": "function(){}"}), ("GET", f"{container.path}/conflicts", None),
        ("GET", f"/dbs/{container.db}/clientencryptionkeys", None), ("GET", "/addresses/", None), ("GET", "/media", None), ("GET", "/nonsense", None),
    ):
        answer = send(method, path, body, pk("a"))
        assert answer.status < 500 or answer.status == 501, (method, path, answer)
        if answer.status >= 400:
            assert answer.json["code"] and answer.json["message"], (method, path, answer)
    for name in ("x-ms-documentdb-pre-trigger-include", "x-ms-documentdb-post-trigger-include"):
        answer = container.create({"id": "1", "pk": "a"}, "a", **{name: "none"})
        assert answer.status == 400, answer  # an unknown trigger is never skipped
    assert container.read("1", "a").status == 404


def test_W94_unknown_headers_and_versions(container):
    odd = {"x-ms-unknown": "1", "x-ms-cosmos-priority-level": "Low", "x-ms-cosmos-throughput-bucket": "3", "x-ms-cosmos-allow-tentative-writes": "true"}
    assert container.create({"id": "1", "pk": "a"}, "a", **odd).status == 201
    for version in ("2018-12-31", "2020-11-05", "2099-01-01", "garbage"):
        assert send("GET", f"{container.path}/docs/1", headers=pk("a"), version=version).status == 200, version
    for flag, status in (("true", 200), ("True", 200), ("TRUE", 200), ("false", 409), ("False", 409)):
        assert container.create({"id": "1", "pk": "a"}, "a", **{"x-ms-documentdb-is-upsert": flag}).status == status, flag
    # Python sends the enumeration's number: 0 default, 1 exclude, 2 include
    for directive, status in (("Include", 200), ("Exclude", 200), ("Default", 200), ("0", 200), ("1", 200), ("2", 200), ("Sometimes", 400), ("3", 400)):
        assert container.create({"id": "1", "pk": "a"}, "a", **{"x-ms-documentdb-is-upsert": "true", "x-ms-indexing-directive": directive}).status == status, directive


def test_W95_delete_by_key(container):
    for n in range(10):
        assert container.create({"id": f"{n}", "pk": "ab"[n % 2]}, "ab"[n % 2]).status == 201
    path = f"{container.path}/operations/partitionkeydelete"
    for resource in (("colls", container.path[1:]), ("partitionkey", container.path[1:])):
        answer = send("POST", path, None, pk("a"), resource=resource)
        assert answer.status in (200, 204), (resource, answer)
    for _ in range(600):
        if container.list().json["_count"] == 5:
            break
        __import__("time").sleep(0.05)
    assert {d["pk"] for d in container.list().json["Documents"]} == {"b"}
    assert send("POST", path, None, resource=("colls", container.path[1:])).status == 400


def test_W96_plain_http_and_tls_share_the_port():
    reply = exchange(f"GET /alive HTTP/1.1\r\nhost: {ENDPOINT.netloc}\r\nconnection: close\r\n\r\n".encode())
    assert reply.startswith(b"HTTP/1.1 200")
