package orrery;

import static orrery.Harness.*;
import static org.junit.jupiter.api.Assertions.*;

import com.azure.cosmos.CosmosAsyncUser;
import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.CosmosUser;
import com.azure.cosmos.models.*;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Base64;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** Account, databases, containers, throughput, users and permissions: B01–B10, B43–B51, B54. */
class ResourcesTest {
  private static SqlQuerySpec byId(String id) {
    return new SqlQuerySpec("SELECT * FROM root r WHERE r.id = @id", new SqlParameter("@id", id));
  }

  @Test
  void B01_connect() {
    CLIENT.readAllDatabases().stream().limit(1).count();
    try (CosmosClient session = builder().key(KEY).consistencyLevel(com.azure.cosmos.ConsistencyLevel.SESSION).buildClient()) {
      session.readAllDatabases().stream().limit(1).count();
    }
  }

  @Test
  void B02_wrongKey() {
    String wrong = Base64.getEncoder().encodeToString(new byte[64]);
    Exception e = assertThrows(Exception.class, () -> {
      try (CosmosClient stranger = builder().key(wrong).buildClient()) {
        stranger.readAllDatabases().stream().count();
      }
    });
    assertTrue(String.valueOf(e).contains("401") || e.getMessage().toLowerCase().contains("authorization"), e.toString());
  }

  @Test
  void B03_readOnlyKey() throws Exception {
    String key = System.getenv("ORRERY_READONLY_KEY");
    Assumptions.assumeTrue(key != null && !key.isEmpty(), "ORRERY_READONLY_KEY is not set");
    withDatabase(database -> {
      CosmosContainer container = add(database, definition(), 0);
      create(container, "a", "{'id':'1','pk':'a'}");
      try (CosmosClient reader = builder().key(key).buildClient()) {
        CosmosContainer same = reader.getDatabase(database.getId()).getContainer(container.getId());
        assertEquals("1", read(same, "a", "1").get("id").asText());
        fails(403, () -> same.createItem(json("{'id':'2','pk':'a'}"), pk("a"), null));
        fails(403, () -> same.deleteItem("1", pk("a"), null));
      }
      read(container, "a", "1");
    });
  }

  @Test
  void B04_database() {
    String id = unique("java");
    CosmosDatabaseResponse created = CLIENT.createDatabase(id);
    assertEquals(201, created.getStatusCode());
    CosmosDatabase database = CLIENT.getDatabase(id);
    fails(409, () -> CLIENT.createDatabase(id));
    assertEquals(created.getProperties().getResourceId(), database.read().getProperties().getResourceId());
    assertTrue(CLIENT.readAllDatabases().stream().anyMatch(d -> d.getId().equals(id)));
    assertEquals(List.of(id), CLIENT.queryDatabases(byId(id), null).stream().map(CosmosDatabaseProperties::getId).toList());
    assertEquals(204, database.delete().getStatusCode());
    fails(404, database::read);
    fails(404, database::delete);
  }

  @Test
  void B05_createIfNotExists() {
    String id = unique("java");
    assertEquals(201, CLIENT.createDatabaseIfNotExists(id).getStatusCode());
    assertEquals(200, CLIENT.createDatabaseIfNotExists(id).getStatusCode());
    CosmosDatabase database = CLIENT.getDatabase(id);
    try {
      assertEquals(201, database.createContainerIfNotExists("c", "/pk").getStatusCode());
      assertEquals(200, database.createContainerIfNotExists("c", "/pk").getStatusCode());
    } finally {
      database.delete();
    }
  }

  @Test
  void B06_containerDefaults() throws Exception {
    withDatabase(database -> {
      CosmosContainerProperties got = database.createContainer("c", "/pk").getProperties();
      assertEquals(List.of("/pk"), got.getPartitionKeyDefinition().getPaths());
      assertEquals(PartitionKind.HASH, got.getPartitionKeyDefinition().getKind());
      assertEquals(IndexingMode.CONSISTENT, got.getIndexingPolicy().getIndexingMode());
      assertTrue(got.getIndexingPolicy().isAutomatic());
      assertEquals(List.of("/*"), got.getIndexingPolicy().getIncludedPaths().stream().map(IncludedPath::getPath).toList());
      assertEquals(List.of("/\"_etag\"/?"), got.getIndexingPolicy().getExcludedPaths().stream().map(ExcludedPath::getPath).toList());
      assertNull(got.getDefaultTimeToLiveInSeconds());
      assertEquals(8, Base64.getDecoder().decode(got.getResourceId().replace('-', '/')).length);
      assertNotNull(got.getETag());
      fails(409, () -> database.createContainer("c", "/other"));
    });
  }

