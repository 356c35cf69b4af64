// Shared by the test files: a client for the server under test, a database per test, and error expectations.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { CosmosClient } from "@azure/cosmos";

export const endpoint = process.env.ORRERY_ENDPOINT ?? "http://127.0.0.1:8081";
export const key =
  process.env.ORRERY_KEY ?? "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

const quiet = { enableBackgroundEndpointRefreshing: false };

export const newClient = (options = {}) => new CosmosClient({ endpoint, key, connectionPolicy: quiet, ...options });
/// A client that holds no account key, only what a test hands it.
export const keylessClient = (options) => new CosmosClient({ endpoint, connectionPolicy: quiet, ...options });

export const client = newClient();

export const name = (prefix) => `${prefix}-${randomBytes(6).toString("hex")}`;
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/// Runs `body(database)` with a database of its own, deleted afterwards whatever happens.
export async function withDatabase(body, request = {}) {
  const { database } = await client.databases.create({ id: name("js"), ...request });
  try {
    await body(database);
  } finally {
    await database.delete();
  }
}

/// Runs `body(container, database)` with a container of its own. `definition` overrides the defaults (key `/pk`).
export function withContainer(body, definition = {}) {
  return withDatabase(async (database) => {
    const { container } = await database.containers.create({
      id: name("c"),
      partitionKey: { paths: ["/pk"], version: 2 },
      ...definition,
    });
    await body(container, database);
  });
}

/// One behaviour of BEHAVIOURS.md; the number leads the name so that subsets can be chosen by pattern.
export const behaviour = (number, title, ...rest) =>
  test(`${number} ${title}`, { timeout: 300_000, ...(rest.length > 1 ? rest[0] : {}) }, rest.at(-1));

/// The operation must fail with this HTTP status (and sub-status); returns the error.
export async function rejects(promise, status, substatus) {
  try {
    await promise;
  } catch (error) {
    assert.equal(error.code, status, `expected status ${status}, got ${error.code}: ${error.message ?? error}`);
    if (substatus !== undefined) assert.equal(error.substatus, substatus, `sub-status of: ${error.message}`);
    return error;
  }
  assert.fail(`expected status ${status}, but the operation succeeded`);
}

/// A point read reports 404 as a response, not as an exception.
export async function missing(item) {
  const response = await item.read();
  assert.equal(response.statusCode, 404);
  assert.equal(response.resource, undefined);
}

/// User properties only, in the order they came.
export const userProperties = (resource) =>
  Object.fromEntries(Object.entries(resource).filter(([k]) => !["_rid", "_self", "_etag", "_attachments", "_ts"].includes(k)));

export const byId = (a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
