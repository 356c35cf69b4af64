"""W60–W79: _rid bytes, container definitions, offers, policies."""
import base64
import json

import pytest
from wire import pk, rid_bytes, send, unique


def test_W60_rid_layout(database, container):
    db, coll = rid_bytes(database["_rid"]), rid_bytes(container.rid)
    assert len(db) == 4 and any(db)
    assert len(coll) == 8 and coll[:4] == db and coll[4] >= 0x80
    first = container.create({"id": "1", "pk": "a"}, "a").json
    second = container.create({"id": "2", "pk": "b"}, "b").json
    for item in (first, second):
        rid = rid_bytes(item["_rid"])
        assert len(rid) == 16 and rid[:8] == coll and rid[15] >> 4 == 0
        assert item["_self"] == f"dbs/{database['_rid']}/colls/{container.rid}/docs/{item['_rid']}/"
        assert "/" not in item["_rid"]
    assert first["_rid"] != second["_rid"]
    user = send("POST", f"/dbs/{database['id']}/users", {"id": "u"}).json
    u = rid_bytes(user["_rid"])
    assert len(u) == 8 and u[:4] == db and u[4] < 0x80
    permission = send("POST", f"/dbs/{database['id']}/users/u/permissions", {"id": "p", "permissionMode": "Read", "resource": container.path[1:]}).json
    p = rid_bytes(permission["_rid"])
    assert len(p) == 16 and p[:8] == u
    assert permission["_self"] == f"dbs/{database['_rid']}/users/{user['_rid']}/permissions/{permission['_rid']}/"
    pkrange = send("GET", f"{container.path}/pkranges").json["PartitionKeyRanges"][0]
    r = rid_bytes(pkrange["_rid"])
    assert len(r) == 16 and r[:8] == coll and r[15] >> 4 == 5


def test_W60_container_numbers_differ_across_databases(container):
    """Java keeps session tokens under the container's four bytes alone (the sign bit swallows the database's), so equal
    numbers in two databases mix up their sessions."""
    name = unique()
    assert send("POST", "/dbs", {"id": name}).status == 201
    try:
        other = send("POST", f"/dbs/{name}/colls", {"id": "c", "partitionKey": {"paths": ["/pk"]}}).json["_rid"]
        assert rid_bytes(other)[4:] != rid_bytes(container.rid)[4:]
    finally:
        send("DELETE", f"/dbs/{name}")


def test_W61_rids_are_never_reused(container):
    seen = set()
    for _ in range(5):
        seen.add(container.create({"id": "1", "pk": "a"}, "a").json["_rid"])
        assert send("DELETE", f"{container.path}/docs/1", headers=pk("a")).status == 204
    assert len(seen) == 5


def test_W62_recreated_container(database, container):
    assert container.create({"id": "1", "pk": "a"}, "a").status == 201
    assert send("DELETE", container.path).status == 204
    again = send("POST", f"/dbs/{database['id']}/colls", {"id": container.id, "partitionKey": container.body["partitionKey"]})
    assert again.status == 201 and again.json["_rid"] != container.rid
    assert container.read("1", "a").status == 404
    assert container.list().json["_count"] == 0
    assert send("GET", f"/dbs/{database['_rid']}/colls/{container.rid}", resource=("colls", container.rid.lower())).status == 404


def test_W63_deleting_a_database_takes_its_containers(make, database):
    container = make()
    assert send("DELETE", f"/dbs/{database['id']}").status == 204
    answer = container.read("1", "a")
    assert (answer.status, answer.sub) == (404, 1003), answer
    assert send("POST", "/dbs", {"id": database["id"]}).status == 201
    assert send("GET", container.path).status == 404
    assert send("GET", f"/dbs/{database['id']}/colls").json["_count"] == 0


