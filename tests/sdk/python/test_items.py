"""Partition keys, items, patch, TTL, unique keys, session, charges: B11–B33, B52, B53, B55, B56."""
import asyncio
import base64
import json
import time
from concurrent.futures import ThreadPoolExecutor

from azure.core import MatchConditions
from azure.cosmos import PartitionKey
from azure.cosmos.documents import IndexingDirective
from azure.cosmos.exceptions import CosmosHttpResponseError
from azure.cosmos.partition_key import NonePartitionKeyValue, NullPartitionKeyValue

from conftest import user_properties

WIDE = {"offer_throughput": 18000}


def header(item, name):
    return item.get_response_headers()[name]


def charge(item):
    return float(header(item, "x-ms-request-charge"))


async def round_trip(sdk, container, keyed):
    """Items with one id under different keys are different items."""
    for _, body in keyed:
        await sdk(container.create_item, {"id": "same", **body})
    for key, body in keyed:
        assert user_properties(await sdk(container.read_item, "same", key)) == {"id": "same", **body}
    for key, _ in keyed:
        await sdk(container.delete_item, "same", key)
    for key, _ in keyed:
        await sdk.fails(404, sdk(container.read_item, "same", key))


async def test_B11_scalar_keys(sdk, make):
    container = await make(**WIDE)
    keys = ["a", "", "1", "true", "null", 1, 0, -1.5, 1e300, 9007199254740991, True, False]
    keyed = [(k, {"pk": k, "mark": json.dumps(k)}) for k in keys] + [(NullPartitionKeyValue, {"pk": None, "mark": "N"})]
    await round_trip(sdk, container, keyed)


async def test_B12_none_key(sdk, container):
    none = NonePartitionKeyValue
    await sdk(container.create_item, {"id": "1", "other": 1})
    await sdk(container.create_item, {"id": "1", "pk": None})
    assert (await sdk(container.read_item, "1", none))["other"] == 1
    assert (await sdk(container.read_item, "1", NullPartitionKeyValue))["pk"] is None
    assert (await sdk(container.replace_item, "1", {"id": "1", "other": 2}))["other"] == 2
    await sdk(container.delete_item, "1", none)
    await sdk.fails(404, sdk(container.read_item, "1", none))
    assert (await sdk(container.read_item, "1", NullPartitionKeyValue))["pk"] is None


async def test_B13_hierarchical_keys(sdk, make):
    two = await make(partition_key=PartitionKey(path=["/tenant", "/user"], kind="MultiHash"))
    pairs = [["t1", "u1"], ["t1", "u2"], ["u1", "t1"], ["t1", 5], ["t1", None]]
    await round_trip(sdk, two, [(p, {"tenant": p[0], "user": p[1]}) for p in pairs])
    three = await make(partition_key=PartitionKey(path=["/l1", "/l2/x", "/l3"], kind="MultiHash"), **WIDE)
    assert (await sdk(three.read))["partitionKey"]["kind"] == "MultiHash"
    triples = [["a", "b", "c"], ["a", "b", True], ["a", 1, "é"]]
    await round_trip(sdk, three, [(t, {"l1": t[0], "l2": {"x": t[1]}, "l3": t[2]}) for t in triples])
    for name, l1, l2 in (("p", "a", "b"), ("q", "a", "z"), ("r", "n", "b")):
        await sdk(three.create_item, {"id": name, "l1": l1, "l2": {"x": l2}, "l3": "c"})
    prefix = await sdk.all(three.query_items("SELECT * FROM c", partition_key=["a"]))
    assert sorted(i["id"] for i in prefix) == ["p", "q"]


async def test_B14_versions(sdk, make):
    for version in (1, 2):
        container = await make(version=version, **WIDE)
        assert (await sdk(container.read))["partitionKey"]["version"] == version
        await round_trip(sdk, container, [(k, {"pk": k}) for k in ("x", 7, True, "long" * 20)])


