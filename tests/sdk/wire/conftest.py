import os
import re

import pytest

from wire import pk, send, unique


class Container:
    """One container by name, with the calls most tests need."""

    def __init__(self, db, body):
        self.db, self.id, self.path = db, body["id"], f"/dbs/{db}/colls/{body['id']}"
        self.body, self.rid = body, body["_rid"]

    def create(self, item, *key, **headers):
        return send("POST", f"{self.path}/docs", item, {**pk(*key), **headers})

    def read(self, name, *key, **headers):
        return send("GET", f"{self.path}/docs/{name}", None, {**pk(*key), **headers})

    def list(self, **headers):
        return send("GET", f"{self.path}/docs", None, headers)


@pytest.fixture
def database():
    name = unique()
    answer = send("POST", "/dbs", {"id": name})
    assert answer.status == 201, answer
    yield answer.json
    send("DELETE", f"/dbs/{name}")


@pytest.fixture
def make(database):
    def make(key=None, headers=None, **policies):
        body = {"id": unique("c"), "partitionKey": key or {"paths": ["/pk"], "kind": "Hash", "version": 2}, **policies}
        answer = send("POST", f"/dbs/{database['id']}/colls", body, headers)
        assert answer.status == 201, answer
        return Container(database["id"], answer.json)

    return make


@pytest.fixture
def container(make):
    return make()


@pytest.fixture
def wide(make):
    """Three physical partitions."""
    return make(headers={"x-ms-offer-throughput": "18000"})


def pytest_collection_modifyitems(config, items):
    """ORRERY_ONLY: a regular expression on test names."""
    only = os.environ.get("ORRERY_ONLY")
    if only:
        drop = [i for i in items if not re.search(only, i.name)]
        config.hook.pytest_deselected(items=drop)
        items[:] = [i for i in items if i not in drop]
