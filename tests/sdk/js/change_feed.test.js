// The change feed's pull model: B70–B75.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { ChangeFeedMode, ChangeFeedPolicy, ChangeFeedRetentionTimeSpan, ChangeFeedStartFrom, PartitionKeyBuilder } from "@azure/cosmos";
import { behaviour, rejects, sleep, withContainer } from "./harness.js";

const wide = { throughput: 18000 }; // three physical partitions
const keeping = { changeFeedPolicy: new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(10)) };

/// Reads until nothing is new; returns the changes and the continuation token.
async function drain(iterator) {
  const changes = [];
  for (let rounds = 0; ; rounds++) {
    assert.ok(rounds < 1000, "the feed must come to a 304");
    const page = await iterator.readNext();
    if (page.statusCode === 304) return { changes, token: page.continuationToken };
    assert.equal(page.statusCode, 200);
    assert.ok(page.count > 0);
    changes.push(...page.result);
  }
}

const read = (container, options) => drain(container.items.getChangeFeedIterator(options));
const names = (changes) => changes.map((c) => `${c.id}:${c.n}`).sort();

async function fill(container, count, n = 0) {
  const items = Array.from({ length: count }, (_, i) => ({ id: `i${i}`, pk: `k${i % 17}`, n }));
  for (const item of items) await container.items.upsert(item);
  return items;
}

