// Partition keys, items, patch, TTL, unique keys, session, charges: B11–B33, B52, B53, B55, B56.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { BulkOperationType, PartitionKeyKind } from "@azure/cosmos";
import { behaviour, byId, missing, newClient, rejects, sleep, userProperties, withContainer } from "./harness.js";

describe("partition keys", { concurrency: 4 }, () => {
  /// Creates, reads and deletes one item per key and checks that equal ids under different keys are different items.
  async function roundTrip(container, keyed) {
    for (const [key, body] of keyed) {
      const created = await container.items.create({ id: "same", ...body });
      assert.equal(created.statusCode, 201, JSON.stringify(key));
    }
    for (const [key, body] of keyed) {
      const { resource, statusCode } = await container.item("same", key).read();
      assert.equal(statusCode, 200, JSON.stringify(key));
      assert.deepEqual(userProperties(resource), { id: "same", ...body });
    }
    for (const [key] of keyed) assert.equal((await container.item("same", key).delete()).statusCode, 204);
    for (const [key] of keyed) await missing(container.item("same", key));
  }

  behaviour("B11", "string, number, boolean and null keys are distinct", async () => {
    const keys = ["a", "", "1", "true", "null", 1, 0, -1.5, 1e300, 9007199254740991, true, false, null];
    await withContainer((container) => roundTrip(container, keys.map((k) => [k, { pk: k, mark: JSON.stringify(k) }])), { throughput: 18000 });
  });

  behaviour("B12", "an item without the key property has the None key", async () => {
    await withContainer(async (container) => {
      await container.items.create({ id: "1", other: 1 });
      await container.items.create({ id: "1", pk: null });
      const { resource } = await container.item("1", undefined).read();
      assert.equal(resource.other, 1);
      assert.equal((await container.item("1", null).read()).resource.pk, null);
      assert.equal((await container.item("1", undefined).replace({ id: "1", other: 2 })).resource.other, 2);
      assert.equal((await container.item("1", undefined).delete()).statusCode, 204);
      await missing(container.item("1", undefined));
      assert.equal((await container.item("1", null).read()).statusCode, 200);
    });
  });

  behaviour("B13", "hierarchical keys of two and three levels", async () => {
    const levels = (paths) => ({ partitionKey: { paths, kind: PartitionKeyKind.MultiHash, version: 2 } });
    await withContainer(
      (container) =>
        roundTrip(container, [
          [["t1", "u1"], { tenant: "t1", user: "u1" }],
          [["t1", "u2"], { tenant: "t1", user: "u2" }],
          [["u1", "t1"], { tenant: "u1", user: "t1" }],
          [["t1", 5], { tenant: "t1", user: 5 }],
          [["t1", null], { tenant: "t1", user: null }],
        ]),
      levels(["/tenant", "/user"]),
    );
    await withContainer(
      async (container) => {
        assert.equal((await container.read()).resource.partitionKey.kind, "MultiHash");
        await roundTrip(container, [
          [["a", "b", "c"], { l1: "a", l2: { x: "b" }, l3: "c" }],
          [["a", "b", true], { l1: "a", l2: { x: "b" }, l3: true }],
          [["a", 1, "é"], { l1: "a", l2: { x: 1 }, l3: "é" }],
        ]);
        await container.items.create({ id: "p", l1: "a", l2: { x: "b" }, l3: "c" });
        await container.items.create({ id: "q", l1: "a", l2: { x: "z" }, l3: "c" });
        await container.items.create({ id: "r", l1: "n", l2: { x: "b" }, l3: "c" });
        const prefix = await container.items.query("SELECT * FROM c", { partitionKey: ["a"] }).fetchAll();
        assert.deepEqual(prefix.resources.sort(byId).map((i) => i.id), ["p", "q"]);
      },
      { ...levels(["/l1", "/l2/x", "/l3"]), throughput: 18000 },
    );
  });

  behaviour("B14", "definition versions 1 and 2 both work and are returned", async () => {
    for (const version of [1, 2]) {
      await withContainer(
        async (container) => {
          assert.equal((await container.read()).resource.partitionKey.version, version);
          await roundTrip(container, ["x", 7, true, null, "long".repeat(20)].map((k) => [k, { pk: k }]));
        },
        { partitionKey: { paths: ["/pk"], kind: PartitionKeyKind.Hash, version }, throughput: 18000 },
      );
    }
  });

  behaviour("B15", "unicode keys", async () => {
    const keys = ["é", "日本語", "🪐 orbit", "a\"b\\c", "tab\tnew\nline", "e\u0301", "ß", "\u200b", "Ω≈ç√"];
    await withContainer((container) => roundTrip(container, keys.map((k) => [k, { pk: k }])), { throughput: 18000 });
  });

  behaviour("B16", "keys up to 2 KB; longer ones are 400", async () => {
    await withContainer(async (container) => {
      const at = "k".repeat(2048);
      await roundTrip(container, [at, at.slice(1), "é".repeat(1024)].map((k) => [k, { pk: k }]));
      await rejects(container.items.create({ id: "1", pk: `${at}x` }), 400);
    });
  });
});

