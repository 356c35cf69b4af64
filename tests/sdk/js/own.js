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

/// Asks for a split or merge and waits until it is done; returns the finished job. While the index is being transformed (a first
/// ORDER BY may begin that) a change of ranges is refused: asked again.
export async function changeRanges(path, verb, body) {
  const transforming = (text) => /index transformation/.test(text ?? "");
  let job = null;
  for (let i = 0; i < 600; i++, await sleep(50)) {
    if (job === null) {
      job = await own("POST", `${path}/${verb}`, body).then((answer) => answer.job, (error) => {
        if (transforming(error.message)) return null;
        throw error;
      });
      continue;
    }
    const { jobs } = await own("GET", `${path}/partitions`);
    const now = jobs.find((one) => one.id === job.id);
    if (now.phase === "done") return now;
    if (now.phase !== "failed") continue;
    assert.ok(transforming(now.error), now.error);
    job = null;
  }
  assert.fail(`the ${verb} does not come to an end`);
}
