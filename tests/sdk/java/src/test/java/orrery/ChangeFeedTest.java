package orrery;

import static orrery.Harness.*;
import static org.junit.jupiter.api.Assertions.*;

import com.azure.cosmos.ChangeFeedProcessor;
import com.azure.cosmos.ChangeFeedProcessorBuilder;
import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.models.*;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/** The change feed: pull model and processor, B70–B79, B93. */
class ChangeFeedTest {
  private static void upsert(CosmosContainer container, int i, int n) {
    String key = "k" + i % 17;
    container.upsertItem(json("{'id':'i" + i + "','pk':'" + key + "','n':" + n + "}"), pk(key), null);
  }

  private static void fill(CosmosContainer container, int count, int n) {
    for (int i = 0; i < count; i++) upsert(container, i, n);
  }

  private static String name(JsonNode item) {
    return item.get("id").asText() + ":" + item.get("n").asInt();
  }

  private static TreeSet<String> names(int count, int n) {
    return new TreeSet<>(IntStream.range(0, count).mapToObj(i -> "i" + i + ":" + n).toList());
  }

  /** Reads until nothing is new; the continuation goes into `token`. */
  private static List<JsonNode> drain(CosmosContainer container, CosmosChangeFeedRequestOptions options, String[] token) {
    List<JsonNode> out = new ArrayList<>();
    for (FeedResponse<JsonNode> page : container.queryChangeFeed(options, JsonNode.class).iterableByPage()) {
      out.addAll(page.getResults());
      token[0] = page.getContinuationToken();
    }
    return out;
  }

  private static TreeSet<String> names(List<JsonNode> changes) {
    TreeSet<String> out = new TreeSet<>(changes.stream().map(ChangeFeedTest::name).toList());
    assertEquals(changes.size(), out.size(), "each item once");
    return out;
  }

  @Test
  void B70_beginning() throws Exception {
    withContainer(definition(), 18000, container -> {
      fill(container, 60, 0);
      upsert(container, 7, 5);
      container.deleteItem("i8", pk("k8"), null);
      String[] token = {null};
      List<JsonNode> changes =
          drain(container, CosmosChangeFeedRequestOptions.createForProcessingFromBeginning(FeedRange.forFullRange()).setMaxItemCount(7), token);
      TreeSet<String> expected = names(60, 0);
      expected.removeAll(List.of("i8:0", "i7:0"));
      expected.add("i7:5");
      assertEquals(expected, names(changes));
      Map<String, Long> last = new HashMap<>();
      for (JsonNode change : changes) {
        long lsn = change.get("_lsn").asLong();
        assertTrue(lsn > last.getOrDefault(change.get("pk").asText(), 0L));
        last.put(change.get("pk").asText(), lsn);
      }
    });
  }

  @Test
  void B71_starts() throws Exception {
    withContainer(definition(), 18000, container -> {
      fill(container, 20, 0);
      String[] now = {null};
      assertEquals(List.of(), drain(container, CosmosChangeFeedRequestOptions.createForProcessingFromNow(FeedRange.forFullRange()), now));
      Thread.sleep(2100);
      Instant time = Instant.now();
      Thread.sleep(1100);
      fill(container, 5, 1);
      assertEquals(names(5, 1), names(drain(container, CosmosChangeFeedRequestOptions.createForProcessingFromContinuation(now[0]), now)));
      String[] since = {null};
      assertEquals(names(5, 1),
          names(drain(container, CosmosChangeFeedRequestOptions.createForProcessingFromPointInTime(time, FeedRange.forFullRange()), since)));
      upsert(container, 99, 9);
      assertEquals(List.of("i99:9"),
          List.copyOf(names(drain(container, CosmosChangeFeedRequestOptions.createForProcessingFromContinuation(since[0]), since))));
    });
  }

  @Test
  void B72_scopes() throws Exception {
    withContainer(definition(), 18000, container -> {
      fill(container, 60, 0);
      List<JsonNode> all = new ArrayList<>();
      List<FeedRange> ranges = container.getFeedRanges();
      assertEquals(3, ranges.size());
      for (FeedRange range : ranges)
        all.addAll(drain(container, CosmosChangeFeedRequestOptions.createForProcessingFromBeginning(range), new String[1]));
      assertEquals(names(60, 0), names(all));
      assertEquals(new TreeSet<>(List.of("i3:0", "i20:0", "i37:0", "i54:0")),
          names(drain(container, CosmosChangeFeedRequestOptions.createForProcessingFromBeginning(FeedRange.forLogicalPartition(pk("k3"))), new String[1])));
    });
  }

