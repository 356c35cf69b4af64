"""Throughput that is enforced: B64–B67. These run against a server of their own that throttles."""
import os
import time

import pytest
from azure.cosmos import PartitionKey, ThroughputProperties
from azure.cosmos.exceptions import CosmosHttpResponseError

import conftest
from conftest import unique

THROTTLED = os.environ.get("ORRERY_THROTTLED_ENDPOINT")
pytestmark = pytest.mark.skipif(not THROTTLED, reason="no throttling server in this run")

RANGE = "x-ms-documentdb-partitionkeyrangeid"


@pytest.fixture
async def throttling(sdk, monkeypatch):
    """open(throughput) -> the same container through a client without retries and one with the SDK's own."""
    monkeypatch.setattr(conftest, "ENDPOINT", THROTTLED)
    impatient = await sdk.client(retry_throttle_total=-1)  # the SDK reads 0 as its default
    patient = await sdk.client()
    database = await sdk(patient.create_database, unique())

    async def open(throughput):
        made = await sdk(
            database.create_container, unique("c"), PartitionKey(path="/pk", version=2), offer_throughput=throughput
        )
        return impatient.get_database_client(database.id).get_container_client(made.id), made

    yield open
    await sdk(patient.delete_database, database.id)


async def refused(awaitable):
    try:
        await awaitable
    except CosmosHttpResponseError as error:
        assert error.status_code == 429, error
        assert error.sub_status == 3200
        assert int(error.headers["x-ms-retry-after-ms"]) >= 1
        return True
    return False


def burn(sdk, container, pk):
    """A patch of a large item: about 2,400 RU for a few bytes."""
    return sdk(container.patch_item, "large", pk, [{"op": "incr", "path": "/n", "value": 1}], no_response=True)


def large(pk):
    return {"id": "large", "pk": pk, "n": 0, "s": "x" * 1_900_000}


def autoscale(maximum):
    return ThroughputProperties(auto_scale_max_throughput=maximum)


async def test_B64_a_hot_key(sdk, throttling):
    container, patient = await throttling(autoscale(30000))
    keys = {}
    i = 0
    while len(keys) < 3:
        made = await sdk(container.create_item, {"id": "small", "pk": f"tenant{i}"})
        keys.setdefault(made.get_response_headers()[RANGE], f"tenant{i}")
        i += 1
    hot, *calm = keys.values()
    await sdk(patient.create_item, large(hot))
    refusals = 0
    for i in range(200):
        if refusals == 3:
            break
        if not await refused(burn(sdk, container, hot)):
            continue
        refusals += 1
        for pk in calm:
            await sdk(container.read_item, "small", pk)
            await sdk(container.upsert_item, {"id": "small", "pk": pk, "at": i})
    assert refusals > 0
    for i in range(4):  # the SDK waits as it is told, and gets through
        await sdk(patient.replace_item, "small", {"id": "small", "pk": hot, "i": i})
    assert (await sdk(patient.read_item, "small", hot))["i"] == 3


async def test_B65_autoscale(sdk, throttling):
    container, patient = await throttling(autoscale(10000))

    async def current():
        link = (await sdk(patient.read))["_self"].strip("/")
        offers = patient.client_connection.QueryOffers({
            "query": "SELECT * FROM root r WHERE r.resource = @link", "parameters": [{"name": "@link", "value": "/" + link}],
        })
        return (await sdk.all(offers))[0]["content"]["offerThroughput"]

    assert await current() == 1000
    await sdk(patient.create_item, large("a"))
    highest, end = 0, time.monotonic() + 20
    while highest < 4000 and time.monotonic() < end:
        for _ in range(4):
            await refused(burn(sdk, container, "a"))
        highest = max(highest, await current())
    assert 4000 <= highest <= 10000
    time.sleep(8)
    assert await current() == 1000


async def test_B66_priority(sdk, throttling):
    container, patient = await throttling(400)
    await sdk(patient.create_item, {"id": "small", "pk": "a"})
    await sdk(patient.create_item, {"id": "debt", "pk": "a", "s": "x" * 500_000})
    low_alone = low_before = 0
    for round in range(5):
        await sdk(patient.patch_item, "debt", "a", [{"op": "set", "path": "/n", "value": round}], no_response=True)
        admitted, end = False, time.monotonic() + 10
        while time.monotonic() < end:
            high = not await refused(sdk(container.read_item, "small", "a"))
            low = not await refused(sdk(container.read_item, "small", "a", priority="Low"))
            low_before += low and not high and not admitted
            admitted = admitted or high
            low_alone += high and not low
            if low:
                break
            time.sleep(0.02)
        if low_alone:
            break
    assert low_alone > 0
    assert low_before == 0
