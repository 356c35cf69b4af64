// Queries over several ranges, sent whole and through query plans: B57–B63.
import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { behaviour, client, name, rejects } from "./harness.js";

// 200 items over three ranges: `n` unique, `tie` with three values, `g` with seven, `mixed` of one type or missing.
const items = Array.from({ length: 200 }, (_, n) => ({
  id: `i${String(n).padStart(4, "0")}`, pk: `k${n % 37}`, n: (n * 73) % 200, tie: n % 3, g: `g${n % 7}`, price: (n % 10) + 0.5,
  ...(n % 4 ? { some: n } : {}),
}));
const byN = [...items].sort((a, b) => a.n - b.n);
const ways = [["whole", {}], ["plan", { forceQueryPlan: true }], ["control", { forceQueryPlan: true, enableQueryControl: true }]];

let container, database;

async function all(query, options = {}) {
  const iterator = container.items.query(query, { maxItemCount: 13, ...options });
  const rows = [];
  for (let pages = 0; iterator.hasMoreResults(); pages++) {
    assert.ok(pages < 300, "the pages must come to an end");
    const { resources } = await iterator.fetchNext();
    if (resources) rows.push(...resources);
  }
  return rows;
}

/** A few pages each from new iterators that know nothing but the token of the last page. */
async function resumed(query, options, pages) {
  const rows = [];
  let continuationToken;
  let rounds = 0;
  do {
    const iterator = container.items.query(query, { maxItemCount: 11, ...options, continuationToken });
    for (let n = 0; n < pages && iterator.hasMoreResults(); n++) {
      const page = await iterator.fetchNext();
      rows.push(...(page.resources ?? []));
      continuationToken = page.continuationToken;
      assert.ok(++rounds < 200, "the continuation must come to an end");
    }
  } while (continuationToken);
  return rows;
}

const sorted = (rows) => rows.map((r) => JSON.stringify(r)).sort();

