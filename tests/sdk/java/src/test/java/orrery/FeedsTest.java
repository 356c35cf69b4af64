package orrery;

import static orrery.Harness.*;
import static org.junit.jupiter.api.Assertions.*;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.*;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Lists, queries, read many, delete by key, batch and bulk: B34–B42. */
class FeedsTest {
  private static String name(int n) {
    return String.format("i%04d", n);
  }

  private static void fill(CosmosContainer container, int count) {
    List<CosmosItemOperation> operations = new ArrayList<>();
    for (int n = 0; n < count; n++) {
      String key = "k" + n % 37;
      operations.add(CosmosBulkOperations.getCreateItemOperation(json("{'id':'" + name(n) + "','pk':'" + key + "','n':" + n + "}"), pk(key)));
    }
    for (CosmosBulkOperationResponse<Object> r : container.executeBulkOperations(operations)) {
      assertNull(r.getException(), () -> String.valueOf(r.getException()));
      assertEquals(201, r.getResponse().getStatusCode());
    }
  }

  private static List<String> ids(Stream<ObjectNode> items) {
    return items.map(i -> i.get("id").asText()).sorted().toList();
  }

  private static List<String> names(int from, int to) {
    return IntStream.range(from, to).mapToObj(FeedsTest::name).toList();
  }

  @Test
  void B34_wholeContainer() throws Exception {
    withContainer(definition(), 18000, container -> {
      fill(container, 120);
      List<ObjectNode> seen = new ArrayList<>();
      for (FeedResponse<ObjectNode> page : container.queryItems("SELECT * FROM c", new CosmosQueryRequestOptions(), ObjectNode.class).iterableByPage(17)) {
        assertTrue(page.getResults().size() <= 17);
        seen.addAll(page.getResults());
      }
      assertEquals(names(0, 120), ids(seen.stream()));
      assertEquals(List.of("i0003", "i0040", "i0077", "i0114"), ids(container.readAllItems(pk("k3"), ObjectNode.class).stream()));
    });
  }

  @Test
  void B35_continuation() throws Exception {
    withContainer(definition(), 18000, container -> {
      fill(container, 60);
      List<ObjectNode> seen = new ArrayList<>();
      String token = null;
      int rounds = 0;
      do {
        FeedResponse<ObjectNode> page =
            container.queryItems("SELECT * FROM c", new CosmosQueryRequestOptions(), ObjectNode.class).iterableByPage(token, 11).iterator().next();
        seen.addAll(page.getResults());
        token = page.getContinuationToken();
        assertTrue(++rounds < 60, "the continuation must come to an end");
      } while (token != null);
      assertEquals(names(0, 60), ids(seen.stream()));
    });
  }

  @Test
  void B36_parameters() throws Exception {
    withContainer(definition(), 18000, container -> {
      fill(container, 60);
      assertEquals(List.of("i0007"), query(container, "SELECT * FROM c WHERE c.id = @id", new SqlParameter("@id", "i0007")));
      assertEquals(List.of("i0003", "i0040"), query(container, "SELECT * FROM c WHERE c.pk = @pk", new SqlParameter("@pk", "k3")));
      CosmosQueryRequestOptions one = new CosmosQueryRequestOptions().setPartitionKey(pk("k3"));
      assertEquals(List.of("i0003", "i0040"), ids(container.queryItems("SELECT * FROM c", one, ObjectNode.class).stream()));
      assertEquals(names(10, 13),
          query(container, "SELECT * FROM c WHERE c.n >= @low AND c.n < @high", new SqlParameter("@low", 10), new SqlParameter("@high", 13)));
      assertEquals(List.of(), query(container, "SELECT * FROM c WHERE c.id = @id", new SqlParameter("@id", "none")));
      fails(400, () -> query(container, "SELECT * FROM WHERE"));
    });
  }

  private static List<String> query(CosmosContainer container, String text, SqlParameter... parameters) {
    return ids(container.queryItems(new SqlQuerySpec(text, parameters), new CosmosQueryRequestOptions(), ObjectNode.class).stream());
  }

