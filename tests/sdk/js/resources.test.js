// Account, databases, containers, throughput, users and permissions: B01–B10, B43–B51, B54.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { PermissionMode } from "@azure/cosmos";
import { behaviour, client, keylessClient, name, newClient, rejects, withContainer, withDatabase } from "./harness.js";

const defaultIndexingPolicy = {
  indexingMode: "consistent",
  automatic: true,
  includedPaths: [{ path: "/*" }],
  excludedPaths: [{ path: '/"_etag"/?' }],
};

describe("account", { concurrency: 4 }, () => {
  behaviour("B01", "account document: endpoints are reachable, consistency is Session", async () => {
    const { resource } = await client.getDatabaseAccount();
    assert.equal(resource.consistencyPolicy, "Session");
    assert.ok(resource.writableLocations.length >= 1);
    assert.ok(resource.readableLocations.length >= 1);
    assert.equal(resource.enableMultipleWritableLocations, false);
    const advertised = await client.getWriteEndpoint();
    assert.ok(advertised.startsWith("http"));
    const again = newClient({ endpoint: resource.writableLocations[0].databaseAccountEndpoint });
    await again.databases.readAll({ maxItemCount: 1 }).fetchNext();
    again.dispose();
  });

  behaviour("B02", "a wrong key is 401", async () => {
    const stranger = newClient({ key: Buffer.alloc(64, 7).toString("base64") });
    const error = await rejects(stranger.databases.readAll().fetchAll(), 401);
    assert.match(error.message, /authorization/i);
    stranger.dispose();
  });

  behaviour("B03", "a read-only key reads and cannot write (403)", async (t) => {
    const readOnly = process.env.ORRERY_READONLY_KEY;
    if (!readOnly) return t.skip("ORRERY_READONLY_KEY is not set");
    await withContainer(async (container, database) => {
      await container.items.create({ id: "1", pk: "a" });
      const reader = newClient({ key: readOnly });
      const same = reader.database(database.id).container(container.id);
      assert.equal((await same.item("1", "a").read()).resource.id, "1");
      await rejects(same.items.create({ id: "2", pk: "a" }), 403);
      await rejects(same.item("1", "a").delete(), 403);
      await rejects(reader.databases.create({ id: name("js") }), 403);
      assert.equal((await container.item("1", "a").read()).statusCode, 200);
      reader.dispose();
    });
  });
});

