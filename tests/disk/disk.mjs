// Fills the disk under a running server and checks that
//  - the writes that no longer fit are answered 507 and say that the disk is full, and so is everything after them,
//  - reads and queries go on, and show exactly what was acknowledged,
//  - nothing crashes, neither then nor when the server is started while the disk is still full,
//  - with space again, every acknowledged write is there, a refused one is whole or absent, batches included,
//    `orrery check` finds nothing, and writes are accepted.
// Usage: node disk.mjs --folder MOUNTED_FOLDER [--server PATH] [--writers 6]
import { spawn, spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { mkdirSync, openSync, writeSync, fsyncSync, closeSync, rmSync, statfsSync } from "node:fs";
import { join, dirname } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(join(here, "../sdk/js/package.json"));
const { CosmosClient } = require("@azure/cosmos");

const options = {};
for (let i = 2; i + 1 < process.argv.length; i += 2) options[process.argv[i].replace(/^--/, "")] = process.argv[i + 1];
const server = options.server ?? join(here, "../../build/orrery");
const writers = Number(options.writers ?? 6);
const disk = options.folder;
const folder = join(disk, "data");
const key = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";
// Files that take the space which is given back later, one for each time that the disk fills up.
const ballast = ["ballast1", "ballast2"].map((name) => join(disk, name));
const ballastBytes = 48 << 20;
const fillTimeoutMs = 300_000;

let failures = 0;
let checks = 0;
const expect = (condition, text) => {
  checks++;
  if (condition) return true;
  failures++;
  console.log(`FAILED: ${text}`);
  return false;
};

const freeBytes = () => {
  const stat = statfsSync(disk);
  return stat.bavail * stat.bsize;
};

/// `errors` collects what the server writes to stderr.
function launch() {
  const child = spawn(server, ["serve", "--data", folder, "--port", "0", "--unthrottled"], { stdio: ["ignore", "pipe", "pipe"] });
  const run = { child, errors: "", endpoint: undefined };
  run.ended = new Promise((resolve) => child.on("exit", (code, signal) => resolve({ code, signal })));
  child.stderr.on("data", (chunk) => (run.errors += chunk));
  run.ready = new Promise((resolve) => {
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
      const match = /ready at (http:\/\/[^ ]+)/.exec(output);
      if (match) resolve((run.endpoint = match[1]));
    });
    run.ended.then(() => resolve(undefined));
  });
  return run;
}

const connect = (endpoint) =>
  new CosmosClient({ endpoint, key, connectionPolicy: { retryOptions: { maxRetryAttemptCount: 0 } } });
const container = (endpoint) => connect(endpoint).database("disk").container("items");

// Per item ("pk/id"): `acked` (its value or null) and `maybe`: what a refused write would have left; undefined if none.
const model = new Map();
const entry = (name) => {
  if (!model.has(name)) model.set(name, { acked: null, maybe: undefined });
  return model.get(name);
};
let counter = 0;

async function write(items, pk, ids, padding) {
  const value = ++counter;
  const body = (id) => ({ id, pk, value, padding: "x".repeat(padding), list: [value, { value }] });
  const entries = ids.map((id) => entry(`${pk}/${id}`));
  for (const one of entries) one.maybe = value;
  if (ids.length === 1) {
    await items.items.upsert(body(ids[0]));
  } else {
    const answer = await items.items.batch(ids.map((id) => ({ operationType: "Upsert", resourceBody: body(id) })), pk);
    const codes = new Set((answer.result ?? []).map((one) => one.statusCode));
    const code = answer.code === 207 && codes.size === 1 ? [...codes][0] : answer.code;  // all for the same reason
    if (code !== 200) throw Object.assign(new Error(JSON.stringify(answer.result)), { code });
  }
  for (const one of entries) Object.assign(one, { acked: value, maybe: undefined });
}

const refused = (error) => error.code === 507 && /full/i.test(error.message) && /start/i.test(error.message);

