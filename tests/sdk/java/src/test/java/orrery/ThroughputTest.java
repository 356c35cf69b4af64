package orrery;

import static orrery.Harness.*;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.ThrottlingRetryOptions;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosItemResponse;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.azure.cosmos.models.ThroughputProperties;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Throughput that is enforced: B64, B65, against a server of its own that throttles. */
class ThroughputTest {
  private static final String THROTTLED = env("ORRERY_THROTTLED_ENDPOINT", "");
  private static final String RANGE = "x-ms-documentdb-partitionkeyrangeid";

  private static CosmosClientBuilder throttled() {
    return new CosmosClientBuilder().endpoint(THROTTLED).key(KEY).gatewayMode();
  }

  private static boolean refused(Runnable operation) {
    try {
      operation.run();
      return false;
    } catch (CosmosException e) {
      assertEquals(429, e.getStatusCode());
      assertEquals(3200, e.getSubStatusCode());
      assertTrue(e.getRetryAfterDuration().toMillis() >= 1);
      return true;
    }
  }

  /** A patch of a large item: about 2,400 RU for a few bytes. */
  private static boolean burn(CosmosContainer container, String pk) {
    return refused(() -> container.patchItem("large", pk(pk), CosmosPatchOperations.create().increment("/n", 1), ObjectNode.class));
  }

  @Test
  void B64_hotKey() {
    assumeTrue(!THROTTLED.isEmpty(), "no throttling server in this run");
    ThrottlingRetryOptions never = new ThrottlingRetryOptions().setMaxRetryAttemptsOnThrottledRequests(0).setMaxRetryWaitTime(Duration.ZERO);
    try (CosmosClient impatient = throttled().throttlingRetryOptions(never).buildClient(); CosmosClient patient = throttled().buildClient()) {
      String database = unique("java");
      patient.createDatabase(database);
      try {
        CosmosContainerProperties definition = definition();
        patient.getDatabase(database).createContainer(definition, ThroughputProperties.createAutoscaledThroughput(30000));
        CosmosContainer container = impatient.getDatabase(database).getContainer(definition.getId());
        CosmosContainer waiting = patient.getDatabase(database).getContainer(definition.getId());
        Map<String, String> keys = new LinkedHashMap<>();
        for (int i = 0; keys.size() < 3; ++i) {
          CosmosItemResponse<ObjectNode> made = container.createItem(json("{'id':'small','pk':'tenant" + i + "'}"), pk("tenant" + i), null);
          keys.putIfAbsent(made.getResponseHeaders().get(RANGE), "tenant" + i);
        }
        List<String> tenants = new ArrayList<>(keys.values());
        String hot = tenants.get(0);
        waiting.createItem(json("{'id':'large','pk':'" + hot + "','n':0,'s':'" + "x".repeat(1_900_000) + "'}"), pk(hot), null);
        int refusals = 0;
        for (int i = 0; i < 200 && refusals < 3; ++i) {
          if (!burn(container, hot)) continue;
          ++refusals;
          for (String calm : tenants.subList(1, 3)) {
            assertEquals("small", read(container, calm, "small").get("id").asText());
            String body = "{'id':'small','pk':'" + calm + "','at':" + i + "}";
            assertFalse(refused(() -> container.upsertItem(json(body), pk(calm), null)));
          }
        }
        assertTrue(refusals > 0, "the hot tenant was never refused");
        // The SDK waits as it is told, and gets through.
        for (int i = 0; i < 4; ++i) waiting.replaceItem(json("{'id':'small','pk':'" + hot + "','i':" + i + "}"), "small", pk(hot), null);
        assertEquals(3, read(waiting, hot, "small").get("i").asInt());
      } finally {
        patient.getDatabase(database).delete();
      }
    }
  }

  @Test
  void B65_autoscale() throws Exception {
    assumeTrue(!THROTTLED.isEmpty(), "no throttling server in this run");
    ThrottlingRetryOptions never = new ThrottlingRetryOptions().setMaxRetryAttemptsOnThrottledRequests(0).setMaxRetryWaitTime(Duration.ZERO);
    try (CosmosClient impatient = throttled().throttlingRetryOptions(never).buildClient(); CosmosClient patient = throttled().buildClient()) {
      String database = unique("java");
      patient.createDatabase(database);
      try {
        CosmosContainerProperties definition = definition();
        patient.getDatabase(database).createContainer(definition, ThroughputProperties.createAutoscaledThroughput(10000));
        CosmosContainer container = impatient.getDatabase(database).getContainer(definition.getId());
        CosmosContainer waiting = patient.getDatabase(database).getContainer(definition.getId());
        assertEquals(1000, current(waiting));
        waiting.createItem(json("{'id':'large','pk':'a','n':0,'s':'" + "x".repeat(1_900_000) + "'}"), pk("a"), null);
        int highest = 0;
        for (long end = System.nanoTime() + Duration.ofSeconds(20).toNanos(); highest < 4000 && System.nanoTime() < end; ) {
          for (int i = 0; i < 4; ++i) burn(container, "a");
          highest = Math.max(highest, current(waiting));
        }
        assertTrue(highest >= 4000 && highest <= 10000, "risen to " + highest);
        int lowest = highest;
        for (int i = 0; i < 60 && lowest > 1000; ++i, Thread.sleep(500)) lowest = current(waiting);
        assertEquals(1000, lowest);
      } finally {
        patient.getDatabase(database).delete();
      }
    }
  }

  /** What autoscale has scaled to. */
  private static int current(CosmosContainer container) {
    ThroughputProperties throughput = container.readThroughput().getProperties();
    assertEquals(10000, throughput.getAutoscaleMaxThroughput());
    return throughput.getManualThroughput() == null ? 0 : throughput.getManualThroughput();
  }
}