describe("databases and containers", { concurrency: 4 }, () => {
  behaviour("B04", "database create, read, list, query, delete; 409 and 404", async () => {
    const id = name("js");
    const created = await client.databases.create({ id });
    assert.equal(created.statusCode, 201);
    assert.equal(created.resource.id, id);
    for (const property of ["_rid", "_self", "_etag", "_ts"]) assert.ok(created.resource[property], property);
    assert.equal(created.resource._self, `dbs/${created.resource._rid}/`);
    await rejects(client.databases.create({ id }), 409);
    const read = await client.database(id).read();
    assert.equal(read.statusCode, 200);
    assert.equal(read.resource._rid, created.resource._rid);
    const { resources: all } = await client.databases.readAll().fetchAll();
    assert.ok(all.some((d) => d.id === id));
    const { resources: found } = await client.databases
      .query({ query: "SELECT * FROM root r WHERE r.id = @id", parameters: [{ name: "@id", value: id }] })
      .fetchAll();
    assert.deepEqual(found.map((d) => d.id), [id]);
    assert.equal((await client.database(id).delete()).statusCode, 204);
    await rejects(client.database(id).read(), 404);
    await rejects(client.database(id).delete(), 404);
  });

  behaviour("B05", "createIfNotExists for databases and containers", async () => {
    const id = name("js");
    const first = await client.databases.createIfNotExists({ id });
    assert.equal(first.statusCode, 201);
    const second = await client.databases.createIfNotExists({ id });
    assert.equal(second.statusCode, 200);
    assert.equal(second.resource._rid, first.resource._rid);
    const one = await first.database.containers.createIfNotExists({ id: "c", partitionKey: { paths: ["/pk"] } });
    const two = await first.database.containers.createIfNotExists({ id: "c", partitionKey: { paths: ["/pk"] } });
    assert.deepEqual([one.statusCode, two.statusCode], [201, 200]);
    assert.equal(one.resource._rid, two.resource._rid);
    await first.database.delete();
  });

  behaviour("B06", "container create fills in defaults", async () => {
    await withDatabase(async (database) => {
      const { resource, statusCode } = await database.containers.create({ id: "c", partitionKey: { paths: ["/pk"] } });
      assert.equal(statusCode, 201);
      assert.deepEqual(resource.partitionKey.paths, ["/pk"]);
      assert.equal(resource.partitionKey.kind, "Hash");
      assert.deepEqual(resource.indexingPolicy, defaultIndexingPolicy);
      assert.equal(resource.defaultTtl, undefined);
      for (const property of ["_rid", "_self", "_etag", "_ts", "_docs", "_sprocs", "_triggers", "_udfs", "_conflicts"])
        assert.ok(resource[property], property);
      assert.ok(resource._self.startsWith("dbs/") && resource._self.endsWith(`colls/${resource._rid}/`));
      await rejects(database.containers.create({ id: "c", partitionKey: { paths: ["/other"] } }), 409);
    });
  });

  behaviour("B07", "container create with every supported policy returns them", async () => {
    await withDatabase(async (database) => {
      const definition = {
        id: "policies",
        partitionKey: { paths: ["/tenant"], kind: "Hash", version: 2 },
        defaultTtl: 3600,
        indexingPolicy: {
          indexingMode: "consistent",
          automatic: true,
          includedPaths: [{ path: "/name/?" }, { path: "/tags/[]/?" }, { path: "/deep/*" }],
          excludedPaths: [{ path: "/*" }, { path: '/"_etag"/?' }],
        },
        uniqueKeyPolicy: { uniqueKeys: [{ paths: ["/email"] }, { paths: ["/a/b", "/c"] }] },
        conflictResolutionPolicy: { mode: "LastWriterWins", conflictResolutionPath: "/_ts" },
      };
      await database.containers.create(definition);
      const { resource } = await database.container("policies").read();
      assert.deepEqual(resource.partitionKey, definition.partitionKey);
      assert.equal(resource.defaultTtl, 3600);
      for (const member of ["indexingMode", "automatic", "includedPaths", "excludedPaths"])
        assert.deepEqual(resource.indexingPolicy[member], definition.indexingPolicy[member], member);
      assert.deepEqual(resource.uniqueKeyPolicy, definition.uniqueKeyPolicy);
      assert.equal(resource.conflictResolutionPolicy.mode, "LastWriterWins");
      assert.equal(resource.conflictResolutionPolicy.conflictResolutionPath, "/_ts");
    });
  });

  behaviour("B08", "container replace (TTL, indexing policy); the key is immutable; delete", async () => {
    await withContainer(async (container) => {
      const { resource: before } = await container.read();
      const changed = await container.replace({
        ...before,
        defaultTtl: 60,
        indexingPolicy: { indexingMode: "consistent", automatic: true, includedPaths: [{ path: "/*" }], excludedPaths: [{ path: "/big/*" }, { path: '/"_etag"/?' }] },
      });
      assert.equal(changed.statusCode, 200);
      const { resource: after } = await container.read();
      assert.equal(after.defaultTtl, 60);
      assert.ok(after.indexingPolicy.excludedPaths.some((p) => p.path === "/big/*"));
      assert.notEqual(after._etag, before._etag);
      assert.equal(after._rid, before._rid);
      await rejects(container.replace({ ...after, partitionKey: { paths: ["/other"], kind: "Hash", version: 2 } }), 400);
      await rejects(container.replace({ ...after, defaultTtl: 0 }), 400);
      assert.equal((await container.read()).resource.defaultTtl, 60);
      const { defaultTtl: _, ...off } = after;
      await container.replace(off);
      assert.equal((await container.read()).resource.defaultTtl, undefined);
      assert.equal((await container.delete()).statusCode, 204);
      await rejects(container.read(), 404);
    });
  });

  behaviour("B09", "a missing container or database is 404; item operations in it 404/1003", async () => {
    await withDatabase(async (database) => {
      await rejects(database.container("nope").read(), 404);
      await rejects(database.container("nope").delete(), 404);
      await rejects(database.container("nope").items.create({ id: "1", pk: "a" }), 404);
      await rejects(client.database(name("nope")).containers.create({ id: "c", partitionKey: { paths: ["/pk"] } }), 404);
      const { container } = await database.containers.create({ id: "gone", partitionKey: { paths: ["/pk"] } });
      await container.items.create({ id: "1", pk: "a" }); // the definition is now in the client's cache
      await newClient().database(database.id).container("gone").delete();
      await rejects(container.items.create({ id: "2", pk: "a" }), 404, 1003);
    });
  });

  behaviour("B10", "containers are listed and found by query", async () => {
    await withDatabase(async (database) => {
      const ids = ["a", "b", "c", "d", "e"];
      for (const id of ids) await database.containers.create({ id, partitionKey: { paths: ["/pk"] } });
      const { resources } = await database.containers.readAll().fetchAll();
      assert.deepEqual(resources.map((c) => c.id).sort(), ids);
      const paged = database.containers.readAll({ maxItemCount: 2 });
      const seen = [];
      while (paged.hasMoreResults()) seen.push(...((await paged.fetchNext()).resources ?? []).map((c) => c.id));
      assert.deepEqual(seen.sort(), ids);
      const { resources: found } = await database.containers
        .query({ query: "SELECT * FROM root r WHERE r.id = @id", parameters: [{ name: "@id", value: "c" }] })
        .fetchAll();
      assert.deepEqual(found.map((c) => c.id), ["c"]);
    });
  });
});

