"""The change feed on the wire: W120–W127."""
import time

import pytest

from wire import now, pk, send

LATEST = {"a-im": "Incremental Feed"}
VERSIONS = {"a-im": "Full-Fidelity Feed", "x-ms-cosmos-changefeed-wire-format-version": "2021-09-15"}


def changes(container, **headers):
    answer = container.list(**headers)
    assert answer.status in (200, 304), answer
    assert answer.headers["etag"], answer
    assert answer.headers["x-ms-continuation"] == answer.headers["etag"]
    if answer.status == 304:
        assert answer.body == b""
        return [], answer
    body = answer.json
    assert body["_rid"] == container.rid and body["_count"] == len(body["Documents"])
    assert int(answer.headers["x-ms-item-count"]) == body["_count"]
    return body["Documents"], answer


def drain(container, **headers):
    """All pages; returns the changes and the last etag."""
    out = []
    for _ in range(1000):
        page, answer = changes(container, **headers)
        out += page
        headers["if-none-match"] = answer.headers["etag"]
        if answer.status == 304:
            return out, answer.headers["etag"]
    raise AssertionError("no 304")


def ranges(container):
    return send("GET", f"{container.path}/pkranges").json["PartitionKeyRanges"]


def test_W120_positions_of_one_range(container):
    assert changes(container, **LATEST)[1].headers["etag"] == '"0"'
    for i in range(5):
        container.create({"id": str(i), "pk": "a"}, "a")
    page, answer = changes(container, **LATEST, **{"x-ms-max-item-count": "2"})
    assert [d["id"] for d in page] == ["0", "1"] and [d["_lsn"] for d in page] == [1, 2]
    assert answer.headers["etag"] == '"2"' and answer.headers["lsn"] == "5" and answer.headers["x-ms-session-token"] == "0:-1#5"
    for etag in ('"2"', "2"):  # quoted or not
        page, answer = changes(container, **LATEST, **{"if-none-match": etag})
        assert [d["id"] for d in page] == ["2", "3", "4"] and answer.headers["etag"] == '"5"'
    # The position moves on over what is not shown.
    send("DELETE", f"{container.path}/docs/0", None, pk("a"))
    page, answer = changes(container, **LATEST, **{"if-none-match": '"5"'})
    assert answer.status == 304 and answer.headers["etag"] == '"6"'
    page, answer = changes(container, **LATEST, **pk("other"))
    assert answer.status == 304 and answer.headers["etag"] == '"6"'
    # Java's processor asks for the items with their metadata apart.
    page, _ = changes(container, **LATEST, **{"if-none-match": '"4"', "x-ms-cosmos-changefeed-wire-format-version": "2021-09-15"})
    assert page[0]["current"]["id"] == "4" and page[0]["metadata"] == {"lsn": 5, "crts": page[0]["current"]["_ts"]}
    # Any case of the mode; the continuation header instead of the etag.
    assert len(changes(container, **{"a-im": "INCREMENTAL feed", "x-ms-continuation": '"4"'})[0]) == 1
    page, answer = changes(container, **LATEST, **{"if-none-match": "*"})
    assert answer.status == 304 and answer.headers["etag"] == '"6"'


def test_W121_whole_container_over_several_ranges(wide):
    for i in range(40):
        wide.create({"id": str(i), "pk": f"k{i}"}, f"k{i}")
    got, etag = drain(wide, **LATEST, **{"x-ms-max-item-count": "7"})
    assert sorted(d["id"] for d in got) == sorted(str(i) for i in range(40))
    wide.create({"id": "x", "pk": "k1"}, "k1")
    got, _ = drain(wide, **LATEST, **{"if-none-match": etag})
    assert [d["id"] for d in got] == ["x"]
    by_range = {}
    for r in ranges(wide):
        found, etag = drain(wide, **LATEST, **{"x-ms-documentdb-partitionkeyrangeid": r["id"]})
        by_range[r["id"]] = found
        assert etag == f'"{found[-1]["_lsn"]}"'  # a number per range
        lsns = [d["_lsn"] for d in found]
        assert lsns == sorted(lsns)
    assert sum(len(f) for f in by_range.values()) == 41
    # A part of a range by EPK headers.
    first = ranges(wide)[0]
    headers = {"x-ms-read-key-type": "EffectivePartitionKeyRange", "x-ms-start-epk": "", "x-ms-end-epk": "0A" + "0" * 30, "x-ms-documentdb-partitionkeyrangeid": first["id"]}
    low, etag = drain(wide, **LATEST, **headers)
    headers.update({"x-ms-start-epk": "0A" + "0" * 30, "x-ms-end-epk": first["maxExclusive"]})
    high, _ = drain(wide, **LATEST, **headers)
    assert 0 < len(low) < len(by_range[first["id"]]) and len(low) + len(high) == len(by_range[first["id"]])
    assert etag == f'"{by_range[first["id"]][-1]["_lsn"]}"'
    assert wide.list(**LATEST, **{"x-ms-documentdb-partitionkeyrangeid": "77"}).status == 410


