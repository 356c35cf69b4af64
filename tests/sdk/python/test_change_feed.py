"""The change feed's pull model: B70–B75."""
import asyncio
from datetime import datetime, timezone

import pytest
from azure.cosmos import PartitionKey

WIDE = {"offer_throughput": 18000}


def names(changes):
    return sorted(f"{c['id']}:{c['n']}" for c in changes)


class Reader:
    """Reads the feed and keeps the continuation token of the last answer."""

    def __init__(self, sdk, container):
        self.sdk, self.container, self.token = sdk, container, None

    async def read(self, **options):
        def hook(headers, *_):
            self.token = headers["etag"]

        feed = await self.sdk(self.container.query_items_change_feed, response_hook=hook, **options)
        changes = await self.sdk.all(feed)
        self.token = self.container.client_connection.last_response_headers["etag"]
        return changes


async def fill(sdk, container, count, n=0):
    for i in range(count):
        await sdk(container.upsert_item, {"id": f"i{i}", "pk": f"k{i % 17}", "n": n})


async def test_B70_beginning(sdk, make):
    container = await make(**WIDE)
    await fill(sdk, container, 60)
    await sdk(container.upsert_item, {"id": "i7", "pk": "k7", "n": 5})
    await sdk(container.delete_item, "i8", "k8")
    changes = await Reader(sdk, container).read(start_time="Beginning", max_item_count=7)
    assert names(changes) == sorted(f"i{i}:{5 if i == 7 else 0}" for i in range(60) if i != 8)
    last = {}
    for change in changes:
        assert change["_lsn"] > last.get(change["pk"], 0)
        last[change["pk"]] = change["_lsn"]


async def test_B71_starts(sdk, make):
    container = await make(**WIDE)
    await fill(sdk, container, 20)
    reader = Reader(sdk, container)
    assert await reader.read() == []  # from now
    token = reader.token
    await asyncio.sleep(2.1)
    time = datetime.now(timezone.utc)
    await asyncio.sleep(1.1)
    await fill(sdk, container, 5, 1)
    five = [f"i{i}:1" for i in range(5)]
    assert names(await reader.read(continuation=token)) == five
    token = reader.token
    # A continuation of this one cannot be used again: the SDK reads its start time as seconds, having written milliseconds.
    assert names(await reader.read(start_time=time)) == five
    await sdk(container.upsert_item, {"id": "late", "pk": "k3", "n": 9})
    assert names(await reader.read(continuation=token)) == ["late:9"]
    assert len(await reader.read(start_time="Beginning")) == 21


async def test_B72_scopes(sdk, make):
    container = await make(**WIDE)
    await fill(sdk, container, 60)
    reader = Reader(sdk, container)
    ranges = await sdk.all(container.read_feed_ranges())
    assert len(ranges) == 3
    parts = []
    for feed_range in ranges:
        part = await reader.read(start_time="Beginning", feed_range=feed_range)
        assert 0 < len(part) < 60
        parts += part
    assert len(parts) == 60 and len(set(names(parts))) == 60
    assert names(await reader.read(start_time="Beginning", partition_key="k3", max_item_count=2)) == sorted(["i3:0", "i20:0", "i37:0", "i54:0"])
    token = reader.token
    await sdk(container.upsert_item, {"id": "i3", "pk": "k3", "n": 2})
    await sdk(container.upsert_item, {"id": "i4", "pk": "k4", "n": 2})
    assert names(await reader.read(continuation=token)) == ["i3:2"]
    nested = await make(partition_key=PartitionKey(path=["/a", "/b"], kind="MultiHash"))
    for i in range(12):
        await sdk(nested.create_item, {"id": str(i), "a": f"a{i % 3}", "b": f"b{i % 2}", "n": 0})
    assert names(await Reader(sdk, nested).read(start_time="Beginning", partition_key=["a1"])) == sorted(["1:0", "4:0", "7:0", "10:0"])


async def test_B73_batch_and_expiry(sdk, make):
    container = await make(default_ttl=-1)
    await sdk(container.execute_item_batch, [("create", ({"id": f"b{i}", "pk": "a", "n": 1},)) for i in range(30)], "a")
    await sdk(container.create_item, {"id": "gone", "pk": "a", "n": 1, "ttl": 1})
    await sdk(container.create_item, {"id": "stays", "pk": "a", "n": 1})
    feed = await sdk(container.query_items_change_feed, start_time="Beginning", max_item_count=4)
    pages = await sdk.pages(feed)
    assert len(pages[0][0]) == 30 and len({c["_lsn"] for c in pages[0][0]}) == 1
    await asyncio.sleep(1.1)
    assert len(await Reader(sdk, container).read(start_time="Beginning")) == 31


async def test_B74_all_versions(sdk, make):
    container = await make(default_ttl=-1, change_feed_policy={"retentionDuration": 10})
    reader = Reader(sdk, container)
    assert await reader.read(mode="AllVersionsAndDeletes", start_time="Now") == []
    await sdk(container.create_item, {"id": "1", "pk": "a", "n": 1})
    await sdk(container.upsert_item, {"id": "1", "pk": "a", "n": 2})
    await sdk(container.replace_item, "1", {"id": "1", "pk": "a", "n": 3})
    await sdk(container.delete_item, "1", "a")
    changes = await reader.read(continuation=reader.token)
    assert [c["metadata"]["operationType"] for c in changes] == ["create", "replace", "replace", "delete"]
    assert [c["current"].get("n") for c in changes] == [1, 2, 3, None]
    assert [c.get("previous", {}).get("n") for c in changes] == [None, 1, 2, 3]
    assert changes[3]["metadata"]["id"] == "1" and changes[3]["metadata"]["partitionKey"] == {"pk": "a"}


async def test_B75_retention(sdk, make):
    container = await make()
    error = await sdk.fails(400, Reader(sdk, container).read(mode="AllVersionsAndDeletes", start_time="Now"))
    assert "changeFeedPolicy" in error.message
