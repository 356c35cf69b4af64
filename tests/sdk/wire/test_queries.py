"""W110–W118, W138–W142: what a query tells about itself, its tokens, and orders that no index serves."""
import base64
import json
import time
import urllib.parse

import pytest
from wire import pk, send

QUERY = {"content-type": "application/query+json", "x-ms-documentdb-query-enablecrosspartition": "True"}
COMPOSITE = {"includedPaths": [{"path": "/*"}], "excludedPaths": [{"path": "/secret/?"}],
             "compositeIndexes": [[{"path": "/team", "order": "ascending"}, {"path": "/n", "order": "descending"}]]}


def ask(container, text, headers=None, **more):
    return send("POST", f"{container.path}/docs", {"query": text, **more}, {**QUERY, **(headers or {})})


@pytest.fixture
def filled(make):
    container = make(headers={"x-ms-offer-throughput": "18000"}, indexingPolicy=COMPOSITE)
    for n in range(60):
        body = {"id": f"i{n}", "pk": f"p{n % 12}", "n": n, "team": f"t{n % 3}", "secret": n, "text": "x" * n}
        assert send("POST", f"{container.path}/docs", body, pk(body["pk"])).status == 201
    return container


def explained(answer):
    return json.loads(urllib.parse.unquote(answer.headers["x-orrery-explain"]))


def test_W110_query_metrics_are_true(filled):
    answer = ask(filled, "SELECT * FROM c WHERE c.n < 10 AND c.secret >= 5", {"x-ms-documentdb-populatequerymetrics": "true"})
    assert answer.status == 200 and answer.json["_count"] == 5
    metrics = dict(part.split("=") for part in answer.headers["x-ms-documentdb-query-metrics"].split(";"))
    assert metrics["retrievedDocumentCount"] == "10" and metrics["outputDocumentCount"] == "5"
    assert metrics["indexUtilizationRatio"] == "0.50" and float(metrics["totalExecutionTimeInMs"]) > 0
    assert int(metrics["retrievedDocumentSize"]) > 10 * 40
    assert "x-ms-documentdb-query-metrics" not in ask(filled, "SELECT * FROM c").headers


def test_W111_index_metrics_in_both_encodings(filled):
    text = "SELECT * FROM c WHERE c.n = 7 AND c.secret = 7"
    flat = ask(filled, text, {"x-ms-cosmos-populateindexmetrics": "true"})
    told = json.loads(base64.b64decode(flat.headers["x-ms-cosmos-index-utilization"]))
    assert [one["IndexSpec"] for one in told["UtilizedSingleIndexes"]] == ["/n/?"]
    assert [one["IndexSpec"] for one in told["PotentialSingleIndexes"]] == ["/secret/?"]
    assert told["UtilizedCompositeIndexes"] == [] and told["PotentialCompositeIndexes"] == []
    nested = ask(filled, text, {"x-ms-cosmos-populateindexmetrics-V2": "true"})
    told = json.loads(urllib.parse.unquote(nested.headers["x-ms-cosmos-index-utilization"]))
    assert told["UtilizedIndexes"] == {"SingleIndexes": [{"IndexSpec": "/n/?"}], "CompositeIndexes": []}
    assert told["PotentialIndexes"]["SingleIndexes"] == [{"IndexSpec": "/secret/?"}]
    nothing = ask(filled, "SELECT * FROM c WHERE c.n = -1", {"x-ms-cosmos-populateindexmetrics-V2": "true"})
    assert "x-ms-cosmos-index-utilization" not in nothing.headers
    both = ask(filled, "SELECT * FROM c ORDER BY c.team, c.n DESC", {"x-ms-cosmos-populateindexmetrics-V2": "true"})
    told = json.loads(urllib.parse.unquote(both.headers["x-ms-cosmos-index-utilization"]))
    assert told["UtilizedIndexes"]["CompositeIndexes"] == [{"IndexSpecs": ["/team ASC", "/n DESC"]}]