  @Test
  void B07_containerPolicies() throws Exception {
    CosmosContainerProperties wanted = definition()
        .setDefaultTimeToLiveInSeconds(3600)
        .setIndexingPolicy(new IndexingPolicy()
            .setIncludedPaths(List.of(new IncludedPath("/name/?"), new IncludedPath("/tags/[]/?"), new IncludedPath("/deep/*")))
            .setExcludedPaths(List.of(new ExcludedPath("/*"))))
        .setUniqueKeyPolicy(new UniqueKeyPolicy()
            .setUniqueKeys(List.of(new UniqueKey(List.of("/email")), new UniqueKey(List.of("/a/b", "/c")))))
        .setConflictResolutionPolicy(ConflictResolutionPolicy.createLastWriterWinsPolicy("/_ts"));
    withContainer(wanted, 0, container -> {
      CosmosContainerProperties got = container.read().getProperties();
      assertEquals(3600, got.getDefaultTimeToLiveInSeconds());
      assertEquals(PartitionKeyDefinitionVersion.V2, got.getPartitionKeyDefinition().getVersion());
      assertEquals(List.of("/name/?", "/tags/[]/?", "/deep/*"), got.getIndexingPolicy().getIncludedPaths().stream().map(IncludedPath::getPath).toList());
      assertTrue(got.getIndexingPolicy().getExcludedPaths().stream().anyMatch(p -> p.getPath().equals("/*")));
      assertEquals(List.of(List.of("/email"), List.of("/a/b", "/c")), got.getUniqueKeyPolicy().getUniqueKeys().stream().map(UniqueKey::getPaths).toList());
      assertEquals("/_ts", got.getConflictResolutionPolicy().getConflictResolutionPath());
    });
  }

  @Test
  void B08_containerReplace() throws Exception {
    withContainer(container -> {
      CosmosContainerProperties properties = container.read().getProperties();
      String etag = properties.getETag();
      properties.setDefaultTimeToLiveInSeconds(60);
      properties.getIndexingPolicy().setExcludedPaths(List.of(new ExcludedPath("/big/*"), new ExcludedPath("/\"_etag\"/?")));
      container.replace(properties);
      CosmosContainerProperties after = container.read().getProperties();
      assertEquals(60, after.getDefaultTimeToLiveInSeconds());
      assertEquals("/big/*", after.getIndexingPolicy().getExcludedPaths().get(0).getPath());
      assertNotEquals(etag, after.getETag());
      CosmosContainerProperties other = container.read().getProperties();
      other.setPartitionKeyDefinition(new PartitionKeyDefinition().setPaths(List.of("/other")).setVersion(PartitionKeyDefinitionVersion.V2));
      fails(400, () -> container.replace(other));
      CosmosContainerProperties zero = container.read().getProperties().setDefaultTimeToLiveInSeconds(0);
      fails(400, () -> container.replace(zero));
      assertEquals(60, container.read().getProperties().getDefaultTimeToLiveInSeconds());
      assertEquals(204, container.delete().getStatusCode());
      fails(404, container::read);
    });
  }

  @Test
  void B09_missingContainer() throws Exception {
    withDatabase(database -> {
      CosmosContainer nope = database.getContainer("nope");
      fails(404, nope::read);
      fails(404, () -> nope.createItem(json("{'id':'1','pk':'a'}"), pk("a"), null));
      fails(404, () -> nope.readItem("1", pk("a"), ObjectNode.class));
      fails(404, () -> CLIENT.getDatabase(unique("nope")).createContainer("c", "/pk"));
    });
  }

  @Test
  void B10_listContainers() throws Exception {
    withDatabase(database -> {
      for (String id : List.of("a", "b", "c", "d", "e")) database.createContainer(id, "/pk");
      assertEquals(List.of("a", "b", "c", "d", "e"), database.readAllContainers().stream().map(CosmosContainerProperties::getId).sorted().toList());
      assertEquals(List.of("c"), database.queryContainers(byId("c")).stream().map(CosmosContainerProperties::getId).toList());
    });
  }

