"""W40–W49: ranges, hashing, keys in headers."""
import json

import pytest
from wire import pk, rid_bytes, send

V1 = {"paths": ["/pk"], "kind": "Hash", "version": 1}
V2 = {"paths": ["/pk"], "kind": "Hash", "version": 2}
THREE = {"x-ms-offer-throughput": "18000"}
BOUNDS = {1: ["", "05C1D5AB55AB54", "05C1E5AB55AB54", "FF"],
          2: ["", "15555555555555555555555555555555", "2AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "FF"]}

# key, effective partition key V1, V2
EPK = [
    ("", "05C1CF33970FF80800", "32E9366E637A71B4E710384B2F4970A0"), ("a", "05C1D78593652C086200", "3A5381E1114EB8D3FCC90795045B49B7"),
    ("aa", "05C1C7B7270FE008626200", "05033626483AE80D00E44FBD35362B19"), ("redmond", "05C1EFE313830C087366656E706F6500", "22E342F38A486A088463DFF7838A5963"),
    ("partitionKey", "05C1E1B3D9CD2608716273756A756A706F4C667A00", "013AEFCF77FA271571CF665A58C933F1"),
    ("Hello World", "05C1C5D58F13B00849666D6D70215870736D6500", "306C52B42DECB3AE9D3C7586975E30B9"), ("0", "05C1DD63953560083100", "3D01E4E92759C445D3386C5E4C22ED93"),
    ("tenant-42", "05C1ED87230D6A0875666F626F752E353300", "1D956EA8C214DED08A6749D6A42F43EB"), ("é", "05C1B3CD91912008C4AA00", "007199F104E04116EE25AF912CA4889B"),
    ("你好", "05C1D37361259408E5BEA1E6A6BE00", "004DC6466F1ECD29F3606AEBC7AFC317"), ("🙂", "05C1C1D56B913808F1A09A8300", "155E1942F4B272EADE9982A948BA5AA9"),
    ("\u0000", "05C171D9EB1A080100", "03BEA7EF2A069D1693F46CE6922E2F8E"), (0, "05C1BF6DA11560058000", "155B95BEDAC4B1E9EC1CDC9BB0DDDE58"),
    (1, "05C1ED172B6B2605BFF0", "20CD98B339BA78A5D0CF6953B87070B0"), (-1, "05C1D1A5BDDF9C054010", "19938E7A936C1C5B9E3AE842BBC16839"),
    (5.5, "05C1D7A771716C05C016", "0E2EE47829D1AF775EEFB6540FD1D0ED"), (-42.25, "05C1EF8BA9170E053FBB70", "12783CBCAD94600FFADB243D3B054C7A"),
    (4294967296, "05C1ED5B039B6005C1F0", "0C746AE2C07859994662C1770E77CCFB"), (9007199254740991, "05C1B3FBA771A005C33FFFFFFFFFFFFFFE", "12C221C7032CED1F9E6693CE1428E6CF"),
    (1.7976931348623157e308, "05C1CBE367C53005FFEFFFFFFFFFFFFFFE", "31424D996457102634591FF245DBCC4D"), (5e-324, "05C1E5C91F4D3005800101010101010102", "0E6CBA63A280927DE485DEF865800139"),
    (True, "05C1D7C5A903D803", "0E711127C5B5A8E4726AC6DD306A3E59"), (False, "05C1DB857D857C02", "2FE1BE91E90A3439635E0E9E37361EF2"),
    (None, "05C1ED45D7475601", "378867E4430E67857ACE5C908374FE16"), ({}, "05C1D529E345DC00", "11622DAA78F835834610ABE56EFF5CB5"),
]
TREE = [
    (["tenant1", "user1"], "0DAE0B8467B011E957BC0B8B0DEB5ACA236A5BE3329A7AD57D4B998E8602BD7B"),
    (["tenant1", 5], "0DAE0B8467B011E957BC0B8B0DEB5ACA19C08621B135968252FB34B4CF66F811"),
    (["tenant2", "user1"], "21764ED8B33C83B276DED38EA17F6CB4236A5BE3329A7AD57D4B998E8602BD7B"), (["", ""], "32E9366E637A71B4E710384B2F4970A032E9366E637A71B4E710384B2F4970A0"),
    (["你好", "é"], "004DC6466F1ECD29F3606AEBC7AFC317007199F104E04116EE25AF912CA4889B"), (["tenant1", {}], "0DAE0B8467B011E957BC0B8B0DEB5ACA11622DAA78F835834610ABE56EFF5CB5"),
]


def ranges(container):
    answer = send("GET", f"{container.path}/pkranges")
    assert answer.status == 200, answer
    return answer.json["PartitionKeyRanges"]


def home(epk, bounds):
    return max(n for n in range(len(bounds) - 1) if bounds[n] <= epk)


def test_W40_pkranges_feed(container):
    feed = send("GET", f"{container.path}/pkranges")
    assert feed.status == 200 and feed.json["_rid"] == container.rid and feed.json["_count"] == 1
    only = feed.json["PartitionKeyRanges"][0]
    assert (only["id"], only["minInclusive"], only["maxExclusive"]) == ("0", "", "FF")
    assert only["parents"] == [] and only["status"] == "online" and isinstance(only["throughputFraction"], (int, float))
    assert only["_self"].endswith(f"pkranges/{only['_rid']}/")
    etag = feed.headers["etag"]
    assert etag.strip('"').isdigit()
    incremental = {"a-im": "Incremental Feed", "x-ms-max-item-count": "-1"}
    first = send("GET", f"{container.path}/pkranges", headers=incremental)
    assert first.status == 200 and first.json["_count"] == 1
    same = send("GET", f"{container.path}/pkranges", headers={**incremental, "if-none-match": first.headers["etag"]})
    assert same.status == 304 and same.body == b"" and same.headers["etag"] == first.headers["etag"]
    assert send("GET", f"{container.path}/pkranges", headers={**incremental, "if-none-match": '"99999"'}).status in (200, 304)
    assert container.create({"id": "1", "pk": "a"}, "a").status == 201
    assert send("GET", f"{container.path}/pkranges", headers={**incremental, "if-none-match": etag}).status == 304  # writes do not move it


@pytest.mark.parametrize("version", [1, 2])
def test_W41_boundaries(make, version):
    got = ranges(make({**V1, "version": version}, THREE))
    assert [r["minInclusive"] for r in got] + ["FF"] == BOUNDS[version]
    assert [r["maxExclusive"] for r in got] == BOUNDS[version][1:]
    assert [r["id"] for r in got] == ["0", "1", "2"]
    for r in got:
        assert rid_bytes(r["_rid"])[15] >> 4 == 5


@pytest.mark.parametrize("ru,count", [("400", 1), ("6000", 1), ("6100", 2), ("12000", 2), ("30000", 5)])
def test_W41_counts(make, ru, count):
    assert len(ranges(make(None, {"x-ms-offer-throughput": ru}))) == count


def test_W41_autoscale_counts(make):
    assert len(ranges(make(None, {"x-ms-cosmos-offer-autopilot-settings": '{"maxThroughput":10000}'}))) == 1
    assert len(ranges(make(None, {"x-ms-cosmos-offer-autopilot-settings": '{"maxThroughput":30000}'}))) == 3


@pytest.mark.parametrize("version", [1, 2])
def test_W42_each_item_is_in_its_range(make, version):
    container = make({**V1, "version": version}, THREE)
    expected = {"0": set(), "1": set(), "2": set()}
    for n, (key, *epks) in enumerate(EPK):
        item = {"id": f"e{n}"} if key == {} else {"id": f"e{n}", "pk": key}
        answer = container.create(item, key)
        assert answer.status == 201, (key, answer)
        place = str(home(epks[version - 1], BOUNDS[version]))
        expected[place].add(f"e{n}")
        assert answer.headers["x-ms-session-token"].split(":")[0] == place, key
        assert answer.headers.get("x-ms-documentdb-partitionkeyrangeid", place) == place
        assert container.read(f"e{n}", key).status == 200
    assert all(expected.values())
    for place, names in expected.items():
        for form in (place, f"{container.rid},{place}"):
            page = container.list(**{"x-ms-documentdb-partitionkeyrangeid": form, "x-ms-max-item-count": "1000"})
            assert {d["id"] for d in page.json["Documents"]} == names, (place, page)


def test_W42_hierarchical_items(make):
    container = make({"paths": ["/t", "/u"], "kind": "MultiHash", "version": 2}, THREE)
    for n, (key, epk) in enumerate(TREE):
        item = {"id": f"t{n}", **{p: v for p, v in zip("tu", key) if v != {}}}
        answer = container.create(item, *key)
        assert answer.status == 201, (key, answer)
        assert answer.headers["x-ms-session-token"].split(":")[0] == str(home(epk, BOUNDS[2])), key
        assert container.read(f"t{n}", *key).status == 200


def test_W43_key_header(container):
    def create(value, item=None):
        return send("POST", f"{container.path}/docs", item or {"id": "1", "pk": "a"}, {"x-ms-documentdb-partitionkey": value} if value is not None else {})

    mismatch = create('["b"]')
    assert (mismatch.status, mismatch.sub) == (400, 1001), mismatch
    assert (create('[1]', {"id": "1", "pk": "1"}).status, create('[null]', {"id": "1"}).status, create('[{}]', {"id": "1", "pk": None}).status) == (400, 400, 400)
    for bad in (None, "", "a", '"a"', "{}", '["a"', '["a","b"]', '[["a"]]', '[{"x":1}]', "[NaN]", "[1e999]", '["\\ud800"]', '["a"]x'):
        answer = create(bad)
        assert answer.status == 400, (bad, answer)
    assert container.list().json["_count"] == 0
    assert create('["\\u0061"]').status == 201
    assert create(' [ "a" ] ', {"id": "2", "pk": "a"}).status == 201
    assert create("[1.0]", {"id": "3", "pk": 1}).status == 201
    assert container.read("3", 1).status == 200
    for method in ("GET", "DELETE"):
        assert send(method, f"{container.path}/docs/1").status == 400, method
    assert send("PUT", f"{container.path}/docs/1", {"id": "1", "pk": "b"}, pk("a")).status == 400
    assert send("PUT", f"{container.path}/docs/1", {"id": "other", "pk": "a"}, pk("a")).status == 400


def test_W43_partial_hierarchical_key(make):
    container = make({"paths": ["/t", "/u"], "kind": "MultiHash", "version": 2})
    item = {"id": "1", "t": "a", "u": "b"}
    assert container.create(item, "a").status == 400
    assert container.create(item, "a", "x").sub == 1001
    assert container.create(item, "a", "b", "c").status == 400
    assert container.create(item, "a", "b").status == 201
    assert container.read("1", "a").status in (400, 404)


def test_W44_intended_collection_rid(container):
    good = container.create({"id": "1", "pk": "a"}, "a", **{"x-ms-cosmos-intended-collection-rid": container.rid})
    assert good.status == 201, good
    bad = container.create({"id": "2", "pk": "a"}, "a", **{"x-ms-cosmos-intended-collection-rid": "KjtMXYAAAAE="})
    assert (bad.status, bad.sub) == (400, 1024), bad
    read = container.read("1", "a", **{"x-ms-cosmos-intended-collection-rid": "KjtMXYAAAAE="})
    assert (read.status, read.sub) == (400, 1024), read
    assert container.read("2", "a").status == 404


def test_W45_range_that_is_not_there(wide):
    for place in ("3", "99", f"{wide.rid},7"):
        answer = wide.list(**{"x-ms-documentdb-partitionkeyrangeid": place})
        assert (answer.status, answer.sub) == (410, 1002), (place, answer)
        assert answer.json["code"] == "Gone"
    for place in ("x", "", "-1", "0,0,0"):
        assert wide.list(**{"x-ms-documentdb-partitionkeyrangeid": place}).status in (200, 400, 410), place


def test_W46_epk_headers(wide):
    for n, (key, _, _) in enumerate(EPK):
        wide.create({"id": f"e{n}"} if key == {} else {"id": f"e{n}", "pk": key}, key)
    low, high = "10000000000000000000000000000000", "30000000000000000000000000000000"
    want = {f"e{n}" for n, (_, _, epk) in enumerate(EPK) if low <= epk < high}
    scope = {"x-ms-read-key-type": "EffectivePartitionKeyRange", "x-ms-start-epk": low, "x-ms-end-epk": high, "x-ms-max-item-count": "1000"}
    got = set()
    for place in ("0", "1", "2"):
        got |= {d["id"] for d in wide.list(**scope, **{"x-ms-documentdb-partitionkeyrangeid": place}).json["Documents"]}
    assert got == want
    query = {"content-type": "application/query+json", "x-ms-documentdb-query-enablecrosspartition": "True"}
    answer = send("POST", f"{wide.path}/docs", {"query": "SELECT * FROM c"}, {**scope, **query})
    assert answer.status == 200 and {d["id"] for d in answer.json["Documents"]} == want, answer


def test_W47_v1_hashes_only_the_start(make):
    container = make(V1)
    start = "k" * 100
    assert container.create({"id": "1", "pk": start + "x"}, start + "x").status == 201
    assert container.create({"id": "1", "pk": start + "y"}, start + "y").status == 409
    assert container.create({"id": "1", "pk": "k" * 99 + "z"}, "k" * 99 + "z").status == 201


def test_W48_key_paths(make):
    nested = make({"paths": ["/a/b/c"], "kind": "Hash", "version": 2})
    assert nested.create({"id": "1", "a": {"b": {"c": "x"}}}, "x").status == 201
    assert nested.create({"id": "2", "a": {"b": 5}}, {}).status == 201
    assert nested.create({"id": "3"}, {}).status == 201
    quoted = make({"paths": ['/"x-y z"'], "kind": "Hash", "version": 2})
    assert quoted.create({"id": "1", "x-y z": "v"}, "v").status == 201
    by_id = make({"paths": ["/id"], "kind": "Hash", "version": 2})
    assert by_id.create({"id": "1"}, "1").status == 201
    assert by_id.read("1", "1").status == 200


def test_W49_version_as_java_writes_it(make):
    for text, number in (("V1", 1), ("V2", 2)):
        assert make({"paths": ["/pk"], "kind": "Hash", "version": text}).body["partitionKey"]["version"] == number


def test_W49_definition_defaults(database, make):
    bare = make({"paths": ["/pk"]})
    assert bare.body["partitionKey"] == {"paths": ["/pk"], "kind": "Hash"}  # no version means V1
    assert make({"paths": ["/a", "/b"], "kind": "MultiHash"}).body["partitionKey"]["version"] == 2
    wide = make({"paths": ["/pk"], "kind": "Hash"}, THREE)
    assert [r["minInclusive"] for r in ranges(wide)] == BOUNDS[1][:3]
    assert json.loads(json.dumps(send("GET", wide.path).json["partitionKey"])) == {"paths": ["/pk"], "kind": "Hash"}
