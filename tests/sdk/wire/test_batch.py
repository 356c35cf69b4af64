"""W50–W59: transactional batch and bulk, byte for byte."""
import json
import struct
import zlib

import pytest
from wire import pk, send

ATOMIC = {"x-ms-cosmos-is-batch-request": "True", "x-ms-cosmos-batch-atomic": "True"}
BULK = {"x-ms-cosmos-is-batch-request": "True", "x-ms-cosmos-batch-atomic": "false", "x-ms-cosmos-batch-continue-on-error": "true"}


def batch(container, operations, *key, **headers):
    return send("POST", f"{container.path}/docs", operations, {**ATOMIC, **pk(*(key or ("a",))), **headers})


def create(name, key="a", **extra):
    return {"operationType": "Create", "resourceBody": {"id": name, "pk": key, **extra}}


def test_W50_success(container):
    assert container.create({"id": "old", "pk": "a", "n": 1}, "a").status == 201
    answer = batch(container, [
        create("1"), {"operationType": "Upsert", "resourceBody": {"id": "1", "pk": "a", "n": 5}}, {"operationType": "Read", "id": "1"},
        {"operationType": "Replace", "id": "old", "resourceBody": {"id": "old", "pk": "a", "n": 2}},
        {"operationType": "Patch", "id": "old", "resourceBody": {"operations": [{"op": "incr", "path": "/n", "value": 1}], "condition": "from c where c.n = 2"}},
        {"operationType": "Delete", "id": "1"},
    ])
    assert answer.status == 200, answer
    results = answer.json
    assert [r["statusCode"] for r in results] == [201, 200, 200, 200, 200, 204]
    for r in results[:5]:
        assert {"statusCode", "requestCharge", "eTag", "resourceBody"} <= r.keys()
        assert r["eTag"] == r["resourceBody"]["_etag"]
    assert results[2]["resourceBody"]["n"] == 5 and results[4]["resourceBody"]["n"] == 3
    assert "resourceBody" not in results[5]
    assert sum(r["requestCharge"] for r in results) == pytest.approx(float(answer.headers["x-ms-request-charge"]), abs=0.04)
    assert container.read("1", "a").status == 404 and container.read("old", "a").json["n"] == 3


def test_W51_failure(container):
    answer = batch(container, [create("1"), {"operationType": "Read", "id": "none"}, create("2")])
    assert answer.status == 207, answer
    assert [r["statusCode"] for r in answer.json] == [424, 404, 424]
    assert container.list().json["_count"] == 0
    assert container.create({"id": "old", "pk": "a"}, "a").status == 201
    for operation, status in (
        (create("old"), 409), ({"operationType": "Replace", "id": "x", "resourceBody": {"id": "x", "pk": "a"}}, 404),
        ({"operationType": "Replace", "id": "old", "resourceBody": {"id": "old", "pk": "a"}, "ifMatch": '"no"'}, 412),
        ({"operationType": "Delete", "id": "old", "ifMatch": '"no"'}, 412),
        ({"operationType": "Patch", "id": "old", "resourceBody": {"operations": [{"op": "remove", "path": "/none"}]}}, 400),
        ({"operationType": "Patch", "id": "old", "resourceBody": {"operations": [{"op": "set", "path": "/x", "value": 1}], "condition": "from c where c.y = 1"}}, 412),
        ({"operationType": "Create", "resourceBody": {"id": "other", "pk": "b"}}, 400), ({"operationType": "Create", "resourceBody": {"pk": "a"}}, 400),
    ):
        answer = batch(container, [create("1"), operation])
        assert answer.status in (207, 400), (operation, answer)
        if answer.status == 207:
            assert [r["statusCode"] for r in answer.json] == [424, status], (operation, answer)
        else:
            assert status == 400
        assert container.read("1", "a").status == 404
    assert container.list().json["_count"] == 1


def test_W52_bulk(wide):
    ranges = send("GET", f"{wide.path}/pkranges").json["PartitionKeyRanges"]
    assert len(ranges) == 3
    # "a" hashes into the last range, "aa" into the first
    place = {"x-ms-documentdb-partitionkeyrangeid": "2"}
    assert wide.create({"id": "0", "pk": "a"}, "a").status == 201
    operations = [{"partitionKey": '["a"]', **create("1")}, {"partitionKey": '["a"]', **create("1")}, {"partitionKey": '["aa"]', **create("1", "aa")},
                  {"partitionKey": '["a"]', "operationType": "Read", "id": "0"}, {"partitionKey": '["a"]', "operationType": "Delete", "id": "none"}]
    answer = send("POST", f"{wide.path}/docs", operations, {**BULK, **place})
    assert answer.status == 207, answer
    assert [(r["statusCode"], r.get("subStatusCode", 0)) for r in answer.json] == [(201, 0), (409, 0), (410, 1002), (200, 0), (404, 0)]
    assert wide.read("1", "a").status == 200 and wide.read("1", "aa").status == 404
    good = send("POST", f"{wide.path}/docs", [{"partitionKey": '["a"]', **create("9")}], {**BULK, **place})
    assert good.status == 200 and good.json[0]["statusCode"] == 201
    gone = send("POST", f"{wide.path}/docs", [{"partitionKey": '["a"]', **create("8")}], {**BULK, "x-ms-documentdb-partitionkeyrangeid": "9"})
    assert (gone.status, gone.sub) == (410, 1002), gone