async def test_B15_unicode_keys(sdk, make):
    container = await make(**WIDE)
    keys = ["é", "日本語", "🪐 orbit", 'a"b\\c', "tab\tnew\nline", "e\u0301", "ß", "\u200b", "Ω≈ç√"]
    await round_trip(sdk, container, [(k, {"pk": k}) for k in keys])


async def test_B16_long_keys(sdk, container):
    at = "k" * 2048
    await round_trip(sdk, container, [(k, {"pk": k}) for k in (at, at[1:], "é" * 1024)])
    await sdk.fails(400, sdk(container.create_item, {"id": "1", "pk": at + "x"}))


async def test_B17_life_of_an_item(sdk, container):
    created = await sdk(container.create_item, {"id": "1", "pk": "a", "n": 1})
    assert user_properties(created) == {"id": "1", "pk": "a", "n": 1}
    assert dict(await sdk(container.read_item, "1", "a")) == dict(created)
    replaced = await sdk(container.replace_item, "1", {"id": "1", "pk": "a", "n": 2})
    assert replaced["n"] == 2 and replaced["_rid"] == created["_rid"]
    assert (await sdk(container.upsert_item, {"id": "1", "pk": "a", "n": 3}))["_rid"] == created["_rid"]
    await sdk(container.upsert_item, {"id": "2", "pk": "a", "n": 4})
    assert (await sdk(container.read_item, "1", "a"))["n"] == 3
    await sdk(container.delete_item, "1", "a")
    await sdk.fails(404, sdk(container.read_item, "1", "a"))
    assert (await sdk(container.read_item, "2", "a"))["n"] == 4


async def test_B18_conflict_and_not_found(sdk, container):
    await sdk(container.create_item, {"id": "1", "pk": "a", "n": 1})
    await sdk.fails(409, sdk(container.create_item, {"id": "1", "pk": "a", "n": 2}))
    assert (await sdk(container.read_item, "1", "a"))["n"] == 1
    error = await sdk.fails(404, sdk(container.read_item, "1", "b"))
    assert error.sub_status in (None, 0)
    await sdk.fails(404, sdk(container.replace_item, "2", {"id": "2", "pk": "a"}))
    await sdk.fails(404, sdk(container.patch_item, "2", "a", [{"op": "set", "path": "/x", "value": 1}]))
    await sdk.fails(404, sdk(container.delete_item, "2", "a"))


async def test_B19_if_match(sdk, container):
    def when(etag):
        return {"etag": etag, "match_condition": MatchConditions.IfNotModified}

    first = (await sdk(container.create_item, {"id": "1", "pk": "a", "n": 1}))["_etag"]
    second = (await sdk(container.replace_item, "1", {"id": "1", "pk": "a", "n": 2}, **when(first)))["_etag"]
    assert first != second
    await sdk.fails(412, sdk(container.replace_item, "1", {"id": "1", "pk": "a", "n": 9}, **when(first)))
    await sdk.fails(412, sdk(container.upsert_item, {"id": "1", "pk": "a", "n": 9}, **when(first)))
    await sdk.fails(412, sdk(container.patch_item, "1", "a", [{"op": "set", "path": "/n", "value": 9}], **when(first)))
    await sdk.fails(412, sdk(container.delete_item, "1", "a", **when(first)))
    assert (await sdk(container.read_item, "1", "a"))["n"] == 2
    present = {"match_condition": MatchConditions.IfPresent}
    assert (await sdk(container.replace_item, "1", {"id": "1", "pk": "a", "n": 3}, **present))["n"] == 3
    third = (await sdk(container.read_item, "1", "a"))["_etag"]
    await sdk(container.delete_item, "1", "a", **when(third))
    await sdk.fails(404, sdk(container.read_item, "1", "a"))


async def test_B20_if_none_match(sdk, container):
    created = await sdk(container.create_item, {"id": "1", "pk": "a"})
    condition = {"etag": created["_etag"], "match_condition": MatchConditions.IfModified}
    unchanged = await sdk(container.read_item, "1", "a", **condition)
    assert dict(unchanged) == {}
    assert header(unchanged, "etag") == created["_etag"]
    await sdk(container.replace_item, "1", {"id": "1", "pk": "a", "n": 2})
    assert (await sdk(container.read_item, "1", "a", **condition))["n"] == 2


