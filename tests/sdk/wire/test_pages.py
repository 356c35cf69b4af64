"""W130–W137: pages of queries over ranges that change, scopes without keys, bodies and policies with members nobody knows."""
import json
import time
import urllib.parse

import pytest
from wire import pk, send, unique

QUERY = {"content-type": "application/query+json", "x-ms-documentdb-query-enablecrosspartition": "True"}


def ask(container, text, headers=None, **more):
    return send("POST", f"{container.path}/docs", {"query": text, **more}, {**QUERY, **(headers or {})})


def pages(container, text, headers, token=None):
    """All rows from `token` on, or from the beginning."""
    rows = []
    while True:
        page = ask(container, text, {**headers, **({"x-ms-continuation": token} if token else {})})
        assert page.status == 200, page
        rows += page.json["Documents"]
        token = page.headers.get("x-ms-continuation")
        if not token:
            return rows


def range_ids(container):
    return [one["id"] for one in send("GET", f"{container.path}/pkranges").json["PartitionKeyRanges"]]


def change_ranges(container, verb, body):
    path = f"/_orrery/containers/{container.db}/{container.id}"

    def own(method, tail, content=None):
        answer = send(method, f"{path}/{tail}", content, resource=("_orrery", f"{path}/{tail}".removeprefix("/_orrery/")))
        assert answer.status < 300, answer
        return answer.json

    job = own("POST", verb, body)["job"]["id"]
    for _ in range(1200):
        phase = next(one for one in own("GET", "partitions")["jobs"] if one["id"] == job)["phase"]
        assert phase != "failed"
        if phase == "done":
            return
        time.sleep(0.05)
    pytest.fail(f"the {verb} does not come to an end")


@pytest.fixture
def filled(container):
    for n in range(120):
        body = {"id": f"i{n}", "pk": f"p{n % 40}", "n": n, "team": f"t{n % 3}", "secret": n}
        assert send("POST", f"{container.path}/docs", body, pk(body["pk"])).status == 201
    return container


POINTS = " OR ".join(f"(c.id = 'i{n}' AND c.pk = 'p{n}')" for n in range(30))


@pytest.mark.parametrize("text,rows", [
    ("SELECT VALUE c.n FROM c", 120), ("SELECT VALUE c.n FROM c WHERE c.n >= 20", 100), ("SELECT DISTINCT VALUE c.pk FROM c", 40),
    ('SELECT [{"item": c.pk}] AS groupByItems, {"pk": c.pk, "n": {"item": COUNT(1)}} AS payload FROM c GROUP BY c.pk', 40),
    ('SELECT c._rid, [{"item": c.n}] AS orderByItems, c.n AS payload\nFROM c\nWHERE (true)\nORDER BY c.n', 120),
    (f"SELECT VALUE c.n FROM c WHERE {POINTS}", 30),
])
def test_W130_halves_of_a_split_go_on_with_the_token_of_the_whole(filled, text, rows):
    size = {"x-ms-max-item-count": "7"}
    (whole,) = range_ids(filled)
    first = ask(filled, text, {**size, "x-ms-documentdb-partitionkeyrangeid": whole})
    seen, token = first.json["Documents"], first.headers["x-ms-continuation"]
    change_ranges(filled, "split", {"rangeId": whole})
    gone = ask(filled, text, {**size, "x-ms-documentdb-partitionkeyrangeid": whole, "x-ms-continuation": token})
    assert (gone.status, gone.sub) == (410, 1002)
    halves = range_ids(filled)
    assert len(halves) == 2
    for half in reversed(halves):
        seen += pages(filled, text, {**size, "x-ms-documentdb-partitionkeyrangeid": half}, token)
    texts = [json.dumps(row, sort_keys=True) for row in seen]
    assert len(texts) == rows and len(set(texts)) == rows
    # A token of one half is nothing that the other one could go on with.
    last = ask(filled, text, {"x-ms-max-item-count": "1", "x-ms-documentdb-partitionkeyrangeid": halves[0]}).headers["x-ms-continuation"]
    assert ask(filled, text, {"x-ms-documentdb-partitionkeyrangeid": halves[1], "x-ms-continuation": last}).status == 400


