"""Stored procedures, triggers and user-defined functions: B83–B86, B88–B90."""
import pytest
from azure.cosmos.documents import TriggerOperation, TriggerType
from azure.cosmos.exceptions import CosmosHttpResponseError

from conftest import unique


def refused(error, status, *texts):
    assert error.value.status_code == status, error.value
    for text in texts:
        assert text in str(error.value), error.value


async def run(sdk, container, body, parameters=None, pk="a"):
    made = await sdk(container.scripts.create_stored_procedure, {"id": unique("p"), "body": body})
    given = {"params" if sdk.flavour == "sync" else "parameters": parameters or []}
    return await sdk(container.scripts.execute_stored_procedure, made["id"], partition_key=pk, **given)


async def test_B83_resources(sdk, container):
    scripts = container.scripts
    kinds = (
        ("stored_procedure", "stored_procedures", {}),
        ("trigger", "triggers", {"triggerType": TriggerType.Pre, "triggerOperation": TriggerOperation.All}),
        ("user_defined_function", "user_defined_functions", {}),
    )
    for one, many, more in kinds:
        create = getattr(scripts, f"create_{one}")
        made = await sdk(create, {"id": "s", "body": "function () { return 1; }", **more})
        for name in ("_rid", "_self", "_etag", "_ts"):
            assert made[name]
        with pytest.raises(CosmosHttpResponseError) as error:
            await sdk(create, {"id": "s", "body": "function () {}", **more})
        refused(error, 409)
        with pytest.raises(CosmosHttpResponseError) as error:
            await sdk(create, {"id": "t", "body": "function () {\n  let x = = 5;\n}", **more})
        refused(error, 400, "line 2, column")
        assert (await sdk(getattr(scripts, f"get_{one}"), "s"))["body"] == made["body"]
        replaced = await sdk(getattr(scripts, f"replace_{one}"), "s", {"id": "s", "body": "function () { return 2; }", **more})
        assert replaced["_rid"] == made["_rid"] and replaced["_etag"] != made["_etag"]
        assert [r["id"] for r in await sdk.all(getattr(scripts, f"list_{many}")())] == ["s"]
        found = await sdk.all(getattr(scripts, f"query_{many}")("SELECT * FROM r WHERE r.id = 's'"))
        assert len(found) == 1
        await sdk(getattr(scripts, f"delete_{one}"), "s")
        with pytest.raises(CosmosHttpResponseError) as error:
            await sdk(getattr(scripts, f"get_{one}"), "s")
        refused(error, 404)


async def test_B84_procedure(sdk, container):
    answer = await run(sdk, container, "function (a, b) { getContext().getResponse().setBody({a: a, b: b}); }", ["x", {"n": [1]}])
    assert answer == {"a": "x", "b": {"n": [1]}}
    with pytest.raises(CosmosHttpResponseError) as error:
        await run(sdk, container, "function () { throw new Error(ErrorCodes.Conflict, 'told so'); }")
    refused(error, 400, "told so")
    assert error.value.sub_status == 409


async def test_B85_all_or_nothing(sdk, container):
    body = """function (count, fail) {
        for (let i = 0; i < count; i++)
            if (!__.createDocument(__.getSelfLink(), {id: 'i' + i, pk: 'a'}, (e) => { if (e) throw new Error(e.number, e.body); })) throw new Error('not accepted');
        if (fail) throw new Error('enough');
    }"""
    with pytest.raises(CosmosHttpResponseError) as error:
        await run(sdk, container, body, [20, True])
    refused(error, 400, "enough")
    assert await sdk.all(container.read_all_items()) == []
    await run(sdk, container, body, [20, False])
    assert len(await sdk.all(container.read_all_items())) == 20


async def test_B86_queries_and_etags(sdk, container):
    for n in range(6):
        await sdk(container.create_item, {"id": f"i{n}", "pk": "a", "n": n})
    answer = await run(sdk, container, """function () {
        __.queryDocuments(__.getSelfLink(), {query: 'SELECT * FROM c WHERE c.n >= @n ORDER BY c.n', parameters: [{name: '@n', value: 4}]}, (e, rows) => {
            if (e) throw e;
            rows[0].changed = true;
            __.replaceDocument(rows[0]._self, rows[0], {etag: rows[0]._etag}, (e2, r) => { if (e2) throw e2; __.response.setBody([rows.length, r]); });
        });
    }""")
    assert answer[0] == 2
    assert (await sdk(container.read_item, "i4", "a"))["_etag"] == answer[1]["_etag"]


async def test_B88_loops_end(sdk, container):
    with pytest.raises(CosmosHttpResponseError) as error:
        await run(sdk, container, "function () { for (;;); }")
    assert error.value.status_code == 408


async def test_B89_triggers(sdk, container):
    await sdk(container.scripts.create_trigger, {"id": "stamp", "triggerType": TriggerType.Pre, "triggerOperation": TriggerOperation.Create,
              "body": "function () { const r = getContext().getRequest(); const b = r.getBody(); b.stamped = true; r.setBody(b); }"})
    await sdk(container.scripts.create_trigger, {"id": "count", "triggerType": TriggerType.Post, "triggerOperation": TriggerOperation.All,
              "body": "function () { const c = getContext().getCollection(), b = getContext().getResponse().getBody(); if (b.fail) throw new Error('no'); c.upsertDocument(c.getSelfLink(), {id: 'meta', pk: b.pk, last: b.id}); }"})
    made = await sdk(container.create_item, {"id": "1", "pk": "a"}, pre_trigger_include="stamp", post_trigger_include="count")
    assert made["stamped"] is True
    assert (await sdk(container.read_item, "meta", "a"))["last"] == "1"
    with pytest.raises(CosmosHttpResponseError) as error:
        await sdk(container.create_item, {"id": "2", "pk": "a", "fail": True}, post_trigger_include="count")
    refused(error, 400, "no")
    with pytest.raises(CosmosHttpResponseError) as error:
        await sdk(container.create_item, {"id": "3", "pk": "a"}, pre_trigger_include="unknown")
    refused(error, 400)
    assert len(await sdk.all(container.read_all_items())) == 2


async def test_B90_functions(sdk, container):
    for n in range(10):
        await sdk(container.create_item, {"id": f"i{n}", "pk": f"p{n % 3}", "n": n})
    await sdk(container.scripts.create_user_defined_function, {"id": "twice", "body": "function (x) { return x * 2; }"})
    query = lambda text: sdk.all(container.query_items(text, enable_cross_partition_query=True) if sdk.flavour == "sync" else container.query_items(text))
    assert await query("SELECT VALUE udf.twice(c.n) FROM c WHERE udf.twice(c.n) < 6 ORDER BY c.n DESC") == [4, 2, 0]
    assert await query("SELECT VALUE SUM(udf.twice(c.n)) FROM c") == [90]
    with pytest.raises(CosmosHttpResponseError) as error:
        await query("SELECT VALUE udf.none(c.n) FROM c")
    refused(error, 400, "does not exist")
