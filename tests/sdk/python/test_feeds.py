"""Lists, queries, read many, delete by key, batch: B34–B41."""
import asyncio

import pytest
from azure.cosmos import PartitionKey
from azure.cosmos.exceptions import CosmosBatchOperationError

from conftest import user_properties

WIDE = {"offer_throughput": 18000}


def by_id(item):
    return item["id"]


def plain(items):
    return sorted((user_properties(i) for i in items), key=by_id)


async def fill(sdk, container, count):
    items = [{"id": f"i{n:04}", "pk": f"k{n % 37}", "n": n} for n in range(count)]
    for item in items:
        await sdk(container.create_item, item)
    return items


async def test_B34_read_all(sdk, make):
    container = await make(**WIDE)
    items = await fill(sdk, container, 120)
    pages = await sdk.pages(container.read_all_items(max_item_count=17))
    assert all(len(page) <= 17 for page, _ in pages)
    assert plain(i for page, _ in pages for i in page) == items
    assert len(await sdk.all(container.read_all_items())) == 120


async def test_B35_continuation(sdk, make):
    container = await make()
    items = await fill(sdk, container, 60)
    seen, token, rounds = [], None, 0
    extra = {"enable_cross_partition_query": True} if sdk.flavour == "sync" else {}
    while True:
        page, token = await sdk.first_page(container.query_items("SELECT * FROM c", max_item_count=11, **extra), token)
        seen += page
        rounds += 1
        assert rounds < 60, "the continuation must come to an end"
        if not token:
            break
    assert rounds > 1
    assert plain(seen) == items


async def test_B36_parameters(sdk, make):
    container = await make(**WIDE)
    items = await fill(sdk, container, 60)
    cross = {"enable_cross_partition_query": True} if sdk.flavour == "sync" else {}

    async def run(query, parameters, **options):
        pairs = [{"name": k, "value": v} for k, v in parameters.items()]
        return plain(await sdk.all(container.query_items(query, parameters=pairs, **options)))

    assert await run("SELECT * FROM c WHERE c.id = @id", {"@id": "i0007"}, **cross) == [items[7]]
    k3 = [i for i in items if i["pk"] == "k3"]
    assert await run("SELECT * FROM c WHERE c.pk = @pk", {"@pk": "k3"}, **cross) == k3
    assert await run("SELECT * FROM c", {}, partition_key="k3") == k3
    assert await run("SELECT * FROM c WHERE c.n >= @low AND c.n < @high", {"@low": 10, "@high": 13}, **cross) == items[10:13]
    assert await run("SELECT * FROM c WHERE c.id = @id", {"@id": "none"}, **cross) == []
    await sdk.fails(400, run("SELECT * FROM WHERE", {}, **cross))


async def test_B37_read_items(sdk, make):
    container = await make(**WIDE)
    items = await fill(sdk, container, 60)
    wanted = [(i["id"], i["pk"]) for i in items[5:45]]
    assert plain(await sdk(container.read_items, wanted)) == items[5:45]
    assert plain(await sdk(container.read_items, wanted[:1])) == items[5:6]
    assert await sdk(container.read_items, [("none", "k1"), ("i0001", "other")]) == []
    mixed = await sdk(container.read_items, [("none", "k1"), ("i0002", "k2"), ("i0002", "k3")])
    assert plain(mixed) == [items[2]]
    by_own_id = await make(path="/id", **WIDE)
    for n in range(20):
        await sdk(by_own_id.create_item, {"id": f"x{n:02}"})
    got = await sdk(by_own_id.read_items, [(f"x{n:02}", f"x{n:02}") for n in range(20)])
    assert [i["id"] for i in sorted(got, key=by_id)] == [f"x{n:02}" for n in range(20)]
    tree = await make(partition_key=PartitionKey(path=["/t", "/u"], kind="MultiHash"), **WIDE)
    for n in range(12):
        await sdk(tree.create_item, {"id": f"h{n:02}", "t": f"t{n % 3}", "u": n})
    got = await sdk(tree.read_items, [(f"h{n:02}", [f"t{n % 3}", n]) for n in range(12)])
    assert [i["id"] for i in sorted(got, key=by_id)] == [f"h{n:02}" for n in range(12)]


