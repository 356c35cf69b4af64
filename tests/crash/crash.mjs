// Kills the server with SIGKILL while SDK clients write, restarts it, and checks that
//  - every acknowledged write is there with its last acknowledged value,
//  - an unacknowledged write is there whole or not at all, batches included,
//  - `orrery check` finds nothing on the folder as the crash left it (LSNs dense, index, items, log agree),
//  - LSNs never run backwards; a reader of the change feed misses nothing,
//  - queries that were half read go on from their continuation tokens, every row once.
// With --scripts 1 stored procedures and triggers write too: each is there whole or not at all.
// With --splits 1 physical partitions are split and merged all the while.
// Usage: node crash.mjs --rounds 20 [--seed N] [--server PATH] [--writers 12] [--splits 1] [--scripts 1]
import { spawn, spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, dirname } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(join(here, "../sdk/js/package.json"));
const { ChangeFeedStartFrom, CosmosClient } = require("@azure/cosmos");
const { createHmac } = require("node:crypto");

const options = Object.fromEntries(
  process.argv.slice(2).join(" ").split("--").filter(Boolean).map((part) => part.trim().split(/[ =]/)));
const rounds = Number(options.rounds ?? 20);
const writers = Number(options.writers ?? 12);
const splits = Number(options.splits ?? 0) > 0;
const scripts = Number(options.scripts ?? 0) > 0;
const seed = Number(options.seed ?? Date.now() % 1_000_000);
const server = options.server ?? join(here, "../../build/orrery");
const key = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";
const keysPerWriter = 8;

let state = seed >>> 0;
const random = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
};
const pick = (list) => list[Math.floor(random() * list.length)];

const folder = mkdtempSync(join(tmpdir(), "orrery-crash-"));
let failures = 0;
let checks = 0;
const expect = (condition, text) => {
  checks++;
  if (condition) return;
  failures++;
  console.log(`FAILED: ${text}`);
};

// The server must not outlive a test that fails in the middle.
let running = null;
process.on("exit", () => running?.kill("SIGKILL"));

function start() {
  return new Promise((resolve, reject) => {
    const child = running = spawn(server, ["serve", "--data", folder, "--port", "0", "--unthrottled"], { stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
      const match = /ready at (http:\/\/[^ ]+)/.exec(output);
      if (match) resolve({ child, endpoint: match[1] });
    });
    child.on("exit", (code) => reject(new Error(`the server ended with ${code} before it was ready\n${output}`)));
  });
}

const connect = (endpoint) =>
  new CosmosClient({ endpoint, key, connectionPolicy: { retryOptions: { maxRetryAttemptCount: 0 } } });

async function container(endpoint, name, partitionKey) {
  const { database } = await connect(endpoint).databases.createIfNotExists({ id: "crash" });
  return (await database.containers.createIfNotExists({ id: name, partitionKey, throughput: 18000 })).container;
}

/// A procedure that writes all it is given, or fails after it has; a trigger that writes a twin of the item.
async function addScripts(items) {
  const known = (error) => { if (error.code !== 409) throw error; };
  await items.scripts.storedProcedures.create({ id: "set", body: function (bodies, fail) {
    const collection = getContext().getCollection();
    for (const body of bodies) {
      const accepted = collection.upsertDocument(collection.getSelfLink(), body, (error) => { if (error) throw new Error(error.number, error.body); });
      if (!accepted) throw new Error("not accepted");
    }
    if (fail) throw new Error("told to fail");
    getContext().getResponse().setBody(bodies.length);
  } }).catch(known);
  await items.scripts.triggers.create({ id: "twin", triggerType: "Post", triggerOperation: "All", body: function () {
    const collection = getContext().getCollection();
    const item = getContext().getResponse().getBody();
    collection.upsertDocument(collection.getSelfLink(), { id: item.id + "-twin", pk: item.pk, value: item.value });
  } }).catch(known);
}