async def test_B21_system_properties(sdk, container):
    now = int(time.time())
    item = await sdk(container.create_item, {"id": "1", "pk": "a", "_rid": "x", "_ts": 1, "_etag": "y", "_self": "z"})
    definition = await sdk(container.read)
    assert abs(item["_ts"] - now) <= 60
    assert len(base64.b64decode(item["_rid"].replace("-", "/"))) == 16
    assert item["_self"] == f"{definition['_self']}docs/{item['_rid']}/"
    assert item["_etag"].startswith('"') and item["_etag"].endswith('"')
    assert header(item, "etag") == item["_etag"]
    assert item["_attachments"] == "attachments/"
    assert list(item) == ["id", "pk", "_rid", "_self", "_etag", "_attachments", "_ts"]


async def test_B22_special_ids(sdk, container):
    ids = ["a b", "50%", "%20", "a+b", "é", "日本", "🪐", "it's", 'say "x"', "a&b=c", "a:b;c,d", "x@y", "(1)[2]{3}", "~", "dbs", "a%2Fb", "`^|<>$"]
    for name in ids:
        assert (await sdk(container.create_item, {"id": name, "pk": "a"}))["id"] == name
        assert (await sdk(container.read_item, name, "a"))["id"] == name
        assert (await sdk(container.replace_item, name, {"id": name, "pk": "a", "n": 1}))["n"] == 1
    listed = await sdk.all(container.read_all_items())
    assert sorted(i["id"] for i in listed) == sorted(ids)
    for name in ids:
        await sdk(container.delete_item, name, "a")
    assert await sdk.all(container.read_all_items()) == []


async def test_B23_order_and_numbers(sdk, container):
    body = {
        "zebra": 1, "id": "1", "apple": [1, "two", None, True, {"z": 1, "a": 2}, []], "pk": "a", "with space": "",
        "": "empty name", "日本": "🪐", "num": [0, -1, 1.5, 1e21, 5e-324, 1.7976931348623157e308, 9007199254740993, 0.1, 1.0, 18446744073709551615],
        "text": 'quote " back \\ slash / tab \t nul \u0000 del \u007f ls \u2028', "obj": {"b": {}, "a": {"c": [[[]]]}}, "$v": 1, "a.b": 2, "a/b": 3,
    }
    await sdk(container.create_item, body)
    read = user_properties(await sdk(container.read_item, "1", "a"))
    assert json.dumps(read) == json.dumps(body)  # 1.0 stays a float, integers beyond 2^53 stay exact


async def test_B24_no_response(sdk, container):
    created = await sdk(container.create_item, {"id": "1", "pk": "a"}, no_response=True)
    assert dict(created) == {} and header(created, "etag")
    replaced = await sdk(container.replace_item, "1", {"id": "1", "pk": "a", "n": 1}, no_response=True)
    assert dict(replaced) == {}
    upserted = await sdk(container.upsert_item, {"id": "1", "pk": "a", "n": 2}, no_response=True)
    assert dict(upserted) == {}
    patched = await sdk(container.patch_item, "1", "a", [{"op": "incr", "path": "/n", "value": 1}], no_response=True)
    assert dict(patched) == {}
    read = await sdk(container.read_item, "1", "a")
    assert read["n"] == 3 and read["_etag"] == header(patched, "etag")


async def test_B25_two_megabytes(sdk, container):
    def body(size):
        frame = len(json.dumps({"id": "1", "pk": "a", "s": ""}, separators=(",", ":")))
        return {"id": "1", "pk": "a", "s": "x" * (size - frame)}

    await sdk.fails(413, sdk(container.create_item, body(2 * 1024 * 1024 + 1)))
    await sdk.fails(404, sdk(container.read_item, "1", "a"))
    created = await sdk(container.create_item, body(2 * 1024 * 1024 - 4096))
    assert len((await sdk(container.read_item, "1", "a"))["s"]) == len(created["s"])
    await sdk.fails(413, sdk(container.upsert_item, body(2 * 1024 * 1024 + 1)))