def test_W122_start_from_a_time(container):
    container.create({"id": "1", "pk": "a"}, "a")
    time.sleep(1.1)
    since = now()
    time.sleep(1.1)
    container.create({"id": "2", "pk": "a"}, "a")
    page, answer = changes(container, **LATEST, **{"if-modified-since": since})
    assert [d["id"] for d in page] == ["2"]
    # With an etag the position is the etag's; the filter stays.
    page, _ = changes(container, **LATEST, **{"if-modified-since": since, "if-none-match": '"0"'})
    assert [d["id"] for d in page] == ["2"]
    page, answer = changes(container, **LATEST, **{"if-modified-since": now(3600)})
    assert answer.status == 304 and answer.headers["etag"] == '"2"'
    page, _ = changes(container, **LATEST, **{"if-modified-since": since.replace("GMT", "UTC")})
    assert len(page) == 1
    page, _ = changes(container, **LATEST, **{"if-modified-since": "Thu, 01 Jan 1970 00:00:00 GMT"})
    assert len(page) == 2


BAD = [
    {"a-im": "Nonsense"}, {"a-im": ""}, {"a-im": "Incremental Feed, Full-Fidelity Feed"},
    {**LATEST, "if-none-match": '"x"'}, {**LATEST, "if-none-match": "-1"}, {**LATEST, "if-none-match": '"1'}, {**LATEST, "if-none-match": '""'},
    {**LATEST, "if-none-match": '"99999999999999999999999"'}, {**LATEST, "if-none-match": '"18446744073709551615"'}, {**LATEST, "if-none-match": "1.5"},
    {**LATEST, "if-none-match": '"7"'}, {**LATEST, "if-none-match": "QUJD"},
    {**LATEST, "if-modified-since": "yesterday"}, {**LATEST, "if-modified-since": "2020-01-01T00:00:00Z"},
    {**LATEST, "if-none-match": "*", "if-modified-since": "Thu, 27 Apr 2017 00:51:12 GMT"},
    {**LATEST, "if-none-match": '"1"', "x-ms-continuation": '"0"'},
    {**LATEST, "x-ms-cosmos-changefeed-wire-format-version": "1"}, {**LATEST, "x-ms-max-item-count": "0"}, {**LATEST, "x-ms-max-item-count": "x"},
    {**VERSIONS}, {**VERSIONS, "if-modified-since": "Thu, 27 Apr 2017 00:51:12 GMT"}, {**VERSIONS, "if-none-match": "*"},
    {**VERSIONS, "if-none-match": "*", "x-ms-cosmos-changefeed-wire-format-version": "1999-01-01"},
    {**LATEST, "x-ms-start-epk": "zz", "x-ms-end-epk": "FF"},
]


@pytest.mark.parametrize("headers", BAD, ids=lambda h: "-".join(h.values())[:60])
def test_W123_misuse_is_a_clear_400(container, headers):
    container.create({"id": "1", "pk": "a"}, "a")
    answer = container.list(**headers)
    assert answer.status == 400, answer
    assert len(answer.json["message"]) > 30
    assert answer.headers["x-ms-request-charge"]
    assert container.read("1", "a").status == 200


def test_W124_tokens_are_not_taken_from_others(wide, make):
    wide.create({"id": "1", "pk": "a"}, "a")
    etag = changes(wide, **LATEST)[1].headers["etag"]
    other = make(headers={"x-ms-offer-throughput": "18000"})
    assert other.list(**LATEST, **{"if-none-match": etag}).status == 400
    # A narrower scope of the same container goes on from its part of the position, a wider one has no position at all.
    assert wide.list(**LATEST, **{"if-none-match": etag, "x-ms-documentdb-partitionkeyrangeid": "0"}).status == 304
    assert wide.list(**LATEST, **{"if-none-match": etag}, **pk("a")).status == 304
    bounds = [r["minInclusive"] for r in send("GET", f"{wide.path}/pkranges").json["PartitionKeyRanges"]]
    two = {"x-ms-read-key-type": "EffectivePartitionKeyRange", "x-ms-start-epk": bounds[0], "x-ms-end-epk": bounds[2]}
    part = wide.list(**LATEST, **two).headers["etag"]
    assert wide.list(**LATEST, **two, **{"if-none-match": part}).status == 304
    assert wide.list(**LATEST, **{"if-none-match": part}).status == 400
    assert wide.list(**LATEST, **{"if-none-match": part, "x-ms-documentdb-partitionkeyrangeid": "2"}).status == 400
    body = etag.strip('"')
    for i in range(0, len(body), 5):
        changed = body[:i] + ("A" if body[i] != "A" else "B") + body[i + 1:]
        assert wide.list(**LATEST, **{"if-none-match": f'"{changed}"'}).status == 400, i
    for cut in (body[:-1], body[1:], body + "A", body * 2):
        assert wide.list(**LATEST, **{"if-none-match": f'"{cut}"'}).status == 400
    assert wide.list(**LATEST, **{"if-none-match": etag}).status == 304