/// Writes new items, and now and then an old one again, until the server refuses.
async function fill(items, round, writer, done) {
  const deadline = Date.now() + fillTimeoutMs;
  for (let n = 0; Date.now() < deadline; n++) {
    const pk = `w${writer}`;
    const fresh = (part) => `r${round}-${n}-${part}`;
    const ids = n % 5 === 4 ? [fresh(0), fresh(1), fresh(2)] : n % 7 === 6 && n > 10 ? [`r${round}-${n - 10}-0`] : [fresh(0)];
    try {
      await write(items, pk, ids, 4000 + (n % 10) * 3000);
      done.acknowledged++;
    } catch (error) {
      if (error.code === 429) {  // refused before it was tried
        for (const id of ids) entry(`${pk}/${id}`).maybe = undefined;
        await new Promise((resolve) => setTimeout(resolve, error.retryAfterInMs ?? 50));
        continue;
      }
      expect(refused(error), `writer ${writer}: a write on the full disk is answered ${error.code}: ${error.message}`);
      return;
    }
  }
  expect(false, `writer ${writer}: the disk did not fill up in ${fillTimeoutMs} ms`);
}

/// `settle`: after a restart a refused write may turn out to be there, whole; what is found then counts as acknowledged.
async function verify(items, settle, when) {
  const names = [...model.keys()];
  const groups = new Map();
  const problems = [];
  const readOne = async (name) => {
    const one = model.get(name);
    const [pk, id] = name.split("/");
    const answer = await items.item(id, pk).read().catch((error) => ({ statusCode: error.code, message: error.message }));
    const actual = answer.statusCode === 200 ? answer.resource.value
      : answer.statusCode === 404 ? null : `${answer.statusCode} ${answer.message}`;
    const allowed = settle && one.maybe !== undefined ? [one.acked, one.maybe] : [one.acked];
    if (!allowed.includes(actual)) problems.push(`${name} is ${actual}, allowed ${JSON.stringify(allowed)}`);
    if (one.maybe !== undefined) groups.set(one.maybe, (groups.get(one.maybe) ?? new Set()).add(actual === one.maybe));
    if (settle) Object.assign(one, { acked: actual, maybe: undefined });
  };
  for (let at = 0; at < names.length; at += 32) await Promise.all(names.slice(at, at + 32).map(readOne));
  expect(problems.length === 0, `${when}: ${problems.length} of ${names.length} items: ${problems.slice(0, 5).join("; ")}`);
  const halves = [...groups].filter(([, outcomes]) => outcomes.size !== 1).map(([value]) => value);
  expect(halves.length === 0, `${when}: batches that are half there: ${halves}`);
  const there = [...model.values()].filter((one) => one.acked !== null).length;
  const counted = await items.items.query('SELECT VALUE COUNT(1) FROM c WHERE IS_NUMBER(c["value"])').fetchAll();
  expect(counted.resources[0] === there, `${when}: a query counts ${counted.resources[0]} items instead of ${there}`);
}

async function verifyRefusals(endpoint) {
  const items = container(endpoint);
  const [pk, id] = [...model].find(([, one]) => one.acked !== null)[0].split("/");
  const attempts = {
    upsert: () => items.items.upsert({ id: "late", pk: "late" }),
    replace: () => items.item(id, pk).replace({ id, pk, value: -1 }),
    delete: () => items.item(id, pk).delete(),
    patch: () => items.item(id, pk).patch([{ op: "set", path: "/value", value: -1 }]),
    "create container": () => items.database.containers.create({ id: "late", partitionKey: "/pk" }),
    "create database": () => connect(endpoint).databases.create({ id: "late" }),
  };
  for (const [name, attempt] of Object.entries(attempts)) {
    const error = await attempt().then(() => ({ code: "success" }), (thrown) => thrown);
    expect(refused(error), `${name} on the full disk is answered ${error.code}: ${error.message}`);
  }
  const alive = await fetch(new URL("alive", endpoint));
  expect(alive.status === 200, `GET /alive on the full disk answers ${alive.status}`);
}