@pytest.mark.parametrize("where,potential", [
    # Single values first, then one range; a path counts once.
    ("c.n > 3 AND c.pk = 'p7' AND c.n < 50", [["/pk ASC", "/n ASC"]]),
    ("c.pk = 'p7' AND c.text = 'xxxxxxx'", [["/pk ASC", "/text ASC"]]),
    ("c.pk = 'p7' AND c.n > 3 ORDER BY c.text DESC", [["/pk ASC", "/text DESC"]]),
    # What has an index of its own, or would gain nothing.
    ("c.team = 't1' AND c.n = 7", []), ("c.n > 3 AND c.text > 'x'", []), ("c.n = 7", []),
    ("c.pk = 'p7' AND c.secret = 7", []), ("c.pk = 'p7' AND c.id = 'i7'", []),
    ("c.pk = 'p7' AND c.pk = 'p7'", []), ("c.n = 7 ORDER BY c.n", []),
])
def test_W118_composite_indexes_that_would_serve_a_filter(filled, where, potential):
    answer = ask(filled, f"SELECT * FROM c WHERE {where}", {"x-ms-cosmos-populateindexmetrics-V2": "true"})
    assert answer.status == 200 and answer.json["_count"] > 0
    told = json.loads(urllib.parse.unquote(answer.headers["x-ms-cosmos-index-utilization"]))
    assert [one["IndexSpecs"] for one in told["PotentialIndexes"]["CompositeIndexes"]] == potential


def composites(answer):
    told = json.loads(urllib.parse.unquote(answer.headers["x-ms-cosmos-index-utilization"]))
    return [[one["IndexSpecs"] for one in told[kind]["CompositeIndexes"]] for kind in ("UtilizedIndexes", "PotentialIndexes")]


@pytest.mark.parametrize("where", ["c.team = 't1' AND c.n > 30", "c.team = 't1' AND c.n BETWEEN 10 AND 20", "c.n <= 9 AND c.team = 't0'"])
def test_W140_a_composite_index_serves_a_range_in_either_direction(filled, where):
    asked = {"x-ms-cosmos-populateindexmetrics-V2": "true", "x-orrery-explain": "true"}
    answer = ask(filled, f"SELECT VALUE c.n FROM c WHERE {where}", asked)
    bounds = {"c.team = 't1' AND c.n > 30": range(31, 60), "c.team = 't1' AND c.n BETWEEN 10 AND 20": range(10, 21)}.get(where, range(0, 10))
    team = 0 if "t0" in where else 1
    assert sorted(answer.json["Documents"]) == [n for n in bounds if n % 3 == team]
    assert composites(answer) == [[["/team ASC", "/n DESC"]], []]


def test_W141_advice_that_was_followed_is_not_given_again(filled):
    text, asked = "SELECT * FROM c WHERE c.pk = 'p7' AND c.n > 3 ORDER BY c.text", {"x-ms-cosmos-populateindexmetrics-V2": "true"}
    assert composites(ask(filled, text, asked)) == [[], [["/pk ASC", "/text ASC"]]]
    body = {key: value for key, value in send("GET", filled.path).json.items() if not key.startswith("_")}
    body["indexingPolicy"]["compositeIndexes"].append([{"path": "/pk"}, {"path": "/text"}])
    assert send("PUT", filled.path, body).status == 200
    while send("GET", filled.path, headers={"x-ms-documentdb-populatequotainfo": "true"}).headers["x-ms-documentdb-collection-index-transformation-progress"] != "100":
        time.sleep(0.02)
    assert composites(ask(filled, text, asked)) == [[], []]
    # It serves the order that names the filter's path, too.
    rows = ask(filled, text, asked).json["Documents"]
    answer = ask(filled, text.replace("ORDER BY c.text", "ORDER BY c.pk, c.text"), asked)
    assert composites(answer) == [[["/pk ASC", "/text ASC"]], []] and answer.json["Documents"] == rows


