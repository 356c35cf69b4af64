package orrery;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosItemResponse;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.PartitionKeyDefinition;
import com.azure.cosmos.models.PartitionKeyDefinitionVersion;
import com.azure.cosmos.models.ThroughputProperties;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.function.Executable;

/** Clients for the server under test, a database per test, and expectations about errors. */
final class Harness {
  static final String ENDPOINT = env("ORRERY_ENDPOINT", "http://127.0.0.1:8081");
  static final String KEY =
      env("ORRERY_KEY", "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==");
  static final ObjectMapper JSON = new ObjectMapper();
  static final CosmosClient CLIENT;
  static final CosmosAsyncClient ASYNC;

  static {
    if (ENDPOINT.startsWith("http:")) System.setProperty("COSMOS.HTTP_CONNECTION_WITHOUT_TLS_ALLOWED", "true");
    if (System.getenv("ORRERY_CA") != null) trust(System.getenv("ORRERY_CA"));
    CLIENT = builder().key(KEY).contentResponseOnWriteEnabled(true).buildClient();
    ASYNC = builder().key(KEY).buildAsyncClient();
  }

  private Harness() {}

  static String env(String name, String otherwise) {
    String value = System.getenv(name);
    return value == null || value.isEmpty() ? otherwise : value;
  }

  /** Makes the server's certificate authority the only one this process trusts. */
  private static void trust(String pem) {
    try (FileInputStream in = new FileInputStream(pem)) {
      KeyStore store = KeyStore.getInstance("PKCS12");
      store.load(null, null);
      store.setCertificateEntry("server", CertificateFactory.getInstance("X.509").generateCertificate(in));
      Path file = Files.createTempFile("trust", ".p12");
      file.toFile().deleteOnExit();
      try (FileOutputStream out = new FileOutputStream(file.toFile())) {
        store.store(out, "changeit".toCharArray());
      }
      System.setProperty("javax.net.ssl.trustStore", file.toString());
      System.setProperty("javax.net.ssl.trustStorePassword", "changeit");
      System.setProperty("javax.net.ssl.trustStoreType", "PKCS12");
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  static CosmosClientBuilder builder() {
    return new CosmosClientBuilder().endpoint(ENDPOINT).gatewayMode();
  }

  static String unique(String prefix) {
    return prefix + "-" + UUID.randomUUID().toString().substring(0, 13);
  }

  interface Body<T> {
    void run(T t) throws Exception;
  }

  static void withDatabase(Body<CosmosDatabase> body) throws Exception {
    String id = unique("java");
    CLIENT.createDatabase(id);
    CosmosDatabase database = CLIENT.getDatabase(id);
    try {
      body.run(database);
    } finally {
      database.delete();
    }
  }

  /** A definition with key /pk, version 2. */
  static CosmosContainerProperties definition() {
    return definition(PartitionKeyDefinitionVersion.V2, "/pk");
  }

  static CosmosContainerProperties definition(PartitionKeyDefinitionVersion version, String path) {
    PartitionKeyDefinition key = new PartitionKeyDefinition().setPaths(List.of(path));
    if (version != null) key.setVersion(version);
    return new CosmosContainerProperties(unique("c"), key);
  }

  static CosmosContainer add(CosmosDatabase database, CosmosContainerProperties definition, int throughput) {
    if (throughput > 0) database.createContainer(definition, ThroughputProperties.createManualThroughput(throughput));
    else database.createContainer(definition);
    return database.getContainer(definition.getId());
  }

  static void withContainer(CosmosContainerProperties definition, int throughput, Body<CosmosContainer> body) throws Exception {
    withDatabase(database -> body.run(add(database, definition, throughput)));
  }

  static void withContainer(Body<CosmosContainer> body) throws Exception {
    withContainer(definition(), 0, body);
  }

  static ObjectNode json(String text) {
    try {
      return (ObjectNode) JSON.readTree(text.replace('\'', '"'));
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException(text, e);
    }
  }

  static PartitionKey pk(Object value) {
    return new PartitionKey(value);
  }

  static CosmosItemResponse<ObjectNode> create(CosmosContainer container, Object key, String text) {
    CosmosItemResponse<ObjectNode> response = container.createItem(json(text), pk(key), null);
    assertEquals(201, response.getStatusCode());
    return response;
  }

  static ObjectNode read(CosmosContainer container, Object key, String id) {
    return container.readItem(id, pk(key), ObjectNode.class).getItem();
  }

  static void missing(CosmosContainer container, Object key, String id) {
    fails(404, () -> container.readItem(id, pk(key), ObjectNode.class));
  }

  static CosmosException fails(int status, Executable operation) {
    CosmosException e = assertThrows(CosmosException.class, operation);
    assertEquals(status, e.getStatusCode(), e.getShortMessage());
    return e;
  }

  static CosmosException fails(int status, int subStatus, Executable operation) {
    CosmosException e = fails(status, operation);
    assertEquals(subStatus, e.getSubStatusCode(), e.getShortMessage());
    return e;
  }

  /** The item without system properties. */
  static ObjectNode user(ObjectNode item) {
    ObjectNode copy = item.deepCopy();
    copy.remove(List.of("_rid", "_self", "_etag", "_attachments", "_ts"));
    return copy;
  }
}
