// Materialized views: B96.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { behaviour, byId, rejects, sleep, withDatabase } from "./harness.js";

/// Waits until the container holds exactly these rows (without generated and system properties).
async function eventually(container, expected) {
  const key = (row) => JSON.stringify(row);
  let rows;
  for (let attempt = 0; attempt < 1200; ++attempt) {
    const { resources } = await container.items.readAll().fetchAll();
    rows = resources.map(({ id, _rid, _self, _etag, _attachments, _ts, ...row }) => row);
    if (rows.length === expected.length && rows.map(key).sort().join() === expected.map(key).sort().join()) return resources;
    await sleep(50);
  }
  assert.deepEqual(rows.map(key).sort(), expected.map(key).sort());
}

describe("materialized views", { concurrency: 4 }, () => {
  behaviour("B96", "a view follows its source and is read-only", async () => {
    await withDatabase(async (database) => {
      const { container: source } = await database.containers.create({ id: "source", partitionKey: { paths: ["/pk"], version: 2 }, throughput: 18000 });
      const items = Array.from({ length: 60 }, (_, i) => ({ id: `i${i}`, pk: `p${i % 9}`, city: `c${i % 4}`, address: { zip: i }, more: "x" }));
      await Promise.all(items.slice(0, 30).map((item) => source.items.create(item)));
      const { container: view, resource } = await database.containers.create({
        id: "view",
        partitionKey: { paths: ["/city"], version: 2 },
        materializedViewDefinition: { sourceCollectionId: "source", definition: "SELECT c.city, c.address.zip, c.absent FROM c" },
      });
      assert.equal(resource.materializedViewDefinition.sourceCollectionId, "source");
      await Promise.all(items.slice(30).map((item) => source.items.create(item)));
      const row = ({ id, city, address }) => ({ _id: id, city, zip: address.zip, absent: null });
      await eventually(view, items.map(row));
      for (let attempt = 0; (await view.read()).resource.materializedViewDefinition.status !== "Active"; ++attempt) {
        assert.ok(attempt < 600);
        await sleep(50);
      }
      assert.deepEqual((await source.read()).resource.materializedViews.map((v) => v.id), ["view"]);

      // Changes of the view's key, of a property, deletes.
      items[0].city = "elsewhere";
      await source.item("i0", "p0").replace(items[0]);
      items[1].address.zip = -1;
      await source.item("i1", "p1").patch([{ op: "set", path: "/address/zip", value: -1 }]);
      await source.item("i2", "p2").delete();
      const left = items.filter((item) => item.id !== "i2");
      const rows = await eventually(view, left.map(row));
      assert.equal(new Set(rows.map((r) => r.id)).size, left.length);

      const { resources } = await view.items
        .query({ query: "SELECT * FROM c WHERE c.city = @c", parameters: [{ name: "@c", value: "elsewhere" }] })
        .fetchAll();
      assert.deepEqual(resources.map((r) => r._id), ["i0"]);
      const first = rows.sort(byId)[0];
      assert.equal((await view.item(first.id, first.city).read()).resource._id, first._id);

      const refused = await rejects(view.items.create({ id: "own", city: "x" }), 403);
      assert.match(refused.message, /materialized view of 'source'/);
      await rejects(view.items.upsert({ id: "own", city: "x" }), 403);
      await rejects(view.item(first.id, first.city).delete(), 403);
      await rejects(view.deleteAllItemsForPartitionKey("c1"), 403);
      await rejects(source.delete(), 400);
      await view.delete();
      await source.delete();
    });
  });

  behaviour("B97", "views that cannot be kept up to date are refused", async () => {
    await withDatabase(async (database) => {
      await database.containers.create({ id: "s", partitionKey: { paths: ["/pk"], version: 2 } });
      const create = (definition, more = {}) =>
        database.containers.create({
          id: "v",
          partitionKey: { paths: ["/a"], version: 2 },
          materializedViewDefinition: { sourceCollectionId: "s", definition },
          ...more,
        });
      await rejects(create("SELECT c.a FROM c WHERE c.a > 1"), 400);
      await rejects(create("SELECT c.b FROM c"), 400);
      await rejects(create("SELECT LOWER(c.a) FROM c"), 400);
      await rejects(create("SELECT c.a FROM c", { defaultTtl: 10 }), 400);
      await rejects(create("SELECT c.a FROM c", { materializedViewDefinition: { sourceCollectionId: "none", definition: "SELECT * FROM c" } }), 400);
    });
  });
});
