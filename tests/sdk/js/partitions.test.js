// Physical partitions that split and merge while clients work.
import assert from "node:assert/strict";
import { ChangeFeedStartFrom } from "@azure/cosmos";
import { behaviour, client, newClient, sleep, withContainer } from "./harness.js";
import { changeRanges, own } from "./own.js";

const stable = 400;

/// Items that nobody writes while they are paged through.
async function fillStable(container) {
  for (let at = 0; at < stable; at += 50)
    await Promise.all([...Array(50).keys()].map((i) =>
      container.items.create({ id: `s${at + i}`, pk: `p${(at + i) % 60}`, n: at + i, kind: "stable", padding: "x".repeat(300) })));
}

/// Upserts and reads back until told to stop; the last acknowledged value per item.
async function writer(container, number, state) {
  const model = new Map();
  for (let n = 0; !state.stop; n++) {
    const pk = `w${number}-${n % 13}`, id = `i${n % 5}`;
    const { resource, statusCode } = await container.items.upsert({ id, pk, n, kind: "written" });
    assert.ok(statusCode === 200 || statusCode === 201);
    assert.equal(resource.n, n);
    model.set(`${pk}/${id}`, n);
    const read = await container.item(id, pk).read();
    assert.equal(read.statusCode, 200);
    assert.equal(read.resource.n, n, "an acknowledged write is read back");
    state.writes++;
  }
  return model;
}

/// Pages through the stable items again and again, by continuation token.
async function pager(container, text, state) {
  let rounds = 0;
  while (!state.stop || rounds === 0) {
    const seen = [];
    let continuationToken;
    do {
      const page = await container.items.query(text, { maxItemCount: 17, continuationToken }).fetchNext();
      seen.push(...(page.resources ?? []));
      continuationToken = page.continuationToken;
    } while (continuationToken);
    assert.equal(seen.length, stable, `${text}: every row once`);
    assert.equal(new Set(seen).size, stable, `${text}: every row once`);
    rounds++;
  }
  return rounds;
}

/// Follows the change feed from the beginning, from token to token, until the writers have ended and nothing is new; the last
/// version seen of each item, which never goes back.
async function feedReader(container, state) {
  const seen = new Map();
  let start = ChangeFeedStartFrom.Beginning();
  for (let quiet = 0; quiet < 2;) {
    const iterator = container.items.getChangeFeedIterator({ changeFeedStartFrom: start, maxItemCount: 23 });
    const ended = state.ended;
    let changes = 0;
    for (let page = await iterator.readNext(); ; page = await iterator.readNext()) {
      start = ChangeFeedStartFrom.Continuation(page.continuationToken);
      if (page.statusCode === 304) break;
      for (const change of page.result) {
        const name = `${change.pk}/${change.id}`;
        assert.ok(change.n >= (seen.get(name) ?? 0), `${name} goes back`);
        seen.set(name, change.n);
        changes++;
      }
    }
    quiet = ended && changes === 0 ? quiet + 1 : 0;
    await sleep(10);
  }
  return seen;
}

behaviour("B80", "splits and merges under load: nothing lost, nothing doubled, no errors", () =>
  withContainer(async (container, database) => {
    await fillStable(container);
    const state = { stop: false, ended: false, writes: 0 };
    const writers = [0, 1, 2, 3].map((number) => writer(newClient().database(database.id).container(container.id), number, state));
    const pagers = ["SELECT VALUE c.n FROM c WHERE c.kind = 'stable'", "SELECT VALUE c.n FROM c WHERE c.kind = 'stable' ORDER BY c.n DESC"]
      .map((text) => pager(container, text, state));
    const work = Promise.all([Promise.all(writers), Promise.all(pagers)]);
    work.catch(() => {});
    const feed = feedReader(newClient().database(database.id).container(container.id), state);
    feed.catch(() => {});
    const path = `containers/${database.id}/${container.id}`;
    for (const change of [
      () => ["split", { rangeId: "0", at: "bytes" }],
      (ranges) => ["split", { rangeId: ranges[1].id }],
      (ranges) => ["split", { rangeId: ranges[0].id, at: "bytes" }],
      (ranges) => ["merge", { rangeIds: [ranges[1].id, ranges[2].id] }],
    ]) {
      await sleep(300);
      const { ranges } = await own("GET", `${path}/partitions`);
      const [verb, body] = change(ranges);
      const job = await changeRanges(path, verb, body);
      for (const id of job.newRangeIds) assert.ok(!ranges.some((range) => range.id === id), "ids are not used twice");
    }
    await sleep(300);
    state.stop = true;
    const [models, rounds] = await work.finally(() => (state.ended = true));
    assert.ok(rounds.every((n) => n > 0) && state.writes > 50);
    const { resources: written } = await container.items.query("SELECT c.pk, c.id, c.n FROM c WHERE c.kind = 'written'").fetchAll();
    const expected = new Map(models.flatMap((model) => [...model]));
    assert.equal(written.length, expected.size);
    for (const item of written) assert.equal(item.n, expected.get(`${item.pk}/${item.id}`));
    const fed = await feed;
    assert.equal(fed.size, expected.size + stable, "the feed has every item");
    for (const [name, n] of expected) assert.equal(fed.get(name), n, `the feed's last version of ${name}`);
    const { ranges } = await own("GET", `${path}/partitions`);
    assert.equal(ranges.length, 3);
    assert.equal(ranges.reduce((sum, range) => sum + range.items, 0), written.length + stable);
  }));

behaviour("B81", "bulk, sessions and ranges of a client that knows the old map", () =>
  withContainer(async (container, database) => {
    const session = newClient({ consistencyLevel: "Session" }).database(database.id).container(container.id);
    const bulk = (from) => session.items.executeBulkOperations([...Array(40).keys()].map((i) => (
      { operationType: "Upsert", partitionKey: `p${i}`, resourceBody: { id: "x", pk: `p${i}`, n: from + i } })));
    for (const { response } of await bulk(0)) assert.equal(response.statusCode, 201);
    const path = `containers/${database.id}/${container.id}`;
    await changeRanges(path, "split", { rangeId: "0" });
    // The session's token is the parent's; the map that the client keeps is the old one.
    assert.equal((await session.item("x", "p1").read()).resource.n, 1);
    for (const { response } of await bulk(100)) assert.equal(response.statusCode, 200);
    for (let i = 0; i < 40; i++) {
      const { resource, headers } = await session.item("x", `p${i}`).read();
      assert.equal(resource.n, 100 + i);
      assert.match(headers["x-ms-session-token"], /^[12]:/);
    }
    const { resources: ranges } = await container.readPartitionKeyRanges().fetchAll();
    assert.deepEqual(ranges.map((range) => [range.id, range.parents]), [["1", ["0"]], ["2", ["0"]]]);
    await changeRanges(path, "merge", { rangeIds: ["1", "2"] });
    for (const { response } of await bulk(200)) assert.equal(response.statusCode, 200);
    assert.equal((await session.item("x", "p7").read()).resource.n, 207);
    const merged = (await client.database(database.id).container(container.id).readPartitionKeyRanges().fetchAll()).resources;
    assert.deepEqual(merged.map((range) => [range.id, range.parents]), [["3", ["0", "1", "2"]]]);
  }));