function verifyFolder(when) {
  const check = spawnSync(server, ["check", "--data", folder], { encoding: "utf8" });
  expect(check.status === 0, `orrery check ${when}: ${check.status} ${check.signal ?? ""} ${check.stdout}${check.stderr}`);
}

/// The disk is full: the server starts for reading or says why not, but does not crash.
async function startWhileFull() {
  const run = launch();
  if (await run.ready) {
    const names = [...model].filter(([, one]) => one.acked !== null && one.maybe === undefined).slice(0, 20);
    const wrong = [];
    for (const [name, one] of names) {
      const [pk, id] = name.split("/");
      const answer = await container(run.endpoint).item(id, pk).read().catch((error) => error);
      if (answer.resource?.value !== one.acked) wrong.push(`${name}: ${answer.code ?? answer.resource?.value}`);
    }
    expect(wrong.length === 0, `started on the full disk: ${wrong}`);
    run.child.kill("SIGTERM");
  } else {
    expect(/full/.test(run.errors), `the server refuses a full disk with: ${run.errors}`);
  }
  const { code, signal } = await run.ended;
  console.log(`  started on the full disk: ${run.endpoint ? "reads" : "refused"}, exit code ${code}`);
  expect(signal === null && (code === 0 || code === 1), `started on the full disk the server ended with ${code} ${signal}`);
}

async function round(number, signalName) {
  const run = launch();
  if (!expect((await run.ready) !== undefined, `round ${number}: the server does not start: ${run.errors}`)) return;
  const { database } = await connect(run.endpoint).databases.createIfNotExists({ id: "disk" });
  await database.containers.createIfNotExists({ id: "items", partitionKey: { paths: ["/pk"], version: 2 }, throughput: 18000 });
  const items = container(run.endpoint);
  await verify(items, true, `start of round ${number}`);
  const done = { acknowledged: 0 };
  await Promise.all(Array.from({ length: writers }, (_, writer) => fill(items, number, writer, done)));
  console.log(`  round ${number}: full after ${done.acknowledged} writes, ${freeBytes() >> 10} KB left`);
  expect(done.acknowledged > 50, `only ${done.acknowledged} writes fitted`);
  await new Promise((resolve) => setTimeout(resolve, 500));  // a dying server gets the time to die
  const running = () => run.child.exitCode === null && run.child.signalCode === null;
  if (!expect(running(), `the full disk ended the server: ${run.child.exitCode} ${run.child.signalCode} ${run.errors}`)) return;
  await verifyRefusals(run.endpoint);
  await verify(items, false, `round ${number}, full`);
  expect(running(), `the full disk ended the server: ${run.child.exitCode} ${run.child.signalCode} ${run.errors}`);
  run.child.kill(signalName);
  const { code, signal } = await run.ended;
  if (signalName === "SIGTERM") expect(signal === null && (code === 0 || code === 1), `SIGTERM: ended with ${code} ${signal}`);
  await startWhileFull();
  rmSync(ballast.pop());
  verifyFolder(`after round ${number}, with space again`);
}

mkdirSync(folder);
for (const name of ballast) {
  const file = openSync(name, "w");
  for (let at = 0; at < ballastBytes; at += 1 << 20) writeSync(file, Buffer.alloc(1 << 20));
  fsyncSync(file);
  closeSync(file);
}
await round(1, "SIGTERM");
await round(2, "SIGKILL");
const last = launch();
if (expect((await last.ready) !== undefined, `with space again the server does not start: ${last.errors}`)) {
  const items = container(last.endpoint);
  await verify(items, true, "with space again");
  await write(items, "late", ["late"], 1000).catch((error) => expect(false, `a write with space again: ${error.code} ${error.message}`));
  await verify(items, false, "after a further write");
  last.child.kill("SIGTERM");
  const { code } = await last.ended;
  expect(code === 0, `SIGTERM with space again: exit code ${code} ${last.errors}`);
  verifyFolder("at the end");
}
console.log(`disk: ${checks - failures} passed, ${failures} failed`);
process.exit(failures === 0 ? 0 : 1);
