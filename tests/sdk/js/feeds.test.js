// Lists, queries, delete by key, batch and bulk: B34–B42.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { BulkOperationType } from "@azure/cosmos";
import { behaviour, byId, missing, rejects, sleep, userProperties, withContainer } from "./harness.js";

const wide = { throughput: 18000 }; // three physical partitions

async function fill(container, count) {
  const items = Array.from({ length: count }, (_, n) => ({ id: `i${String(n).padStart(4, "0")}`, pk: `k${n % 37}`, n }));
  for (let at = 0; at < count; at += 20) await Promise.all(items.slice(at, at + 20).map((i) => container.items.create(i)));
  return items;
}

async function pages(iterator) {
  const all = [];
  while (iterator.hasMoreResults()) {
    const { resources } = await iterator.fetchNext();
    if (resources) all.push(resources);
  }
  return all;
}

describe("feeds and queries", { concurrency: 4 }, () => {
  behaviour("B34", "readAll over three ranges with paging returns every item once", async () => {
    await withContainer(async (container) => {
      const items = await fill(container, 120);
      const got = await pages(container.items.readAll({ maxItemCount: 17 }));
      for (const page of got) assert.ok(page.length <= 17, `page of ${page.length}`);
      assert.deepEqual(got.flat().map(userProperties).sort(byId), items);
      const { resources } = await container.items.readAll().fetchAll();
      assert.equal(resources.length, 120);
    }, wide);
  });

  behaviour("B35", "SELECT * FROM c resumes from its continuation token", async () => {
    await withContainer(async (container) => {
      const items = await fill(container, 60);
      const seen = [];
      let continuationToken;
      let rounds = 0;
      do {
        const iterator = container.items.query("SELECT * FROM c", { maxItemCount: 11, continuationToken });
        const page = await iterator.fetchNext();
        seen.push(...(page.resources ?? []));
        continuationToken = page.continuationToken;
        assert.ok(++rounds < 60, "the continuation must come to an end");
      } while (continuationToken);
      assert.deepEqual(seen.map(userProperties).sort(byId), items);
    });
  });

  behaviour("B36", "queries with parameters on id and key", async () => {
    await withContainer(async (container) => {
      const items = await fill(container, 60);
      const run = async (query, parameters, options) => {
        const { resources } = await container.items.query({ query, parameters }, options).fetchAll();
        return resources.map(userProperties).sort(byId);
      };
      assert.deepEqual(await run("SELECT * FROM c WHERE c.id = @id", [{ name: "@id", value: "i0007" }]), [items[7]]);
      const k3 = items.filter((i) => i.pk === "k3");
      assert.deepEqual(await run("SELECT * FROM c WHERE c.pk = @pk", [{ name: "@pk", value: "k3" }]), k3);
      assert.deepEqual(await run("SELECT * FROM c", [], { partitionKey: "k3" }), k3);
      assert.deepEqual(await run("SELECT * FROM c WHERE c.n >= @low AND c.n < @high", [{ name: "@low", value: 10 }, { name: "@high", value: 13 }]), items.slice(10, 13));
      assert.deepEqual(await run("SELECT * FROM c WHERE c.id = @id", [{ name: "@id", value: "none" }]), []);
      await rejects(container.items.query("SELECT * FROM WHERE").fetchAll(), 400);
    }, wide);
  });

  behaviour("B38", "delete all items of one partition key", async () => {
    await withContainer(async (container) => {
      for (let n = 0; n < 25; n++) await container.items.create({ id: `${n}`, pk: n % 2 ? "odd" : "even" });
      const { statusCode } = await container.deleteAllItemsForPartitionKey("odd");
      assert.ok([200, 204].includes(statusCode), `${statusCode}`);
      let left = [];
      for (let tries = 0; tries < 600; tries++) {
        left = (await container.items.readAll().fetchAll()).resources;
        if (left.length === 13) break;
        await sleep(50); // the service does it in the background
      }
      assert.equal(left.length, 13);
      assert.ok(left.every((i) => i.pk === "even"));
      await missing(container.item("1", "odd"));
      assert.equal((await container.items.create({ id: "1", pk: "odd" })).statusCode, 201);
    });
  });
});