  @Test
  void B37_readMany() throws Exception {
    for (PartitionKeyDefinitionVersion version : PartitionKeyDefinitionVersion.values())
      withContainer(definition(version, "/pk"), 18000, container -> {
        fill(container, 60);
        List<CosmosItemIdentity> wanted = new ArrayList<>();
        for (int n = 5; n < 45; n++) wanted.add(new CosmosItemIdentity(pk("k" + n % 37), name(n)));
        wanted.add(new CosmosItemIdentity(pk("k1"), "none"));
        wanted.add(new CosmosItemIdentity(pk("k2"), name(1)));
        assertEquals(names(5, 45), ids(container.readMany(wanted, ObjectNode.class).getResults().stream()));
        assertEquals(names(5, 6), ids(container.readMany(wanted.subList(0, 1), ObjectNode.class).getResults().stream()));
      });
    withContainer(definition(PartitionKeyDefinitionVersion.V2, "/id"), 18000, container -> {
      List<CosmosItemIdentity> wanted = new ArrayList<>();
      for (int n = 0; n < 20; n++) {
        container.createItem(json("{'id':'" + name(n) + "'}"), pk(name(n)), null);
        wanted.add(new CosmosItemIdentity(pk(name(n)), name(n)));
      }
      assertEquals(names(0, 20), ids(container.readMany(wanted, ObjectNode.class).getResults().stream()));
    });
  }

  @Test
  void B38_deleteByKey() throws Exception {
    withContainer(container -> {
      for (int n = 0; n < 25; n++) create(container, n % 2 == 1 ? "odd" : "even", "{'id':'" + n + "','pk':'" + (n % 2 == 1 ? "odd" : "even") + "'}");
      int status = container.deleteAllItemsByPartitionKey(pk("odd"), new CosmosItemRequestOptions()).getStatusCode();
      assertTrue(status == 200 || status == 204, "status " + status);
      long left = 0;
      for (int tries = 0; tries < 600; tries++) {  // the service does it in the background
        left = container.queryItems("SELECT * FROM c", new CosmosQueryRequestOptions(), ObjectNode.class).stream().count();
        if (left == 13) break;
        Thread.sleep(50);
      }
      assertEquals(13, left);
      missing(container, "odd", "1");
      read(container, "even", "2");
    });
  }

  private static List<Integer> statuses(CosmosBatchResponse response) {
    return response.getResults().stream().map(CosmosBatchOperationResult::getStatusCode).toList();
  }

  @Test
  void B39_batch() throws Exception {
    withContainer(container -> {
      for (String id : List.of("read", "replace", "patch", "delete")) create(container, "a", "{'id':'" + id + "','pk':'a','n':1}");
      CosmosBatch batch = CosmosBatch.createCosmosBatch(pk("a"));
      batch.createItemOperation(json("{'id':'new','pk':'a'}"));
      batch.upsertItemOperation(json("{'id':'ups','pk':'a'}"));
      batch.readItemOperation("read");
      batch.replaceItemOperation("replace", json("{'id':'replace','pk':'a','n':2}"));
      batch.patchItemOperation("patch", CosmosPatchOperations.create().increment("/n", 4));
      batch.deleteItemOperation("delete");
      batch.readItemOperation("new");
      CosmosBatchResponse response = container.executeCosmosBatch(batch);
      assertTrue(response.isSuccessStatusCode());
      assertEquals(List.of(201, 201, 200, 200, 200, 204, 200), statuses(response));
      assertEquals(response.getResults().get(0).getETag(), response.getResults().get(6).getItem(ObjectNode.class).get("_etag").asText());
      for (CosmosBatchOperationResult r : response.getResults()) assertTrue(r.getRequestCharge() > 0);
      assertEquals(5, read(container, "a", "patch").get("n").asInt());
      missing(container, "a", "delete");
    });
  }