@pytest.mark.parametrize("text", ["SELECT VALUE MAX(c.{0}) FROM c", "SELECT DISTINCT VALUE c.{0} FROM c", "SELECT c.{0}, COUNT(1) AS k FROM c GROUP BY c.{0}"])
def test_W142_aggregates_name_the_path_that_an_index_would_answer(filled, text):
    def told(path):
        answer = ask(filled, text.format(path), {"x-ms-cosmos-populateindexmetrics-V2": "true"})
        metrics = json.loads(urllib.parse.unquote(answer.headers["x-ms-cosmos-index-utilization"]))
        return [[one["IndexSpec"] for one in metrics[kind]["SingleIndexes"]] for kind in ("UtilizedIndexes", "PotentialIndexes")]

    assert told("n") == [["/n/?"], []]
    assert told("secret") == [[], ["/secret/?"]]
    assert told("_etag") == [[], []]


@pytest.mark.parametrize("text,access,on", [
    ("SELECT * FROM c WHERE c.n = 7", "index", "/n"), ("SELECT * FROM c WHERE c.secret = 7", "scan", "every item"),
    ("SELECT TOP 3 * FROM c ORDER BY c.id", "index order", "/id"), ("SELECT VALUE COUNT(1) FROM c WHERE c.n > 7", "index only", "/n"),
    ("SELECT c.team, COUNT(1) AS k FROM c GROUP BY c.team", "index only", "/team"),
    ("SELECT VALUE COUNT(1) FROM c", "index only", "the number of items"),
    ("SELECT * FROM c WHERE c.id = 'i7' AND c.pk = 'p7'", "points", 'id "i7"'),
    ("SELECT * FROM c ORDER BY c.team, c.n DESC", "index order", "/team ASC, /n DESC (composite)"),
])
def test_W112_explain_names_the_access(filled, text, access, on):
    told = explained(ask(filled, text, {"x-orrery-explain": "true"}))
    assert {(step["access"], step["on"]) for step in told["steps"]} == {(access, on)}, told
    ranges = {one["id"] for one in send("GET", f"{filled.path}/pkranges").json["PartitionKeyRanges"]}
    assert {step["range"] for step in told["steps"] + told["charged"]} <= ranges, told
    assert f"{told['requestCharge']:.2f}" == ask(filled, text).headers["x-ms-request-charge"]


@pytest.mark.parametrize("text,loaded,matched", [
    ("SELECT * FROM c WHERE c.secret = 7", 1, 1), ("SELECT * FROM c WHERE c.n >= 10 AND c.secret >= 30 ORDER BY c.n", 50, 30),
    ("SELECT c.team, SUM(c.secret) AS k FROM c WHERE c.n < 20 GROUP BY c.team", 20, 20),
])
def test_W114_explain_counts_what_was_read(filled, text, loaded, matched):
    steps = explained(ask(filled, text, {"x-orrery-explain": "true"}))["steps"]
    assert sum(step["matched"] for step in steps) == matched, steps
    assert sum(step["loaded"] for step in steps) >= loaded, steps


@pytest.mark.parametrize("text,operators", [
    ("SELECT c.id FROM c WHERE c.secret < 10", [("filter", 60, 10), ("project", 10, 10)]),
    ("SELECT * FROM c WHERE c.secret < 10", [("filter", 60, 10)]),
    ("SELECT VALUE COUNT(1) FROM c WHERE c.n < 10", [("filter", None, 10), ("aggregate", 10, 1), ("project", 1, 1)]),
    ("SELECT c.team, SUM(c.secret) AS s FROM c WHERE c.secret < 10 GROUP BY c.team", [("filter", 60, 10), ("group", 10, 3), ("project", 3, 3)]),
    ("SELECT DISTINCT c.team FROM c WHERE c.secret < 10", [("filter", 60, 10), ("project", 10, 10), ("distinct", 10, 3)]),
    ("SELECT VALUE t FROM c JOIN t IN (SELECT VALUE [1, 2]) WHERE c.secret < 10", [("join", 60, 120), ("filter", 120, 20), ("project", 20, 20)]),
])
def test_W138_explain_counts_the_rows_of_clauses(filled, text, operators):
    told = explained(ask(filled, text, {"x-orrery-explain": "true"}))
    assert [(one["operator"], one.get("in"), one.get("out")) for one in told["operators"]] == operators, told


