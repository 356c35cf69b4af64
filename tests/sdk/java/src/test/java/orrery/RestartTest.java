package orrery;

import static orrery.Harness.*;
import static org.junit.jupiter.api.Assertions.*;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.models.*;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Continuation tokens outlive the server: B98. The test runs a server of its own (ORRERY_BIN) over a data folder. */
class RestartTest {
  private static final int COUNT = 90;
  private static final List<ObjectNode> ITEMS = IntStream.range(0, COUNT)
      .mapToObj(i -> json(String.format("{'id':'i%d','pk':'k%d','n':%d,'tie':%d,'g':'g%02d'}", i, i % 17, i * 73 % COUNT, i % 3, i % 40))).toList();

  /** A query, what its rows must be, what of each row it sorts by (null: in any order), and how far it has come. */
  private static final class Case {
    final String query;
    final List<String> expected;
    final Function<String, ?> key;
    final List<String> rows = new ArrayList<>();
    String token;
    boolean done;

    Case(String query, Stream<String> expected, Function<String, ?> key) {
      this.query = query;
      this.expected = expected.toList();
      this.key = key;
    }

    void check() {
      assertEquals(expected.stream().sorted().toList(), rows.stream().sorted().toList(), query);
      if (key != null) assertEquals(expected.stream().map(key).toList(), rows.stream().map(key).toList(), query);
    }

    void readPage(CosmosContainer container) {
      Iterator<FeedResponse<JsonNode>> pages =
          container.queryItems(query, new CosmosQueryRequestOptions(), JsonNode.class).iterableByPage(token, 7).iterator();
      FeedResponse<JsonNode> page = pages.next();
      for (JsonNode row : page.getResults()) rows.add(row.asText());
      token = page.getContinuationToken();
      done = token == null;
      if (done) assertFalse(pages.hasNext(), query + ": a page without a token must be the last");
    }
  }

  private static Stream<String> sorted(Comparator<ObjectNode> order, String member) {
    return ITEMS.stream().sorted(order).map(i -> i.get(member).asText());
  }

  /**
   * Left out: GROUP BY, of which this SDK gives no tokens; DISTINCT without ORDER BY, whose tokens it refuses itself; OFFSET LIMIT
   * beyond the last row, which it begins again.
   */
  private static List<Case> cases() {
    Comparator<ObjectNode> n = Comparator.comparingInt(i -> i.get("n").asInt());
    Comparator<ObjectNode> tie = Comparator.comparingInt(i -> i.get("tie").asInt());
    Function<String, String> row = Function.identity();
    return List.of(
        new Case("SELECT VALUE c.n FROM c", sorted(n, "n"), null),
        new Case("SELECT VALUE c.n FROM c WHERE c.n >= 10", sorted(n, "n").skip(10), null),
        new Case("SELECT VALUE c.n FROM c ORDER BY c.n", sorted(n, "n"), row),
        new Case("SELECT VALUE c.n FROM c ORDER BY c.n DESC", sorted(n.reversed(), "n"), row),
        new Case("SELECT VALUE c.id FROM c ORDER BY c.tie", sorted(tie, "id"), id -> ITEMS.get(Integer.parseInt(id.substring(1))).get("tie")),
        new Case("SELECT VALUE c.n FROM c ORDER BY c.tie DESC, c.n", sorted(tie.reversed().thenComparing(n), "n"), row),
        new Case("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 5 LIMIT 50", sorted(n, "n").skip(5).limit(50), row),
        new Case("SELECT DISTINCT VALUE c.g FROM c ORDER BY c.g", ITEMS.stream().map(i -> i.get("g").asText()).distinct().sorted(), row));
  }

  /** A server over a folder of its own, on the same port after every start. */
  private static final class Server implements AutoCloseable {
    private final Path folder = Files.createTempDirectory("orrery-restart-");
    private int port = 0;
    private Process process;

    Server() throws IOException {}

    CosmosClient start() throws Exception {
      File log = folder.resolve("log").toFile();
      process = new ProcessBuilder(System.getenv("ORRERY_BIN"), "serve", "--data", folder.resolve("data").toString(), "--port", String.valueOf(port), "--unthrottled")
          .redirectErrorStream(true).redirectOutput(log).start();
      for (int tries = 0; tries < 600; tries++) {
        Matcher found = Pattern.compile("https?://[^ \"/]+:(\\d+)").matcher(Files.readString(log.toPath()));
        if (found.find() && ready("http://127.0.0.1:" + found.group(1))) {
          port = Integer.parseInt(found.group(1));
          return builder().endpoint("http://127.0.0.1:" + port).key(KEY).buildClient();
        }
        assertTrue(process.isAlive(), () -> "the server ended: " + text(log));
        Thread.sleep(100);
      }
      return fail("the server did not become ready: " + text(log));
    }

    private static String text(File log) {
      try {
        return Files.readString(log.toPath());
      } catch (IOException e) {
        return e.toString();
      }
    }

    private static boolean ready(String endpoint) throws InterruptedException {
      try {
        HttpRequest request = HttpRequest.newBuilder(URI.create(endpoint + "/ready")).build();
        return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.discarding()).statusCode() == 200;
      } catch (IOException e) {
        return false;
      }
    }

    void stop(boolean kill) throws InterruptedException {
      if (kill) process.destroyForcibly();
      else process.destroy();
      assertTrue(process.waitFor(60, TimeUnit.SECONDS), "the server must end");
      assertEquals(kill ? 128 + 9 : 0, process.exitValue());
    }

    @Override
    public void close() throws Exception {
      if (process != null) process.destroyForcibly().waitFor();
      try (Stream<Path> files = Files.walk(folder)) {
        for (Path file : files.sorted(Comparator.reverseOrder()).toList()) Files.delete(file);
      }
    }
  }

  private static void fill(CosmosClient client) {
    CompositePath tie = new CompositePath().setPath("/tie").setOrder(CompositePathSortOrder.DESCENDING);
    CompositePath n = new CompositePath().setPath("/n").setOrder(CompositePathSortOrder.ASCENDING);
    CosmosContainerProperties definition = new CosmosContainerProperties("c", "/pk");
    definition.setIndexingPolicy(new IndexingPolicy().setCompositeIndexes(List.of(List.of(tie, n))));
    client.createDatabase("restart");
    CosmosContainer container = add(client.getDatabase("restart"), definition, 18000);
    for (ObjectNode item : ITEMS) container.createItem(item);
    assertEquals(3, container.getFeedRanges().size());
  }

  @Test
  void B98_tokensOutliveTheServer() throws Exception {
    assumeTrue(System.getenv("ORRERY_BIN") != null, "ORRERY_BIN is not set: it runs a server of its own");
    assumeTrue(ENDPOINT.startsWith("http:"), "the SDK speaks either http or https in a process; this server's endpoint is http");
    List<Case> cases = cases();
    try (Server server = new Server()) {
      CosmosClient client = server.start();
      try {
        fill(client);
        for (int round = 0; cases.stream().anyMatch(c -> !c.done); round++) {
          assertTrue(round < 100, "the pages must come to an end");
          for (Case c : cases) if (!c.done) c.readPage(client.getDatabase("restart").getContainer("c"));
          if (round > 3) continue;
          for (Case c : cases) assertFalse(c.done, c.query + " must have rows left over a restart");
          client.close();
          server.stop(round % 2 == 1);
          client = server.start();
        }
      } finally {
        client.close();
      }
    }
    for (Case c : cases) c.check();
  }
}
