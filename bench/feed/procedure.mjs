// A stored procedure that creates a hundred items, against a hundred single creates, through the JavaScript SDK.
//   node procedure.mjs PORT KEY PID ROUNDS
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
const { CosmosClient } = createRequire(new URL("../../tests/sdk/js/package.json", import.meta.url))("@azure/cosmos");

const [port, key, pid, rounds] = process.argv.slice(2);
const count = 100;
const client = new CosmosClient({ endpoint: `http://127.0.0.1:${port}`, key, connectionPolicy: { enableBackgroundEndpointRefreshing: false } });
const { database } = await client.databases.createIfNotExists({ id: "procedures" });
const { container } = await database.containers.createIfNotExists({ id: "items", partitionKey: { paths: ["/pk"], version: 2 } });
await container.scripts.storedProcedures.create({
  id: "create",
  body: `function (items) {
    var collection = getContext().getCollection(), link = collection.getSelfLink(), done = 0;
    items.forEach(function (item) {
      if (!collection.createDocument(link, item, function (error) { if (error) throw error; done++; })) throw new Error("not accepted");
    });
    getContext().getResponse().setBody(items.length);
  }`,
});
const cpu = () => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
};
const items = (round, kind) => Array.from({ length: count }, (_, i) => ({ id: `${kind}${round}-${i}`, pk: "one", n: i, text: "x".repeat(960) }));
const ways = {
  "a hundred creates, one after the other": async (round) => {
    for (const item of items(round, "s")) await container.items.create(item);
  },
  "a hundred creates at once": (round) => Promise.all(items(round, "p").map((item) => container.items.create(item))),
  "one stored procedure": async (round) => {
    const { resource } = await container.scripts.storedProcedure("create").execute("one", [items(round, "x")]);
    if (resource !== count) throw new Error(`the procedure answered ${resource}`);
  },
};
for (const way of Object.values(ways)) await way("warm");
const times = Object.fromEntries(Object.keys(ways).map((name) => [name, { ms: [], cpu: 0 }]));
for (let round = 0; round < Number(rounds); round++)
  for (const [name, way] of Object.entries(ways)) {
    const [began, before] = [performance.now(), cpu()];
    await way(round);
    times[name].ms.push(performance.now() - began);
    times[name].cpu += cpu() - before;
  }
const median = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];
for (const [name, { ms, cpu: used }] of Object.entries(times))
  console.log(JSON.stringify({ workload: name, items: count, rounds: Number(rounds), median_ms: Number(median(ms).toFixed(1)), server_cpu_ms: Number(((used * 1000) / Number(rounds)).toFixed(1)) }));
