"""Physical partitions that split and merge while a client works."""
import asyncio
import base64
import hashlib
import hmac
import json
import threading
import time
import urllib.parse
import urllib.request
from email.utils import formatdate

from conftest import ENDPOINT, KEY

STABLE = 300


def own(method, path, body=None):
    """The server's own endpoints, under /_orrery/, which no SDK knows."""
    date = formatdate(usegmt=True)
    text = f"{method.lower()}\n_orrery\n{path}\n{date.lower()}\n\n"
    signature = base64.b64encode(hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()).decode()
    request = urllib.request.Request(
        f"{ENDPOINT}/_orrery/{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "authorization": urllib.parse.quote(f"type=master&ver=1.0&sig={signature}", safe=""),
            "x-ms-date": date,
            "x-ms-version": "2018-12-31",
            "content-type": "application/json",
        },
    )
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read())


def change_ranges(path, verb, body):
    """Waits until it is done."""
    job = own("POST", f"{path}/{verb}", body)["job"]
    for _ in range(600):
        time.sleep(0.05)
        now = next(one for one in own("GET", f"{path}/partitions")["jobs"] if one["id"] == job["id"])
        if now["phase"] == "done":
            return now
        assert now["phase"] != "failed", now
    raise AssertionError(f"the {verb} does not come to an end")


async def in_thread(work, *args):
    return await asyncio.get_running_loop().run_in_executor(None, work, *args)


async def test_B80_splits_under_load(sdk, database, container):
    for n in range(STABLE):
        await sdk(container.create_item, {"id": f"s{n}", "pk": f"p{n % 40}", "n": n, "kind": "stable", "x": "x" * 200})
    path = f"containers/{database.id}/{container.id}"
    changes = []

    def change():
        time.sleep(0.2)
        changes.append(change_ranges(path, "split", {"rangeId": "0", "at": "bytes"}))
        time.sleep(0.2)
        changes.append(change_ranges(path, "split", {"rangeId": changes[0]["newRangeIds"][0]}))
        time.sleep(0.2)
        changes.append(change_ranges(path, "merge", {"rangeIds": changes[1]["newRangeIds"]}))

    thread = threading.Thread(target=change)
    thread.start()
    model = {}
    n = 0
    token = None
    seen = []
    finished = 0
    fed = {}
    position = None

    async def follow_feed():
        """What the change feed has since the last call; versions never go back."""
        nonlocal position
        start = {"start_time": "Beginning"} if position is None else {"continuation": position}
        changes = await sdk.all(await sdk(container.query_items_change_feed, max_item_count=11, **start))
        position = container.client_connection.last_response_headers["etag"]
        for change in changes:
            name = (change["pk"], change["id"])
            assert change["n"] >= fed.get(name, 0)
            fed[name] = change["n"]

    while thread.is_alive() or finished == 0:
        key, item_id = f"w{n % 17}", f"i{n % 3}"
        written = await sdk(container.upsert_item, {"id": item_id, "pk": key, "n": n, "kind": "written"})
        assert written["n"] == n
        model[key, item_id] = n
        read = await sdk(container.read_item, item_id, partition_key=key)
        assert read["n"] == n, "an acknowledged write is read back"
        n += 1
        # One more page of a query that goes on from token to token.
        feed = container.query_items(
            "SELECT VALUE c.n FROM c WHERE c.kind = 'stable'",
            max_item_count=13,
            **({"enable_cross_partition_query": True} if sdk.flavour == "sync" else {}),
        )
        rows, token = await sdk.first_page(feed, token)
        seen += rows
        await follow_feed()
        if token is None:
            assert sorted(seen) == list(range(STABLE)), "every row once"
            seen = []
            finished += 1
    thread.join()
    assert len(changes) == 3
    await follow_feed()
    assert len(fed) == len(model) + STABLE
    assert {name: fed[name] for name in model} == model
    written = await sdk.all(
        container.query_items(
            "SELECT c.pk, c.id, c.n FROM c WHERE c.kind = 'written'",
            **({"enable_cross_partition_query": True} if sdk.flavour == "sync" else {}),
        )
    )
    assert {(item["pk"], item["id"]): item["n"] for item in written} == model
    assert len(written) == len(model)
    ranges = own("GET", f"{path}/partitions")["ranges"]
    assert len(ranges) == 2 and sum(one["items"] for one in ranges) == len(model) + STABLE


async def test_B82_feed_ranges_of_before(sdk, database, container):
    """Feed ranges that a client took before a split cover the same items after it."""
    for n in range(60):
        await sdk(container.create_item, {"id": f"i{n}", "pk": f"p{n}"})
    ranges = await sdk.all(container.read_feed_ranges()) if sdk.flavour == "async" else list(container.read_feed_ranges())
    path = f"containers/{database.id}/{container.id}"
    await in_thread(change_ranges, path, "split", {"rangeId": "0"})
    found = []
    for one in ranges:
        found += await sdk.all(container.query_items("SELECT VALUE c.id FROM c", feed_range=one))
    assert sorted(found) == sorted(f"i{n}" for n in range(60))
    fresh = (
        [one async for one in container.read_feed_ranges(force_refresh=True)]
        if sdk.flavour == "async"
        else list(container.read_feed_ranges(force_refresh=True))
    )
    assert len(fresh) == 2