def test_W52_bulk_runs_in_order(container):
    keyed = {"partitionKey": '["a"]'}
    operations = [{**keyed, **create("1", n=1)}, {**keyed, "operationType": "Read", "id": "1"}, {**keyed, "operationType": "Delete", "id": "1"},
                  {**keyed, "operationType": "Read", "id": "1"}, {**keyed, **create("1", n=2)}, {**keyed, "operationType": "Read", "id": "1"}]
    answer = send("POST", f"{container.path}/docs", operations, {**BULK, "x-ms-documentdb-partitionkeyrangeid": "0"})
    assert [r["statusCode"] for r in answer.json] == [201, 200, 204, 404, 201, 200], answer
    assert answer.json[5]["resourceBody"]["n"] == 2


def test_W52_bulk_with_mistakes(container):
    keyed = {"partitionKey": '["a"]'}
    eleven = [{"op": "set", "path": "/n", "value": 1}] * 11
    operations = [
        {**keyed, **create("1")},
        {**keyed, "operationType": "Patch", "id": "1", "resourceBody": {"operations": eleven}},
        {**keyed, "operationType": "Patch", "id": "1", "resourceBody": {"operations": [{"op": "jump", "path": "/n"}]}},
        {**keyed, "operationType": "Patch", "id": "1", "resourceBody": {"operations": eleven[:1], "condition": "nonsense"}},
        {**keyed, "operationType": "Replace", "id": "1", "ifNoneMatch": "*", "resourceBody": {"id": "1", "pk": "a"}},
        {**keyed, "operationType": "Create"},
        {**keyed, "operationType": "Read"},
        {**keyed, **create("2"), "indexingDirective": "sometimes"},
        {**keyed, "operationType": "Patch", "id": "1", "resourceBody": {"operations": eleven[:1]}},
    ]
    answer = send("POST", f"{container.path}/docs", operations, {**BULK, "x-ms-documentdb-partitionkeyrangeid": "0"})
    assert answer.status == 207, answer
    assert [r["statusCode"] for r in answer.json] == [201, 400, 400, 400, 400, 400, 400, 400, 200], answer
    assert all(r["message"] and r["requestCharge"] == 1.0 for r in answer.json[1:8]), answer
    assert container.list().json["_count"] == 1
    atomic = send("POST", f"{container.path}/docs", operations[-2:], {**ATOMIC, **pk("a")})
    assert atomic.status == 400, atomic


def test_W53_minimal_header(container):
    """How the JavaScript SDK asks for it: once, for the whole request."""
    answer = batch(container, [create("1"), {"operationType": "Read", "id": "1"}], prefer="return=minimal")
    assert answer.status == 200
    assert not answer.json[0].get("resourceBody") and answer.json[0]["eTag"]
    assert answer.json[1]["resourceBody"]["id"] == "1"


def test_W53_minimal(container):
    answer = batch(container, [{**create("1"), "minimalReturnPreference": True}, create("2")])
    assert answer.status == 200
    assert not answer.json[0].get("resourceBody") and answer.json[0]["eTag"]
    assert answer.json[1]["resourceBody"]["id"] == "2"
    assert container.read("1", "a").headers["etag"] == answer.json[0]["eTag"]


@pytest.mark.parametrize("body", [
    b"", b"{}", b"5", b"[]", b"[5]", b"[{}]", b'[{"operationType":"Jump","id":"1"}]', b'[{"operationType":"Create"}]', b'[{"operationType":"Read"}]',
    b'[{"operationType":"Replace","resourceBody":{"id":"1","pk":"a"}}]', b'[{"operationType":"Create","resourceBody":5}]',
    b'[{"operationType":"Create","resourceBody":{"id":"1","pk":"a"}},]', b'[{"operationType":"Create","resourceBody":{"id":"1","pk":"a","x":1,"x":2}}]',
    b'[{"operationType":"Create","resourceBody":{"id":"1","pk":"a","x":"\\ud800"}}]', b'[{"operationType":"Create","resourceBody":{"id":"1","pk":"a"}}',
    b"\x81\xf0\xd8\xff\x7f\x01\x0a\x00\x00\x00",
])
def test_W54_malformed(container, body):
    answer = send("POST", f"{container.path}/docs", body, {**ATOMIC, **pk("a")})
    assert answer.status in (207, 400), answer
    if answer.status == 207:
        assert [r["statusCode"] for r in answer.json] == [400]
    else:
        assert answer.json["code"] == "BadRequest" and answer.json["message"]
    assert container.list().json["_count"] == 0


