"""W01–W09: who may speak."""
import re
import urllib.parse

import pytest
from wire import KEY, now, pk, resource_of, send, signature, token, unique

VECTOR_DATE = "Thu, 27 Apr 2017 00:51:12 GMT"
VECTORS = [
    ("GET", "dbs", "dbs/ToDo", "RKPRDeFTkXpQuohnwb8QlujeTyp7nbzERgUTZLDRnqA="),
    ("POST", "docs", "dbs/ToDo/colls/Items", "v/cVYMu7GxjHCLiNc+MGU3vX9QPm6WiCgxoD37sMFjA="),
    ("GET", "", "", "gFB1bRB/PLJTG3bCgMuoVgNzOyFvZAamzEtLuSITjRc="),
]
EMULATOR_KEY = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="


@pytest.mark.parametrize("verb,kind,link,expected", VECTORS)
def test_W01_signature_vectors(verb, kind, link, expected):
    assert signature(verb, kind, link, VECTOR_DATE, key=EMULATOR_KEY) == expected


def test_W01_old_but_correct_signature_is_403():
    path = {"dbs/ToDo": "/dbs/ToDo", "dbs/ToDo/colls/Items": "/dbs/ToDo/colls/Items/docs", "": "/"}
    for verb, kind, link, _ in VECTORS:
        answer = send(verb, path[link], b"{}" if verb == "POST" else None, resource=(kind, link), date=VECTOR_DATE)
        assert answer.status == 403, answer
        assert answer.json["code"] == "Forbidden"


def test_W02_missing_authorization():
    for path in ("/", "/dbs", "/dbs/x/colls/y/docs/z"):
        answer = send("GET", path, sign=False)
        assert answer.status == 401, answer
        assert answer.json["code"] == "Unauthorized"
        assert "authorization" in answer.json["message"].lower()


def test_W03_missing_date():
    stamp = now()
    answer = send("GET", "/dbs", headers={"x-ms-date": None, "authorization": token("GET", "dbs", "", stamp)})
    assert answer.status == 401, answer
    answer = send("GET", "/dbs", headers={"x-ms-date": "yesterday", "authorization": token("GET", "dbs", "", "yesterday")})
    assert answer.status in (401, 403), answer


@pytest.mark.parametrize("offset,status", [(-16 * 60, 403), (16 * 60, 403), (-14 * 60, 200), (14 * 60, 200)])
def test_W04_clock_skew(offset, status):
    assert send("GET", "/dbs", date=now(offset)).status == status


def test_W05_date_header_instead_of_x_ms_date():
    stamp = now()
    answer = send("GET", "/dbs", headers={"x-ms-date": None, "date": stamp, "authorization": token("GET", "dbs", "", "", stamp)})
    assert answer.status == 200, answer


@pytest.mark.parametrize("value", [
    "", "garbage", "type%3Dmaster", "type%3Dmaster%26ver%3D1.0", "type%3Dmaster%26ver%3D1.0%26sig%3D", "type%3Dother%26ver%3D1.0%26sig%3Dabc",
    "type%3Dmaster%26ver%3D1.0%26sig%3D%FF%FE", "type%3Dmaster%26ver%3D1.0%26sig%3D!!!!", "%", "%zz", "type%3Dresource%26ver%3D1%26sig%3Dabc",
    "type%3Dresource%26ver%3D1%26sig%3D", "type%3Daad%26ver%3D1.0%26sig%3Dabc", "a" * 5000,
])
def test_W06_malformed_authorization(value):
    answer = send("GET", "/dbs", headers={"authorization": value})
    assert answer.status in (401, 403), answer
    assert answer.json["code"] in ("Unauthorized", "Forbidden") and answer.json["message"]


def test_W06_unencoded_authorization_is_accepted():
    for _ in range(8):  # some signatures hold + and /
        stamp = now()
        answer = send("GET", "/dbs", headers={"x-ms-date": stamp, "authorization": urllib.parse.unquote(token("GET", "dbs", "", stamp))})
        assert answer.status == 200, answer


def test_W07_signature_of_something_else(container):
    item = f"{container.path}/docs/1"
    assert container.create({"id": "1", "pk": "a"}, "a").status == 201
    kind, link = resource_of(item)
    stamp = now()
    for wrong in (token("POST", kind, link, stamp), token("GET", "colls", link, stamp), token("GET", kind, link + "x", stamp),
                  token("GET", kind, link.upper(), stamp), token("GET", kind, link, now(-60)),
                  token("GET", kind, link, stamp, key="AAAA" + KEY[4:])):
        answer = send("GET", item, headers={**pk("a"), "x-ms-date": stamp, "authorization": wrong})
        assert answer.status == 401, answer
        assert "get\\n" in answer.body.decode() or "authorization" in answer.json["message"].lower()
    assert container.read("1", "a").status == 200