def test_W125_charges(container, wide):
    assert changes(container, **LATEST)[1].headers["x-ms-request-charge"] == "1.00"
    container.create({"id": "1", "pk": "a"}, "a")
    page, answer = changes(container, **LATEST)
    assert len(page) == 1 and answer.headers["x-ms-request-charge"] == "1.00"
    for i in range(10):
        container.create({"id": f"x{i}", "pk": "a", "t": "x" * 4000}, "a")
    charge = float(changes(container, **LATEST)[1].headers["x-ms-request-charge"])
    single = sum(float(container.read(i, "a").headers["x-ms-request-charge"]) for i in ["1"] + [f"x{i}" for i in range(10)])
    assert abs(charge - single) < 0.06
    assert changes(wide, **LATEST)[1].headers["x-ms-request-charge"] == "3.00"  # one per range polled


def test_W126_all_versions(make):
    container = make(changeFeedPolicy={"retentionDuration": 10})
    assert container.body["changeFeedPolicy"] == {"retentionDuration": 10}
    page, answer = changes(container, **VERSIONS, **{"if-none-match": "*"})
    assert answer.status == 304 and answer.headers["etag"] == '"0"'
    container.create({"id": "1", "pk": "a", "n": 1.0}, "a")
    send("PUT", f"{container.path}/docs/1", {"id": "1", "pk": "a", "n": 2}, pk("a"))
    send("DELETE", f"{container.path}/docs/1", None, pk("a"))
    for mode in (VERSIONS, {"a-im": "full-fidelity feed"}):
        page, answer = changes(container, **mode, **{"if-none-match": '"0"'})
        assert answer.headers["etag"] == '"3"'
        create, replace, delete = page
        assert create["current"]["n"] == 1.0 and create["current"]["_lsn"] == 1 and "previous" not in create
        assert {k: v for k, v in create["metadata"].items() if k != "crts"} == {"operationType": "create", "lsn": 1}
        assert replace["current"]["n"] == 2 and replace["previous"]["n"] == 1.0
        assert {k: v for k, v in replace["metadata"].items() if k != "crts"} == {"operationType": "replace", "lsn": 2, "previousImageLSN": 1}
        assert delete["current"] == {} and delete["previous"]["n"] == 2
        assert {k: v for k, v in delete["metadata"].items() if k != "crts"} == {
            "operationType": "delete", "lsn": 3, "previousImageLSN": 2, "timeToLiveExpired": False, "id": "1", "partitionKey": {"pk": "a"}}
        assert all(abs(c["metadata"]["crts"] - time.time()) < 60 for c in page)
    assert changes(container, **LATEST)[1].status == 304
    for bad in (-1, 1.5, "x", 43201):
        answer = send("POST", f"/dbs/{container.db}/colls", {"id": "bad", "partitionKey": {"paths": ["/pk"]}, "changeFeedPolicy": {"retentionDuration": bad}})
        assert answer.status == 400 and "retentionDuration" in answer.json["message"], answer


def test_W127_resource_tokens_read_their_part(database, container):
    container.create({"id": "1", "pk": "a"}, "a")
    container.create({"id": "2", "pk": "b"}, "b")
    db = f"/dbs/{database['id']}"
    assert send("POST", f"{db}/users", {"id": "u"}).status == 201
    permission = send("POST", f"{db}/users/u/permissions", {"id": "p", "permissionMode": "Read", "resource": container.path[1:], "resourcePartitionKey": ["a"]})
    assert permission.status == 201, permission
    import urllib.parse
    headers = {"authorization": urllib.parse.quote(permission.json["_token"], safe="")}
    assert send("GET", f"{container.path}/docs", None, {**headers, **LATEST}, sign=False).status == 403
    allowed = send("GET", f"{container.path}/docs", None, {**headers, **LATEST, **pk("a")}, sign=False)
    assert allowed.status == 200 and [d["id"] for d in allowed.json["Documents"]] == ["1"]
    assert send("GET", f"{container.path}/docs", None, {**headers, **LATEST, **pk("b")}, sign=False).status == 403
