"""W20–W29: bodies that are not what they should be."""
import json

import pytest
from wire import pk, send

BAD = {
    "empty": b"", "blank": b"  \n", "open": b'{"id":"1","pk":"a"', "open string": b'{"id":"1","pk":"a","x":"', "trailing comma": b'{"id":"1","pk":"a",}',
    "array comma": b'{"id":"1","pk":"a","x":[1,]}', "two": b'{"id":"1","pk":"a"}{"id":"2","pk":"a"}', "junk": b'{"id":"1","pk":"a"} x', "bare": b"{id:1}",
    "single quotes": b"{'id':'1','pk':'a'}", "comment": b'{"id":"1","pk":"a"/*x*/}', "NaN": b'{"id":"1","pk":"a","x":NaN}', "Infinity": b'{"id":"1","pk":"a","x":-Infinity}',
    "1e999": b'{"id":"1","pk":"a","x":1e999}', "-1e999": b'{"id":"1","pk":"a","x":-1e999}', "01": b'{"id":"1","pk":"a","x":01}', "+1": b'{"id":"1","pk":"a","x":+1}',
    ".5": b'{"id":"1","pk":"a","x":.5}', "1.": b'{"id":"1","pk":"a","x":1.}', "0x1": b'{"id":"1","pk":"a","x":0x1}', "-": b'{"id":"1","pk":"a","x":-}',
    "1e": b'{"id":"1","pk":"a","x":1e}', "raw control": b'{"id":"1","pk":"a","x":"\x01"}', "raw newline": b'{"id":"1","pk":"a","x":"\n"}',
    "escape": b'{"id":"1","pk":"a","x":"\\q"}', "u12": b'{"id":"1","pk":"a","x":"\\u12"}', "uXYZW": b'{"id":"1","pk":"a","x":"\\uXYZW"}',
    "lone high": b'{"id":"1","pk":"a","x":"\\ud800"}', "lone low": b'{"id":"1","pk":"a","x":"\\udc00"}', "swapped": b'{"id":"1","pk":"a","x":"\\udc00\\ud800"}',
    "high then text": b'{"id":"1","pk":"a","x":"\\ud800abc"}', "lone in name": b'{"id":"1","pk":"a","\\ud800":1}',
    "0xff": b'{"id":"1","pk":"a","x":"\xff"}', "overlong": b'{"id":"1","pk":"a","x":"\xc0\x80"}', "surrogate utf8": b'{"id":"1","pk":"a","x":"\xed\xa0\x80"}',
    "cut utf8": b'{"id":"1","pk":"a","x":"\xe2\x82"}', "beyond": b'{"id":"1","pk":"a","x":"\xf4\x90\x80\x80"}', "utf16": '{"id":"1","pk":"a"}'.encode("utf-16"),
    "duplicate": b'{"id":"1","pk":"a","x":1,"x":2}', "duplicate id": b'{"id":"1","id":"2","pk":"a"}', "duplicate nested": b'{"id":"1","pk":"a","o":{"x":1,"x":1}}',
    "duplicate escaped": b'{"id":"1","pk":"a","x":1,"\\u0078":2}', "duplicate key": b'{"id":"1","pk":"a","pk":"b"}',
    "array": b'[{"id":"1","pk":"a"}]', "string": b'"x"', "number": b"5", "null": b"null", "true": b"true", "nul": b'{"id":"1","pk":"a"}\x00', "tru": b'{"id":"1","pk":"a","x":tru}',
    "nul first": b"\x00", "deep": b'{"id":"1","pk":"a","d":' + b"[" * 128 + b"]" * 128 + b"}", "very deep": b"[" * 200_000, "very deep objects": b'{"a":' * 100_000,
}


@pytest.mark.parametrize("name", BAD)
def test_W20_malformed_items(container, name):
    answer = container.create(BAD[name], "a")
    assert answer.status == 400, answer
    assert answer.json["code"] == "BadRequest" and answer.json["message"]
    assert container.list().json["Documents"] == []


def test_W21_depth_at_the_limit(container):
    body = b'{"id":"1","pk":"a","d":' + b"[" * 127 + b"]" * 127 + b"}"
    assert container.create(body, "a").status == 201
    assert container.read("1", "a").body.count(b"[") == 127


def test_W22_malformed_elsewhere(database, container):
    assert container.create({"id": "1", "pk": "a"}, "a").status == 201
    item = f"{container.path}/docs/1"
    for name in ("open", "duplicate", "lone high", "0xff", "1e999", "empty", "array", "string", "very deep"):
        for method, path, headers in (
            ("PUT", item, pk("a")), ("POST", f"{container.path}/docs", {**pk("a"), "x-ms-documentdb-is-upsert": "True"}),
            ("POST", "/dbs", {}), ("POST", f"/dbs/{database['id']}/colls", {}), ("POST", f"/dbs/{database['id']}/users", {}), ("PUT", container.path, {}),
        ):
            answer = send(method, path, BAD[name], headers)
            assert answer.status == 400, (name, method, path, answer)
    for body in (b"", b"5", b"{}", b'{"operations":5}', b'{"operations":[]}', b"[]", b"[5]", b'[{"op":"set"}]', b'[{"op":"set","path":"x","value":1}]', b'[{"op":"set","path":"/x"}]',
                 b'[{"op":"set","path":5,"value":1}]', b'[{"op":5,"path":"/x","value":1}]', b'[{"op":"incr","path":"/x","value":"1"}]', b'[{"op":"set","path":"","value":{}}]',
                 b'{"operations":[{"op":"set","path":"/x","value":1}],"condition":5}', b'{"operations":[{"op":"set","path":"/x","value":1}],"condition":"from c where"}',
                 b'[{"op":"set","path":"/x","value":1e999}]', b'[{"op":"set","path":"/a~2b","value":1}]'):
        answer = send("PATCH", item, body, pk("a"))
        assert answer.status == 400, (body, answer)
    assert container.read("1", "a").json.keys() == {"id", "pk", "_rid", "_self", "_etag", "_attachments", "_ts"}