  @Test
  void B43_manualThroughput() throws Exception {
    withContainer(definition(), 500, container -> {
      ThroughputResponse offer = container.readThroughput();
      assertEquals(500, offer.getProperties().getManualThroughput());
      assertEquals(400, offer.getMinThroughput());
      assertFalse(offer.isReplacePending());
      container.replaceThroughput(ThroughputProperties.createManualThroughput(900));
      assertEquals(900, container.readThroughput().getProperties().getManualThroughput());
      fails(400, () -> container.replaceThroughput(ThroughputProperties.createManualThroughput(350)));
      assertEquals(900, container.readThroughput().getProperties().getManualThroughput());
    });
  }

  @Test
  void B44_autoscaleThroughput() throws Exception {
    withDatabase(database -> {
      database.createContainer(new CosmosContainerProperties("c", "/pk"), ThroughputProperties.createAutoscaledThroughput(4000));
      CosmosContainer container = database.getContainer("c");
      assertEquals(4000, container.readThroughput().getProperties().getAutoscaleMaxThroughput());
      container.replaceThroughput(ThroughputProperties.createAutoscaledThroughput(6000));
      assertEquals(6000, container.readThroughput().getProperties().getAutoscaleMaxThroughput());
      fails(400, () -> container.replaceThroughput(ThroughputProperties.createAutoscaledThroughput(1500)));
    });
  }

  @Test
  void B45_sharedThroughput() {
    String id = unique("java");
    CLIENT.createDatabase(id, ThroughputProperties.createManualThroughput(600));
    CosmosDatabase database = CLIENT.getDatabase(id);
    try {
      assertEquals(600, database.readThroughput().getProperties().getManualThroughput());
      CosmosContainer shared = add(database, definition(), 0);
      fails(400, shared::readThroughput);  // the SDK's own answer to an empty offer feed
      assertEquals(400, add(database, definition(), 400).readThroughput().getProperties().getManualThroughput());
      database.replaceThroughput(ThroughputProperties.createManualThroughput(800));
      assertEquals(800, database.readThroughput().getProperties().getManualThroughput());
    } finally {
      database.delete();
    }
  }

  @Test
  void B47_threeRanges() throws Exception {
    withContainer(definition(), 18000, container -> assertEquals(3, container.getFeedRanges().size()));
    withContainer(definition(null, "/pk"), 18000, container -> assertEquals(3, container.getFeedRanges().size()));
  }

  @Test
  void B48_users() throws Exception {
    withDatabase(database -> {
      CosmosUserResponse created = database.createUser(new CosmosUserProperties().setId("ann"));
      assertEquals(201, created.getStatusCode());
      fails(409, () -> database.createUser(new CosmosUserProperties().setId("ann")));
      assertEquals(201, database.upsertUser(new CosmosUserProperties().setId("bob")).getStatusCode());
      assertEquals(200, database.upsertUser(new CosmosUserProperties().setId("bob")).getStatusCode());
      assertEquals(List.of("ann", "bob"), database.readAllUsers().stream().map(CosmosUserProperties::getId).sorted().toList());
      assertEquals(List.of("bob"), database.queryUsers(byId("bob")).stream().map(CosmosUserProperties::getId).toList());
      CosmosUser ann = database.getUser("ann");
      CosmosUserResponse replaced = ann.replace(ann.read().getProperties());
      assertEquals(200, replaced.getStatusCode());
      assertNotEquals(created.getProperties().getETag(), replaced.getProperties().getETag());
      assertEquals(204, ann.delete().getStatusCode());
      fails(404, ann::read);
    });
  }

  private static CosmosPermissionProperties grant(CosmosDatabase database, CosmosContainer container, PermissionMode mode, PartitionKey key) {
    String id = unique("u");
    database.createUser(new CosmosUserProperties().setId(id));
    CosmosPermissionProperties wanted = new CosmosPermissionProperties().setId("p").setContainerName(container.getId()).setPermissionMode(mode);
    if (key != null) wanted.setResourcePartitionKey(key);
    return ASYNC.getDatabase(database.getId()).getUser(id).createPermission(wanted, null).block().getProperties();
  }

