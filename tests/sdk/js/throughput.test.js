// Throughput that is enforced: B64–B67. These run against a server of their own that throttles.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { CosmosClient, PriorityLevel } from "@azure/cosmos";
import { behaviour, key, name, sleep } from "./harness.js";

const endpoint = process.env.ORRERY_THROTTLED_ENDPOINT;
const quiet = { enableBackgroundEndpointRefreshing: false };
const noRetries = { ...quiet, retryOptions: { maxRetryAttemptCount: 0, fixedRetryIntervalInMilliseconds: 0, maxWaitTimeInSeconds: 0 } };

const open = (connectionPolicy) => new CosmosClient({ endpoint, key, connectionPolicy });

/// Runs `body(container, patient)`: the same container through a client that never retries and one with the SDK's defaults.
async function withThrottled(request, body) {
  const impatient = open(noRetries);
  const patient = open(quiet);
  const { database } = await patient.databases.create({ id: name("js") });
  try {
    const id = name("c");
    await database.containers.create({ id, partitionKey: { paths: ["/pk"], version: 2 }, ...request });
    await body(impatient.database(database.id).container(id), database.container(id));
  } finally {
    await database.delete();
    impatient.dispose();
    patient.dispose();
  }
}

const rangeOf = (response) => response.headers["x-ms-documentdb-partitionkeyrangeid"];
const throttled = (promise) => promise.then(() => false, (error) => {
  if (error.code !== 429) throw error;
  assert.equal(error.substatus, 3200);
  assert.ok(error.retryAfterInMs >= 1, `retry after ${error.retryAfterInMs}`);
  return true;
});

/// A patch of a large item: about 2,400 RU for a few bytes.
const burn = (container, pk) =>
  container.item("large", pk).patch([{ op: "incr", path: "/n", value: 1 }]);

/// One key for each of three ranges.
async function keysOfRanges(container) {
  const keys = new Map();
  for (let i = 0; keys.size < 3; ++i) {
    const response = await container.items.create({ id: "small", pk: `tenant${i}` });
    if (!keys.has(rangeOf(response))) keys.set(rangeOf(response), `tenant${i}`);
  }
  return [...keys.values()];
}

const large = (pk) => ({ id: "large", pk, n: 0, s: "x".repeat(1_900_000) });

describe("throughput", { skip: endpoint ? false : "no throttling server in this run" }, () => {
  behaviour("B64", "a hot key is limited at its partition's share while the others have room", async () => {
    await withThrottled({ maxThroughput: 30000 }, async (container, patient) => {
      const [hot, ...calm] = await keysOfRanges(container);
      await patient.items.create(large(hot));
      let refusals = 0;
      for (let i = 0; i < 40 && refusals < 3; ++i) {
        if (!(await throttled(burn(container, hot)))) continue;
        ++refusals;
        for (const pk of calm) {
          const read = await container.item("small", pk).read();
          assert.equal(read.statusCode, 200);
          assert.equal(await throttled(container.items.upsert({ id: "small", pk, at: i })), false);
        }
      }
      assert.ok(refusals > 0, "the hot tenant was never refused");
      const before = (await patient.item("small", hot).read()).resource;
      assert.equal(before.id, "small");
      // The SDK waits as it is told, and gets through.
      for (let i = 0; i < 4; ++i) await patient.item("small", hot).replace({ id: "small", pk: hot, i });
      assert.equal((await patient.item("small", hot).read()).resource.i, 3);
    });
  });

  behaviour("B65", "autoscale rises under load and falls afterwards", async () => {
    await withThrottled({ maxThroughput: 10000 }, async (container, patient) => {
      const current = async () => (await patient.readOffer()).resource.content.offerThroughput;
      assert.equal(await current(), 1000);
      await patient.items.create(large("a"));
      let highest = 0;
      const end = Date.now() + 20_000;
      while (highest < 4000 && Date.now() < end) {
        await throttled(burn(container, "a"));
        highest = Math.max(highest, await current());
      }
      assert.ok(highest >= 4000 && highest <= 10000, `${highest} RU/s`);
      await sleep(8000);
      assert.equal(await current(), 1000);
    });
  });

  behaviour("B66", "low priority is refused first", async () => {
    await withThrottled({ throughput: 400 }, async (container, patient) => {
      await patient.items.create({ id: "small", pk: "a" });
      await patient.items.create({ id: "debt", pk: "a", s: "x".repeat(500_000) });
      let lowAlone = 0;
      let lowBefore = 0;
      for (let round = 0; round < 5 && lowAlone === 0; ++round) {
        await patient.item("debt", "a").patch([{ op: "set", path: "/n", value: round }]);
        let admitted = false;
        const end = Date.now() + 10_000;
        while (Date.now() < end) {
          const high = !(await throttled(container.item("small", "a").read()));
          const low = !(await throttled(container.item("small", "a").read({ priorityLevel: PriorityLevel.Low })));
          if (low && !admitted && !high) ++lowBefore;
          admitted ||= high;
          if (high && !low) ++lowAlone;
          if (low) break;
          await sleep(20);
        }
      }
      assert.ok(lowAlone > 0, "low priority was never refused while high was admitted");
      assert.equal(lowBefore, 0);
    });
  });

  behaviour("B67", "a charge explains itself term by term", async () => {
    await withThrottled({}, async (container) => {
      const asking = { initialHeaders: { "x-orrery-explain-charge": "true" } };
      const check = (response, terms) => {
        const bill = JSON.parse(response.headers["x-orrery-charge-explanation"]);
        assert.equal(bill.terms.reduce((sum, line) => sum + line.units, 0), bill.units);
        assert.equal(bill.requestCharge, response.requestCharge);
        assert.deepEqual(bill.terms.map((line) => line.term), terms);
      };
      check(await container.items.create({ id: "1", pk: "a" }, asking), ["writeBytes", "termsAdded"]);
      check(await container.item("1", "a").read(asking), ["readBytes"]);
      const page = await container.items.query("SELECT * FROM c WHERE c.pk = 'a'", asking).fetchNext();
      check(page, ["compileAndRun", "firstSeek", "loadedItems", "loadedBytes", "returnedBytes"]);
    });
  });
});