  @Test
  void B74_allVersions() throws Exception {
    CosmosContainerProperties keeping = definition();
    keeping.setChangeFeedPolicy(ChangeFeedPolicy.createAllVersionsAndDeletesPolicy(Duration.ofMinutes(10)));
    withContainer(keeping, 18000, container -> {
      assertEquals(Duration.ofMinutes(10), container.read().getProperties().getChangeFeedPolicy().getRetentionDurationForAllVersionsAndDeletesPolicy());
      String[] token = {null};
      assertEquals(List.of(), drain(container, CosmosChangeFeedRequestOptions.createForProcessingFromNow(FeedRange.forFullRange()).allVersionsAndDeletes(), token));
      upsert(container, 1, 1);
      upsert(container, 1, 2);
      container.deleteItem("i1", pk("k1"), null);
      List<JsonNode> changes =
          drain(container, CosmosChangeFeedRequestOptions.createForProcessingFromContinuation(token[0]).allVersionsAndDeletes(), token);
      assertEquals(List.of("create", "replace", "delete"), changes.stream().map(c -> c.get("metadata").get("operationType").asText()).toList());
      assertEquals(2, changes.get(2).get("previous").get("n").asInt());
    });
  }

  // Processors.

  /** One host with a client of its own. */
  private static final class Host {
    final CosmosAsyncClient client = builder().key(KEY).contentResponseOnWriteEnabled(true).buildAsyncClient();
    final List<JsonNode> seen = Collections.synchronizedList(new ArrayList<>());
    final ChangeFeedProcessor processor;
    final Scheduler threads = Schedulers.newBoundedElastic(16, 10_000, "host");

    Host(String name, CosmosDatabase database, String feed, String leases, boolean allVersions) {
      // Long: a machine that is busy elsewhere for some seconds must not cost a living host its leases. And a renewal that meets a
      // checkpoint writes the older position over it (the SDK takes the new etag and keeps its own copy): the fewer the better.
      this(name, database, feed, leases, allVersions, Duration.ofSeconds(60));
    }

    /** `expiration`: after how long it takes leases over that nobody has renewed. */
    Host(String name, CosmosDatabase database, String feed, String leases, boolean allVersions, Duration expiration) {
      ChangeFeedProcessorOptions options = new ChangeFeedProcessorOptions()
          .setLeaseAcquireInterval(Duration.ofMillis(800))
          .setLeaseRenewInterval(expiration.dividedBy(3))
          .setLeaseExpirationInterval(expiration)
          .setFeedPollDelay(Duration.ofMillis(100))
          .setStartFromBeginning(!allVersions)
          .setMaxItemCount(10)
          .setScheduler(threads);
      ChangeFeedProcessorBuilder builder = new ChangeFeedProcessorBuilder()
          .hostName(name)
          .feedContainer(client.getDatabase(database.getId()).getContainer(feed))
          .leaseContainer(client.getDatabase(database.getId()).getContainer(leases))
          .options(options);
      if (allVersions) builder.handleAllVersionsAndDeletesChanges((List<ChangeFeedProcessorItem> items) -> items.forEach(i -> seen.add(i.toJsonNode())));
      else builder.handleLatestVersionChanges((List<ChangeFeedProcessorItem> items) -> items.forEach(i -> seen.add(i.getCurrent())));
      processor = builder.buildChangeFeedProcessor();
      processor.start().block(Duration.ofSeconds(60));
    }

    List<JsonNode> changes() {
      synchronized (seen) {
        return List.copyOf(seen);
      }
    }

    /** Stops at once, as a process that is killed: leases are not given back. */
    void die() {
      threads.dispose();
      client.close();
    }

    void stop() {
      processor.stop().block(Duration.ofSeconds(60));
      client.close();
    }
  }

  private static void eventually(String what, BooleanSupplier holds) throws InterruptedException {
    for (int i = 0; i < 1200; i++) {
      if (holds.getAsBoolean()) return;
      Thread.sleep(100);
    }
    fail("not within two minutes: " + what);
  }

  private static CosmosContainerProperties leases() {
    return definition(PartitionKeyDefinitionVersion.V2, "/id");
  }