def test_W23_content_types(container):
    assert container.create({"id": "1", "pk": "a"}, "a").status == 201
    item = f"{container.path}/docs/1"
    patch = [{"op": "incr", "path": "/n", "value": 1}]
    for n, kind in enumerate((None, "application/json", "application/json-patch+json", "application/json; charset=utf-8"), 1):
        answer = send("PATCH", item, patch, {**pk("a"), "content-type": kind})
        assert answer.status == 200 and answer.json["n"] == n, (kind, answer)
    assert container.create({"id": "none", "pk": "a"}, "a", **{"content-type": None}).status == 201
    for kind in ("text/xml", "application/x-www-form-urlencoded", "multipart/form-data", "\x7f"):
        answer = container.create({"id": "odd", "pk": "a"}, "a", **{"content-type": kind})
        assert answer.status in (201, 400, 415), (kind, answer)
        assert container.read("odd", "a").status == (200 if answer.status == 201 else 404)
        if answer.status == 201:
            send("DELETE", f"{container.path}/docs/odd", headers=pk("a"))
    query = {"query": "SELECT * FROM c WHERE c.id = '1'"}
    cross = {"x-ms-documentdb-query-enablecrosspartition": "True"}
    for headers in ({"content-type": "application/query+json"}, {"x-ms-documentdb-isquery": "true"}, {"x-ms-documentdb-query": "True"},
                    {"content-type": "application/query+json; charset=utf-8", "x-ms-documentdb-isquery": "True"}):
        answer = send("POST", f"{container.path}/docs", query, {**cross, **headers})
        assert answer.status == 200 and [d["id"] for d in answer.json["Documents"]] == ["1"], (headers, answer)


def test_W24_text_survives(container):
    text = (
        '{"id":"1","pk":"a","n":[0,-0,1.50,1.0,1E+2,1e21,5e-324,9007199254740993,18446744073709551615,123456789012345678901234567890,0.1000],'
        '"é":"\U0001fa90","":"","s":"\\" \\\\ / \\b\\f\\n\\r\\t\\u0000\\u001f","deep":{"z":{"y":{"x":[[],{}]}}}}'
    )
    answer = container.create(text.encode(), "a")
    assert answer.status == 201
    for body in (answer.body, container.read("1", "a").body):
        assert body.decode().startswith(text[:-1] + ',"_rid":'), body
    spaced = b' { "id" : "2" ,\r\n\t"pk":"a","x":"\\u00e9\\/\\ud83e\\ude90" } '
    assert container.create(spaced, "a").body.decode().startswith('{"id":"2","pk":"a","x":"é/\U0001fa90","_rid":')


def test_W25_sizes(container):
    def item(size):
        return b'{"id":"1","pk":"a","s":"' + b"x" * (size - 26) + b'"}'

    two = 2 * 1024 * 1024
    answer = container.create(item(two + 1), "a")
    assert answer.status == 413, answer
    assert answer.json["code"] == "RequestEntityTooLarge"
    assert "Request size is too large" in answer.json["message"]
    assert container.read("1", "a").status == 404
    answer = container.create(item(two), "a")
    assert answer.status == 201, answer.status
    assert len(container.read("1", "a").json["s"]) == two - 26
    over = send("PATCH", f"{container.path}/docs/1", [{"op": "add", "path": "/more", "value": "y"}], pk("a"))
    assert over.status == 413, over
    assert container.create(b'{"id":"big","pk":"a","s":"' + b"x" * 20_000_000 + b'"}', "a").status == 413
    assert container.read("big", "a").status == 404


def test_W26_special_property_values(container):
    for key, value in (("id", 5), ("id", ""), ("id", None), ("id", ["a"]), ("id", "a/b"), ("id", "a\\b"), ("id", "x" * 1024), ("id", "é" * 512)):
        answer = container.create({"id": "1", "pk": "a", key: value}, "a")
        assert answer.status == 400, (value, answer)
    missing = container.create({"pk": "a"}, "a")
    assert missing.status == 400 and "id" in missing.json["message"]
    for name in ("#", "tail ", "\t", "\u0001", "é" * 511 + "x", "?", "."):
        assert container.create({"id": name, "pk": "a"}, "a").status == 201, name
    listed = container.list(**{"x-ms-max-item-count": "1000"}).json["Documents"]
    assert len(listed) == 7


def test_W27_large_and_wide_items(container):
    wide = {"id": "wide", "pk": "a", **{f"p{n}": n for n in range(5000)}}
    assert container.create(wide, "a").status == 201
    body = container.read("wide", "a").json
    assert [k for k in body if k.startswith("p") and k != "pk"] == [f"p{n}" for n in range(5000)]
    assert container.create({"id": "names", "pk": "a", "n" * 100_000: 1, "__proto__": 2, "\u0000": 3}, "a").status == 201
    assert json.loads(container.read("names", "a").body)["\u0000"] == 3