  @Test
  void B49_permissions() throws Exception {
    withDatabase(database -> {
      CosmosContainer container = add(database, definition(), 0);
      database.createUser(new CosmosUserProperties().setId("u"));
      CosmosAsyncUser user = ASYNC.getDatabase(database.getId()).getUser("u");
      CosmosPermissionProperties wanted = new CosmosPermissionProperties().setId("p").setContainerName(container.getId()).setPermissionMode(PermissionMode.READ);
      CosmosPermissionProperties got = user.createPermission(wanted, null).block().getProperties();
      assertTrue(got.getToken().startsWith("type=resource&ver=1"), got.getToken());
      fails(409, () -> user.createPermission(wanted, null).block());
      assertTrue(user.getPermission("p").read(null).block().getProperties().getToken().startsWith("type=resource"));
      List<CosmosPermissionProperties> all = user.readAllPermissions().collectList().block();
      assertEquals(1, all.size());
      CosmosPermissionProperties current = user.getPermission("p").read(null).block().getProperties();
      CosmosPermissionProperties changed = user.getPermission("p").replace(current.setPermissionMode(PermissionMode.ALL), null).block().getProperties();
      assertEquals(PermissionMode.ALL, changed.getPermissionMode());
      user.getPermission("p").delete(null).block();
      fails(404, () -> user.getPermission("p").read(null).block());
    });
  }

  @Test
  void B50_readToken() throws Exception {
    withDatabase(database -> {
      CosmosContainer container = add(database, definition(), 0);
      create(container, "a", "{'id':'1','pk':'a'}");
      String read = grant(database, container, PermissionMode.READ, null).getToken();
      try (CosmosClient holder = builder().resourceToken(read).buildClient()) {
        CosmosContainer mine = holder.getDatabase(database.getId()).getContainer(container.getId());
        assertEquals("1", read(mine, "a", "1").get("id").asText());
        fails(403, () -> mine.createItem(json("{'id':'2','pk':'a'}"), pk("a"), null));
        fails(403, () -> mine.deleteItem("1", pk("a"), null));
      }
      String all = grant(database, container, PermissionMode.ALL, null).getToken();
      try (CosmosClient holder = builder().resourceToken(all).buildClient()) {
        CosmosContainer mine = holder.getDatabase(database.getId()).getContainer(container.getId());
        assertEquals(201, mine.createItem(json("{'id':'2','pk':'a'}"), pk("a"), null).getStatusCode());
        assertEquals(204, mine.deleteItem("2", pk("a"), null).getStatusCode());
      }
    });
  }

  @Test
  void B51_partitionToken() throws Exception {
    withDatabase(database -> {
      CosmosContainer container = add(database, definition(), 0);
      for (String key : List.of("a", "b")) create(container, key, "{'id':'1','pk':'" + key + "'}");
      String token = grant(database, container, PermissionMode.ALL, pk("a")).getToken();
      try (CosmosClient holder = builder().resourceToken(token).buildClient()) {
        CosmosContainer mine = holder.getDatabase(database.getId()).getContainer(container.getId());
        assertEquals("a", read(mine, "a", "1").get("pk").asText());
        assertEquals(201, mine.createItem(json("{'id':'2','pk':'a'}"), pk("a"), null).getStatusCode());
        fails(403, () -> mine.readItem("1", pk("b"), ObjectNode.class));
        fails(403, () -> mine.createItem(json("{'id':'2','pk':'b'}"), pk("b"), null));
      }
    });
  }

  @Test
  void B54_quota() throws Exception {
    withContainer(container -> {
      for (String id : List.of("1", "2", "3")) create(container, "a", "{'id':'" + id + "','pk':'a'}");
      CosmosContainerResponse response = container.read(new CosmosContainerRequestOptions().setQuotaInfoEnabled(true));
      assertTrue(response.getMaxResourceQuota().contains("documentsSize="), response.getMaxResourceQuota());
      assertTrue(response.getCurrentResourceQuotaUsage().contains("documentsCount=3;"), response.getCurrentResourceQuotaUsage());
      assertEquals(100, response.getIndexTransformationProgress());
    });
  }
}