  private static long owners(CosmosContainer leases, String host) {
    return leases.queryItems("SELECT * FROM c WHERE c.Owner = '" + host + "'", new CosmosQueryRequestOptions(), ObjectNode.class).stream().count();
  }

  /** In order per key: the values of one item never go back, except to be repeated from some point. */
  private static void expectOrder(List<JsonNode> changes) {
    Map<String, Integer> last = new HashMap<>();
    for (JsonNode change : changes) {
      int n = change.get("n").asInt();
      assertTrue(n >= last.getOrDefault(change.get("id").asText(), 0), () -> "order of " + change);
      last.put(change.get("id").asText(), n);
    }
  }

  @Test
  void B76_processorsShare() throws Exception {
    withDatabase(database -> {
      CosmosContainer feed = add(database, definition(), 18000);
      CosmosContainer leases = add(database, leases(), 0);
      fill(feed, 40, 1);
      Host first = new Host("first", database, feed.getId(), leases.getId(), false);
      eventually("the first host has all leases", () -> owners(leases, "first") == 3);
      eventually("the first host saw all items", () -> new TreeSet<>(first.changes().stream().map(ChangeFeedTest::name).toList()).containsAll(names(40, 1)));
      Host second = new Host("second", database, feed.getId(), leases.getId(), false);
      eventually("the hosts share", () -> owners(leases, "second") >= 1 && owners(leases, "first") >= 1 && owners(leases, "first") + owners(leases, "second") == 3);
      for (int n = 2; n <= 4; n++) fill(feed, 40, n);
      eventually("both saw the changes", () -> {
        TreeSet<String> seen = new TreeSet<>(first.changes().stream().map(ChangeFeedTest::name).toList());
        seen.addAll(second.changes().stream().map(ChangeFeedTest::name).toList());
        return seen.containsAll(names(40, 4));
      });
      assertFalse(second.changes().isEmpty());
      expectOrder(first.changes());
      expectOrder(second.changes());
      first.stop();
      second.stop();
    });
  }

  @Test
  void B77_processorOfAllVersions() throws Exception {
    withDatabase(database -> {
      CosmosContainerProperties keeping = definition();
      keeping.setChangeFeedPolicy(ChangeFeedPolicy.createAllVersionsAndDeletesPolicy(Duration.ofMinutes(10)));
      CosmosContainer feed = add(database, keeping, 18000);
      CosmosContainer leases = add(database, leases(), 0);
      Host host = new Host("only", database, feed.getId(), leases.getId(), true);
      eventually("the host has all leases", () -> owners(leases, "only") == 3);
      // Each lease's first poll fixes its "now", whenever that comes: write until all of them have shown something.
      Set<String> ranges = new HashSet<>();
      for (int n = 0; ranges.size() < 3; n++) {
        assertTrue(n < 1200, "not within two minutes: all leases read");
        for (int i = 0; i < 17; i++) feed.upsertItem(json("{'id':'warm" + i + "','pk':'k" + i + "','n':" + n + "}"), pk("k" + i), null);
        Thread.sleep(100);
        for (JsonNode change : host.changes()) ranges.add(rangeOf(feed, change.get("current").get("pk").asText()));
      }
      fill(feed, 10, 1);
      fill(feed, 10, 2);
      for (int i = 0; i < 10; i++) feed.deleteItem("i" + i, pk("k" + i % 17), null);
      Map<String, List<String>> operations = new HashMap<>();
      eventually("all changes arrive", () -> {
        operations.clear();
        for (JsonNode change : host.changes()) {
          String type = change.get("metadata").get("operationType").asText();
          String id = (type.equals("delete") ? change.get("previous") : change.get("current")).get("id").asText();
          if (!id.startsWith("warm")) operations.computeIfAbsent(id, one -> new ArrayList<>()).add(type);
        }
        return operations.values().stream().mapToInt(List::size).sum() >= 30;
      });
      assertEquals(10, operations.size());
      operations.forEach((id, types) -> assertEquals(List.of("create", "replace", "delete"), types, id));
      host.stop();
    });
  }