def test_W55_limits(container):
    assert batch(container, [create(str(n)) for n in range(101)]).status == 400
    answer = batch(container, [create(str(n), s="x" * 100_000) for n in range(25)])
    assert answer.status == 413, answer
    assert 'Message: {"Errors":["Request size is too large"]}\r\n' in answer.json["message"]
    assert container.list().json["_count"] == 0
    assert batch(container, [create(str(n)) for n in range(100)]).status == 200


def test_W56_no_key(container):
    answer = send("POST", f"{container.path}/docs", [create("1")], ATOMIC)
    assert answer.status == 400, answer
    assert batch(container, [create("1")], "b").status in (207, 400)
    assert container.list().json["_count"] == 0


def test_W57_charges(container):
    answer = batch(container, [create("1"), {"operationType": "Read", "id": "1"}])
    assert [r["requestCharge"] for r in answer.json] == [5.71, 1.0]
    assert float(answer.headers["x-ms-request-charge"]) == 6.71
    failed = batch(container, [create("2"), create("1")])
    assert [r["requestCharge"] for r in failed.json] == [0, 1.24]


# --- .NET's binary form, written and read from its description -------------------------------------------------------

SEGMENT = bytes.fromhex("81f0d8ff7f010a000000")


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def sized(data):
    return varint(len(data)) + data


def record(row):
    return bytes.fromhex("81f1d8ff7f") + len(row).to_bytes(4, "little") + zlib.crc32(row).to_bytes(4, "little") + row


def binary_operation(kind, key=None, name=None, body=None, if_match=None):
    presence = 3 | (4 if key else 0) | (16 if name else 0) | (64 if body else 0)
    row = bytes.fromhex("817054e17f") + bytes([presence]) + kind.to_bytes(4, "little") + (2).to_bytes(4, "little")
    for text in (key, name, body):
        if text:
            row += sized(text.encode())
    if if_match:
        row += b"\x14\x09" + sized(if_match.encode())
    return record(row)


def read_varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return number, at


def binary_results(data):
    assert data.startswith(SEGMENT), data[:40]
    at, results = len(SEGMENT), []
    while at < len(data):
        assert data[at : at + 5] == bytes.fromhex("81f1d8ff7f")
        length, checksum = struct.unpack_from("<II", data, at + 5)
        row = data[at + 13 : at + 13 + length]
        assert zlib.crc32(row) == checksum and row[:5] == bytes.fromhex("817154e17f")
        status, sub_status = struct.unpack_from("<ii", row, 6)
        result, position = {"status": status, "sub": sub_status}, 14
        for bit, member in ((4, "etag"), (8, "body")):
            if row[5] & bit:
                size, position = read_varint(row, position)
                result[member] = row[position : position + size].decode()
                position += size
        while position < len(row):
            kind, path = row[position], row[position + 1]
            assert (kind, path) in ((11, 5), (16, 6))
            result["retry" if path == 5 else "charge"] = struct.unpack_from("<I" if path == 5 else "<d", row, position + 2)[0]
            position += 6 if path == 5 else 10
        results.append(result)
        at += 13 + length
    return results


def test_W58_binary(container):
    docs = f"{container.path}/docs"
    golden = bytes.fromhex("81f0d8ff7f010a00000081f1d8ff7f28000000f80cece0817054e17f470000000002000000055b2261225d137b226964223a2231222c22706b223a2261227d")
    answer = send("POST", docs, golden, {**ATOMIC, **pk("a")})
    assert answer.status == 200, answer
    (created,) = binary_results(answer.body)
    assert created["status"] == 201 and json.loads(created["body"])["id"] == "1"
    assert created["etag"] == json.loads(created["body"])["_etag"]
    assert created["charge"] == float(answer.headers["x-ms-request-charge"])
    assert container.read("1", "a").json["pk"] == "a"

    failing = SEGMENT + binary_operation(0, body='{"id":"2","pk":"a"}') + binary_operation(4, name="1", if_match='"no"')
    answer = send("POST", docs, failing, {**ATOMIC, **pk("a")})
    assert answer.status == 207 and [r["status"] for r in binary_results(answer.body)] == [424, 412]
    assert container.read("2", "a").status == 404

    bulk = SEGMENT + b"".join(binary_operation(20, key=f'["k{i}"]', body=f'{{"id":"x","pk":"k{i}"}}') for i in range(10)) + binary_operation(2, key='["a"]', name="none")
    answer = send("POST", docs, bulk, BULK)
    assert answer.status == 207 and [r["status"] for r in binary_results(answer.body)] == [201] * 10 + [404]

    for bad in (b"\x81", golden[:-1], golden[:-1] + b"!", SEGMENT, SEGMENT + SEGMENT[:5], b"\x81" * 3000, SEGMENT + binary_operation(3, name="1")):
        answer = send("POST", docs, bad, {**ATOMIC, **pk("a")})
        assert answer.status == 400 and answer.json["code"] == "BadRequest", answer