async def test_B26_bad_ids(sdk, container):
    await sdk.fails(400, sdk(container.create_item, {"pk": "a"}))
    await sdk.fails(400, sdk(container.create_item, {"id": "", "pk": "a"}))
    await sdk.fails(400, sdk(container.create_item, {"id": "x" * 1024, "pk": "a"}))
    await sdk(container.create_item, {"id": "x" * 1023, "pk": "a"})
    assert (await sdk(container.read_item, "x" * 1023, "a"))["pk"] == "a"
    generated = await sdk(container.create_item, {"pk": "a"}, enable_automatic_id_generation=True)
    assert len(generated["id"]) == 36
    await sdk(container.create_item, {"id": "1", "pk": "a"})
    await sdk.fails(400, sdk(container.replace_item, "1", {"id": "2", "pk": "a"}))


async def test_B27_patch(sdk, container):
    await sdk(container.create_item, {"id": "1", "pk": "a", "n": 1, "gone": True, "from": "here", "f": 1.5})
    patched = await sdk(container.patch_item, "1", "a", [
        {"op": "add", "path": "/added", "value": {"x": 1}},
        {"op": "set", "path": "/added/y", "value": [1]},
        {"op": "replace", "path": "/n", "value": 5},
        {"op": "remove", "path": "/gone"},
        {"op": "incr", "path": "/n", "value": 2},
        {"op": "incr", "path": "/fresh", "value": 3},
        {"op": "incr", "path": "/f", "value": -0.25},
        {"op": "move", "from": "/from", "path": "/to"},
    ])
    assert user_properties(patched) == {
        "id": "1", "pk": "a", "n": 7, "f": 1.25, "added": {"x": 1, "y": [1]}, "fresh": 3, "to": "here",
    }
    assert dict(await sdk(container.read_item, "1", "a")) == dict(patched)


async def test_B28_patch_arrays(sdk, container):
    await sdk(container.create_item, {"id": "1", "pk": "a", "list": ["a", "b", "c"], "x/y": 1, "m~n": 1})
    patched = await sdk(container.patch_item, "1", "a", [
        {"op": "add", "path": "/list/1", "value": "inserted"},
        {"op": "add", "path": "/list/-", "value": "last"},
        {"op": "set", "path": "/list/0", "value": "A"},
        {"op": "remove", "path": "/list/2"},
        {"op": "replace", "path": "/x~1y", "value": 2},
        {"op": "incr", "path": "/m~0n", "value": 1},
    ])
    assert user_properties(patched) == {"id": "1", "pk": "a", "list": ["A", "inserted", "c", "last"], "x/y": 2, "m~n": 2}


async def test_B29_conditional_patch(sdk, container):
    await sdk(container.create_item, {"id": "1", "pk": "a", "n": 1})
    operations = [{"op": "incr", "path": "/n", "value": 1}]
    await sdk.fails(412, sdk(container.patch_item, "1", "a", operations, filter_predicate="from c where c.n = 5"))
    assert (await sdk(container.read_item, "1", "a"))["n"] == 1
    patched = await sdk(container.patch_item, "1", "a", operations, filter_predicate="from c where c.n = 1")
    assert patched["n"] == 2


async def test_B30_refused_patches(sdk, container):
    before = await sdk(container.create_item, {"id": "1", "pk": "a", "s": "text", "list": [1]})

    def setting(n):
        return {"op": "set", "path": f"/p{n}", "value": n}

    for bad in (
        [setting(n) for n in range(11)],
        [setting(1), {"op": "replace", "path": "/none", "value": 1}],
        [setting(1), {"op": "remove", "path": "/none"}],
        [setting(1), {"op": "incr", "path": "/s", "value": 1}],
        [setting(1), {"op": "set", "path": "/id", "value": "2"}],
        [setting(1), {"op": "set", "path": "/pk", "value": "b"}],
        [setting(1), {"op": "set", "path": "/_ts", "value": 1}],
        [setting(1), {"op": "add", "path": "/list/5", "value": 1}],
        [setting(1), {"op": "move", "from": "/none", "path": "/x"}],
        [setting(1), {"op": "jump", "path": "/x", "value": 1}],
    ):
        await sdk.fails(400, sdk(container.patch_item, "1", "a", bad))
    assert dict(await sdk(container.read_item, "1", "a")) == dict(before)
    assert (await sdk(container.patch_item, "1", "a", [setting(n) for n in range(10)]))["p9"] == 9