// Per key: `acked` (value or null) and `maybe`: what a write without answer would leave; undefined if none.
const model = new Map();
const entry = (name) => {
  if (!model.has(name)) model.set(name, { acked: null, maybe: undefined });
  return model.get(name);
};
let counter = 0;

/// One write to the keys of one logical partition, recorded before and after.
async function write(items, writer) {
  const pk = `w${writer}-${Math.floor(random() * 3)}`;
  const id = () => `k${Math.floor(random() * keysPerWriter)}`;
  const value = ++counter;
  const body = (name) => ({ id: name, pk, value, padding: "x".repeat(Math.floor(random() * 2000)), n: [value, { v: value }] });
  const run = async (names, next, work) => {
    const entries = names.map((name) => entry(`${pk}/${name}`));
    for (const one of entries) one.maybe = next;
    try {
      await work();
    } catch (error) {
      // Refused before it was tried, or given up without a trace.
      if (error.code === 429 || error.code === 449) for (const one of entries) one.maybe = undefined;
      throw error;
    }
    for (const one of entries) { one.acked = next; one.maybe = undefined; }
  };
  const first = id();
  const current = entry(`${pk}/${first}`).acked;
  const kind = random();
  if (scripts && kind < 0.5) {
    const names = [...new Set([first, id(), id()])];
    const procedure = items.scripts.storedProcedure("set");
    if (kind < 0.1) {
      const error = await procedure.execute(pk, [names.map(body), true]).then(() => ({ code: 200 }), (e) => e);
      if (error.code !== 400) throw error;
    } else if (kind < 0.3) {
      await run(names, value, () => procedure.execute(pk, [names.map(body), false]));
    } else {
      await run([first, `${first}-twin`], value, () => items.items.upsert(body(first), { postTriggerInclude: "twin" }));
    }
  } else if (kind < 0.15 && current !== null) {
    await run([first], null, () => items.item(first, pk).delete());
  } else if (kind < 0.3 && current !== null) {
    await run([first], value, () => items.item(first, pk).patch([{ op: "set", path: "/value", value }]));
  } else if (kind < 0.6) {
    const names = [...new Set([first, id(), id()])];
    await run(names, value, async () => {
      const answer = await items.items.batch(names.map((name) => ({ operationType: "Upsert", resourceBody: body(name) })), pk);
      const codes = [answer.code, ...(answer.result ?? []).map((one) => one.statusCode)];
      if (codes.includes(429)) throw Object.assign(new Error("batch 429"), { code: 429 });
      if (answer.code !== 200) throw new Error(`batch ${answer.code}`);
    });
  } else {
    await run([first], value, () => items.items.upsert(body(first)));
  }
}

async function writeUntil(items, writer, done) {
  while (!done.stop) {
    try {
      await write(items, writer);
      done.acknowledged++;
    } catch (error) {
      if ((error.code === 429 || error.code === 449) && !done.stop) {
        await new Promise((resolve) => setTimeout(resolve, error.retryAfterInMs ?? 50));
        continue;
      }
      if (done.stop || error.code === "ECONNREFUSED" || error.code === "ECONNRESET" || !(error.code >= 400)) return;
      expect(false, `writer ${writer}: unexpected answer ${error.code} ${error.message}`);
      return;
    }
  }
}

async function verify(items) {
  const batches = new Map();
  for (const [name, one] of model) {
    const slash = name.indexOf("/");
    const [pk, id] = [name.slice(0, slash), name.slice(slash + 1)];
    const answer = await items.item(id, pk).read().catch((error) => ({ statusCode: error.code, problem: error.message }));
    if (answer.problem && answer.statusCode !== 404) expect(false, `${name} cannot be read: ${answer.statusCode} ${answer.problem}`);
    const actual = answer.statusCode === 404 ? null : answer.resource?.value;
    const allowed = one.maybe === undefined ? [one.acked] : [one.acked, one.maybe];
    expect(allowed.includes(actual), `${name} is ${actual}, allowed ${JSON.stringify(allowed)}`);
    if (one.maybe !== undefined && one.maybe !== null && one.maybe !== one.acked) {
      const outcomes = batches.get(one.maybe) ?? new Set();
      outcomes.add(actual === one.maybe);
      batches.set(one.maybe, outcomes);
    }
    one.acked = actual ?? null;
    one.maybe = undefined;
  }
  for (const [value, outcomes] of batches) expect(outcomes.size === 1, `the batch with value ${value} is half there`);
}