@pytest.mark.parametrize("text,documents", [
    ("SELECT * FROM c", []), ("SELECT VALUE COUNT(1) FROM c", [0]), ("SELECT * FROM c ORDER BY c.n", []), ("SELECT DISTINCT VALUE c.n FROM c", []),
    ("SELECT c.pk, COUNT(1) AS n FROM c GROUP BY c.pk", []), ("SELECT * FROM c WHERE c.id = 'i' AND c.pk = 'p'", []),
])
def test_W131_scopes_that_hold_no_key(wide, text, documents):
    assert wide.create({"id": "i", "pk": "p"}, "p").status == 201
    ids = range_ids(wide)
    home = next(one for one in ids if ask(wide, "SELECT * FROM c", {"x-ms-documentdb-partitionkeyrangeid": one}).json["_count"] == 1)
    other = next(one for one in ids if one != home)
    for scope in ({"x-ms-start-epk": "20", "x-ms-end-epk": "10"}, {"x-ms-start-epk": "10", "x-ms-end-epk": "10"}, {"x-ms-start-epk": "FF", "x-ms-end-epk": "FF"},
                  {"x-ms-documentdb-partitionkeyrangeid": ids[0], "x-ms-start-epk": "3A", "x-ms-end-epk": "3B"},
                  {"x-ms-documentdb-partitionkeyrangeid": other, **pk("p")}):
        answer = ask(wide, text, scope)
        assert answer.status == 200 and answer.json["Documents"] == documents, (scope, answer)
        assert send("GET", f"{wide.path}/docs", headers=scope).json["_count"] == 0
        feed = send("GET", f"{wide.path}/docs", headers={"a-im": "Incremental Feed", **scope})
        assert feed.status in (200, 304, 400), feed
    for scope in ({"x-ms-start-epk": "zz"}, {"x-ms-end-epk": "zz"}, {"x-ms-start-epk": "1"}):
        refused = ask(wide, text, scope)
        assert refused.status == 400 and next(iter(scope)) in refused.json["message"], refused


@pytest.mark.parametrize("more,named", [
    ({"resumeFilter": {"value": [1]}}, "resumeFilter"), ({"Parameters": []}, "Parameters"),
    ({"parameters": [{"name": "@x", "value": 1}, {"name": "@x", "value": 2}]}, "@x"),
    ({"parameters": [{"name": "x", "value": 1}]}, "'x'"),
    ({"parameters": [{"name": "@x", "value": 1, "type": "number"}]}, "'type'"),
])
def test_W132_query_bodies_with_more_than_a_query(container, more, named):
    for headers in ({}, {"x-ms-cosmos-is-query-plan-request": "True"}):
        refused = ask(container, "SELECT * FROM c WHERE c.a = @x OR true" if "parameters" in more else "SELECT * FROM c", headers, **more)
        assert refused.status == 400 and named in refused.json["message"], refused
    assert ask(container, "SELECT * FROM c", parameters=None).status == 200
    twice = [{"name": "@x", "value": [1]}, {"name": "@x", "value": [1]}]
    assert ask(container, "SELECT * FROM c WHERE c.a = @x", parameters=twice).status == 200
    assert ask(container, "SELECT * FROM c WHERE c.a = @x", parameters=[{"name": "@x"}]).status == 200


def test_W133_queries_over_resources_have_pages(database):
    names = sorted(unique("c") for _ in range(5))
    for name in names:
        assert send("POST", f"/dbs/{database['id']}/colls", {"id": name, "partitionKey": {"paths": ["/pk"]}}).status == 201
    path, text = f"/dbs/{database['id']}/colls", {"query": "SELECT VALUE c.id FROM c ORDER BY c.id"}
    seen, sizes, token = [], [], None
    while True:
        page = send("POST", path, text, {**QUERY, "x-ms-max-item-count": "2", **({"x-ms-continuation": token} if token else {})})
        assert page.status == 200, page
        seen += page.json["DocumentCollections"]
        sizes.append(page.json["_count"])
        token = page.headers.get("x-ms-continuation")
        if not token:
            break
        last = token
    assert seen == names and sizes == [2, 2, 1]
    assert send("POST", path, text, QUERY).json["_count"] == 5
    for bad in ("x", "rows:2", last + "0", last[:-4] + "AAAA", last.swapcase()):
        assert send("POST", path, text, {**QUERY, "x-ms-continuation": bad}).status == 400, bad
    assert send("POST", path, {"query": "SELECT * FROM c"}, {**QUERY, "x-ms-continuation": last}).status == 400
    assert send("POST", path, text, {**QUERY, "x-ms-max-item-count": "-2"}).status == 400


