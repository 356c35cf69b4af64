package orrery;

import static orrery.Harness.*;
import static org.junit.jupiter.api.Assertions.*;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.*;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;

/** Physical partitions that split and merge while clients work: B80. */
class PartitionsTest {
  private static final int STABLE = 300;

  /** The server's own endpoints, under /_orrery/, which no SDK knows. */
  private static JsonNode own(String method, String path, String body) throws Exception {
    String date = DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.US).format(ZonedDateTime.now(ZoneOffset.UTC));
    String text = method.toLowerCase(Locale.ROOT) + "\n_orrery\n" + path + "\n" + date.toLowerCase(Locale.ROOT) + "\n\n";
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(Base64.getDecoder().decode(KEY), "HmacSHA256"));
    String signature = Base64.getEncoder().encodeToString(mac.doFinal(text.getBytes(StandardCharsets.UTF_8)));
    HttpRequest request = HttpRequest.newBuilder(URI.create(ENDPOINT + "/_orrery/" + path))
        .header("authorization", URLEncoder.encode("type=master&ver=1.0&sig=" + signature, StandardCharsets.UTF_8))
        .header("x-ms-date", date)
        .header("x-ms-version", "2018-12-31")
        .method(method, body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body.replace('\'', '"')))
        .build();
    HttpResponse<String> answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
    assertTrue(answer.statusCode() / 100 == 2, () -> path + ": " + answer.body());
    return JSON.readTree(answer.body());
  }

  /** Waits until it is done. */
  static JsonNode changeRanges(String path, String verb, String body) throws Exception {
    int id = own("POST", path + "/" + verb, body).get("job").get("id").asInt();
    for (int i = 0; i < 600; i++) {
      Thread.sleep(50);
      for (JsonNode job : own("GET", path + "/partitions", null).get("jobs")) {
        if (job.get("id").asInt() != id) continue;
        if (job.get("phase").asText().equals("done")) return job;
        assertTrue(!job.get("phase").asText().equals("failed"), job::toString);
      }
    }
    throw new AssertionError("the " + verb + " does not come to an end");
  }

  private static Map<String, Integer> write(CosmosContainer container, int writer, AtomicBoolean stop) {
    Map<String, Integer> model = new HashMap<>();
    for (int n = 0; !stop.get(); n++) {
      String key = "w" + writer + "-" + n % 13, id = "i" + n % 3;
      container.upsertItem(json("{'id':'" + id + "','pk':'" + key + "','n':" + n + ",'kind':'written'}"), pk(key), new CosmosItemRequestOptions());
      model.put(key + "/" + id, n);
      assertEquals(n, container.readItem(id, pk(key), ObjectNode.class).getItem().get("n").asInt(), "an acknowledged write is read back");
    }
    return model;
  }

  private static final String UNORDERED = "SELECT VALUE c.n FROM c WHERE c.kind = 'stable'";
  private static final String ORDERED = UNORDERED + " ORDER BY c.n";

  /** Pages by continuation token, a query anew for each, as the SDK merges the ranges itself. */
  private static void pageByToken(CosmosContainer container, String text) {
    List<Integer> seen = new ArrayList<>();
    String token = null;
    do {
      FeedResponse<Integer> page = container.queryItems(text, new CosmosQueryRequestOptions(), Integer.class)
          .iterableByPage(token, 19).iterator().next();
      seen.addAll(page.getResults());
      token = page.getContinuationToken();
    } while (token != null);
    assertEveryRowOnce(seen, text);
  }

  /** Pages of one query to the end. */
  private static void pageThrough(CosmosContainer container, String text) {
    List<Integer> seen = new ArrayList<>();
    for (FeedResponse<Integer> page : container.queryItems(text, new CosmosQueryRequestOptions(), Integer.class).iterableByPage(19))
      seen.addAll(page.getResults());
    assertEveryRowOnce(seen, text);
  }

  private static void assertEveryRowOnce(List<Integer> seen, String text) {
    List<Integer> rows = text.equals(ORDERED) ? seen : seen.stream().sorted().toList();
    assertEquals(IntStream.range(0, STABLE).boxed().toList(), rows, () -> text + ": every row once");
  }

  private static CompletableFuture<Integer> until(AtomicBoolean stop, Runnable round) {
    return CompletableFuture.supplyAsync(() -> {
      int rounds = 0;
      for (; rounds == 0 || !stop.get(); rounds++) round.run();
      return rounds;
    });
  }

  /** Follows the change feed from token to token until the writers have ended and nothing is new; versions never go back. */
  private static Map<String, Integer> follow(CosmosContainer container, AtomicBoolean ended) {
    Map<String, Integer> seen = new HashMap<>();
    CosmosChangeFeedRequestOptions from = CosmosChangeFeedRequestOptions.createForProcessingFromBeginning(FeedRange.forFullRange());
    for (boolean last = false; !last; ) {
      boolean wasEnded = ended.get();
      int changes = 0;
      String token = null;
      for (FeedResponse<ObjectNode> page : container.queryChangeFeed(from.setMaxItemCount(23), ObjectNode.class).iterableByPage()) {
        for (ObjectNode change : page.getResults()) {
          String name = change.get("pk").asText() + "/" + change.get("id").asText();
          int n = change.get("n").asInt();
          assertTrue(n >= seen.getOrDefault(name, 0), () -> name + " goes back");
          seen.put(name, n);
          changes++;
        }
        token = page.getContinuationToken();
      }
      from = CosmosChangeFeedRequestOptions.createForProcessingFromContinuation(token);
      last = wasEnded && changes == 0;
    }
    return seen;
  }

  @Test
  void B80_splitsUnderLoad() throws Exception {
    withDatabase(database -> {
      CosmosContainer container = add(database, definition(), 400);
      for (int n = 0; n < STABLE; n++)
        container.createItem(json("{'id':'s" + n + "','pk':'p" + n % 40 + "','n':" + n + ",'kind':'stable'}"), pk("p" + n % 40), new CosmosItemRequestOptions());
      String path = "containers/" + database.getId() + "/" + container.getId();
      AtomicBoolean stop = new AtomicBoolean();
      List<CompletableFuture<Map<String, Integer>>> writers = new ArrayList<>();
      for (int w = 0; w < 3; w++) {
        int writer = w;
        writers.add(CompletableFuture.supplyAsync(() -> write(container, writer, stop)));
      }
      // The SDK resumes an ordered query by a token from before a merge with ranges that overlap, so that page ends first.
      AtomicBoolean merging = new AtomicBoolean();
      List<CompletableFuture<Integer>> pagers = List.of(
          until(stop, () -> pageByToken(container, UNORDERED)),
          until(stop, () -> pageThrough(container, ORDERED)));
      AtomicBoolean ended = new AtomicBoolean();
      CompletableFuture<Map<String, Integer>> feed = CompletableFuture.supplyAsync(() -> follow(container, ended));
      CompletableFuture<Integer> orderedByToken = until(merging, () -> pageByToken(container, ORDERED));
      try {
        Thread.sleep(300);
        JsonNode first = changeRanges(path, "split", "{'rangeId':'0','at':'bytes'}");
        Thread.sleep(300);
        JsonNode second = changeRanges(path, "split", "{'rangeId':'" + first.get("newRangeIds").get(1).asText() + "'}");
        Thread.sleep(300);
        merging.set(true);
        assertTrue(orderedByToken.get() > 0);
        changeRanges(path, "merge", "{'rangeIds':" + second.get("newRangeIds") + "}");
        Thread.sleep(300);
      } finally {
        merging.set(true);
        stop.set(true);
      }
      Map<String, Integer> expected = new HashMap<>();
      try {
        for (CompletableFuture<Map<String, Integer>> writer : writers) expected.putAll(writer.get());
      } finally {
        ended.set(true);
      }
      for (CompletableFuture<Integer> pager : pagers) assertTrue(pager.get() > 0);
      Map<String, Integer> found = new HashMap<>();
      container.queryItems("SELECT * FROM c WHERE c.kind = 'written'", new CosmosQueryRequestOptions(), ObjectNode.class)
          .forEach(item -> assertNull(found.put(item.get("pk").asText() + "/" + item.get("id").asText(), item.get("n").asInt())));
      assertEquals(expected, found);
      Map<String, Integer> fed = feed.get();
      assertEquals(expected.size() + STABLE, fed.size(), "the feed has every item");
      expected.forEach((name, n) -> assertEquals(n, fed.get(name), () -> "the feed's last version of " + name));
    });
  }
}
