"""Queries over three ranges, sent whole: B57–B63, B99."""
import json
from collections import Counter

from conftest import user_properties



def made(count):
    return [
        {"id": f"i{n:04}", "pk": f"k{n % 37}", "n": n * 73 % count, "tie": n % 3, "g": f"g{n % 7}", "price": n % 10 + 0.5}
        | ({"some": n} if n % 4 else {})
        for n in range(count)
    ]


ITEMS = made(100)
COMPOSITE = [[{"path": "/tie", "order": "ascending"}, {"path": "/n", "order": "descending"}]]


async def filled(sdk, make, composite=False, items=ITEMS):
    options = {"indexing_policy": {"compositeIndexes": COMPOSITE}} if composite else {}
    container = await make(offer_throughput=18000, **options)
    for item in items:
        await sdk(container.create_item, item)
    cross = {"enable_cross_partition_query": True} if sdk.flavour == "sync" else {}

    def query(text, **options):
        return container.query_items(text, **{"max_item_count": 13} | cross | options)

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


# -1 is as many as the server likes; without a size the header is not sent.
SIZES = [*range(1, 13), 16, 19, 29, 31, 59, 60, 61, 199, 200, 201, -1, None]


async def test_B99_page_sizes(sdk, make):
    items = made(200)
    query, _ = await filled(sdk, make, composite=True, items=items)
    groups = {g: [i["n"] for i in items if i["g"] == g] for g in {i["g"] for i in items}}
    two = sorted((i for i in items if i["n"] < 50), key=lambda i: (i["tie"], -i["n"]))
    for text, expected in (
        ("SELECT VALUE c.n FROM c WHERE c.n < 60", list(range(60))),
        ("SELECT VALUE c.n FROM c WHERE c.tie = 1 AND c.n > 20", [i["n"] for i in items if i["tie"] == 1 and i["n"] > 20]),
        ("SELECT VALUE c.n FROM c ORDER BY c.n", list(range(200))),
        ("SELECT VALUE c.n FROM c WHERE c.n > 140 ORDER BY c.n DESC", list(range(199, 140, -1))),
        ("SELECT c.tie, c.n FROM c WHERE c.n < 50 ORDER BY c.tie, c.n DESC", [{"tie": i["tie"], "n": i["n"]} for i in two]),
        ("SELECT DISTINCT VALUE c.g FROM c", list(groups)),
        ("SELECT DISTINCT c.g, c.tie FROM c", [{"g": g, "tie": t} for g, t in {(i["g"], i["tie"]) for i in items}]),
        ("SELECT c.g, COUNT(1) AS k, SUM(c.n) AS s FROM c GROUP BY c.g", [{"g": g, "k": len(n), "s": sum(n)} for g, n in groups.items()]),
        ("SELECT VALUE AVG(c.n) FROM c", [99.5]),
        ("SELECT TOP 17 VALUE c.n FROM c ORDER BY c.n", list(range(17))),
        ("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 7 LIMIT 30", list(range(7, 37))),
    ):
        arranged = list if "ORDER BY" in text else lambda rows: sorted(rows, key=json.dumps)
        for size in SIZES:
            pages = [rows for rows, _ in await sdk.pages(query(text, max_item_count=size))]
            assert arranged([r for rows in pages for r in rows]) == arranged(expected), f"{text} by {size}"
            assert size in (-1, None) or all(len(rows) <= size for rows in pages), f"{text} by {size}"