@pytest.mark.parametrize("text,ratio", [
    ("SELECT VALUE SUM(c.secret) FROM c WHERE c.n < 10", "1.00"), ("SELECT VALUE COUNT(1) FROM c WHERE c.n < 20 AND c.n + c.secret < 20", "0.50"),
    ("SELECT c.team, SUM(c.secret) AS s FROM c GROUP BY c.team", "1.00"), ("SELECT * FROM c WHERE c.n > 40 ORDER BY c.n OFFSET 5 LIMIT 3", "1.00"),
    ("SELECT t FROM c JOIN t IN (SELECT VALUE [1, 2]) WHERE c.n < 10 AND c.n + c.secret < 10", "0.50"), ("SELECT * FROM c WHERE c.n = -1", "1.00"),
])
def test_W134_the_index_ratio_is_that_of_items(filled, text, ratio):
    answer = ask(filled, text, {"x-ms-documentdb-populatequerymetrics": "true", "x-orrery-explain": "true"})
    assert answer.status == 200, answer
    metrics = dict(part.split("=") for part in answer.headers["x-ms-documentdb-query-metrics"].split(";"))
    assert metrics["indexUtilizationRatio"] == ratio, metrics
    steps = json.loads(urllib.parse.unquote(answer.headers["x-orrery-explain"]))["steps"]
    retrieved = int(metrics["retrievedDocumentCount"])
    if "OFFSET" not in text:
        assert sum(step["matched"] for step in steps) == round(float(ratio) * retrieved) or retrieved == 0, steps


def test_W135_an_index_that_answers_alone_is_named(filled):
    answer = ask(filled, "SELECT c.team, COUNT(1) AS k FROM c GROUP BY c.team", {"x-ms-cosmos-populateindexmetrics-V2": "true"})
    told = json.loads(urllib.parse.unquote(answer.headers["x-ms-cosmos-index-utilization"]))
    assert told["UtilizedIndexes"]["SingleIndexes"] == [{"IndexSpec": "/team/?"}]


@pytest.mark.parametrize("direction,reverse", [("", False), (" DESC", True)])
def test_W136_merging_clients_learn_how_rids_run(filled, direction, reverse):
    text = f'SELECT c._rid, [{{"item": c.team}}] AS orderByItems, c.n AS payload\nFROM c\nWHERE (true)\nORDER BY c.team{direction}'
    page = ask(filled, text)
    assert json.loads(page.headers["x-ms-cosmos-query-execution-info"]) == {"reverseRidEnabled": False, "reverseIndexScan": reverse}
    assert "x-ms-cosmos-query-execution-info" not in ask(filled, f"SELECT * FROM c ORDER BY c.team{direction}").headers


@pytest.mark.parametrize("policy", [
    {"uniqueKeyPolicy": {"foo": 1}}, {"uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["/a"], "foo": 1}]}}, {"geospatialConfig": {"foo": 1}},
    {"changeFeedPolicy": {"retentionDuration": 0, "foo": 1}}, {"conflictResolutionPolicy": {"mode": "LastWriterWins", "foo": 1}},
])
def test_W137_members_of_policies_that_nobody_knows(database, policy):
    body = {"id": unique("c"), "partitionKey": {"paths": ["/pk"]}, **policy}
    refused = send("POST", f"/dbs/{database['id']}/colls", body)
    assert refused.status == 400 and "'foo'" in refused.json["message"], refused