describe("change feed", { concurrency: 4 }, () => {
  behaviour("B70", "from the beginning: every item once, its latest version, in order per key", async () => {
    await withContainer(async (container) => {
      const items = await fill(container, 60);
      await container.items.upsert({ id: "i7", pk: "k7", n: 5 });
      await container.item("i8", "k8").delete();
      const { changes } = await read(container, { changeFeedStartFrom: ChangeFeedStartFrom.Beginning(), maxItemCount: 7 });
      const expected = items.filter((i) => i.id !== "i8").map((i) => (i.id === "i7" ? { ...i, n: 5 } : i));
      assert.deepEqual(names(changes), names(expected));
      for (const change of changes) assert.ok(Number.isInteger(change._lsn) && change._etag && change._rid, JSON.stringify(change));
      const last = new Map();
      for (const change of changes) {
        assert.ok(change._lsn > (last.get(change.pk) ?? 0), "LSNs rise within a key");
        last.set(change.pk, change._lsn);
      }
    }, wide);
  });

  behaviour("B71", "from now, from a time, from a continuation token", async () => {
    await withContainer(async (container) => {
      await fill(container, 20);
      const now = container.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Now() });
      assert.equal((await now.readNext()).statusCode, 304);
      await sleep(2100);
      const time = new Date();
      await sleep(1100);
      await fill(container, 5, 1);
      assert.deepEqual(names((await drain(now)).changes), ["i0:1", "i1:1", "i2:1", "i3:1", "i4:1"]);
      const since = await read(container, { changeFeedStartFrom: ChangeFeedStartFrom.Time(time) });
      assert.deepEqual(names(since.changes), ["i0:1", "i1:1", "i2:1", "i3:1", "i4:1"]);
      await container.items.upsert({ id: "late", pk: "k3", n: 9 });
      const more = await read(container, { changeFeedStartFrom: ChangeFeedStartFrom.Continuation(since.token) });
      assert.deepEqual(names(more.changes), ["late:9"]);
      // A page in the middle resumes where it ended.
      const first = container.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Beginning(), maxItemCount: 6 });
      const page = await first.readNext();
      assert.equal(page.statusCode, 200);
      const rest = await read(container, { changeFeedStartFrom: ChangeFeedStartFrom.Continuation(page.continuationToken) });
      const all = names([...page.result, ...rest.changes]);
      assert.equal(new Set(all).size, 21);
      assert.equal(all.length, 21);
    }, wide);
  });

  behaviour("B72", "by feed range, by partition key, by a prefix of a hierarchical key", async () => {
    await withContainer(async (container) => {
      await fill(container, 60);
      const { ranges } = { ranges: await container.getFeedRanges() };
      assert.equal(ranges.length, 3);
      const parts = [];
      for (const range of ranges) {
        const { changes } = await read(container, { changeFeedStartFrom: ChangeFeedStartFrom.Beginning(range) });
        assert.ok(changes.length > 0 && changes.length < 60);
        parts.push(...changes);
      }
      assert.equal(new Set(names(parts)).size, 60);
      assert.equal(parts.length, 60);
      const key = container.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Beginning("k3"), maxItemCount: 2 });
      const { changes } = await drain(key);
      assert.deepEqual(names(changes), ["i20:0", "i37:0", "i3:0", "i54:0"].sort());
      await container.items.upsert({ id: "i3", pk: "k3", n: 2 });
      await container.items.upsert({ id: "i4", pk: "k4", n: 2 });
      assert.deepEqual(names((await drain(key)).changes), ["i3:2"]);
    }, wide);
    await withContainer(
      async (container) => {
        for (let i = 0; i < 12; i++) await container.items.create({ id: `${i}`, a: `a${i % 3}`, b: `b${i % 2}`, n: 0 });
        const prefix = new PartitionKeyBuilder().addValue("a1").build();
        const { changes } = await read(container, { changeFeedStartFrom: ChangeFeedStartFrom.Beginning(prefix) });
        assert.deepEqual(names(changes), ["10:0", "1:0", "4:0", "7:0"].sort());
      },
      { partitionKey: { paths: ["/a", "/b"], kind: "MultiHash", version: 2 } },
    );
  });

  behaviour("B73", "a batch is delivered whole, also beyond the page size; expired items are not", async () => {
    await withContainer(
      async (container) => {
        const { result } = await container.items.batch(
          Array.from({ length: 30 }, (_, i) => ({ operationType: "Create", resourceBody: { id: `b${i}`, pk: "a", n: 1 } })), "a");
        assert.equal(result.length, 30);
        await container.items.create({ id: "gone", pk: "a", n: 1, ttl: 1 });
        await container.items.create({ id: "stays", pk: "a", n: 1 });
        const iterator = container.items.getChangeFeedIterator({ changeFeedStartFrom: ChangeFeedStartFrom.Beginning(), maxItemCount: 4 });
        const page = await iterator.readNext();
        assert.equal(page.count, 30);
        assert.equal(new Set(page.result.map((c) => c._lsn)).size, 1);
        await sleep(1100);
        const { changes } = await drain(iterator);
        assert.deepEqual(names(changes), ["stays:1"]);
      },
      { defaultTtl: -1 },
    );
  });

  behaviour("B74", "all versions and deletes, with metadata and previous images", async () => {
    await withContainer(
      async (container) => {
        const options = (from) => ({ changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes, changeFeedStartFrom: from });
        const iterator = container.items.getChangeFeedIterator(options(ChangeFeedStartFrom.Now()));
        assert.equal((await iterator.readNext()).statusCode, 304);
        await container.items.create({ id: "1", pk: "a", n: 1 });
        await container.items.upsert({ id: "1", pk: "a", n: 2 });
        await container.item("1", "a").replace({ id: "1", pk: "a", n: 3 });
        await container.item("1", "a").delete();
        const { changes, token } = await drain(iterator);
        assert.deepEqual(changes.map((c) => c.metadata.operationType), ["create", "replace", "replace", "delete"]);
        assert.deepEqual(changes.map((c) => c.current.n), [1, 2, 3, undefined]);
        assert.deepEqual(changes.map((c) => c.previous?.n), [undefined, 1, 2, 3]);
        const gone = changes[3].metadata;
        assert.equal(gone.id, "1");
        assert.deepEqual(gone.partitionKey, { pk: "a" });
        assert.equal(gone.previousImageLSN, changes[2].metadata.lsn);
        assert.equal(gone.timeToLiveExpired, false);
        assert.ok(Math.abs(gone.crts - Date.now() / 1000) < 60);
        await container.items.create({ id: "2", pk: "a", n: 1, ttl: 1 });
        const life = [];
        let position = token;
        for (let i = 0; i < 200 && life.length < 2; i++) {
          await sleep(200);
          const next = await read(container, options(ChangeFeedStartFrom.Continuation(position)));
          life.push(...next.changes);
          position = next.token;
        }
        assert.deepEqual(life.map((c) => c.metadata.operationType), ["create", "delete"]);
        assert.equal(life[1].metadata.timeToLiveExpired, true);
        assert.equal(life[1].metadata.id, "2");
        assert.equal(life[1].previous.n, 1);
      },
      { ...keeping, defaultTtl: -1 },
    );
  });

  behaviour("B75", "all versions need a retention; it can be given, changed and taken away", async () => {
    await withContainer(async (container) => {
      const now = { changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes, changeFeedStartFrom: ChangeFeedStartFrom.Now() };
      const error = await rejects(container.items.getChangeFeedIterator(now).readNext(), 400);
      assert.match(error.message, /changeFeedPolicy/);
      const { resource } = await container.read();
      const { resource: kept } = await container.replace({ ...resource, ...keeping });
      assert.equal(kept.changeFeedPolicy.retentionDuration, 10);
      const { token } = await read(container, now);
      await container.items.create({ id: "1", pk: "a", n: 1 });
      await container.items.upsert({ id: "1", pk: "a", n: 2 });
      const from = { changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes, changeFeedStartFrom: ChangeFeedStartFrom.Continuation(token) };
      assert.equal((await read(container, from)).changes.length, 2);
      delete kept.changeFeedPolicy;
      await container.replace(kept);
      await rejects(container.items.getChangeFeedIterator(from).readNext(), 400);
      await container.replace({ ...resource, ...keeping });
      // What was not kept in between is outside the window.
      const outside = await rejects(container.items.getChangeFeedIterator(from).readNext(), 400);
      assert.match(outside.message, /retention window/);
    });
  });
});
