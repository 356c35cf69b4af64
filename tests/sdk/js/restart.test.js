// Continuation tokens outlive the server: B98. The test runs a server of its own (ORRERY_BIN) over a data folder.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "node:test";
import { CosmosClient } from "@azure/cosmos";
import { behaviour, key, sleep } from "./harness.js";

const binary = process.env.ORRERY_BIN;
const items = Array.from({ length: 90 }, (_, n) => ({ id: `i${n}`, pk: `k${n % 17}`, n: (n * 73) % 90, tie: n % 3, g: `g${n % 40}` }));
const whole = {};
const plan = { forceQueryPlan: true };
const control = { forceQueryPlan: true, enableQueryControl: true };
const numbers = items.map((i) => i.n).sort((a, b) => a - b);

// A query, how it is sent, and what its rows must be; `any`: in any order.
const cases = [
  ["SELECT VALUE c.n FROM c", whole, numbers, "any"],
  ["SELECT VALUE c.n FROM c WHERE c.n >= 10", plan, numbers.slice(10), "any"],
  ["SELECT VALUE c.n FROM c ORDER BY c.n", whole, numbers],
  ["SELECT VALUE c.n FROM c ORDER BY c.n DESC", plan, [...numbers].reverse()],
  ["SELECT VALUE c.n FROM c ORDER BY c.n DESC", control, [...numbers].reverse()],
  ["SELECT VALUE c.tie FROM c ORDER BY c.tie", whole, items.map((i) => i.tie).sort()],
  ["SELECT VALUE c.n FROM c ORDER BY c.tie DESC, c.n", whole, [...items].sort((a, b) => b.tie - a.tie || a.n - b.n).map((i) => i.n)],
  ["SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 5 LIMIT 50", whole, numbers.slice(5, 55)],
  ["SELECT DISTINCT VALUE c.g FROM c", whole, [...new Set(items.map((i) => i.g))], "any"],
  ["SELECT c.g, COUNT(1) AS k FROM c GROUP BY c.g", whole, [...new Set(items.map((i) => i.g))].map((g) => ({ g, k: items.filter((i) => i.g === g).length })), "any"],
];

class Server {
  folder = mkdtempSync(join(tmpdir(), "orrery-restart-"));
  port = 0;

  async start() {
    this.process = spawn(binary, ["serve", "--data", this.folder, "--port", String(this.port), "--unthrottled"], { stdio: ["ignore", "pipe", "pipe"] });
    let log = "";
    for (const stream of [this.process.stdout, this.process.stderr]) stream.on("data", (text) => (log += text));
    for (let tries = 0; tries < 600; tries++) {
      const found = /https?:\/\/[^ "/]+:(\d+)/.exec(log);
      if (found && (await fetch(`http://127.0.0.1:${found[1]}/ready`).then((r) => r.ok, () => false))) {
        this.port = Number(found[1]);
        return new CosmosClient({ endpoint: `http://127.0.0.1:${this.port}`, key, connectionPolicy: { enableBackgroundEndpointRefreshing: false } });
      }
      assert.equal(this.process.exitCode, null, `the server ended: ${log}`);
      await sleep(100);
    }
    assert.fail(`the server did not become ready: ${log}`);
  }
  async stop(signal = "SIGTERM") {
    const gone = new Promise((resolve) => this.process.once("exit", resolve));
    this.process.kill(signal);
    await gone;
  }
}

/** Reads a page of each case that is not at its end. */
async function read(container, states) {
  for (const state of states) {
    if (state.done) continue;
    const [query, options] = state.case;
    const iterator = container.items.query(query, { maxItemCount: 7, ...options, continuationToken: state.token });
    // Clients that merge may need several requests before they have a token.
    do {
      const page = await iterator.fetchNext();
      state.rows.push(...(page.resources ?? []));
      state.token = page.continuationToken;
      state.done = !iterator.hasMoreResults();
    } while (!state.done && !state.token);
  }
}

describe("restarts", () => {
  behaviour("B98", "queries go on by their tokens after restarts, clean and by kill -9", { skip: binary ? false : "ORRERY_BIN is not set: it runs a server of its own" }, async () => {
    const server = new Server();
    try {
      let client = await server.start();
      const { database } = await client.databases.create({ id: "restart" });
      const indexingPolicy = { compositeIndexes: [[{ path: "/tie", order: "descending" }, { path: "/n", order: "ascending" }]] };
      await database.containers.create({ id: "c", partitionKey: { paths: ["/pk"], version: 2 }, throughput: 18000, indexingPolicy });
      let container = client.database("restart").container("c");
      for (const item of items) await container.items.create(item);
      const states = cases.map((one) => ({ case: one, rows: [], done: false }));
      for (let round = 0; states.some((s) => !s.done); round++) {
        assert.ok(round < 100, "the pages must come to an end");
        await read(container, states);
        if (round > 3) continue;
        await server.stop(round % 2 ? "SIGKILL" : "SIGTERM");
        client = await server.start();
        container = client.database("restart").container("c");
      }
      for (const { case: [query, options, expected, any], rows } of states) {
        const text = (list) => (any ? list.map((r) => JSON.stringify(r)).sort() : list.map((r) => JSON.stringify(r)));
        assert.deepEqual(text(rows), text(expected), `${query} ${JSON.stringify(options)}`);
      }
    } finally {
      if (server.process?.exitCode === null && server.process.signalCode === null) await server.stop("SIGKILL");
      rmSync(server.folder, { recursive: true, force: true });
    }
  });
});