  @Test
  void B78_estimatedLag() throws Exception {
    withDatabase(database -> {
      CosmosContainer feed = add(database, definition(), 0);
      CosmosContainer leases = add(database, leases(), 0);
      Host host = new Host("only", database, feed.getId(), leases.getId(), false);
      fill(feed, 30, 1);
      eventually("all is processed", () -> host.changes().size() >= 30);
      eventually("no lag", () -> lag(host) == 0);
      String before = leaseTexts(leases);
      host.processor.stop().block(Duration.ofSeconds(60));
      Thread.sleep(2000);
      fill(feed, 30, 2);
      int lag = lag(host);
      assertTrue(lag >= 29 && lag <= 31, "lag " + lag + ", leases before the stop " + before + ", after " + leaseTexts(leases)
          + ", seen " + host.changes().stream().map(change -> change.get("_lsn") + ":" + name(change)).toList());
      host.client.close();
    });
  }

  private static String leaseTexts(CosmosContainer leases) {
    return leases.queryItems("SELECT * FROM c", new CosmosQueryRequestOptions(), JsonNode.class).stream()
        .map(lease -> lease.path("id").asText() + " " + lease.path("Owner").asText() + " "
            + new String(java.util.Base64.getDecoder().decode(lease.path("ContinuationToken").asText("")))).toList().toString();
  }

  private static int lag(Host host) {
    return host.processor.getCurrentState().block().stream().mapToInt(ChangeFeedProcessorState::getEstimatedLag).sum();
  }

  /** Which physical partition serves a key. */
  private static String rangeOf(CosmosContainer container, String key) {
    return container.readAllItems(pk(key), new CosmosQueryRequestOptions(), JsonNode.class).iterableByPage().iterator().next()
        .getResponseHeaders().get("x-ms-documentdb-partitionkeyrangeid");
  }

  @Test
  void B79_takeover() throws Exception {
    withDatabase(database -> {
      CosmosContainer feed = add(database, definition(), 18000);
      CosmosContainer leases = add(database, leases(), 0);
      fill(feed, 40, 1);
      Host first = new Host("first", database, feed.getId(), leases.getId(), false, Duration.ofSeconds(10));
      Host second = new Host("second", database, feed.getId(), leases.getId(), false, Duration.ofSeconds(10));
      eventually("the hosts share", () -> owners(leases, "second") >= 1 && owners(leases, "first") >= 1 && owners(leases, "first") + owners(leases, "second") == 3);
      fill(feed, 40, 2);
      first.die(); // its leases run out
      for (int n = 3; n <= 5; n++) fill(feed, 40, n);
      eventually("the second host has all leases", () -> owners(leases, "second") == 3);
      for (int n = 6; n <= 7; n++) fill(feed, 40, n);
      eventually("nothing is lost", () -> new TreeSet<>(second.changes().stream().map(ChangeFeedTest::name).toList()).containsAll(names(40, 7)));
      // Whatever the first one did not see, the second one did; each sees a key's changes in their order.
      TreeSet<String> seen = new TreeSet<>(first.changes().stream().map(change -> change.get("id").asText()).toList());
      seen.addAll(second.changes().stream().map(change -> change.get("id").asText()).toList());
      assertEquals(40, seen.size());
      expectOrder(first.changes());
      expectOrder(second.changes());
      second.stop();
    });
  }

  @Test
  void B93_processorOverSplitsAndMerges() throws Exception {
    withDatabase(database -> {
      CosmosContainer feed = add(database, definition(), 0);
      CosmosContainer leases = add(database, leases(), 0);
      String path = "containers/" + database.getId() + "/" + feed.getId();
      fill(feed, 40, 1);
      Host host = new Host("only", database, feed.getId(), leases.getId(), false);
      eventually("the host saw all items", () -> names(host, 1));
      JsonNode first = PartitionsTest.changeRanges(path, "split", "{'rangeId':'0','at':'bytes'}");
      fill(feed, 40, 2);
      eventually("the lease of the parent is replaced by two", () -> owners(leases, "only") == 2);
      eventually("nothing is lost over the split", () -> names(host, 2));
      JsonNode second = PartitionsTest.changeRanges(path, "split", "{'rangeId':'" + first.get("newRangeIds").get(0).asText() + "','at':'bytes'}");
      fill(feed, 40, 3);
      eventually("three leases", () -> owners(leases, "only") == 3);
      PartitionsTest.changeRanges(path, "merge", "{'rangeIds':" + second.get("newRangeIds") + "}");
      fill(feed, 40, 4);
      eventually("nothing is lost over the merge", () -> names(host, 4));
      expectOrder(host.changes());
      host.stop();
    });
  }

  private static boolean names(Host host, int n) {
    return new TreeSet<>(host.changes().stream().map(ChangeFeedTest::name).toList()).containsAll(names(40, n));
  }
}
