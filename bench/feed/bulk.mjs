// Bulk of 1 KB items through the JavaScript SDK, with the server's share of the CPU time.
//   node bulk.mjs PORT KEY PID ITEMS
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
const { CosmosClient } = createRequire(new URL("../../tests/sdk/js/package.json", import.meta.url))("@azure/cosmos");

const [port, key, pid, count] = process.argv.slice(2);
const client = new CosmosClient({ endpoint: `http://127.0.0.1:${port}`, key, connectionPolicy: { enableBackgroundEndpointRefreshing: false } });
const { database } = await client.databases.createIfNotExists({ id: "bulk" });
const { container } = await database.containers.createIfNotExists({ id: "items", partitionKey: { paths: ["/pk"], version: 2 } });
const cpu = () => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
};
const operations = Array.from({ length: Number(count) }, (_, i) => ({
  operationType: "Create",
  partitionKey: `p${i % 1000}`,
  resourceBody: { id: `i${i}`, pk: `p${i % 1000}`, n: i, text: "x".repeat(960) },
}));
const began = performance.now();
const before = [cpu(), process.cpuUsage()];
const results = await container.items.executeBulkOperations(operations);
const seconds = (performance.now() - began) / 1000;
const server = cpu() - before[0];
const used = process.cpuUsage(before[1]);
const own = (used.user + used.system) / 1e6;
const failed = results.filter((r) => r.error || r.response?.statusCode !== 201).length;
console.log(
  JSON.stringify({
    workload: "bulk through the JavaScript SDK",
    items: operations.length,
    failed,
    seconds: +seconds.toFixed(2),
    items_per_second: Math.round(operations.length / seconds),
    server_cpu_seconds: +server.toFixed(2),
    client_cpu_seconds: +own.toFixed(2),
    server_share: +(server / (server + own)).toFixed(3),
    server_us_per_item: +((server / operations.length) * 1e6).toFixed(1),
  }),
);