describe("items", { concurrency: 4 }, () => {
  behaviour("B17", "create 201, read 200, replace 200, upsert 201 and 200, delete 204", async () => {
    await withContainer(async (container) => {
      const created = await container.items.create({ id: "1", pk: "a", n: 1 });
      assert.equal(created.statusCode, 201);
      assert.deepEqual(userProperties(created.resource), { id: "1", pk: "a", n: 1 });
      const read = await container.item("1", "a").read();
      assert.equal(read.statusCode, 200);
      assert.deepEqual(read.resource, created.resource);
      const replaced = await container.item("1", "a").replace({ id: "1", pk: "a", n: 2 });
      assert.equal(replaced.statusCode, 200);
      assert.equal(replaced.resource.n, 2);
      assert.equal(replaced.resource._rid, created.resource._rid);
      assert.equal((await container.items.upsert({ id: "1", pk: "a", n: 3 })).statusCode, 200);
      assert.equal((await container.items.upsert({ id: "2", pk: "a", n: 4 })).statusCode, 201);
      assert.equal((await container.item("1", "a").read()).resource.n, 3);
      assert.equal((await container.item("1", "a").delete()).statusCode, 204);
      await missing(container.item("1", "a"));
      assert.equal((await container.item("2", "a").read()).resource.n, 4);
    });
  });

  behaviour("B18", "409 on a second create; 404 on read, replace, patch, delete of nothing", async () => {
    await withContainer(async (container) => {
      await container.items.create({ id: "1", pk: "a", n: 1 });
      await rejects(container.items.create({ id: "1", pk: "a", n: 2 }), 409);
      assert.equal((await container.item("1", "a").read()).resource.n, 1);
      await missing(container.item("1", "b"));
      await rejects(container.item("2", "a").replace({ id: "2", pk: "a" }), 404);
      await rejects(container.item("2", "a").patch([{ op: "set", path: "/x", value: 1 }]), 404);
      await rejects(container.item("2", "a").delete(), 404);
    });
  });

  behaviour("B19", "If-Match: 412 with a stale etag, success with the current one and with *", async () => {
    await withContainer(async (container) => {
      const ifMatch = (condition) => ({ accessCondition: { type: "IfMatch", condition } });
      const first = (await container.items.create({ id: "1", pk: "a", n: 1 })).resource._etag;
      const second = (await container.item("1", "a").replace({ id: "1", pk: "a", n: 2 }, ifMatch(first))).resource._etag;
      assert.notEqual(first, second);
      await rejects(container.item("1", "a").replace({ id: "1", pk: "a", n: 9 }, ifMatch(first)), 412);
      await rejects(container.items.upsert({ id: "1", pk: "a", n: 9 }, ifMatch(first)), 412);
      await rejects(container.item("1", "a").patch([{ op: "set", path: "/n", value: 9 }], ifMatch(first)), 412);
      await rejects(container.item("1", "a").delete(ifMatch(first)), 412);
      assert.equal((await container.item("1", "a").read()).resource.n, 2);
      assert.equal((await container.item("1", "a").replace({ id: "1", pk: "a", n: 3 }, ifMatch("*"))).statusCode, 200);
      const third = (await container.item("1", "a").read()).resource._etag;
      assert.equal((await container.item("1", "a").delete(ifMatch(third))).statusCode, 204);
    });
  });

  behaviour("B20", "If-None-Match: 304 without body for the current etag, 200 for another", async () => {
    await withContainer(async (container) => {
      const { resource } = await container.items.create({ id: "1", pk: "a" });
      const ifNoneMatch = { accessCondition: { type: "IfNoneMatch", condition: resource._etag } };
      const unchanged = await container.item("1", "a").read(ifNoneMatch);
      assert.equal(unchanged.statusCode, 304);
      assert.ok(!unchanged.resource, "no body");
      assert.equal(unchanged.etag, resource._etag);
      await container.item("1", "a").replace({ id: "1", pk: "a", n: 2 });
      const changed = await container.item("1", "a").read(ifNoneMatch);
      assert.equal(changed.statusCode, 200);
      assert.equal(changed.resource.n, 2);
    });
  });

  behaviour("B21", "system properties: set by the server, client values overwritten", async () => {
    await withContainer(async (container) => {
      const before = Math.floor(Date.now() / 1000);
      const { resource, etag } = await container.items.create({ id: "1", pk: "a", _rid: "x", _ts: 1, _etag: "y", _self: "z" });
      const { resource: definition } = await container.read();
      assert.ok(Math.abs(resource._ts - before) <= 60, `_ts ${resource._ts}`);
      assert.equal(Buffer.from(resource._rid.replaceAll("-", "/"), "base64").length, 16);
      assert.equal(resource._self, `${definition._self}docs/${resource._rid}/`);
      assert.match(resource._etag, /^".+"$/);
      assert.equal(etag, resource._etag);
      assert.equal(resource._attachments, "attachments/");
      assert.deepEqual(Object.keys(resource), ["id", "pk", "_rid", "_self", "_etag", "_attachments", "_ts"]);
    });
  });

  behaviour("B22", "ids with special characters", async () => {
    const ids = ["a b", "50%", "%20", "a+b", "é", "日本", "🪐", "it's", 'say "x"', "a&b=c", "a:b;c,d", "x@y", "(1)[2]{3}", "~", "dbs", "a%2Fb", "`^|<>$"];
    await withContainer(async (container) => {
      for (const id of ids) {
        assert.equal((await container.items.create({ id, pk: "a" })).resource.id, id);
        const read = await container.item(id, "a").read();
        assert.equal(read.statusCode, 200, id);
        assert.equal(read.resource.id, id);
        assert.equal((await container.item(id, "a").replace({ id, pk: "a", n: 1 })).resource.n, 1, id);
      }
      const { resources } = await container.items.readAll({ partitionKey: "a" }).fetchAll();
      assert.deepEqual(resources.map((i) => i.id).sort(), [...ids].sort());
      for (const id of ids) assert.equal((await container.item(id, "a").delete()).statusCode, 204, id);
    });
  });

  behaviour("B23", "property order, nesting and values survive", async () => {
    const body = {
      zebra: 1, id: "1", apple: [1, "two", null, true, { z: 1, a: 2 }, []], pk: "a", "with space": "", "": "empty name", "日本": "🪐",
      num: [0, -1, 1.5, 1e21, 5e-324, 1.7976931348623157e308, 9007199254740991, 0.1],
      text: "quote \" back \\ slash / tab \t nul \u0000 del \u007f ls \u2028", obj: { b: {}, a: { c: [[[]]] } }, $v: 1, "a.b": 2, "a/b": 3,
    };
    await withContainer(async (container) => {
      const { resource } = await container.items.create(body);
      assert.equal(JSON.stringify(userProperties(resource)), JSON.stringify(body));
      const read = await container.item("1", "a").read();
      assert.equal(JSON.stringify(userProperties(read.resource)), JSON.stringify(body));
    });
  });

  behaviour("B24", "contentResponseOnWriteEnabled=false (batch and bulk only in this SDK): no bodies, etags stay", async () => {
    await withContainer(async (container) => {
      const quiet = { contentResponseOnWriteEnabled: false };
      const operations = [
        { operationType: BulkOperationType.Create, partitionKey: "a", resourceBody: { id: "1", pk: "a", n: 1 } },
        { operationType: BulkOperationType.Upsert, partitionKey: "a", resourceBody: { id: "2", pk: "a" } },
        { operationType: BulkOperationType.Patch, partitionKey: "a", id: "1", resourceBody: { operations: [{ op: "incr", path: "/n", value: 1 }] } },
      ];
      const { result } = await container.items.batch(operations.map(({ partitionKey: _, ...o }) => o), "a", quiet);
      assert.deepEqual(result.map((r) => r.statusCode), [201, 201, 200]);
      for (const r of result) {
        assert.ok(!r.resourceBody, "no body");
        assert.match(r.eTag, /^".+"$/);
      }
      const { resource } = await container.item("1", "a").read();
      assert.equal(resource.n, 2);
      assert.equal(resource._etag, result[2].eTag);
      const bulk = await container.items.executeBulkOperations(
        [{ operationType: BulkOperationType.Replace, partitionKey: "a", id: "2", resourceBody: { id: "2", pk: "a", n: 5 } }],
        quiet,
      );
      assert.equal(bulk[0].response.statusCode, 200);
      assert.ok(!bulk[0].response.resourceBody);
      assert.equal((await container.item("2", "a").read()).resource.n, 5);
    });
  });

  behaviour("B25", "2 MB is the limit: just below works, above is 413", async () => {
    await withContainer(async (container) => {
      const frame = JSON.stringify({ id: "1", pk: "a", s: "" }).length;
      const body = (bytes) => ({ id: "1", pk: "a", s: "x".repeat(bytes - frame) });
      await rejects(container.items.create(body(2 * 1024 * 1024 + 1)), 413);
      await missing(container.item("1", "a"));
      const created = await container.items.create(body(2 * 1024 * 1024 - 4096));
      assert.equal(created.statusCode, 201);
      assert.equal((await container.item("1", "a").read()).resource.s.length, created.resource.s.length);
      await rejects(container.items.upsert(body(2 * 1024 * 1024 + 1)), 413);
    });
  });

  behaviour("B26", "a missing, empty or too long id is 400; 1,023 bytes work", async () => {
    await withContainer(async (container) => {
      const own = { disableAutomaticIdGeneration: true };
      await rejects(container.items.create({ pk: "a" }, own), 400);
      await rejects(container.items.create({ id: "", pk: "a" }, own), 400);
      await rejects(container.items.create({ id: "x".repeat(1024), pk: "a" }), 400);
      const long = "x".repeat(1023);
      assert.equal((await container.items.create({ id: long, pk: "a" })).statusCode, 201);
      assert.equal((await container.item(long, "a").read()).statusCode, 200);
      const generated = await container.items.create({ pk: "a" });
      assert.match(generated.resource.id, /^[0-9a-f-]{36}$/);
      await container.items.create({ id: "1", pk: "a" });
      await rejects(container.item("1", "a").replace({ id: "2", pk: "a" }), 400);
      await rejects(container.item("1", "a").replace({ id: "1", pk: "b" }), 400);
    });
  });
});