  @Test
  void B40_batchFailure() throws Exception {
    withContainer(container -> {
      create(container, "a", "{'id':'there','pk':'a','n':1}");
      CosmosBatch batch = CosmosBatch.createCosmosBatch(pk("a"));
      batch.createItemOperation(json("{'id':'x','pk':'a'}"));
      batch.replaceItemOperation("there", json("{'id':'there','pk':'a','n':2}"));
      batch.createItemOperation(json("{'id':'there','pk':'a'}"));
      batch.deleteItemOperation("there");
      CosmosBatchResponse response = container.executeCosmosBatch(batch);
      assertFalse(response.isSuccessStatusCode());
      assertEquals(409, response.getStatusCode());  // the SDK lifts the failing operation's status out of the 207
      assertEquals(List.of(424, 424, 409, 424), statuses(response));
      missing(container, "a", "x");
      assertEquals(1, read(container, "a", "there").get("n").asInt());
    });
  }

  @Test
  void B41_batchLimits() throws Exception {
    withContainer(container -> {
      fails(400, () -> container.executeCosmosBatch(creates(101, 0)));
      fails(413, () -> container.executeCosmosBatch(creates(30, 100_000)));
      assertTrue(container.executeCosmosBatch(creates(100, 0)).isSuccessStatusCode());
      CosmosBatch stale = CosmosBatch.createCosmosBatch(pk("a"));
      stale.createItemOperation(json("{'id':'c','pk':'a'}"));
      stale.replaceItemOperation("b0", json("{'id':'b0','pk':'a'}"), new CosmosBatchItemRequestOptions().setIfMatchETag("\"stale\""));
      assertEquals(List.of(424, 412), statuses(container.executeCosmosBatch(stale)));
      CosmosBatch fresh = CosmosBatch.createCosmosBatch(pk("a"));
      String etag = read(container, "a", "b0").get("_etag").asText();
      fresh.replaceItemOperation("b0", json("{'id':'b0','pk':'a'}"), new CosmosBatchItemRequestOptions().setIfMatchETag(etag));
      assertEquals(List.of(200), statuses(container.executeCosmosBatch(fresh)));
    });
  }

  private static CosmosBatch creates(int count, int padding) {
    CosmosBatch batch = CosmosBatch.createCosmosBatch(pk("a"));
    for (int n = 0; n < count; n++) batch.createItemOperation(json("{'id':'b" + n + "','pk':'a'}").put("s", "x".repeat(padding)));
    return batch;
  }

  @Test
  void B42_bulk() throws Exception {
    for (PartitionKeyDefinitionVersion version : PartitionKeyDefinitionVersion.values())
      withContainer(definition(version, "/pk"), 18000, container -> {
        fill(container, 150);
        Map<String, CosmosItemOperation> mixed = new HashMap<>();
        mixed.put("409", CosmosBulkOperations.getCreateItemOperation(json("{'id':'i0001','pk':'k1'}"), pk("k1")));
        mixed.put("200 upsert", CosmosBulkOperations.getUpsertItemOperation(json("{'id':'i0002','pk':'k2','n':-2}"), pk("k2")));
        mixed.put("200 read", CosmosBulkOperations.getReadItemOperation("i0003", pk("k3")));
        mixed.put("204", CosmosBulkOperations.getDeleteItemOperation("i0004", pk("k4")));
        mixed.put("200 replace", CosmosBulkOperations.getReplaceItemOperation("i0005", json("{'id':'i0005','pk':'k5','n':-5}"), pk("k5")));
        mixed.put("200 patch", CosmosBulkOperations.getPatchItemOperation("i0006", pk("k6"), CosmosPatchOperations.create().increment("/n", 10)));
        mixed.put("404", CosmosBulkOperations.getDeleteItemOperation("nothing", pk("k7")));
        Map<CosmosItemOperation, Integer> got = new HashMap<>();
        for (CosmosBulkOperationResponse<Object> r : container.executeBulkOperations(mixed.values())) got.put(r.getOperation(), r.getResponse().getStatusCode());
        mixed.forEach((wanted, operation) -> assertEquals(Integer.parseInt(wanted.substring(0, 3)), got.get(operation), wanted));
        assertEquals(-2, read(container, "k2", "i0002").get("n").asInt());
        assertEquals(16, read(container, "k6", "i0006").get("n").asInt());
        missing(container, "k4", "i0004");
      });
  }
}
