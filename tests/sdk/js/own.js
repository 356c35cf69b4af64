// The server's own endpoints, under /_orrery/, which no SDK knows.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { endpoint, key, sleep } from "./harness.js";

/// `path` is what follows /_orrery/. Returns the parsed body of a 2xx answer.
export async function own(method, path, body) {
  const date = new Date().toUTCString();
  const text = `${method.toLowerCase()}\n_orrery\n${path}\n${date.toLowerCase()}\n\n`;
  const signature = createHmac("sha256", Buffer.from(key, "base64")).update(text).digest("base64");
  const answer = await fetch(`${endpoint}/_orrery/${path}`, {
    method,
    headers: {
      authorization: encodeURIComponent(`type=master&ver=1.0&sig=${signature}`),
      "x-ms-date": date,
      "x-ms-version": "2018-12-31",
      "content-type": "application/json",
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const content = await answer.json();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${content.message}`);
  return content;
}

/// Asks for a split or merge and waits until it is done; returns the finished job.
export async function changeRanges(path, verb, body) {
  const { job } = await own("POST", `${path}/${verb}`, body);
  for (let i = 0; i < 600; i++, await sleep(50)) {
    const { jobs } = await own("GET", `${path}/partitions`);
    const now = jobs.find((one) => one.id === job.id);
    if (now.phase === "done") return now;
    assert.notEqual(now.phase, "failed", now.error);
  }
  assert.fail(`the ${verb} does not come to an end`);
}