async def test_B38_delete_by_key(sdk, container):
    for n in range(25):
        await sdk(container.create_item, {"id": str(n), "pk": "odd" if n % 2 else "even"})
    await sdk(container.delete_all_items_by_partition_key, "odd")
    left = []
    for _ in range(600):  # the service does it in the background
        left = await sdk.all(container.read_all_items())
        if len(left) == 13:
            break
        await asyncio.sleep(0.05)
    assert len(left) == 13 and all(i["pk"] == "even" for i in left)
    await sdk.fails(404, sdk(container.read_item, "1", "odd"))
    await sdk(container.create_item, {"id": "1", "pk": "odd"})


async def test_B39_batch(sdk, container):
    for name in ("read", "replace", "patch", "delete"):
        await sdk(container.create_item, {"id": name, "pk": "a", "n": 1})
    results = await sdk(container.execute_item_batch, [
        ("create", ({"id": "new", "pk": "a"},)),
        ("upsert", ({"id": "ups", "pk": "a"},)),
        ("read", ("read",)),
        ("replace", ("replace", {"id": "replace", "pk": "a", "n": 2})),
        ("patch", ("patch", [{"op": "incr", "path": "/n", "value": 4}])),
        ("delete", ("delete",)),
        ("read", ("new",)),
    ], "a")
    assert [r["statusCode"] for r in results] == [201, 201, 200, 200, 200, 204, 200]
    assert all(r["requestCharge"] > 0 for r in results)
    assert results[3]["resourceBody"]["n"] == 2
    assert results[4]["resourceBody"]["n"] == 5
    assert results[6]["resourceBody"]["_etag"] == results[0]["eTag"]
    assert (await sdk(container.read_item, "patch", "a"))["n"] == 5
    await sdk.fails(404, sdk(container.read_item, "delete", "a"))


async def failed_batch(sdk, container, operations):
    with pytest.raises(CosmosBatchOperationError) as caught:
        await sdk(container.execute_item_batch, operations, "a")
    return caught.value, [r["statusCode"] for r in caught.value.operation_responses]


async def test_B40_batch_failure(sdk, container):
    await sdk(container.create_item, {"id": "there", "pk": "a", "n": 1})
    error, statuses = await failed_batch(sdk, container, [
        ("create", ({"id": "x", "pk": "a"},)),
        ("replace", ("there", {"id": "there", "pk": "a", "n": 2})),
        ("create", ({"id": "there", "pk": "a"},)),
        ("delete", ("there",)),
    ])
    assert statuses == [424, 424, 409, 424]
    assert error.error_index == 2
    await sdk.fails(404, sdk(container.read_item, "x", "a"))
    assert (await sdk(container.read_item, "there", "a"))["n"] == 1
    _, statuses = await failed_batch(sdk, container, [("delete", ("none",)), ("create", ({"id": "y", "pk": "a"},))])
    assert statuses == [404, 424]
    await sdk.fails(404, sdk(container.read_item, "y", "a"))


async def test_B41_batch_limits(sdk, container):
    def creates(count, **extra):
        return [("create", ({"id": f"b{n}", "pk": "a", **extra},)) for n in range(count)]

    await sdk.fails(400, sdk(container.execute_item_batch, creates(101), "a"))
    await sdk.fails(413, sdk(container.execute_item_batch, creates(30, s="x" * 100_000), "a"))
    full = await sdk(container.execute_item_batch, creates(100), "a")
    assert [r["statusCode"] for r in full] == [201] * 100
    etag = (await sdk(container.read_item, "b0", "a"))["_etag"]
    replace = ("b0", {"id": "b0", "pk": "a", "n": 1})
    _, statuses = await failed_batch(sdk, container, [
        ("create", ({"id": "c", "pk": "a"},)),
        ("replace", replace, {"if_match_etag": '"stale"'}),
    ])
    assert statuses == [424, 412]
    fresh = await sdk(container.execute_item_batch, [("replace", replace, {"if_match_etag": etag})], "a")
    assert [r["statusCode"] for r in fresh] == [200]
