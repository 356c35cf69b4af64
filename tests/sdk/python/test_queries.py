"""Queries over three ranges, sent whole: B57–B63."""
from collections import Counter

from conftest import user_properties

ITEMS = [
    {"id": f"i{n:04}", "pk": f"k{n % 37}", "n": n * 73 % 100, "tie": n % 3, "g": f"g{n % 7}", "price": n % 10 + 0.5}
    | ({"some": n} if n % 4 else {})
    for n in range(100)
]
COMPOSITE = [[{"path": "/tie", "order": "ascending"}, {"path": "/n", "order": "descending"}]]


async def filled(sdk, make, composite=False):
    options = {"indexing_policy": {"compositeIndexes": COMPOSITE}} if composite else {}
    container = await make(offer_throughput=18000, **options)
    for item in ITEMS:
        await sdk(container.create_item, item)
    cross = {"enable_cross_partition_query": True} if sdk.flavour == "sync" else {}

    def query(text, **options):
        return container.query_items(text, max_item_count=13, **cross, **options)

    async def run(text, **parameters):
        pairs = [{"name": f"@{k}", "value": v} for k, v in parameters.items()]
        feed, out = query(text, parameters=pairs), []
        feed = aiter(feed) if hasattr(feed, "__aiter__") else iter(feed)
        while len(out) < 1000:  # more is an endless feed
            try:
                out.append(await anext(feed) if hasattr(feed, "__anext__") else next(feed))
            except (StopIteration, StopAsyncIteration):
                break
        return out

    return query, run


async def test_B57_order_by(sdk, make):
    _, run = await filled(sdk, make)
    assert await run("SELECT VALUE c.n FROM c ORDER BY c.n") == list(range(100))
    assert await run("SELECT VALUE c.n FROM c WHERE c.n >= 50 ORDER BY c.n DESC") == list(range(99, 49, -1))
    assert await run("SELECT VALUE c.id FROM c ORDER BY c.id DESC") == [i["id"] for i in reversed(ITEMS)]
    ties = await run("SELECT c.id, c.tie FROM c ORDER BY c.tie DESC")
    assert [r["tie"] for r in ties] == sorted((i["tie"] for i in ITEMS), reverse=True)
    assert len({r["id"] for r in ties}) == 100
    assert [user_properties(i) for i in await run("SELECT * FROM c ORDER BY c.id")] == ITEMS
    missing = await run("SELECT c.id, c.some FROM c ORDER BY c.some")
    assert all("some" not in r for r in missing[:25]) and [r["some"] for r in missing[25:]] == [n for n in range(100) if n % 4]


async def test_B57_order_by_two_keys(sdk, make):
    _, run = await filled(sdk, make, composite=True)
    expected = [i["id"] for i in sorted(ITEMS, key=lambda i: (i["tie"], -i["n"]))]
    assert await run("SELECT VALUE c.id FROM c ORDER BY c.tie ASC, c.n DESC") == expected
    assert await run("SELECT VALUE c.id FROM c ORDER BY c.tie DESC, c.n ASC") == expected[::-1]


async def test_B58_resumed(sdk, make):
    query, _ = await filled(sdk, make)
    for text, expected in (
        ("SELECT VALUE c.n FROM c ORDER BY c.n", list(range(100))),
        ("SELECT VALUE c.id FROM c ORDER BY c.id DESC", [i["id"] for i in reversed(ITEMS)]),
    ):
        seen, token = [], None
        for _ in range(60):
            page, token = await sdk.first_page(query(text), token)
            seen += page
            if not token:
                break
        assert seen == expected
    for direction in ("ASC", "DESC"):
        seen, token = [], None
        for _ in range(60):
            page, token = await sdk.first_page(query(f"SELECT c.id, c.tie FROM c ORDER BY c.tie {direction}"), token)
            seen += page
            if not token:
                break
        assert [r["tie"] for r in seen] == sorted((i["tie"] for i in ITEMS), reverse=direction == "DESC")
        assert len({r["id"] for r in seen}) == 100


async def test_B59_aggregates(sdk, make):
    _, run = await filled(sdk, make)
    assert await run("SELECT VALUE COUNT(1) FROM c") == [100]
    assert await run("SELECT VALUE COUNT(c.some) FROM c") == [75]
    assert await run("SELECT VALUE SUM(c.n) FROM c") == [4950]
    assert await run("SELECT VALUE AVG(c.n) FROM c") == [49.5]
    assert await run("SELECT VALUE MIN(c.price) FROM c") == [0.5]
    assert await run("SELECT VALUE MAX(c.id) FROM c") == ["i0099"]
    assert await run("SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'none'") == [0]
    assert await run("SELECT COUNT(1) AS n, AVG(c.price) AS p, MIN(c.n), MAX(c.n) AS high FROM c") == [{"n": 100, "p": 5, "$1": 0, "high": 99}]


async def test_B60_group_by(sdk, make):
    _, run = await filled(sdk, make)
    counts = Counter(i["g"] for i in ITEMS)
    assert {r["g"]: r["n"] for r in await run("SELECT c.g, COUNT(1) AS n FROM c GROUP BY c.g")} == counts
    assert sorted(await run("SELECT VALUE c.g FROM c GROUP BY c.g")) == sorted(counts)
    high = {t: max(i["n"] for i in ITEMS if i["tie"] == t) for t in range(3)}
    assert {r["tie"]: r["high"] for r in await run("SELECT c.tie, MAX(c.n) AS high FROM c GROUP BY c.tie")} == high


async def test_B61_distinct(sdk, make):
    _, run = await filled(sdk, make)
    groups = [f"g{n}" for n in range(7)]
    assert sorted(await run("SELECT DISTINCT VALUE c.g FROM c")) == groups
    assert sorted(r["g"] for r in await run("SELECT DISTINCT c.g FROM c")) == groups
    assert await run("SELECT DISTINCT VALUE c.g FROM c ORDER BY c.g") == groups
    assert len(set(await run("SELECT DISTINCT TOP 3 VALUE c.g FROM c"))) == 3


async def test_B62_windows(sdk, make):
    _, run = await filled(sdk, make)
    assert len(await run("SELECT TOP 17 * FROM c")) == 17
    assert await run("SELECT TOP 0 * FROM c") == []
    assert await run("SELECT TOP 30 VALUE c.n FROM c ORDER BY c.n") == list(range(30))
    assert await run("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 25 LIMIT 40") == list(range(25, 65))
    assert len({r["id"] for r in await run("SELECT c.id FROM c OFFSET 90 LIMIT 40")}) == 10
    assert await run("SELECT * FROM c OFFSET 300 LIMIT 40") == []


async def test_B63_filters(sdk, make):
    _, run = await filled(sdk, make)
    k3 = [i["id"] for i in ITEMS if i["pk"] == "k3"]
    assert await run("SELECT VALUE c.id FROM c WHERE c.pk = 'k3' ORDER BY c.id") == k3
    assert await run("SELECT VALUE c.id FROM c WHERE c.pk = 'k3' AND c.pk = 'k4'") == []
    assert len(await run("SELECT * FROM c WHERE c.pk = 'k3' OFFSET 1 LIMIT 2")) == 2
    assert await run("SELECT VALUE 1 + 1") == [2]
    assert await run("SELECT VALUE c.n FROM c WHERE c.n < @m ORDER BY c.n OFFSET @o LIMIT @l", m=9, o=2, l=4) == [2, 3, 4, 5]