def test_W139_a_first_order_tells_of_its_scan(filled):
    text = "SELECT TOP 3 * FROM c ORDER BY c.n"
    steps = explained(ask(filled, text, {"x-orrery-explain": "true"}))["steps"]
    assert {step["access"] for step in steps} == {"index order", "scan"}, steps
    scans = [step for step in steps if step["access"] == "scan"]
    assert all("items without /n" in step["on"] for step in scans) and sum(step["loaded"] for step in scans) == 60, steps
    assert sum(step["matched"] for step in scans) == 0, steps


def test_W113_tokens_keep_the_limit_and_refuse_tampering(filled):
    text = "SELECT * FROM c ORDER BY c.team, c.n DESC"
    seen, token = [], None
    while True:
        headers = {"x-ms-max-item-count": "7", "x-ms-documentdb-responsecontinuationtokenlimitinkb": "1"}
        page = ask(filled, text, {**headers, **({"x-ms-continuation": token} if token else {})})
        assert page.status == 200, page
        seen += [(one["team"], -one["n"]) for one in page.json["Documents"]]
        token = page.headers.get("x-ms-continuation")
        if not token:
            break
        assert len(token) <= 1024
        last = token
    assert seen == sorted(seen) and len(seen) == 60
    changed = ("B" if last[0] != "B" else "C") + last[1:]
    for bad in (changed, "x", last[:-4], "*"):
        assert ask(filled, text, {"x-ms-continuation": bad}).status == 400, bad
    assert ask(filled, text + " OFFSET 0 LIMIT 9", {"x-ms-continuation": last}).status == 400
    for bad in ("0", "-1", "many"):
        assert ask(filled, text, {"x-ms-documentdb-responsecontinuationtokenlimitinkb": bad}).status == 400, bad


def test_W114_orders_that_no_index_serves(filled):
    excluded = ask(filled, "SELECT * FROM c ORDER BY c.secret")
    assert excluded.status == 400 and "order-by item is excluded" in excluded.json["message"]
    for order in ("c.n, c.team", "c.team, c.n", "c.team, c.n DESC, c.id"):
        answer = ask(filled, f"SELECT * FROM c ORDER BY {order}")
        assert answer.status == 400 and "corresponding composite index" in answer.json["message"], order
    assert ask(filled, "SELECT * FROM c ORDER BY c.team DESC, c.n").status == 200


def test_W115_compositions_of_aggregates(filled):
    text = "SELECT VALUE COUNT(1) > 0 FROM c"
    refused = ask(filled, text)
    assert refused.status == 400 and "Compositions of aggregates" in refused.json["message"]
    assert ask(filled, text, pk("p1")).json["Documents"] == [True]
    assert ask(filled, text + " WHERE c.pk = 'p1'").json["Documents"] == [True]


def test_W116_charges_are_the_same_whatever_the_plan(filled):
    # One seek, ten items of one range each; the same without and with an index on the second path.
    texts = ["SELECT * FROM c WHERE c.n < 10", "SELECT * FROM c WHERE c.n < 10 ORDER BY c.n"]
    charges = {text: {ask(filled, text).headers["x-ms-request-charge"] for _ in range(3)} for text in texts}
    assert all(len(one) == 1 for one in charges.values()), charges
    assert len({charge for one in charges.values() for charge in one}) == 1, charges


def test_W117_policies_change_online(filled):
    text = "SELECT * FROM c WHERE c.secret = 7"
    read = send("GET", filled.path)
    body = {key: value for key, value in read.json.items() if not key.startswith("_")}
    body["indexingPolicy"]["excludedPaths"] = [one for one in body["indexingPolicy"]["excludedPaths"] if "secret" not in one["path"]]
    assert send("PUT", filled.path, body).status == 200
    for _ in range(200):
        assert ask(filled, text).json["_count"] == 1
        progress = send("GET", filled.path, headers={"x-ms-documentdb-populatequotainfo": "true"})
        if progress.headers["x-ms-documentdb-collection-index-transformation-progress"] == "100":
            break
    told = explained(ask(filled, text, {"x-orrery-explain": "true"}))
    assert {step["access"] for step in told["steps"]} == {"index"}, told
    assert ask(filled, "SELECT * FROM c ORDER BY c.secret").json["_count"] == 60