BAD_DEFINITIONS = {
    "no key": {}, "key null": {"partitionKey": None}, "no paths": {"partitionKey": {"paths": []}}, "two hash paths": {"partitionKey": {"paths": ["/a", "/b"], "kind": "Hash"}},
    "four levels": {"partitionKey": {"paths": ["/a", "/b", "/c", "/d"], "kind": "MultiHash", "version": 2}}, "multihash v1": {"partitionKey": {"paths": ["/a", "/b"], "kind": "MultiHash", "version": 1}},
    "version 3": {"partitionKey": {"paths": ["/a"], "kind": "Hash", "version": 3}}, "kind": {"partitionKey": {"paths": ["/a"], "kind": "Range"}}, "no slash": {"partitionKey": {"paths": ["a"]}},
    "path number": {"partitionKey": {"paths": [5]}}, "empty path": {"partitionKey": {"paths": [""]}}, "wildcard": {"partitionKey": {"paths": ["/a/*"]}}, "array": {"partitionKey": {"paths": ["/a/[]"]}},
    "ttl 0": {"defaultTtl": 0}, "ttl -2": {"defaultTtl": -2}, "ttl text": {"defaultTtl": "5"}, "ttl fraction": {"defaultTtl": 1.5}, "ttl huge": {"defaultTtl": 2147483648},
    "mode": {"indexingPolicy": {"indexingMode": "sometimes"}}, "lazy": {"indexingPolicy": {"indexingMode": "lazy"}}, "policy text": {"indexingPolicy": "all"},
    "star twice": {"indexingPolicy": {"includedPaths": [{"path": "/*"}], "excludedPaths": [{"path": "/*"}]}}, "no star": {"indexingPolicy": {"includedPaths": [{"path": "/a/?"}], "excludedPaths": []}},
    "bad path": {"indexingPolicy": {"includedPaths": [{"path": "/*"}], "excludedPaths": [{"path": "a"}]}}, "path missing": {"indexingPolicy": {"includedPaths": [{}]}},
    "composite of one": {"indexingPolicy": {"compositeIndexes": [[{"path": "/a"}]]}}, "composite of nine": {"indexingPolicy": {"compositeIndexes": [[{"path": f"/p{n}"} for n in range(9)]]}},
    "composite wildcard": {"indexingPolicy": {"compositeIndexes": [[{"path": "/a/*"}, {"path": "/b"}]]}}, "order": {"indexingPolicy": {"compositeIndexes": [[{"path": "/a", "order": "up"}, {"path": "/b"}]]}},
    "unique text": {"uniqueKeyPolicy": {"uniqueKeys": "x"}}, "eleven unique": {"uniqueKeyPolicy": {"uniqueKeys": [{"paths": [f"/u{n}"]} for n in range(11)]}},
    "seventeen paths": {"uniqueKeyPolicy": {"uniqueKeys": [{"paths": [f"/u{n}" for n in range(17)]}]}}, "unique no slash": {"uniqueKeyPolicy": {"uniqueKeys": [{"paths": ["a"]}]}},
    "conflict mode": {"conflictResolutionPolicy": {"mode": "CoinToss"}},
}