async def test_B31_container_ttl(sdk, make):
    container = await make(default_ttl=2)
    await sdk(container.create_item, {"id": "stays", "pk": "a", "ttl": -1})
    await sdk(container.create_item, {"id": "1", "pk": "a"})
    await asyncio.sleep(3.2)
    await sdk.fails(404, sdk(container.read_item, "1", "a"))
    assert [i["id"] for i in await sdk.all(container.read_all_items())] == ["stays"]
    await sdk.fails(404, sdk(container.replace_item, "1", {"id": "1", "pk": "a"}))
    await sdk(container.create_item, {"id": "1", "pk": "a"})


async def test_B32_item_ttl(sdk, make, container):
    ttl = await make(default_ttl=-1)
    await sdk(ttl.create_item, {"id": "short", "pk": "a", "ttl": 2})
    await sdk(ttl.create_item, {"id": "kept", "pk": "a", "ttl": 2})
    await sdk(ttl.create_item, {"id": "forever", "pk": "a"})
    await sdk.fails(400, sdk(ttl.create_item, {"id": "zero", "pk": "a", "ttl": 0}))
    await sdk.fails(400, sdk(ttl.create_item, {"id": "text", "pk": "a", "ttl": "5"}))
    await sdk(ttl.upsert_item, {"id": "kept", "pk": "a", "ttl": 3000})
    await sdk(container.create_item, {"id": "ignored", "pk": "a", "ttl": 1})
    await sdk(container.create_item, {"id": "ordinary", "pk": "a", "ttl": "text"})
    await asyncio.sleep(3.2)
    await sdk.fails(404, sdk(ttl.read_item, "short", "a"))
    for name in ("kept", "forever"):
        await sdk(ttl.read_item, name, "a")
    await sdk(container.read_item, "ignored", "a")


async def test_B33_unique_keys(sdk, make):
    container = await make(unique_key_policy={"uniqueKeys": [{"paths": ["/email"]}, {"paths": ["/k/a", "/b"]}]})

    def item(name, email, a, b, pk="a"):
        return {"id": name, "pk": pk, "email": email, "k": {"a": a}, "b": b}

    await sdk(container.create_item, item("1", "x@y", 1, 1))
    await sdk.fails(409, sdk(container.create_item, item("2", "x@y", 2, 2)))
    await sdk(container.create_item, item("2", "x@y", 1, 1, pk="b"))
    await sdk.fails(409, sdk(container.create_item, item("3", "other", 1, 1)))
    await sdk(container.create_item, item("3", "third", 1, "1"))
    await sdk.fails(409, sdk(container.replace_item, "3", item("3", "x@y", 1, "1")))
    await sdk.fails(409, sdk(container.upsert_item, item("3", "x@y", 1, "1")))
    await sdk.fails(409, sdk(container.patch_item, "3", "a", [{"op": "set", "path": "/email", "value": "x@y"}]))
    assert (await sdk(container.read_item, "3", "a"))["email"] == "third"
    await sdk(container.replace_item, "3", item("3", "third", 9, 9))
    await sdk(container.create_item, {"id": "n1", "pk": "a", "k": {"a": 5}, "b": 5})
    await sdk.fails(409, sdk(container.create_item, item("n2", None, 6, 6)))
    await sdk(container.delete_item, "1", "a")
    await sdk(container.create_item, item("again", "x@y", 1, 1))