describe("patch", { concurrency: 4 }, () => {
  behaviour("B27", "add, set, replace, remove, incr, move", async () => {
    await withContainer(async (container) => {
      await container.items.create({ id: "1", pk: "a", n: 1, gone: true, from: "here", f: 1.5 });
      const { resource, statusCode } = await container.item("1", "a").patch([
        { op: "add", path: "/added", value: { x: 1 } },
        { op: "set", path: "/added/y", value: [1] },
        { op: "replace", path: "/n", value: 5 },
        { op: "remove", path: "/gone" },
        { op: "incr", path: "/n", value: 2 },
        { op: "incr", path: "/fresh", value: 3 },
        { op: "incr", path: "/f", value: -0.25 },
        { op: "move", from: "/from", path: "/to" },
      ]);
      assert.equal(statusCode, 200);
      assert.deepEqual(userProperties(resource), { id: "1", pk: "a", n: 7, f: 1.25, added: { x: 1, y: [1] }, fresh: 3, to: "here" });
      assert.deepEqual((await container.item("1", "a").read()).resource, resource);
    });
  });

  behaviour("B28", "arrays: insert, append, set and remove by index; escaped names", async () => {
    await withContainer(async (container) => {
      await container.items.create({ id: "1", pk: "a", list: ["a", "b", "c"], "x/y": 1, "m~n": 1 });
      const { resource } = await container.item("1", "a").patch([
        { op: "add", path: "/list/1", value: "inserted" },
        { op: "add", path: "/list/-", value: "last" },
        { op: "set", path: "/list/0", value: "A" },
        { op: "remove", path: "/list/2" },
        { op: "replace", path: "/x~1y", value: 2 },
        { op: "incr", path: "/m~0n", value: 1 },
      ]);
      assert.deepEqual(userProperties(resource), { id: "1", pk: "a", list: ["A", "inserted", "c", "last"], "x/y": 2, "m~n": 2 });
    });
  });

  behaviour("B29", "a condition that is false is 412 and changes nothing", async () => {
    await withContainer(async (container) => {
      await container.items.create({ id: "1", pk: "a", n: 1 });
      const operations = [{ op: "incr", path: "/n", value: 1 }];
      await rejects(container.item("1", "a").patch({ condition: "from c where c.n = 5", operations }), 412);
      assert.equal((await container.item("1", "a").read()).resource.n, 1);
      const { resource } = await container.item("1", "a").patch({ condition: "from c where c.n = 1", operations });
      assert.equal(resource.n, 2);
    });
  });

  behaviour("B30", "refused patches: 11 operations, missing paths, id, key, wrong type; nothing applied", async () => {
    await withContainer(async (container) => {
      const { resource: before } = await container.items.create({ id: "1", pk: "a", s: "text", list: [1] });
      const patch = (...operations) => container.item("1", "a").patch(operations);
      const set = (n) => ({ op: "set", path: `/p${n}`, value: n });
      await rejects(patch(...Array.from({ length: 11 }, (_, n) => set(n))), 400);
      await rejects(patch(set(1), { op: "replace", path: "/none", value: 1 }), 400);
      await rejects(patch(set(1), { op: "remove", path: "/none" }), 400);
      await rejects(patch(set(1), { op: "incr", path: "/s", value: 1 }), 400);
      await rejects(patch(set(1), { op: "set", path: "/id", value: "2" }), 400);
      await rejects(patch(set(1), { op: "set", path: "/pk", value: "b" }), 400);
      await rejects(patch(set(1), { op: "set", path: "/_ts", value: 1 }), 400);
      await rejects(patch(set(1), { op: "add", path: "/list/5", value: 1 }), 400);
      await rejects(patch(set(1), { op: "move", from: "/none", path: "/x" }), 400);
      await rejects(patch(set(1), { op: "jump", path: "/x", value: 1 }), 400);
      assert.deepEqual((await container.item("1", "a").read()).resource, before);
      const ten = await patch(...Array.from({ length: 10 }, (_, n) => set(n)));
      assert.equal(ten.resource.p9, 9);
    });
  });
});