// A reader of the change feed that outlives the server: what it was given, replayed, is what there is.
const fed = new Map();
let feedToken;
async function followFeed(items) {
  const start = feedToken ? ChangeFeedStartFrom.Continuation(feedToken) : ChangeFeedStartFrom.Beginning();
  const feed = items.items.getChangeFeedIterator({ changeFeedStartFrom: start, maxItemCount: 40 });
  while (feed.hasMoreResults) {
    const page = await feed.readNext();
    feedToken = page.continuationToken;
    if (page.statusCode === 304) break;
    for (const item of page.result) fed.set(`${item.pk}/${item.id}`, item.value);
  }
  for (const [name, one] of model)
    if (one.acked !== null) expect(fed.get(name) === one.acked, `the change feed left ${name} at ${fed.get(name)}, it is ${one.acked}`);
}

let lastLsn = new Map();
async function verifyLsns(items) {
  for (let writer = 0; writer < writers; writer++) {
    const answer = await items.item("k0", `w${writer}-0`).read().catch((error) => error);
    const token = answer.headers?.["x-ms-session-token"];
    if (!token) continue;
    const [range, lsn] = [token.split(":")[0], Number(token.split("#")[1])];
    expect(lsn >= (lastLsn.get(range) ?? 0), `LSN of range ${range} ran back from ${lastLsn.get(range)} to ${lsn}`);
    lastLsn.set(range, lsn);
  }
}

// Queries over items that nobody writes, read page by page across the restarts.
const stable = 300;
const readers = [
  { text: "SELECT VALUE c.n FROM c", expected: stable },
  { text: "SELECT VALUE c.n FROM c WHERE c.even = true", expected: stable / 2 },
  { text: "SELECT VALUE c.n FROM c WHERE c.n >= 50 ORDER BY c.n DESC", expected: stable - 50, descending: true },
  { text: "SELECT VALUE c.n FROM c ORDER BY c.team, c.n", expected: stable },
  { text: "SELECT DISTINCT VALUE c.n FROM c", expected: stable },
  { text: "SELECT VALUE c.n FROM c OFFSET 20 LIMIT 200", expected: 200 },
].map((one) => ({ ...one, rows: [], token: undefined }));

async function readingContainer(endpoint) {
  const { database } = await connect(endpoint).databases.createIfNotExists({ id: "crash" });
  const { container, statusCode } = await database.containers.createIfNotExists({
    id: "read", partitionKey: "/pk", throughput: 18000,
    indexingPolicy: { includedPaths: [{ path: "/*" }], excludedPaths: [{ path: "/padding/?" }],
      compositeIndexes: [[{ path: "/team", order: "ascending" }, { path: "/n", order: "ascending" }]] } });
  if (statusCode === 201)
    await Promise.all([...Array(stable).keys()].map((n) =>
      container.items.create({ id: `s${n}`, pk: `p${n % 40}`, n, team: n % 7, even: n % 2 === 0, padding: "x".repeat(500) })));
  return container;
}

/// A few pages of every query; one that has come to its end is checked and starts again.
async function readOn(items, pages) {
  for (const one of readers) {
    for (let page = 0; page < pages; page++) {
      const answer = await items.items.query(one.text, { maxItemCount: 23, continuationToken: one.token }).fetchNext();
      one.rows.push(...(answer.resources ?? []));
      one.token = answer.continuationToken;
      if (one.token) continue;
      expect(one.rows.length === one.expected && new Set(one.rows).size === one.expected,
        `"${one.text}" gave ${one.rows.length} rows, ${new Set(one.rows).size} different ones, instead of ${one.expected}`);
      if (one.descending)
        expect(one.rows.every((n, i) => i === 0 || n < one.rows[i - 1]), `"${one.text}" left its order`);
      one.rows = [];
    }
  }
}

