// Stored procedures, triggers and user-defined functions: B83–B92.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { PermissionMode, TriggerOperation, TriggerType } from "@azure/cosmos";
import { behaviour, keylessClient, missing, name, rejects, withContainer } from "./harness.js";

/// Creates a stored procedure and runs it in the logical partition `pk`.
async function run(container, body, parameters = [], pk = "a", options = {}) {
  const { resource } = await container.scripts.storedProcedures.create({ id: name("p"), body });
  return container.scripts.storedProcedure(resource.id).execute(pk, parameters, options);
}

describe("scripts", { concurrency: 4 }, () => {
  behaviour("B83", "scripts as resources: create, read, replace, list, query, delete; 409, 404, 412", async () => {
    await withContainer(async (container) => {
      const kinds = [
        [container.scripts.storedProcedures, (id) => container.scripts.storedProcedure(id), {}],
        [container.scripts.triggers, (id) => container.scripts.trigger(id), { triggerType: TriggerType.Pre, triggerOperation: TriggerOperation.All }],
        [container.scripts.userDefinedFunctions, (id) => container.scripts.userDefinedFunction(id), {}],
      ];
      for (const [feed, one, more] of kinds) {
        const { resource } = await feed.create({ id: "s", body: function () { return 1; }, ...more });
        assert.match(resource.body, /return 1/);
        for (const property of ["_rid", "_self", "_etag", "_ts"]) assert.ok(resource[property], property);
        await rejects(feed.create({ id: "s", body: "function () {}", ...more }), 409);
        const error = await rejects(feed.create({ id: "t", body: "function () {\n  let x = = 5;\n}", ...more }), 400);
        assert.match(error.message, /line 2, column/);
        const read = await one("s").read();
        assert.equal(read.resource.body, resource.body);
        const replaced = await one("s").replace({ id: "s", body: "function () { return 2; }", ...more });
        assert.notEqual(replaced.resource._etag, resource._etag);
        assert.equal(replaced.resource._rid, resource._rid);
        await rejects(one("s").replace({ id: "s", body: "function () {}", ...more }, { accessCondition: { type: "IfMatch", condition: resource._etag } }), 412);
        assert.deepEqual((await feed.readAll().fetchAll()).resources.map((r) => r.id), ["s"]);
        const found = await feed.query("SELECT * FROM r WHERE r.id = 's'").fetchAll();
        assert.equal(found.resources.length, 1);
        await one("s").delete();
        await rejects(one("s").delete(), 404);
      }
    });
  });

  behaviour("B84", "a procedure takes parameters, answers, logs; its error is 400 with text and number", async () => {
    await withContainer(async (container) => {
      const answer = await run(container, function (first, second) {
        console.log("called with %s", second.b);
        getContext().getResponse().setBody({ first, second });
      }, ["x", { b: [1] }], "a", { enableScriptLogging: true });
      assert.deepEqual(answer.resource, { first: "x", second: { b: [1] } });
      assert.equal(decodeURIComponent(answer.headers["x-ms-documentdb-script-log-results"]), "called with 1");
      assert.equal(answer.headers["x-ms-request-charge"], "4.60");
      const error = await rejects(run(container, "function () { throw new Error(ErrorCodes.Conflict, 'told so'); }"), 400, 409);
      assert.match(error.message, /told so/);
    });
  });

  behaviour("B85", "a procedure is one transaction: all of it or nothing, in its logical partition", async () => {
    await withContainer(async (container) => {
      const bulk = function (count, fail) {
        const collection = getContext().getCollection();
        let made = 0;
        const next = () => {
          if (made === count) {
            if (fail) throw new Error("enough");
            getContext().getResponse().setBody(made);
            return;
          }
          const accepted = collection.createDocument(collection.getSelfLink(), { id: `i${made}`, pk: "a", n: made }, (error) => {
            if (error) throw new Error(error.number, error.body);
            made++;
            next();
          });
          if (!accepted) getContext().getResponse().setBody(made);
        };
        next();
      };
      await rejects(run(container, bulk, [50, true]), 400);
      assert.equal((await container.items.readAll().fetchAll()).resources.length, 0);
      assert.equal((await run(container, bulk, [200, false])).resource, 200);
      assert.equal((await container.items.readAll().fetchAll()).resources.length, 200);
      await rejects(run(container, bulk, [1, false]), 400, 409);
      const elsewhere = await rejects(run(container, "function () { __.createDocument(__.getSelfLink(), {id: 'x', pk: 'b'}); }"), 400);
      assert.match(elsewhere.message, /PartitionKey extracted from document/);
    });
  });

  behaviour("B86", "a procedure reads, queries, replaces and deletes with etags; what it answers is what is stored", async () => {
    await withContainer(async (container) => {
      for (let n = 0; n < 12; n++) await container.items.create({ id: `i${n}`, pk: "a", n });
      await container.items.create({ id: "other", pk: "b", n: 0 });
      const answer = await run(container, function () {
        const collection = getContext().getCollection();
        const pages = [];
        const page = (continuation) => {
          collection.queryDocuments(collection.getSelfLink(), { query: "SELECT * FROM c WHERE c.n < @n ORDER BY c.n", parameters: [{ name: "@n", value: 10 }] },
            { pageSize: 4, continuation }, (error, rows, options) => {
              if (error) throw error;
              pages.push(rows.length);
              if (options.continuation) return page(options.continuation);
              const item = rows[0];
              item.changed = true;
              collection.replaceDocument(item._self, item, { etag: item._etag }, (e, replaced) => {
                if (e) throw e;
                collection.replaceDocument(item._self, item, { etag: item._etag }, (stale) => {
                  collection.deleteDocument(collection.getAltLink() + "/docs/i0", (gone) => {
                    getContext().getResponse().setBody({ pages, replaced, stale: stale.number, gone: gone === undefined });
                  });
                });
              });
            });
        };
        page();
      });
      assert.deepEqual(answer.resource.pages, [4, 4, 2]);
      assert.equal(answer.resource.stale, 412);
      assert.equal(answer.resource.gone, true);
      const { resource } = await container.item("i8", "a").read();
      assert.equal(resource.changed, true);
      assert.equal(resource._etag, answer.resource.replaced._etag);
      await missing(container.item("i0", "a"));
    });
  });

  behaviour("B87", "fluent queries: filter, map, pluck, flatten, sortBy, unwind, chain", async () => {
    await withContainer(async (container) => {
      for (const [id, n, tags] of [["a", 3, ["x"]], ["b", 1, ["y", "z"]], ["c", 2, []]]) await container.items.create({ id, pk: "a", n, tags });
      const value = async (text) => (await run(container, `function () { ${text}; }`)).resource;
      assert.deepEqual(await value("__.chain().sortBy((d) => d.n).pluck('id').value()"), ["b", "c", "a"]);
      assert.deepEqual(await value("__.chain().filter((d) => d.n > 1).sortByDescending((d) => d.n).map((d) => d.n).value()"), [3, 2]);
      assert.deepEqual((await value("__.chain().pluck('tags').flatten().value()")).sort(), ["x", "y", "z"]);
      assert.deepEqual((await value("__.chain().unwind('tags', (d, t) => d.id + t).value()")).sort(), ["ax", "by", "bz"]);
      assert.equal(await value("__.filter((d) => d.n === 1, (e, r) => __.response.setBody(r[0].id))"), "b");
    });
  });

  behaviour("B88", "a script that loops or hoards is ended; the server goes on", async () => {
    await withContainer(async (container) => {
      const { resource } = await container.scripts.storedProcedures.create({ id: "loop", body: "function () { __.createDocument(__.getSelfLink(), {id: 'x', pk: 'a'}); for (;;); }" });
      const loop = container.scripts.storedProcedure(resource.id).execute("a", []);
      const others = [...Array(20).keys()].map((n) => container.items.create({ id: `o${n}`, pk: "b" }));
      await Promise.all(others);
      const error = await loop.then(() => assert.fail("it ended by itself"), (e) => e);
      assert.ok([408, "TimeoutError"].includes(error.code) || error.code === 408, `${error.code}`);
      await missing(container.item("x", "a"));
      const hoard = await run(container, "function () { const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1)); }").then(() => assert.fail("it ended by itself"), (e) => e);
      assert.ok([400, 408, 413].includes(hoard.code), `${hoard.code}`);
      assert.equal((await run(container, "function () { __.response.setBody(1); }")).resource, 1);
    });
  });

  behaviour("B89", "pre- and post-triggers by header, in the write's transaction", async () => {
    await withContainer(async (container) => {
      await container.scripts.triggers.create({ id: "stamp", triggerType: TriggerType.Pre, triggerOperation: TriggerOperation.Create, body: function () {
        const request = getContext().getRequest();
        const item = request.getBody();
        item.stamped = request.getOperationType();
        request.setBody(item);
      } });
      await container.scripts.triggers.create({ id: "count", triggerType: TriggerType.Post, triggerOperation: TriggerOperation.All, body: function () {
        const collection = getContext().getCollection();
        const item = getContext().getResponse().getBody();
        if (item.fail) throw new Error("not this one");
        collection.upsertDocument(collection.getSelfLink(), { id: "meta", pk: item.pk, last: item.id });
      } });
      const both = { preTriggerInclude: "stamp", postTriggerInclude: "count" };
      const { resource } = await container.items.create({ id: "1", pk: "a" }, both);
      assert.equal(resource.stamped, "Create");
      assert.equal((await container.item("meta", "a").read()).resource.last, "1");
      await rejects(container.items.create({ id: "2", pk: "a", fail: true }, both), 400);
      await missing(container.item("2", "a"));
      await rejects(container.items.create({ id: "3", pk: "a" }, { preTriggerInclude: "none" }), 400);
      await rejects(container.items.create({ id: "3", pk: "a" }, { preTriggerInclude: "count" }), 400);
      await rejects(container.item("1", "a").replace({ id: "1", pk: "a" }, { preTriggerInclude: "stamp" }), 400);
      assert.equal((await container.items.create({ id: "4", pk: "a" })).resource.stamped, undefined);
    });
  });

  behaviour("B90", "user-defined functions in every clause, over several ranges", async () => {
    await withContainer(async (container) => {
      for (let n = 0; n < 30; n++) await container.items.create({ id: `i${n}`, pk: `p${n % 7}`, n });
      await container.scripts.userDefinedFunctions.create({ id: "twice", body: function (x) { return x * 2; } });
      await container.scripts.userDefinedFunctions.create({ id: "parity", body: "function (x) { return x % 2 === 0 ? 'even' : 'odd'; }" });
      const rows = async (query) => (await container.items.query(query).fetchAll()).resources;
      assert.deepEqual(await rows("SELECT VALUE udf.twice(c.n) FROM c WHERE udf.twice(c.n) < 6 ORDER BY c.n DESC"), [4, 2, 0]);
      assert.deepEqual(await rows("SELECT VALUE SUM(udf.twice(c.n)) FROM c"), [870]);
      const groups = await rows("SELECT udf.parity(c.n) AS p, COUNT(1) AS n FROM c GROUP BY udf.parity(c.n)");
      assert.deepEqual(groups.sort((a, b) => (a.p < b.p ? -1 : 1)), [{ p: "even", n: 15 }, { p: "odd", n: 15 }]);
      await rejects(rows("SELECT VALUE udf.none(c.n) FROM c"), 400);
    }, { throughput: 18000 });
  });

  behaviour("B91", "runs at the same time lose nothing", async () => {
    await withContainer(async (container) => {
      await container.items.create({ id: "count", pk: "a", n: 0 });
      await container.scripts.storedProcedures.create({ id: "add", body: "function () { __.readDocument(__.getAltLink() + '/docs/count', (e, d) => { if (e) throw e; d.n++; __.replaceDocument(d._self, d); }); }" });
      const outcomes = await Promise.all([...Array(30).keys()].map(() => container.scripts.storedProcedure("add").execute("a", []).then(() => 1, (e) => { assert.equal(e.code, 449); return 0; })));
      assert.equal((await container.item("count", "a").read()).resource.n, outcomes.reduce((a, b) => a + b, 0));
    });
  });

  behaviour("B92", "a permission on a stored procedure runs it and nothing else", async () => {
    await withContainer(async (container, database) => {
      await container.scripts.storedProcedures.create({ id: "mine", body: "function () { __.response.setBody('ran'); }" });
      await container.scripts.storedProcedures.create({ id: "other", body: "function () {}" });
      const { user } = await database.users.create({ id: name("u") });
      const path = `dbs/${database.id}/colls/${container.id}`;
      const { resource } = await user.permissions.create({ id: "p", permissionMode: PermissionMode.All, resource: `${path}/sprocs/mine` });
      const guest = keylessClient({ tokenProvider: async () => resource._token });
      const theirs = guest.database(database.id).container(container.id);
      assert.equal((await theirs.scripts.storedProcedure("mine").execute("a", [])).resource, "ran");
      await rejects(theirs.scripts.storedProcedure("other").execute("a", []), 403);
      await rejects(theirs.items.create({ id: "1", pk: "a" }), 403);
      guest.dispose();
    });
  });
});