describe("TTL and unique keys", { concurrency: 8 }, () => {
  behaviour("B31", "container TTL: expired items are gone from reads, lists and conflicts", async () => {
    await withContainer(
      async (container) => {
        await container.items.create({ id: "stays", pk: "a", ttl: -1 });
        const began = Date.now();
        await container.items.create({ id: "1", pk: "a" });
        const fresh = await container.item("1", "a").read();
        // A machine that is busy elsewhere may take the item's whole life for these two.
        if (Date.now() - began < 1000) assert.equal(fresh.statusCode, 200);
        await sleep(3200);
        await missing(container.item("1", "a"));
        const { resources } = await container.items.readAll({ partitionKey: "a" }).fetchAll();
        assert.deepEqual(resources.map((i) => i.id), ["stays"]);
        await rejects(container.item("1", "a").replace({ id: "1", pk: "a" }), 404);
        assert.equal((await container.items.create({ id: "1", pk: "a" })).statusCode, 201);
      },
      { defaultTtl: 2 },
    );
  });

  behaviour("B32", "item TTL overrides; a write restarts the clock; without a container TTL it is ignored", async () => {
    await withContainer(
      async (container) => {
        await container.items.create({ id: "short", pk: "a", ttl: 2 });
        await container.items.create({ id: "kept", pk: "a", ttl: 2 });
        await container.items.create({ id: "forever", pk: "a" });
        await rejects(container.items.create({ id: "zero", pk: "a", ttl: 0 }), 400);
        await rejects(container.items.create({ id: "text", pk: "a", ttl: "5" }), 400);
        await container.items.upsert({ id: "kept", pk: "a", ttl: 3000 });
        await sleep(3200);
        await missing(container.item("short", "a"));
        assert.equal((await container.item("kept", "a").read()).statusCode, 200);
        assert.equal((await container.item("forever", "a").read()).statusCode, 200);
      },
      { defaultTtl: -1 },
    );
    await withContainer(async (container) => {
      await container.items.create({ id: "1", pk: "a", ttl: 1 });
      await container.items.create({ id: "2", pk: "a", ttl: "ordinary" });
      await sleep(2200);
      assert.equal((await container.item("1", "a").read()).statusCode, 200);
    });
  });

  behaviour("B33", "unique keys: 409 within a logical partition only, on every kind of write", async () => {
    await withContainer(
      async (container) => {
        await container.items.create({ id: "1", pk: "a", email: "x@y", k: { a: 1 }, b: 1 });
        await rejects(container.items.create({ id: "2", pk: "a", email: "x@y", k: { a: 2 }, b: 2 }), 409);
        assert.equal((await container.items.create({ id: "2", pk: "b", email: "x@y", k: { a: 1 }, b: 1 })).statusCode, 201);
        await rejects(container.items.create({ id: "3", pk: "a", email: "other", k: { a: 1 }, b: 1 }), 409);
        await container.items.create({ id: "3", pk: "a", email: "third", k: { a: 1 }, b: "1" });
        await rejects(container.item("3", "a").replace({ id: "3", pk: "a", email: "x@y", k: { a: 1 }, b: "1" }), 409);
        await rejects(container.items.upsert({ id: "3", pk: "a", email: "x@y", k: { a: 1 }, b: "1" }), 409);
        await rejects(container.item("3", "a").patch([{ op: "set", path: "/email", value: "x@y" }]), 409);
        assert.equal((await container.item("3", "a").read()).resource.email, "third");
        assert.equal((await container.item("3", "a").replace({ id: "3", pk: "a", email: "third", k: { a: 9 }, b: 9 })).statusCode, 200);
        await container.items.create({ id: "n1", pk: "a", k: { a: 5 }, b: 5 });
        await rejects(container.items.create({ id: "n2", pk: "a", email: null, k: { a: 6 }, b: 6 }), 409);
        await container.item("1", "a").delete();
        assert.equal((await container.items.create({ id: "again", pk: "a", email: "x@y", k: { a: 1 }, b: 1 })).statusCode, 201);
      },
      { uniqueKeyPolicy: { uniqueKeys: [{ paths: ["/email"] }, { paths: ["/k/a", "/b"] }] } },
    );
  });
});