def test_W07_ids_are_signed_decoded_and_in_their_case(container):
    name = "X%y é"
    assert container.create({"id": name, "pk": "a"}, "a").status == 201
    path = f"{container.path}/docs/{urllib.parse.quote(name)}"
    answer = send("GET", path, headers=pk("a"), resource=("docs", f"{container.path[1:]}/docs/{name}"))
    assert answer.status == 200 and answer.json["id"] == name


def permission(database, container, mode="All", headers=None, **extra):
    user = unique("u")
    assert send("POST", f"/dbs/{database['id']}/users", {"id": user}).status == 201
    body = {"id": "p", "permissionMode": mode, "resource": container.path[1:], **extra}
    return send("POST", f"/dbs/{database['id']}/users/{user}/permissions", body, headers)


def as_holder(value):
    return {"authorization": urllib.parse.quote(value, safe="")}


def test_W08_resource_tokens(database, container, make):
    other = make()
    for c in (container, other):
        assert c.create({"id": "1", "pk": "a"}, "a").status == 201
    granted = permission(database, container, "Read")
    assert granted.status == 201, granted
    value = granted.json["_token"]
    assert re.fullmatch(r"type=resource&ver=1(\.0)?&sig=.+;.*", value)
    holder = as_holder(value)
    read = {**holder, **pk("a")}
    assert send("GET", f"{container.path}/docs/1", headers=read).status == 200
    assert send("GET", container.path, headers=holder).status == 200
    assert send("GET", f"{container.path}/pkranges", headers=holder).status == 200
    assert send("GET", "/", headers=holder).status == 200
    for method, path, body in (
        ("GET", f"{other.path}/docs/1", None), ("POST", f"{container.path}/docs", {"id": "2", "pk": "a"}), ("DELETE", f"{container.path}/docs/1", None),
        ("PUT", f"{container.path}/docs/1", {"id": "1", "pk": "a"}), ("PATCH", f"{container.path}/docs/1", [{"op": "set", "path": "/x", "value": 1}]),
        ("DELETE", container.path, None), ("PUT", container.path, container.body), ("POST", "/dbs", {"id": unique()}), ("DELETE", f"/dbs/{database['id']}", None),
        ("GET", f"/dbs/{database['id']}/users", None), ("POST", f"/dbs/{database['id']}/colls", {"id": "n", "partitionKey": {"paths": ["/pk"]}}),
    ):
        answer = send(method, path, body, read)
        assert answer.status == 403, (method, path, answer)
    batch = {"x-ms-cosmos-is-batch-request": "True", "x-ms-cosmos-batch-atomic": "true"}
    assert send("POST", f"{container.path}/docs", [{"operationType": "Create", "resourceBody": {"id": "9", "pk": "a"}}], {**read, **batch}).status == 403
    flipped = value[:-6] + ("A" if value[-6] != "A" else "B") + value[-5:]
    assert send("GET", f"{container.path}/docs/1", headers={**as_holder(flipped), **pk("a")}).status in (401, 403)


def test_W08_token_life(database, container):
    for seconds, status in (("9", 400), ("86401", 400), ("x", 400), ("10", 201), ("86400", 201)):
        assert permission(database, container, headers={"x-ms-documentdb-expiry-seconds": seconds}).status == status, seconds


def test_W09_partition_scoped_token(database, container):
    for key in "ab":
        assert container.create({"id": "1", "pk": key}, key).status == 201
    holder = as_holder(permission(database, container, resourcePartitionKey=["a"]).json["_token"])
    assert send("GET", f"{container.path}/docs/1", headers={**holder, **pk("a")}).status == 200
    assert send("GET", f"{container.path}/docs/1", headers={**holder, **pk("b")}).status == 403
    assert send("GET", f"{container.path}/docs", headers=holder).status == 403  # the whole container
    assert send("POST", f"{container.path}/docs", {"id": "2", "pk": "b"}, {**holder, **pk("b")}).status == 403
    bulk = {"x-ms-cosmos-is-batch-request": "True", "x-ms-cosmos-batch-atomic": "false", "x-ms-cosmos-batch-continue-on-error": "true",
            "x-ms-documentdb-partitionkeyrangeid": "0"}
    send("POST", f"{container.path}/docs", [{"operationType": "Create", "partitionKey": '["b"]', "resourceBody": {"id": "2", "pk": "b"}}], {**holder, **bulk})
    assert container.read("2", "b").status == 404