async def test_B52_session(sdk, container):
    created = await sdk(container.create_item, {"id": "1", "pk": "a"})
    token = header(created, "x-ms-session-token")
    assert ":" in token and "#" in token
    read = await sdk(container.read_item, "1", "a", session_token=token)
    assert header(read, "x-ms-session-token")
    for n in range(20):
        await sdk(container.upsert_item, {"id": "2", "pk": "a", "n": n})
        assert (await sdk(container.read_item, "2", "a"))["n"] == n


async def test_B53_charges(sdk, container, make):
    assert charge(await sdk(container.create_item, {"id": "1", "pk": "a"})) == 5.71
    assert charge(await sdk(container.read_item, "1", "a")) == 1.00
    conflict = await sdk.fails(409, sdk(container.create_item, {"id": "1", "pk": "a"}))
    assert float(conflict.headers["x-ms-request-charge"]) == 1.24
    missing = await sdk.fails(404, sdk(container.read_item, "none", "a"))
    assert float(missing.headers["x-ms-request-charge"]) == 1.00
    a = {"id": "7", "pk": "t1", "tags": ["x", "y", "x"], "dim": {"w": 1, "h": 1.0}, "ok": True, "gone": None, "none": [], "sub": {}}
    assert charge(await sdk(container.create_item, a)) == 8.00
    assert charge(await sdk(container.create_item, {"id": "é", "pk": 'a"b', "n": 1.5})) == 6.10
    tenant = await make(
        path="/tenant", unique_key_policy={"uniqueKeys": [{"paths": ["/email"]}]},
    )
    b = {"id": "u1", "tenant": "acme", "name": "Ann", "age": 31, "email": "ann@example.com"}
    assert charge(await sdk(tenant.create_item, b)) == 7.05  # 5 pairs, 1 unique key: 11 terms
    assert charge(await sdk(tenant.replace_item, "u1", {**b, "age": 32})) == 10.67
    assert charge(await sdk(tenant.patch_item, "u1", "acme", [{"op": "set", "path": "/age", "value": 33}])) == 11.07


async def test_B55_not_indexed(sdk, make, container):
    none = await make(indexing_policy={"indexingMode": "none", "automatic": False})
    assert (await sdk(none.read))["indexingPolicy"]["indexingMode"] == "none"
    assert charge(await sdk(none.create_item, {"id": "1", "pk": "a"})) == 4.95
    assert (await sdk(none.read_item, "1", "a"))["id"] == "1"
    assert len(await sdk.all(none.read_all_items())) == 1
    excluded = await sdk(container.create_item, {"id": "1", "pk": "a"}, indexing_directive=IndexingDirective.Exclude)
    assert charge(excluded) == 4.95


async def test_B56_concurrent_writers(sdk, container):
    async def together(calls):
        if sdk.flavour == "async":
            return await asyncio.gather(*(method(*args, **kwargs) for method, args, kwargs in calls), return_exceptions=True)

        def one(call):
            try:
                return call[0](*call[1], **call[2])
            except CosmosHttpResponseError as error:
                return error

        with ThreadPoolExecutor(8) as pool:
            return list(pool.map(one, calls))

    outcomes = await together([(container.create_item, ({"id": "one", "pk": "a", "n": n},), {}) for n in range(16)])
    won = [o for o in outcomes if not isinstance(o, BaseException)]
    assert len(won) == 1
    assert all(o.status_code == 409 for o in outcomes if isinstance(o, BaseException))
    assert (await sdk(container.read_item, "one", "a"))["n"] == won[0]["n"]
    await sdk(container.create_item, {"id": "sum", "pk": "a", "n": 0})
    increment = [{"op": "incr", "path": "/n", "value": 1}]
    results = await together([(container.patch_item, ("sum", "a", increment), {})] * 40)
    assert not [r for r in results if isinstance(r, BaseException)]
    current = await sdk(container.read_item, "sum", "a")
    assert current["n"] == 40
    condition = {"etag": current["_etag"], "match_condition": MatchConditions.IfNotModified}
    races = await together([(container.replace_item, ("sum", {"id": "sum", "pk": "a", "n": -n}), condition) for n in range(8)])
    failed = [r for r in races if isinstance(r, BaseException)]
    assert len(failed) == 7 and all(r.status_code == 412 for r in failed)
