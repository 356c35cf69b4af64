// The SDK's own client-side encryption, with keys that never leave this process: B95.
import assert from "node:assert/strict";
import { constants, generateKeyPairSync, privateDecrypt, publicEncrypt } from "node:crypto";
import { describe } from "node:test";
import {
  BulkOperationType,
  EncryptionAlgorithm,
  EncryptionKeyResolverName,
  EncryptionQueryBuilder,
  EncryptionType,
  KeyEncryptionAlgorithm,
} from "@azure/cosmos";
import { behaviour, client, name, newClient, rejects } from "./harness.js";

/// Wraps data keys with RSA key pairs made here, one per key path.
class LocalResolver {
  encryptionKeyResolverName = EncryptionKeyResolverName.AzureKeyVault;
  #pairs = new Map();
  #pair(path) {
    if (!this.#pairs.has(path)) this.#pairs.set(path, generateKeyPairSync("rsa", { modulusLength: 2048 }));
    return this.#pairs.get(path);
  }
  #padding = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha1" };
  async wrapKey(path, algorithm, key) {
    return publicEncrypt({ key: this.#pair(path).publicKey, ...this.#padding }, key);
  }
  async unwrapKey(path, algorithm, wrapped) {
    return privateDecrypt({ key: this.#pair(path).privateKey, ...this.#padding }, wrapped);
  }
}

const metadata = (path) => ({
  type: EncryptionKeyResolverName.AzureKeyVault,
  name: path,
  value: path,
  algorithm: KeyEncryptionAlgorithm.RSA_OAEP,
});
const path = (property, type, key = "k1") => ({
  path: property,
  clientEncryptionKeyId: key,
  encryptionType: type,
  encryptionAlgorithm: EncryptionAlgorithm.AEAD_AES_256_CBC_HMAC_SHA256,
});

describe("client-side encryption", () => {
  behaviour("B95", "properties are encrypted by the client, found again and decrypted", async () => {
    const secret = newClient({ clientEncryptionOptions: { keyEncryptionKeyResolver: new LocalResolver() } });
    const { database } = await secret.databases.create({ id: name("js") });
    try {
      for (const id of ["k1", "k2"]) {
        const created = await database.createClientEncryptionKey(id, EncryptionAlgorithm.AEAD_AES_256_CBC_HMAC_SHA256, metadata("kek1"));
        assert.equal(created.statusCode, 201);
      }
      await rejects(
        database.createClientEncryptionKey("k1", EncryptionAlgorithm.AEAD_AES_256_CBC_HMAC_SHA256, metadata("kek1")),
        409,
      );
      const before = (await database.readClientEncryptionKey("k1")).resource;
      assert.equal(before.id, "k1");
      assert.deepEqual(before.encryptionKeyWrapMetadata ?? before.keyWrapMetadata, metadata("kek1"));

      const clientEncryptionPolicy = {
        includedPaths: [
          path("/ssn", EncryptionType.DETERMINISTIC),
          path("/pk", EncryptionType.DETERMINISTIC),
          path("/notes", EncryptionType.RANDOMIZED, "k2"),
          path("/nested", EncryptionType.RANDOMIZED, "k2"),
        ],
        policyFormatVersion: 2,
      };
      const definition = { id: "c", partitionKey: { paths: ["/pk"], version: 2 }, clientEncryptionPolicy };
      const { container } = await database.containers.create(definition);
      const read = (await container.read()).resource.clientEncryptionPolicy;
      assert.deepEqual(read, clientEncryptionPolicy);
      await rejects(
        database.containers.create({
          id: "d",
          partitionKey: { paths: ["/pk"] },
          clientEncryptionPolicy: { includedPaths: [path("/a", EncryptionType.RANDOMIZED, "none")], policyFormatVersion: 1 },
        }),
        400,
      );

      const item = { id: "1", pk: "a", ssn: "123-45", notes: "tell nobody", nested: { list: ["x", true], deeper: { y: "z" } }, open: 5 };
      const created = await container.items.create(item);
      assert.equal(created.statusCode, 201);
      assert.equal(created.resource.notes, "tell nobody");
      const again = (await container.item("1", "a").read()).resource;
      for (const [property, value] of Object.entries(item)) assert.deepEqual(again[property], value, property);

      // What the server has: no plain text of the encrypted properties.
      const plain = client.database(database.id).container("c");
      const { resources } = await plain.items.readAll().fetchAll();
      assert.equal(resources.length, 1);
      assert.equal(resources[0].open, 5);
      assert.doesNotMatch(JSON.stringify(resources), /123-45|tell nobody|"x"|"z"/);

      await container.items.upsert({ ...item, id: "2", ssn: "999" });
      await container.item("2", "a").replace({ ...item, id: "2", ssn: "777" });
      const query = new EncryptionQueryBuilder("SELECT * FROM c WHERE c.ssn = @ssn");
      query.addParameter("@ssn", "777", "/ssn");
      const found = (await (await container.items.getEncryptionQueryIterator(query)).fetchAll()).resources;
      assert.deepEqual(found.map((r) => [r.id, r.ssn, r.notes]), [["2", "777", "tell nobody"]]);

      const batch = await container.items.batch(
        [
          { operationType: BulkOperationType.Create, resourceBody: { ...item, id: "3", notes: "batch" } },
          { operationType: BulkOperationType.Read, id: "3" },
        ],
        "a",
      );
      assert.deepEqual(batch.result.map((r) => r.statusCode), [201, 200]);
      assert.equal(batch.result[1].resourceBody.notes, "batch");
      assert.equal((await container.item("3", "a").delete()).statusCode, 204);

      // Another wrapping of the same data key: a client with empty caches reads what was written before.
      const rewrapped = await database.rewrapClientEncryptionKey("k1", metadata("kek2"));
      assert.equal(rewrapped.statusCode, 200);
      const after = (await database.readClientEncryptionKey("k1")).resource;
      assert.notEqual(String(after.wrappedDataEncryptionKey), String(before.wrappedDataEncryptionKey));
      assert.equal((await container.item("1", "a").read()).resource.ssn, "123-45");
    } finally {
      await database.delete();
    }
  });
});