describe("throughput", { concurrency: 4 }, () => {
  behaviour("B43", "manual throughput: read and replace", async () => {
    await withContainer(
      async (container) => {
        const { resource, offer } = await container.readOffer();
        assert.equal(resource.content.offerThroughput, 500);
        assert.equal(resource.offerVersion, "V2");
        assert.equal(resource.content.offerAutopilotSettings, undefined);
        resource.content.offerThroughput = 900;
        const replaced = await offer.replace(resource);
        assert.equal(replaced.statusCode, 200);
        assert.equal((await container.readOffer()).resource.content.offerThroughput, 900);
        resource.content.offerThroughput = 350;
        await rejects(offer.replace(resource), 400);
        resource.content.offerThroughput = 950.5;
        await rejects(offer.replace(resource), 400);
        assert.equal((await offer.read()).resource.content.offerThroughput, 900);
      },
      { throughput: 500 },
    );
  });

  behaviour("B44", "autoscale throughput: read and replace", async () => {
    await withContainer(
      async (container) => {
        const { resource, offer } = await container.readOffer();
        assert.equal(resource.content.offerAutopilotSettings.maxThroughput, 4000);
        resource.content.offerAutopilotSettings.maxThroughput = 6000;
        await offer.replace(resource);
        assert.equal((await container.readOffer()).resource.content.offerAutopilotSettings.maxThroughput, 6000);
        resource.content.offerAutopilotSettings.maxThroughput = 1500;
        await rejects(offer.replace(resource), 400);
      },
      { maxThroughput: 4000 },
    );
  });

  behaviour("B45", "shared database throughput: the database has the offer, its containers none", async () => {
    await withDatabase(
      async (database) => {
        assert.equal((await database.readOffer()).resource.content.offerThroughput, 600);
        const { container } = await database.containers.create({ id: "shared", partitionKey: { paths: ["/pk"] } });
        assert.equal((await container.readOffer()).resource, undefined);
        const { container: own } = await database.containers.create({ id: "own", partitionKey: { paths: ["/pk"] }, throughput: 400 });
        assert.equal((await own.readOffer()).resource.content.offerThroughput, 400);
      },
      { throughput: 600 },
    );
  });

  behaviour("B46", "offers are listed, queried and read by id", async () => {
    await withContainer(async (container) => {
      const { resource } = await container.read();
      const { resources: all } = await client.offers.readAll().fetchAll();
      const mine = all.find((o) => o.offerResourceId === resource._rid);
      assert.ok(mine, "the container's offer is in the feed");
      assert.equal(mine.content.offerThroughput, 400);
      assert.equal(mine.resource.replace(/^\/|\/$/g, ""), resource._self.replace(/\/$/, ""));
      const { resources: found } = await client.offers
        .query({ query: "SELECT * FROM root r WHERE r.offerResourceId = @rid", parameters: [{ name: "@rid", value: resource._rid }] })
        .fetchAll();
      assert.deepEqual(found.map((o) => o.id), [mine.id]);
      assert.equal((await client.offer(mine.id).read()).resource.offerResourceId, resource._rid);
    });
  });

  behaviour("B47", "18,000 RU/s gives three ranges that cover the key space", async () => {
    await withContainer(
      async (container) => {
        const { resources } = await container.readPartitionKeyRanges().fetchAll();
        assert.equal(resources.length, 3);
        assert.equal(resources[0].minInclusive, "");
        assert.equal(resources[2].maxExclusive, "FF");
        assert.equal(resources[0].maxExclusive, resources[1].minInclusive);
        assert.equal(resources[1].maxExclusive, resources[2].minInclusive);
        assert.equal(resources[1].minInclusive, "15555555555555555555555555555555");
        assert.equal(resources[2].minInclusive, "2AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
        assert.equal((await container.getFeedRanges()).length, 3);
      },
      { throughput: 18000 },
    );
  });
});

describe("users and permissions", { concurrency: 4 }, () => {
  behaviour("B48", "users: create, read, list, query, replace, upsert, delete", async () => {
    await withDatabase(async (database) => {
      const { user, resource, statusCode } = await database.users.create({ id: "ann" });
      assert.equal(statusCode, 201);
      assert.ok(resource._self.includes("/users/"));
      await rejects(database.users.create({ id: "ann" }), 409);
      assert.equal((await user.read()).resource._rid, resource._rid);
      assert.equal((await database.users.upsert({ id: "bob" })).statusCode, 201);
      assert.equal((await database.users.upsert({ id: "bob" })).statusCode, 200);
      const { resources } = await database.users.readAll().fetchAll();
      assert.deepEqual(resources.map((u) => u.id).sort(), ["ann", "bob"]);
      const { resources: found } = await database.users
        .query({ query: "SELECT * FROM root r WHERE r.id = @id", parameters: [{ name: "@id", value: "bob" }] })
        .fetchAll();
      assert.deepEqual(found.map((u) => u.id), ["bob"]);
      const replaced = await user.replace({ id: "anne" });
      assert.equal(replaced.resource._rid, resource._rid);
      await rejects(database.user("ann").read(), 404);
      await database.user("anne").delete();
      await rejects(database.user("anne").read(), 404);
    });
  });

  behaviour("B49", "permissions: create, read, list, replace, delete; each answer carries a token", async () => {
    await withContainer(async (container, database) => {
      const { user } = await database.users.create({ id: "u" });
      const definition = { id: "p", permissionMode: PermissionMode.Read, resource: container.url };
      const { permission, resource, statusCode } = await user.permissions.create(definition);
      assert.equal(statusCode, 201);
      assert.match(resource._token, /^type=resource&ver=1/);
      await rejects(user.permissions.create(definition), 409);
      await rejects(user.permissions.create({ ...definition, id: "second" }), 409); // same user, same resource
      assert.match((await permission.read()).resource._token, /^type=resource/);
      const { resources } = await user.permissions.readAll().fetchAll();
      assert.deepEqual(resources.map((p) => p.id), ["p"]);
      assert.match(resources[0]._token, /^type=resource/);
      const replaced = await permission.replace({ ...definition, permissionMode: PermissionMode.All });
      assert.equal(replaced.resource.permissionMode, "All");
      await rejects(user.permissions.create({ id: "x", permissionMode: "Own", resource: container.url }), 400);
      await permission.delete();
      await rejects(permission.read(), 404);
    });
  });

  behaviour("B50", "a read token reads its container and nothing else", async () => {
    await withContainer(async (container, database) => {
      await container.items.create({ id: "1", pk: "a" });
      const { container: other } = await database.containers.create({ id: "other", partitionKey: { paths: ["/pk"] } });
      await other.items.create({ id: "1", pk: "a" });
      const { user } = await database.users.create({ id: "u" });
      const { resource: read } = await user.permissions.create({ id: "r", permissionMode: PermissionMode.Read, resource: container.url });
      const holder = keylessClient({ resourceTokens: { [container.url]: read._token, [other.url]: read._token } });
      const mine = holder.database(database.id).container(container.id);
      assert.equal((await mine.item("1", "a").read()).resource.id, "1");
      await rejects(mine.items.create({ id: "2", pk: "a" }), 403);
      await rejects(mine.item("1", "a").delete(), 403);
      await rejects(holder.database(database.id).container("other").item("1", "a").read(), 403);
      await rejects(mine.delete(), 403);
      const { user: writer } = await database.users.create({ id: "w" });
      const { resource: all } = await writer.permissions.create({ id: "w", permissionMode: PermissionMode.All, resource: container.url });
      const author = keylessClient({ resourceTokens: { [container.url]: all._token } });
      const theirs = author.database(database.id).container(container.id);
      assert.equal((await theirs.items.create({ id: "2", pk: "a" })).statusCode, 201);
      assert.equal((await theirs.item("2", "a").delete()).statusCode, 204);
      holder.dispose();
      author.dispose();
    });
  });

  behaviour("B51", "a token with a partition key reaches only that logical partition", async () => {
    await withContainer(async (container, database) => {
      await container.items.create({ id: "1", pk: "a" });
      await container.items.create({ id: "1", pk: "b" });
      const { user } = await database.users.create({ id: "u" });
      const { resource } = await user.permissions.create({
        id: "p",
        permissionMode: PermissionMode.All,
        resource: container.url,
        resourcePartitionKey: ["a"],
      });
      const holder = keylessClient({ resourceTokens: { [container.url]: resource._token } });
      const mine = holder.database(database.id).container(container.id);
      assert.equal((await mine.item("1", "a").read()).resource.pk, "a");
      assert.equal((await mine.items.create({ id: "2", pk: "a" })).statusCode, 201);
      await rejects(mine.item("1", "b").read(), 403);
      await rejects(mine.items.create({ id: "2", pk: "b" }), 403);
      await rejects(mine.item("1", "b").delete(), 403);
      holder.dispose();
    });
  });
});

describe("quota", () => {
  behaviour("B54", "container read reports quota, usage and index progress", async () => {
    await withContainer(async (container) => {
      for (let i = 0; i < 3; i++) await container.items.create({ id: `${i}`, pk: "a" });
      const { headers } = await container.read({ populateQuotaInfo: true });
      assert.match(headers["x-ms-resource-quota"], /documentsSize=\d+;/);
      assert.match(headers["x-ms-resource-usage"], /documentsCount=3;/);
      assert.equal(headers["x-ms-documentdb-collection-index-transformation-progress"], "100");
    });
  });
});
