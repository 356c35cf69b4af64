"""A client for the server under test, once synchronous and once asynchronous.

Every test is written once, against `sdk`: `await sdk(method, ...)` calls either flavour, `await sdk.all(feed)` and
`await sdk.pages(feed)` drain either kind of iterator. The parameter shows in the test's name as [sync] or [async].
"""
import inspect
import os
import re
import uuid

import pytest
from azure.cosmos import CosmosClient, PartitionKey
from azure.cosmos.aio import CosmosClient as AsyncCosmosClient
from azure.cosmos.exceptions import CosmosHttpResponseError

ENDPOINT = os.environ.get("ORRERY_ENDPOINT", "http://127.0.0.1:8081")
KEY = os.environ.get(
    "ORRERY_KEY", "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="
)
CA = os.environ.get("ORRERY_CA")
INSECURE = os.environ.get("ORRERY_INSECURE") == "1"  # other emulators with certificates of their own
READONLY_KEY = os.environ.get("ORRERY_READONLY_KEY")

SYSTEM = {"_rid", "_self", "_etag", "_attachments", "_ts"}


def user_properties(item):
    return {k: v for k, v in item.items() if k not in SYSTEM}


def unique(prefix="py"):
    return f"{prefix}-{uuid.uuid4().hex[:12]}"


class Sdk:
    def __init__(self, flavour):
        self.flavour = flavour
        self._clients = []

    async def __call__(self, method, *args, **kwargs):
        result = method(*args, **kwargs)
        return await result if inspect.isawaitable(result) else result

    async def all(self, feed):
        if hasattr(feed, "__aiter__"):
            return [x async for x in feed]
        return list(feed)

    async def pages(self, feed, continuation=None):
        """Yields (items, continuation) page by page."""
        pager = feed.by_page(continuation) if continuation else feed.by_page()
        out = []
        if hasattr(pager, "__anext__"):
            async for page in pager:
                out.append(([x async for x in page], pager.continuation_token))
                assert len(out) < 1000, "the pages must come to an end"
        else:
            for page in pager:
                out.append((list(page), pager.continuation_token))
                assert len(out) < 1000, "the pages must come to an end"
        return out

    async def first_page(self, feed, continuation=None):
        pager = feed.by_page(continuation) if continuation else feed.by_page()
        if hasattr(pager, "__anext__"):
            page = await pager.__anext__()
            return [x async for x in page], pager.continuation_token
        return list(next(pager)), pager.continuation_token

    async def client(self, credential=KEY, **kwargs):
        if ENDPOINT.startswith("https"):
            kwargs.setdefault("connection_verify", CA if CA else not INSECURE)
        cls = CosmosClient if self.flavour == "sync" else AsyncCosmosClient
        client = cls(ENDPOINT, credential=credential, **kwargs)
        if self.flavour == "async":
            await client.__aenter__()
        self._clients.append(client)
        return client

    async def close(self):
        for client in self._clients:
            if self.flavour == "async":
                await client.close()
            else:
                client.close()

    async def fails(self, status, awaitable, sub_status=None):
        with pytest.raises(CosmosHttpResponseError) as caught:
            await awaitable
        assert caught.value.status_code == status, caught.value
        if sub_status is not None:
            assert caught.value.sub_status == sub_status, caught.value
        return caught.value


@pytest.fixture(params=["sync", "async"])
async def sdk(request):
    sdk = Sdk(request.param)
    yield sdk
    await sdk.close()


@pytest.fixture
async def client(sdk):
    return await sdk.client()


@pytest.fixture
async def database(sdk, client):
    database = await sdk(client.create_database, unique())
    yield database
    await sdk(client.delete_database, database.id)


@pytest.fixture
async def make(sdk, database):
    """make(**policies) -> a container with key /pk unless said otherwise."""

    async def make(path="/pk", version=2, container_id=None, partition_key=None, **policies):
        key = partition_key or PartitionKey(path=path, kind="Hash", version=version)
        return await sdk(database.create_container, container_id or unique("c"), key, **policies)

    return make


@pytest.fixture
async def container(make):
    return await make()


def pytest_collection_modifyitems(config, items):
    """ORRERY_ONLY: a regular expression on test names."""
    only = os.environ.get("ORRERY_ONLY")
    if only:
        drop = [i for i in items if not re.search(only, i.name)]
        config.hook.pytest_deselected(items=drop)
        items[:] = [i for i in items if i not in drop]