@pytest.mark.parametrize("name", BAD_DEFINITIONS)
def test_W64_bad_definitions(database, name):
    base = {"id": "c"} if name == "no key" else {"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}}
    answer = send("POST", f"/dbs/{database['id']}/colls", {**base, **BAD_DEFINITIONS[name]})
    assert answer.status == 400, answer
    assert answer.json["code"] == "BadRequest"
    assert send("GET", f"/dbs/{database['id']}/colls/c").status == 404


POLICIES = {
    "vectorEmbeddingPolicy": {"vectorEmbeddings": [{"path": "/v", "dataType": "float32", "dimensions": 3, "distanceFunction": "cosine"}]},
    "fullTextPolicy": {"defaultLanguage": "en-US", "fullTextPaths": [{"path": "/t", "language": "en-US"}]},
    "clientEncryptionPolicy": {"policyFormatVersion": 1, "includedPaths": [
        {"path": "/s", "clientEncryptionKeyId": "k", "encryptionType": "Deterministic", "encryptionAlgorithm": "AEAD_AES_256_CBC_HMAC_SHA256"}]},
    "computedProperties": [{"name": "lower", "query": "SELECT VALUE LOWER(c.name) FROM c"}], "analyticalStorageTtl": -1, "changeFeedPolicy": {"retentionDuration": 10},
    "geospatialConfig": {"type": "Geometry"}, "materializedViewDefinition": {"sourceCollectionId": "x", "definition": "SELECT * FROM c"},
    "indexingPolicy.vectorIndexes": [{"path": "/v", "type": "flat"}], "indexingPolicy.fullTextIndexes": [{"path": "/t"}], "indexingPolicy.spatialIndexes": [{"path": "/loc/*", "types": ["Point"]}],
    "indexingPolicy.compositeIndexes": [[{"path": "/a", "order": "ascending"}, {"path": "/b", "order": "descending"}]],
    "conflictResolutionPolicy": {"mode": "Custom", "conflictResolutionProcedure": "dbs/x/colls/y/sprocs/z"},
}


@pytest.mark.parametrize("name", POLICIES)
def test_W65_policies_are_kept_or_refused_by_name(database, name):
    """Never accepted and dropped: 201 with the policy in the answer, or 400 with its name in the message."""
    outer, _, inner = name.partition(".")
    policy = {outer: {inner: POLICIES[name]}} if inner else {outer: POLICIES[name]}
    answer = send("POST", f"/dbs/{database['id']}/colls", {"id": "c", "partitionKey": {"paths": ["/pk"]}, **policy})
    assert answer.status in (201, 400), answer
    if answer.status == 400:
        assert (inner or outer).lower() in answer.json["message"].lower(), answer
        assert send("GET", f"/dbs/{database['id']}/colls/c").status == 404
    else:
        kept = answer.json[outer]
        kept, wanted = (kept[inner] if inner else kept), POLICIES[name]
        if isinstance(wanted, dict):
            assert {k: kept[k] for k in wanted} == wanted
        else:
            assert json.dumps(kept)[:20] == json.dumps(wanted)[:20]


def test_W66_unknown_members(database):
    answer = send("POST", f"/dbs/{database['id']}/colls", {"id": "c", "partitionKey": {"paths": ["/pk"]}, "sparkles": True})
    assert answer.status in (201, 400), answer


def test_W67_legacy_fixed_container(database):
    answer = send("POST", f"/dbs/{database['id']}/colls", {"id": "fixed"}, version="2018-06-18")
    assert answer.status in (201, 400), answer
    if answer.status == 201:
        path = f"/dbs/{database['id']}/colls/fixed"
        assert send("GET", path).json["partitionKey"] == {"paths": ["/_partitionKey"], "kind": "Hash", "systemKey": True}
        assert send("POST", f"{path}/docs", {"id": "1"}).status == 201
        for key in (None, "[]", "[{}]"):
            assert send("GET", f"{path}/docs/1", headers={"x-ms-documentdb-partitionkey": key} if key else {}).status == 200, key
    assert send("POST", f"/dbs/{database['id']}/colls", {"id": "modern"}).status == 400


def offer_of(container):
    answer = send("POST", "/offers", {"query": "SELECT * FROM root r WHERE r.offerResourceId = @r", "parameters": [{"name": "@r", "value": container.rid}]},
                  {"content-type": "application/query+json", "x-ms-documentdb-isquery": "True"})
    assert answer.status == 200, answer
    return answer.json["Offers"]


def test_W68_offers(container, make):
    (offer,) = offer_of(container)
    assert len(rid_bytes(offer["_rid"])) == 3 and offer["id"] == offer["_rid"]
    assert offer["_self"] == f"offers/{offer['_rid']}/"
    assert offer["content"]["offerThroughput"] == 400 and offer["offerVersion"] == "V2" and offer["offerType"] == "Invalid"
    assert "offerAutopilotSettings" not in offer["content"]
    path, resource = f"/offers/{offer['_rid']}", ("offers", offer["_rid"].lower())
    read = send("GET", path, resource=resource)
    assert read.status == 200 and read.headers["x-ms-cosmos-min-throughput"] == "400" and read.headers["x-ms-offer-replace-pending"].lower() == "false"
    for bad in (0, 399, 450, -400, 1_000_100, "500", 500.5):
        body = {**offer, "content": {**offer["content"], "offerThroughput": bad}}
        assert send("PUT", path, body, resource=resource).status == 400, bad
    partial = {"content": {"offerThroughput": 1000}, "offerVersion": "V2", "id": offer["id"], "_rid": offer["_rid"]}
    assert send("PUT", path, partial, resource=resource).status == 200
    assert offer_of(container)[0]["content"]["offerThroughput"] == 1000
    assert offer_of(container)[0]["resource"] == offer["resource"]
    for text in (f'SELECT * from root where root.resource = "/dbs/{"x"}/colls/none"',):
        answer = send("POST", "/offers", {"query": text}, {"content-type": "application/query+json"})
        assert answer.status == 200 and answer.json["Offers"] == []
    link = container.body["_self"]
    for form in (link, link.rstrip("/"), "/" + link, "/" + link.rstrip("/")):
        answer = send("POST", "/offers", {"query": "SELECT * FROM root r WHERE r.resource=@link", "parameters": [{"name": "@link", "value": form}]},
                      {"content-type": "application/query+json"})
        assert [o["id"] for o in answer.json["Offers"]] == [offer["id"]], form
    assert send("GET", "/offers/zzzz", resource=("offers", "zzzz")).status in (400, 404)


@pytest.mark.parametrize("headers", [
    {"x-ms-offer-throughput": "100"}, {"x-ms-offer-throughput": "450"}, {"x-ms-offer-throughput": "x"}, {"x-ms-offer-throughput": "99999999999"},
    {"x-ms-cosmos-offer-autopilot-settings": '{"maxThroughput":1500}'}, {"x-ms-cosmos-offer-autopilot-settings": "x"},
    {"x-ms-offer-throughput": "400", "x-ms-cosmos-offer-autopilot-settings": '{"maxThroughput":4000}'},
])
def test_W69_bad_throughput(database, headers):
    answer = send("POST", f"/dbs/{database['id']}/colls", {"id": "c", "partitionKey": {"paths": ["/pk"]}}, headers)
    assert answer.status == 400, answer
    assert send("GET", f"/dbs/{database['id']}/colls/c").status == 404


def test_W70_users_and_permissions(database, container):
    base = f"/dbs/{database['id']}/users"
    assert send("GET", f"{base}/none").status == 404
    assert send("GET", f"{base}/none/permissions").status == 404
    assert send("POST", base, {"id": "u"}).status == 201
    for bad in ({"id": "p"}, {"id": "p", "permissionMode": "Read"}, {"id": "p", "permissionMode": "Read", "resource": "dbs/none/colls/none"},
                {"id": "p", "permissionMode": "Read", "resource": 5}, {"id": "p", "permissionMode": "read it", "resource": container.path[1:]}):
        answer = send("POST", f"{base}/u/permissions", bad)
        assert answer.status in (400, 404), (bad, answer)
    assert send("GET", f"{base}/u/permissions").json["Permissions"] == []
    by_rid = {"id": "p", "permissionMode": "Read", "resource": container.body["_self"]}
    assert send("POST", f"{base}/u/permissions", by_rid).status == 201
    upsert = send("POST", f"{base}/u/permissions", {**by_rid, "permissionMode": "All"}, {"x-ms-documentdb-is-upsert": "True"})
    assert upsert.status == 200 and upsert.json["permissionMode"] == "All", upsert


@pytest.mark.parametrize("header, value", [("x-ms-offer-throughput", "500"), ("x-ms-offer-throughput", "x"),
                                           ("x-ms-cosmos-offer-autopilot-settings", '{"maxThroughput":4000}')])
def test_W69_no_throughput_on_a_replace(container, header, value):
    """The offer is where it is changed: a header that does nothing is refused."""
    definition = {"id": container.id, "partitionKey": container.body["partitionKey"]}
    refused = send("PUT", container.path, definition, {header: value})
    assert refused.status == 400 and header in refused.json["message"] and "offer" in refused.json["message"], refused
    assert send("PUT", container.path, definition).status == 200


def test_W71_shared_database_limit(database):
    name = unique()
    assert send("POST", "/dbs", {"id": name}, {"x-ms-offer-throughput": "400"}).status == 201
    try:
        for n in range(25):
            assert send("POST", f"/dbs/{name}/colls", {"id": f"c{n}", "partitionKey": {"paths": ["/pk"]}}).status == 201
        over = send("POST", f"/dbs/{name}/colls", {"id": "c25", "partitionKey": {"paths": ["/pk"]}})
        assert over.status == 403, over
        own = send("POST", f"/dbs/{name}/colls", {"id": "own", "partitionKey": {"paths": ["/pk"]}}, {"x-ms-offer-throughput": "400"})
        assert own.status == 201, own
    finally:
        send("DELETE", f"/dbs/{name}")


def test_W72_client_encryption_keys(database):
    keys = f"/dbs/{database['id']}/clientencryptionkeys"
    algorithm = "AEAD_AES_256_CBC_HMAC_SHA256"
    body = {"id": "k", "encryptionAlgorithm": algorithm, "wrappedDataEncryptionKey": "AAAA",
            "keyWrapMetadata": {"type": "t", "name": "n", "value": "v", "algorithm": "RSA-OAEP"}}
    created = send("POST", keys, body)
    assert created.status == 201 and {**created.json, **body} == created.json, created
    assert len(base64.b64decode(created.json["_rid"].replace("-", "/"))) == 12
    assert created.json["_self"].endswith(f"clientencryptionkeys/{created.json['_rid']}/")
    assert send("POST", keys, body).status == 409
    assert send("GET", f"{keys}/k").json == created.json
    assert send("GET", f"{keys}/none").status == 404
    replaced = send("PUT", f"{keys}/k", {**body, "wrappedDataEncryptionKey": "BBBB"}, {"If-Match": created.json["_etag"]})
    assert replaced.status == 200 and replaced.json["wrappedDataEncryptionKey"] == "BBBB"
    assert send("PUT", f"{keys}/k", body, {"If-Match": created.json["_etag"]}).status == 412
    listed = send("GET", keys)
    assert listed.json["ClientEncryptionKeys"] == [replaced.json] and listed.json["_count"] == 1
    assert send("DELETE", f"{keys}/k").status == 405
    for member, value in (("encryptionAlgorithm", "X"), ("wrappedDataEncryptionKey", "?"), ("keyWrapMetadata", {}), ("id", "")):
        assert send("POST", keys, {**body, "id": "bad", member: value}).status == 400, member
    for number in range(19):
        assert send("POST", keys, {**body, "id": f"k{number}"}).status == 201
    assert send("POST", keys, {**body, "id": "many"}).status == 403

    def policy(path, key="k", kind="Deterministic", version=1):
        return {"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}, "clientEncryptionPolicy": {
            "includedPaths": [{"path": path, "clientEncryptionKeyId": key, "encryptionType": kind, "encryptionAlgorithm": algorithm}], "policyFormatVersion": version}}

    colls = f"/dbs/{database['id']}/colls"
    for bad in (policy("/a", "none"), policy("/a/b"), policy("/pk"), policy("/id"), policy("/pk", kind="Randomized", version=2), policy("/a", version=9)):
        answer = send("POST", colls, bad)
        assert answer.status == 400 and "clientEncryptionPolicy" in answer.json["message"], answer
    made = send("POST", colls, policy("/pk", version=2))
    assert made.status == 201 and made.json["clientEncryptionPolicy"] == policy("/pk", version=2)["clientEncryptionPolicy"]
    assert send("PUT", f"{colls}/c", policy("/other", version=2)).status == 400