// The server's own endpoints are signed like others.
async function own(endpoint, method, path, body) {
  const date = new Date().toUTCString();
  const text = `${method.toLowerCase()}\n_orrery\n${path}\n${date.toLowerCase()}\n\n`;
  const signature = createHmac("sha256", Buffer.from(key, "base64")).update(text).digest("base64");
  const answer = await fetch(`${endpoint}_orrery/${path}`, {
    method, body: body && JSON.stringify(body),
    headers: { authorization: encodeURIComponent(`type=master&ver=1.0&sig=${signature}`), "x-ms-date": date, "x-ms-version": "2018-12-31" } });
  return answer.json();
}

/// Splits and merges ranges of both containers, one after the other, until the server is gone.
let changed = 0;
async function changeRanges(endpoint, done) {
  try {
    while (!done.stop) {
      const path = `containers/crash/${pick(["items", "items", "read"])}`;
      const { ranges, jobs } = await own(endpoint, "GET", `${path}/partitions`);
      if (jobs.some((job) => job.phase !== "done" && job.phase !== "failed")) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        continue;
      }
      changed += jobs.filter((job) => job.phase === "done").length;
      const at = Math.floor(random() * ranges.length);
      if (ranges.length > 3 && at + 1 < ranges.length && random() < 0.6)
        await own(endpoint, "POST", `${path}/merge`, { rangeIds: [ranges[at].id, ranges[at + 1].id] });
      else
        await own(endpoint, "POST", `${path}/split`, { rangeId: ranges[at].id, at: pick(["bytes", "middle"]) });
    }
  } catch (error) {
    if (!done.stop && error.message !== "fetch failed") expect(false, `splits: ${error}`);
  }
}

console.log(`crash test: ${rounds} rounds, seed ${seed}, folder ${folder}`);
let total = 0;
for (let round = 1; round <= rounds && failures === 0; round++) {
  const { child, endpoint } = await start();
  const items = await container(endpoint, "items", { paths: ["/pk"], version: 2 });
  if (scripts) await addScripts(items);
  await verify(items);
  await verifyLsns(items);
  await followFeed(items);
  await readOn(await readingContainer(endpoint), 3);
  const done = { stop: false, acknowledged: 0 };
  const running = Array.from({ length: writers }, (_, writer) => writeUntil(items, writer, done));
  if (splits) running.push(changeRanges(endpoint, done));
  await new Promise((resolve) => setTimeout(resolve, 100 + random() * 900));
  child.removeAllListeners("exit");
  const ended = new Promise((resolve) => child.on("exit", resolve));
  child.kill("SIGKILL");
  done.stop = true;
  await Promise.all([ended, ...running]);
  total += done.acknowledged;
  const check = spawnSync(server, ["check", "--data", folder], { encoding: "utf8" });
  expect(check.status === 0, `orrery check after round ${round}: ${check.stdout}${check.stderr}`);
}
if (failures === 0) {
  const { child, endpoint } = await start();
  await verify(await container(endpoint, "items", { paths: ["/pk"], version: 2 }));
  child.removeAllListeners("exit");
  const ended = new Promise((resolve) => child.on("exit", resolve));
  const began = Date.now();
  child.kill("SIGTERM");
  expect((await ended) === 0, "SIGTERM ends the server with exit code 0");
  console.log(`SIGTERM to exit: ${Date.now() - began} ms`);
}
console.log(`${total} acknowledged writes, ${checks} checks${splits ? `, ${changed} splits and merges seen to end` : ""}`);
console.log(`crash: ${checks - failures} passed, ${failures} failed`);
if (failures === 0) rmSync(folder, { recursive: true });
else console.log(`the folder is kept: ${folder}; replay with --seed ${seed}`);
process.exit(failures === 0 ? 0 : 1);