describe("queries over several ranges", { concurrency: 4 }, () => {
  before(async () => {
    ({ database } = await client.databases.create({ id: name("js") }));
    const definition = {
      id: "queries", partitionKey: { paths: ["/pk"], version: 2 }, throughput: 18000,
      indexingPolicy: { compositeIndexes: [[{ path: "/tie", order: "ascending" }, { path: "/n", order: "descending" }]] },
    };
    ({ container } = await database.containers.create(definition));
    for (let at = 0; at < items.length; at += 20) await Promise.all(items.slice(at, at + 20).map((i) => container.items.create(i)));
  });
  after(() => database?.delete());

  behaviour("B99", "every page size gives the same rows", async () => {
    const queries = [
      "SELECT VALUE c.n FROM c WHERE c.n < 60", "SELECT VALUE c.n FROM c WHERE c.tie = 1 AND c.n > 20", "SELECT VALUE c.n FROM c ORDER BY c.n",
      "SELECT VALUE c.n FROM c WHERE c.n > 140 ORDER BY c.n DESC", "SELECT c.tie, c.n FROM c WHERE c.n < 50 ORDER BY c.tie, c.n DESC",
      "SELECT DISTINCT VALUE c.g FROM c", "SELECT DISTINCT c.g, c.tie FROM c", "SELECT c.g, COUNT(1) AS k, SUM(c.n) AS s FROM c GROUP BY c.g",
      "SELECT VALUE AVG(c.n) FROM c", "SELECT TOP 17 VALUE c.n FROM c ORDER BY c.n", "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 7 LIMIT 30",
    ];
    for (const query of queries) {
      const expected = await all(query, { maxItemCount: 1000 });
      const text = (rows) => (query.includes("ORDER BY") ? rows.map((r) => JSON.stringify(r)) : sorted(rows));
      for (const maxItemCount of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 19, 29, 31, 59, 60, 61, 199, 200, 201, -1])
        assert.deepEqual(text(await all(query, { maxItemCount })), text(expected), `${query} by ${maxItemCount}`);
    }
  });

  for (const [way, options] of ways) {
    const run = (query) => all(query, options);

    behaviour("B57", `ORDER BY ascending, descending, with ties, by two keys (${way})`, async () => {
      assert.deepEqual(await run("SELECT VALUE c.n FROM c ORDER BY c.n"), byN.map((i) => i.n));
      assert.deepEqual(await run("SELECT VALUE c.id FROM c WHERE c.n >= 150 ORDER BY c.n DESC"), byN.slice(150).reverse().map((i) => i.id));
      const ties = await run("SELECT c.id, c.tie FROM c ORDER BY c.tie DESC");
      assert.deepEqual(ties.map((r) => r.tie), items.map((i) => i.tie).sort().reverse());
      assert.equal(new Set(ties.map((r) => r.id)).size, items.length);
      const two = [...items].sort((a, b) => a.tie - b.tie || b.n - a.n).map((i) => ({ tie: i.tie, n: i.n }));
      assert.deepEqual(await run("SELECT c.tie, c.n FROM c ORDER BY c.tie ASC, c.n DESC"), two);
      const strings = await run("SELECT VALUE c.id FROM c ORDER BY c.id DESC");
      assert.deepEqual(strings, items.map((i) => i.id).reverse());
    });

    behaviour("B59", `aggregates of all kinds, alone and in lists (${way})`, async () => {
      const sum = items.reduce((s, i) => s + i.n, 0);
      assert.deepEqual(await run("SELECT VALUE COUNT(1) FROM c"), [200]);
      assert.deepEqual(await run("SELECT VALUE COUNT(c.some) FROM c"), [150]);
      assert.deepEqual(await run("SELECT VALUE SUM(c.n) FROM c"), [sum]);
      assert.deepEqual(await run("SELECT VALUE AVG(c.n) FROM c"), [sum / 200]);
      assert.deepEqual(await run("SELECT VALUE MIN(c.price) FROM c"), [0.5]);
      assert.deepEqual(await run("SELECT VALUE MAX(c.id) FROM c"), ["i0199"]);
      assert.deepEqual(await run("SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'none'"), [0]);
      assert.deepEqual(await run("SELECT COUNT(1) AS n, AVG(c.price) AS p, MIN(c.n), MAX(c.n) AS high FROM c"),
        [{ n: 200, p: 5, $1: 0, high: 199 }]);
    });

    behaviour("B60", `GROUP BY one key, with aggregates, with a function (${way})`, async () => {
      const counts = new Map();
      for (const i of items) counts.set(i.g, (counts.get(i.g) ?? 0) + 1);
      assert.deepEqual(sorted(await run("SELECT c.g, COUNT(1) AS n FROM c GROUP BY c.g")), sorted([...counts].map(([g, n]) => ({ g, n }))));
      assert.deepEqual(sorted(await run("SELECT VALUE c.g FROM c GROUP BY c.g")), sorted([...counts.keys()]));
      const high = new Map();
      for (const i of items) high.set(i.tie, Math.max(high.get(i.tie) ?? 0, i.n));
      assert.deepEqual(sorted(await run("SELECT c.tie, MAX(c.n) AS high FROM c GROUP BY c.tie")), sorted([...high].map(([tie, n]) => ({ tie, high: n }))));
      assert.deepEqual(sorted(await run("SELECT UPPER(c.g) AS u FROM c GROUP BY UPPER(c.g)")), sorted([...counts.keys()].map((g) => ({ u: g.toUpperCase() }))));
    });

    behaviour("B61", `DISTINCT, unordered and ordered (${way})`, async () => {
      const groups = [...new Set(items.map((i) => i.g))].sort();
      assert.deepEqual((await run("SELECT DISTINCT VALUE c.g FROM c")).sort(), groups);
      assert.deepEqual(sorted(await run("SELECT DISTINCT c.g FROM c")), sorted(groups.map((g) => ({ g }))));
      assert.deepEqual(await run("SELECT DISTINCT VALUE c.g FROM c ORDER BY c.g"), groups);
      assert.equal((await run("SELECT DISTINCT TOP 3 VALUE c.g FROM c")).length, 3);
    });

    behaviour("B62", `TOP and OFFSET LIMIT, with and without ORDER BY, over pages (${way})`, async () => {
      assert.equal((await run("SELECT TOP 17 * FROM c")).length, 17);
      assert.equal((await run("SELECT TOP 0 * FROM c")).length, 0);
      assert.deepEqual(await run("SELECT TOP 30 VALUE c.n FROM c ORDER BY c.n"), byN.slice(0, 30).map((i) => i.n));
      assert.deepEqual(await run("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 25 LIMIT 40"), byN.slice(25, 65).map((i) => i.n));
      assert.equal(new Set((await run("SELECT c.id FROM c OFFSET 190 LIMIT 40")).map((r) => r.id)).size, 10);
      assert.equal((await run("SELECT * FROM c OFFSET 300 LIMIT 40")).length, 0);
    });

    behaviour("B63", `filters that pin keys, contradict themselves or need no item (${way})`, async () => {
      const k3 = items.filter((i) => i.pk === "k3").map((i) => i.id);
      assert.deepEqual(await run("SELECT VALUE c.id FROM c WHERE c.pk = 'k3' ORDER BY c.id"), k3);
      assert.deepEqual((await run("SELECT VALUE c.id FROM c WHERE c.pk IN ('k3', 'k4')")).length, items.filter((i) => ["k3", "k4"].includes(i.pk)).length);
      assert.deepEqual(await run("SELECT VALUE c.id FROM c WHERE c.pk = 'k3' AND c.pk = 'k4'"), []);
      assert.equal((await run("SELECT * FROM c WHERE c.pk = 'k3' OFFSET 1 LIMIT 2")).length, 2);
      assert.deepEqual(await run("SELECT VALUE 1 + 1"), [2]);
      assert.deepEqual(await run({ query: "SELECT VALUE c.n FROM c WHERE c.n < @m ORDER BY c.n OFFSET @o LIMIT @l",
        parameters: [{ name: "@m", value: 9 }, { name: "@o", value: 2 }, { name: "@l", value: 4 }] }), [2, 3, 4, 5]);
    });
  }

  for (const [way, options] of [["whole", {}], ["control", { enableQueryControl: true }]])
    for (const pages of [1, 5])
      behaviour("B58", `ORDER BY resumed from continuation tokens every ${pages} pages: each row once, in order (${way})`, async () => {
        assert.deepEqual(await resumed("SELECT VALUE c.n FROM c ORDER BY c.n", options, pages), byN.map((i) => i.n));
        assert.deepEqual(await resumed("SELECT VALUE c.id FROM c ORDER BY c.id DESC", options, pages), items.map((i) => i.id).reverse());
        const two = [...items].sort((a, b) => a.tie - b.tie || b.n - a.n).map((i) => i.id);
        if (way === "whole") assert.deepEqual(await resumed("SELECT VALUE c.id FROM c ORDER BY c.tie ASC, c.n DESC", options, pages), two);
        for (const direction of ["ASC", "DESC"]) {
          const rows = await resumed(`SELECT c.id, c.tie FROM c ORDER BY c.tie ${direction}`, options, pages);
          const ties = items.map((i) => i.tie).sort();
          assert.deepEqual(rows.map((r) => r.tie), direction === "ASC" ? ties : ties.reverse());
          assert.equal(new Set(rows.map((r) => r.id)).size, items.length);
        }
      });

  behaviour("B63", "what clients cannot merge is refused, not answered wrongly", async () => {
    await rejects(all("SELECT VALUE SUM(c.n) / 2 FROM c", { forceQueryPlan: true }), 400);
    await rejects(all("SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.g FROM c)", { forceQueryPlan: true }), 400);
  });
});