describe("batch and bulk", { concurrency: 4 }, () => {
  behaviour("B39", "transactional batch with every operation", async () => {
    await withContainer(async (container) => {
      for (const id of ["read", "replace", "patch", "delete"]) await container.items.create({ id, pk: "a", n: 1 });
      const { result, code } = await container.items.batch(
        [
          { operationType: BulkOperationType.Create, resourceBody: { id: "new", pk: "a" } },
          { operationType: BulkOperationType.Upsert, resourceBody: { id: "ups", pk: "a" } },
          { operationType: BulkOperationType.Read, id: "read" },
          { operationType: BulkOperationType.Replace, id: "replace", resourceBody: { id: "replace", pk: "a", n: 2 } },
          { operationType: BulkOperationType.Patch, id: "patch", resourceBody: { operations: [{ op: "incr", path: "/n", value: 4 }] } },
          { operationType: BulkOperationType.Delete, id: "delete" },
          { operationType: BulkOperationType.Read, id: "new" },
        ],
        "a",
      );
      assert.equal(code, 200);
      assert.deepEqual(result.map((r) => r.statusCode), [201, 201, 200, 200, 200, 204, 200]);
      for (const r of result) assert.ok(r.requestCharge > 0);
      assert.equal(result[3].resourceBody.n, 2);
      assert.equal(result[4].resourceBody.n, 5);
      assert.equal(result[6].resourceBody._etag, result[0].eTag);
      assert.equal((await container.item("patch", "a").read()).resource.n, 5);
      await missing(container.item("delete", "a"));
    });
  });

  behaviour("B40", "a failing batch applies nothing: its own status and 424 for the others", async () => {
    await withContainer(async (container) => {
      await container.items.create({ id: "there", pk: "a", n: 1 });
      const response = await container.items.batch(
        [
          { operationType: BulkOperationType.Create, resourceBody: { id: "x", pk: "a" } },
          { operationType: BulkOperationType.Replace, id: "there", resourceBody: { id: "there", pk: "a", n: 2 } },
          { operationType: BulkOperationType.Create, resourceBody: { id: "there", pk: "a" } },
          { operationType: BulkOperationType.Delete, id: "there" },
        ],
        "a",
      );
      assert.equal(response.code, 207);
      assert.deepEqual(response.result.map((r) => r.statusCode), [424, 424, 409, 424]);
      await missing(container.item("x", "a"));
      assert.equal((await container.item("there", "a").read()).resource.n, 1);
      const absent = await container.items.batch([{ operationType: BulkOperationType.Delete, id: "none" }, { operationType: BulkOperationType.Create, resourceBody: { id: "y", pk: "a" } }], "a");
      assert.deepEqual(absent.result.map((r) => r.statusCode), [404, 424]);
      await missing(container.item("y", "a"));
    });
  });

  behaviour("B41", "batch limits and conditions: 100 operations, 101 is 400, over 2 MB 413, If-Match 412", async () => {
    await withContainer(async (container) => {
      const creates = (count, extra = {}) =>
        Array.from({ length: count }, (_, n) => ({ operationType: BulkOperationType.Create, resourceBody: { id: `b${n}`, pk: "a", ...extra } }));
      await assert.rejects(container.items.batch(creates(101), "a"), /more than 100 operations/); // the SDK's own check
      await assert.rejects(container.items.batch(creates(30, { s: "x".repeat(100_000) }), "a"), /Request size is too large/); // 413, wrapped by the SDK
      const full = await container.items.batch(creates(100), "a");
      assert.ok(full.result.every((r) => r.statusCode === 201));
      const { resource } = await container.item("b0", "a").read();
      const stale = await container.items.batch(
        [
          { operationType: BulkOperationType.Create, resourceBody: { id: "c", pk: "a" } },
          { operationType: BulkOperationType.Replace, id: "b0", resourceBody: { id: "b0", pk: "a" }, ifMatch: '"stale"' },
        ],
        "a",
      );
      assert.deepEqual(stale.result.map((r) => r.statusCode), [424, 412]);
      const fresh = await container.items.batch([{ operationType: BulkOperationType.Replace, id: "b0", resourceBody: { id: "b0", pk: "a", n: 1 }, ifMatch: resource._etag }], "a");
      assert.deepEqual(fresh.result.map((r) => r.statusCode), [200]);
    });
  });

  behaviour("B42", "bulk over three ranges, each operation with its own status", async () => {
    for (const version of [2, 1])
      await withContainer(
        async (container) => {
          const create = Array.from({ length: 150 }, (_, n) => ({
            operationType: BulkOperationType.Create,
            partitionKey: `k${n}`,
            resourceBody: { id: `i${n}`, pk: `k${n}`, n },
          }));
          const created = await container.items.executeBulkOperations(create);
          assert.equal(created.length, 150);
          for (const r of created) assert.equal(r.response?.statusCode, 201, JSON.stringify(r.error ?? {}));
          const mixed = await container.items.executeBulkOperations([
            { operationType: BulkOperationType.Create, partitionKey: "k1", resourceBody: { id: "i1", pk: "k1" } },
            { operationType: BulkOperationType.Upsert, partitionKey: "k2", resourceBody: { id: "i2", pk: "k2", n: -2 } },
            { operationType: BulkOperationType.Read, partitionKey: "k3", id: "i3" },
            { operationType: BulkOperationType.Delete, partitionKey: "k4", id: "i4" },
            { operationType: BulkOperationType.Replace, partitionKey: "k5", id: "i5", resourceBody: { id: "i5", pk: "k5", n: -5 } },
            { operationType: BulkOperationType.Patch, partitionKey: "k6", id: "i6", resourceBody: { operations: [{ op: "incr", path: "/n", value: 10 }] } },
            { operationType: BulkOperationType.Delete, partitionKey: "k7", id: "nothing" },
          ]);
          assert.deepEqual(mixed.map((r) => r.response?.statusCode ?? r.error?.code), [409, 200, 200, 204, 200, 200, 404]);
          assert.equal((await container.item("i2", "k2").read()).resource.n, -2);
          assert.equal((await container.item("i6", "k6").read()).resource.n, 16);
          await missing(container.item("i4", "k4"));
          const older = await container.items.bulk([
            { operationType: BulkOperationType.Create, partitionKey: "k200", resourceBody: { id: "i200", pk: "k200" } },
            { operationType: BulkOperationType.Create, partitionKey: "k1", resourceBody: { id: "i1", pk: "k1" } },
            { operationType: BulkOperationType.Read, partitionKey: "k8", id: "i8" },
          ]);
          assert.deepEqual(older.map((r) => r.statusCode), [201, 409, 200]);
        },
        { ...wide, partitionKey: { paths: ["/pk"], kind: "Hash", version } },
      );
  });
});