describe("session, charge, index, concurrency", { concurrency: 4 }, () => {
  behaviour("B52", "session tokens come with every item answer and are honoured", async () => {
    await withContainer(async (container, database) => {
      const token = /^\d+:-?\d+#\d+/;
      const created = await container.items.create({ id: "1", pk: "a" });
      assert.match(created.headers["x-ms-session-token"], token);
      const read = await container.item("1", "a").read({ sessionToken: created.headers["x-ms-session-token"] });
      assert.equal(read.statusCode, 200);
      assert.match(read.headers["x-ms-session-token"], token);
      const session = newClient({ consistencyLevel: "Session" });
      const same = session.database(database.id).container(container.id);
      for (let n = 0; n < 20; n++) {
        await same.items.upsert({ id: "2", pk: "a", n });
        assert.equal((await same.item("2", "a").read()).resource.n, n);
      }
      session.dispose();
      const eventual = newClient({ consistencyLevel: "Eventual" });
      assert.equal((await eventual.database(database.id).container(container.id).item("1", "a").read()).statusCode, 200);
      eventual.dispose();
    });
  });

  behaviour("B53", "request charges of simple operations are exact", async () => {
    await withContainer(async (container) => {
      const created = await container.items.create({ id: "1", pk: "a" });
      assert.equal(created.requestCharge, 5.71);
      assert.equal((await container.item("1", "a").read()).requestCharge, 1);
      const conflict = await rejects(container.items.create({ id: "1", pk: "a" }), 409);
      assert.equal(Number(conflict.headers["x-ms-request-charge"]), 1.24);
      assert.equal((await container.item("nope", "a").read()).requestCharge, 1);
      const a = { id: "7", pk: "t1", tags: ["x", "y", "x"], dim: { w: 1, h: 1.0 }, ok: true, gone: null, none: [], sub: {} };
      assert.equal((await container.items.create(a)).requestCharge, 8);
      assert.equal((await container.items.create({ id: "o1", pk: "a", lines: [{ sku: "A", n: 1 }, { sku: "B", n: 1 }], m: [[1, 2], [2]] })).requestCharge, 7.62);
      const frame = JSON.stringify({ id: "big", pk: "a", s: "" }).length;
      assert.equal((await container.items.create({ id: "big", pk: "a", s: "x".repeat(3000 - frame) })).requestCharge, 7.62);
      assert.equal((await container.item("big", "a").read()).requestCharge, 1.1);
      assert.equal((await container.item("1", "a").delete()).requestCharge, 5.71);
    });
    await withContainer(
      async (container) => {
        const b = { id: "u1", tenant: "acme", name: "Ann", age: 31, email: "ann@example.com" };
        assert.equal((await container.items.create(b)).requestCharge, 7.05); // 5 pairs, 1 unique key: 11 terms
        assert.equal((await container.item("u1", "acme").replace({ ...b, age: 32 })).requestCharge, 10.67);
        assert.equal((await container.item("u1", "acme").patch([{ op: "set", path: "/age", value: 33 }])).requestCharge, 11.07);
      },
      {
        partitionKey: { paths: ["/tenant"], version: 2 },
        uniqueKeyPolicy: { uniqueKeys: [{ paths: ["/email"] }] },
      },
    );
  });

  behaviour("B55", "indexing mode none and directive Exclude: cheaper writes, items stay readable", async () => {
    await withContainer(
      async (container) => {
        assert.equal((await container.read()).resource.indexingPolicy.indexingMode, "none");
        assert.equal((await container.items.create({ id: "1", pk: "a" })).requestCharge, 4.95);
        assert.equal((await container.item("1", "a").read()).statusCode, 200);
        const { resources } = await container.items.readAll({ partitionKey: "a" }).fetchAll();
        assert.equal(resources.length, 1);
      },
      { indexingPolicy: { indexingMode: "none", automatic: false } },
    );
    await withContainer(async (container) => {
      assert.equal((await container.items.create({ id: "1", pk: "a" }, { indexingDirective: "Exclude" })).requestCharge, 4.95);
      assert.equal((await container.item("1", "a").read()).statusCode, 200);
    });
  });

  behaviour("B56", "concurrent writers: one create wins, no increment is lost", async () => {
    await withContainer(async (container) => {
      const outcomes = await Promise.allSettled(Array.from({ length: 16 }, (_, n) => container.items.create({ id: "one", pk: "a", n })));
      const won = outcomes.filter((o) => o.status === "fulfilled");
      assert.equal(won.length, 1);
      for (const o of outcomes.filter((x) => x.status === "rejected")) assert.equal(o.reason.code, 409);
      assert.equal((await container.item("one", "a").read()).resource.n, won[0].value.resource.n);
      await container.items.create({ id: "sum", pk: "a", n: 0 });
      await Promise.all(Array.from({ length: 40 }, () => container.item("sum", "a").patch([{ op: "incr", path: "/n", value: 1 }])));
      assert.equal((await container.item("sum", "a").read()).resource.n, 40);
      const { resource } = await container.item("sum", "a").read();
      const races = await Promise.allSettled(
        Array.from({ length: 8 }, (_, n) =>
          container.item("sum", "a").replace({ id: "sum", pk: "a", n: -n }, { accessCondition: { type: "IfMatch", condition: resource._etag } }),
        ),
      );
      assert.equal(races.filter((r) => r.status === "fulfilled").length, 1);
      for (const r of races.filter((x) => x.status === "rejected")) assert.equal(r.reason.code, 412);
    });
  });
});
