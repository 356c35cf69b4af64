package orrery;

import static orrery.Harness.*;
import static org.junit.jupiter.api.Assertions.*;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.models.*;
import com.azure.cosmos.util.CosmosPagedIterable;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Queries over three ranges, which this SDK runs through query plans: B57–B63, B99. */
class QueriesTest {
  private static final int COUNT = 200;
  private static final List<ObjectNode> ITEMS = new ArrayList<>();
  private static CosmosDatabase database;
  private static CosmosContainer container;

  @BeforeAll
  static void fill() {
    String id = unique("java");
    CLIENT.createDatabase(id);
    database = CLIENT.getDatabase(id);
    CosmosContainerProperties definition = definition();
    CompositePath tie = new CompositePath().setPath("/tie").setOrder(CompositePathSortOrder.ASCENDING);
    CompositePath n = new CompositePath().setPath("/n").setOrder(CompositePathSortOrder.DESCENDING);
    definition.setIndexingPolicy(new IndexingPolicy().setCompositeIndexes(List.of(List.of(tie, n))));
    container = add(database, definition, 18000);
    List<CosmosItemOperation> operations = new ArrayList<>();
    String[] mixed = {"1", "'x'", "true", "null", "2.5", "[1]", "{'a':1}", "false", "-1"};
    for (int i = 0; i < COUNT; i++) {
      String text = String.format("{'id':'i%04d','pk':'k%d','n':%d,'tie':%d,'g':'g%d','price':%d.5", i, i % 37, i * 73 % COUNT, i % 3, i % 7, i % 10);
      if (i % 10 != 0) text += ",'mixed':" + mixed[i % 9];
      if (i % 4 != 0) text += ",'some':" + i;
      ObjectNode item = json(text + "}");
      ITEMS.add(item);
      operations.add(CosmosBulkOperations.getCreateItemOperation(item, pk(item.get("pk").asText())));
    }
    for (CosmosBulkOperationResponse<Object> r : container.executeBulkOperations(operations)) assertEquals(201, r.getResponse().getStatusCode());
  }

  @AfterAll
  static void drop() {
    if (database != null) database.delete();
  }

  private static List<JsonNode> run(String text, SqlParameter... parameters) {
    return run(new CosmosQueryRequestOptions(), text, parameters);
  }

  private static List<JsonNode> run(CosmosQueryRequestOptions options, String text, SqlParameter... parameters) {
    List<JsonNode> rows = new ArrayList<>();
    int pages = 0;
    for (FeedResponse<JsonNode> page : container.queryItems(new SqlQuerySpec(text, parameters), options, JsonNode.class).iterableByPage(13)) {
      rows.addAll(page.getResults());
      assertTrue(++pages < 500, "the pages must come to an end");
    }
    return rows;
  }

  /** A few pages each from new iterators that know nothing but the token of the last page. */
  private static List<JsonNode> resumed(String text, int pageSize, int pages) {
    List<JsonNode> rows = new ArrayList<>();
    String token = null;
    int rounds = 0;
    do {
      Iterator<FeedResponse<JsonNode>> iterator =
          container.queryItems(text, new CosmosQueryRequestOptions(), JsonNode.class).iterableByPage(token, pageSize).iterator();
      for (int i = 0; i < pages && iterator.hasNext(); i++) {
        FeedResponse<JsonNode> page = iterator.next();
        rows.addAll(page.getResults());
        token = page.getContinuationToken();
        assertTrue(++rounds < 500, "the continuation must come to an end");
      }
    } while (token != null);
    return rows;
  }

  private static List<Integer> ints(List<JsonNode> rows) {
    return rows.stream().map(JsonNode::asInt).toList();
  }

  private static List<String> texts(List<JsonNode> rows) {
    return rows.stream().map(JsonNode::asText).toList();
  }

  private static List<Integer> numbers(int from, int to) {
    return IntStream.range(from, to).boxed().toList();
  }

  private static List<String> names() {
    return ITEMS.stream().map(i -> i.get("id").asText()).toList();
  }

  private static List<String> reversed(List<String> list) {
    List<String> copy = new ArrayList<>(list);
    Collections.reverse(copy);
    return copy;
  }

  /** Rows of id and tie: in order of tie, each id once. */
  private static void checkTies(List<JsonNode> rows, boolean descending) {
    List<Integer> expected = ITEMS.stream().map(i -> i.get("tie").asInt()).sorted(descending ? Comparator.reverseOrder() : Comparator.naturalOrder()).toList();
    assertEquals(expected, rows.stream().map(r -> r.get("tie").asInt()).toList());
    assertEquals(names(), rows.stream().map(r -> r.get("id").asText()).sorted().toList());
  }

  @Test
  void B57_orderBy() {
    assertEquals(numbers(0, COUNT), ints(run("SELECT VALUE c.n FROM c ORDER BY c.n")));
    List<Integer> down = new ArrayList<>(numbers(150, COUNT));
    Collections.reverse(down);
    assertEquals(down, ints(run("SELECT VALUE c.n FROM c WHERE c.n >= 150 ORDER BY c.n DESC")));
    assertEquals(reversed(names()), texts(run("SELECT VALUE c.id FROM c ORDER BY c.id DESC")));
    checkTies(run("SELECT c.id, c.tie FROM c ORDER BY c.tie"), false);
    checkTies(run("SELECT c.id, c.tie FROM c ORDER BY c.tie DESC"), true);
    List<ObjectNode> whole = container.queryItems("SELECT * FROM c ORDER BY c.id", new CosmosQueryRequestOptions(), ObjectNode.class).stream().map(Harness::user).toList();
    assertEquals(ITEMS, whole);
  }

  private static List<String> byTieAndN() {
    return ITEMS.stream().sorted(Comparator.<ObjectNode>comparingInt(i -> i.get("tie").asInt()).thenComparingInt(i -> -i.get("n").asInt()))
        .map(i -> i.get("id").asText()).toList();
  }

  @Test
  void B57_orderByTwoKeys() {
    List<String> expected = byTieAndN();
    assertEquals(expected, texts(run("SELECT VALUE c.id FROM c ORDER BY c.tie ASC, c.n DESC")));
    assertEquals(reversed(expected), texts(run("SELECT VALUE c.id FROM c ORDER BY c.tie DESC, c.n ASC")));
  }

  private static int rank(JsonNode row) {
    JsonNode v = row.get("mixed");
    if (v == null) return 0;
    if (v.isNull()) return 1;
    if (v.isBoolean()) return v.asBoolean() ? 3 : 2;
    return v.isNumber() ? 4 : v.isTextual() ? 5 : v.isArray() ? 6 : 7;
  }

  @Test
  void B57_orderByTypes() {
    for (boolean down : new boolean[] {false, true}) {
      List<JsonNode> rows = run("SELECT c.id, c.mixed FROM c ORDER BY c.mixed" + (down ? " DESC" : ""));
      assertEquals(names(), rows.stream().map(r -> r.get("id").asText()).sorted().toList());
      for (int i = 1; i < rows.size(); i++) {
        int order = rank(rows.get(i)) - rank(rows.get(i - 1));
        if (order == 0 && rank(rows.get(i)) == 4) order = Double.compare(rows.get(i).get("mixed").asDouble(), rows.get(i - 1).get("mixed").asDouble());
        assertTrue(down ? order <= 0 : order >= 0, rows.get(i - 1) + " before " + rows.get(i));
      }
    }
  }

  @Test
  void B58_resumedOrder() {
    for (int pages : new int[] {1, 5}) {
      assertEquals(numbers(0, COUNT), ints(resumed("SELECT VALUE c.n FROM c ORDER BY c.n", 11, pages)));
      assertEquals(reversed(names()), texts(resumed("SELECT VALUE c.id FROM c ORDER BY c.id DESC", 11, pages)));
    }
  }

  @Test
  void B58_resumedTwoKeys() {
    for (int pages : new int[] {1, 5}) {
      assertEquals(byTieAndN(), texts(resumed("SELECT VALUE c.id FROM c ORDER BY c.tie ASC, c.n DESC", 11, pages)));
      assertEquals(reversed(byTieAndN()), texts(resumed("SELECT VALUE c.id FROM c ORDER BY c.tie DESC, c.n ASC", 11, pages)));
    }
  }

  @Test
  void B58_resumedTies() {
    for (int pages : new int[] {1, 5}) {
      checkTies(resumed("SELECT c.id, c.tie FROM c ORDER BY c.tie", 11, pages), false);
      checkTies(resumed("SELECT c.id, c.tie FROM c ORDER BY c.tie DESC", 11, pages), true);
    }
  }

  @Test
  void B58_resumedTypes() {
    List<String> expected = ITEMS.stream().filter(i -> i.get("mixed") == null || !i.get("mixed").isContainerNode()).map(i -> i.get("id").asText()).toList();
    String text = "SELECT c.id, c.mixed FROM c WHERE NOT IS_ARRAY(c.mixed) AND NOT IS_OBJECT(c.mixed) ORDER BY c.mixed";
    for (String direction : new String[] {" ASC", " DESC"})
      assertEquals(expected, resumed(text + direction, 13, 2).stream().map(r -> r.get("id").asText()).sorted().toList());
  }

  @Test
  void B59_aggregates() {
    int sum = COUNT * (COUNT - 1) / 2;
    assertEquals(List.of(COUNT), ints(run("SELECT VALUE COUNT(1) FROM c")));
    assertEquals(List.of(150), ints(run("SELECT VALUE COUNT(c.some) FROM c")));
    assertEquals(List.of(sum), ints(run("SELECT VALUE SUM(c.n) FROM c")));
    assertEquals((double) sum / COUNT, run("SELECT VALUE AVG(c.n) FROM c").get(0).asDouble());
    assertEquals(0.5, run("SELECT VALUE MIN(c.price) FROM c").get(0).asDouble());
    assertEquals(List.of("i0199"), texts(run("SELECT VALUE MAX(c.id) FROM c")));
    assertEquals(List.of(0), ints(run("SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'none'")));
    assertEquals(List.of(json("{'n':200,'p':5,'$1':0,'high':199}").toString()),
        run("SELECT COUNT(1) AS n, AVG(c.price) AS p, MIN(c.n), MAX(c.n) AS high FROM c").stream().map(r -> r.toString().replace("5.0", "5")).toList());
  }

  @Test
  void B60_groupBy() {
    Map<String, Integer> counts = new HashMap<>();
    Map<Integer, Integer> high = new HashMap<>();
    for (ObjectNode i : ITEMS) {
      counts.merge(i.get("g").asText(), 1, Integer::sum);
      high.merge(i.get("tie").asInt(), i.get("n").asInt(), Math::max);
    }
    assertEquals(counts, run("SELECT c.g, COUNT(1) AS n FROM c GROUP BY c.g").stream().collect(Collectors.toMap(r -> r.get("g").asText(), r -> r.get("n").asInt())));
    assertEquals(high, run("SELECT c.tie, MAX(c.n) AS high FROM c GROUP BY c.tie").stream().collect(Collectors.toMap(r -> r.get("tie").asInt(), r -> r.get("high").asInt())));
    assertEquals(new TreeSet<>(counts.keySet()), new TreeSet<>(texts(run("SELECT VALUE c.g FROM c GROUP BY c.g"))));
    assertEquals(7, run("SELECT UPPER(c.g) AS u FROM c GROUP BY UPPER(c.g)").size());
    assertEquals(COUNT, run("SELECT c.g, c.tie, COUNT(1) AS n FROM c GROUP BY c.g, c.tie").stream().mapToInt(r -> r.get("n").asInt()).sum());
  }

  @Test
  void B61_distinct() {
    List<String> groups = IntStream.range(0, 7).mapToObj(g -> "g" + g).toList();
    assertEquals(groups, texts(run("SELECT DISTINCT VALUE c.g FROM c")).stream().sorted().toList());
    assertEquals(groups, run("SELECT DISTINCT c.g FROM c").stream().map(r -> r.get("g").asText()).sorted().toList());
    assertEquals(groups, texts(run("SELECT DISTINCT VALUE c.g FROM c ORDER BY c.g")));
    assertEquals(3, new HashSet<>(texts(run("SELECT DISTINCT TOP 3 VALUE c.g FROM c"))).size());
    assertEquals(List.of(7), ints(run("SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.g FROM c)")));
  }

  @Test
  void B62_windows() {
    assertEquals(17, run("SELECT TOP 17 * FROM c").size());
    assertEquals(0, run("SELECT TOP 0 * FROM c").size());
    assertEquals(numbers(0, 30), ints(run("SELECT TOP 30 VALUE c.n FROM c ORDER BY c.n")));
    assertEquals(numbers(25, 65), ints(run("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 25 LIMIT 40")));
    assertEquals(10, run("SELECT c.id FROM c OFFSET 190 LIMIT 40").stream().map(r -> r.get("id").asText()).distinct().count());
    assertEquals(0, run("SELECT * FROM c OFFSET 300 LIMIT 40").size());
    assertEquals(numbers(0, 30), ints(resumed("SELECT TOP 30 VALUE c.n FROM c ORDER BY c.n", 7, 1)));
    assertEquals(numbers(25, 65), ints(resumed("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 25 LIMIT 40", 7, 1)));
  }

  @Test
  void B63_filters() {
    List<String> k3 = ITEMS.stream().filter(i -> i.get("pk").asText().equals("k3")).map(i -> i.get("id").asText()).toList();
    assertEquals(k3, texts(run("SELECT VALUE c.id FROM c WHERE c.pk = 'k3' ORDER BY c.id")));
    CosmosQueryRequestOptions one = new CosmosQueryRequestOptions().setPartitionKey(pk("k3"));
    assertEquals(reversed(k3), texts(run(one, "SELECT VALUE c.id FROM c ORDER BY c.id DESC")));
    assertEquals(List.of(k3.size()), ints(run(one, "SELECT VALUE COUNT(1) FROM c")));
    assertEquals(List.of(), run("SELECT VALUE c.id FROM c WHERE c.pk = 'k3' AND c.pk = 'k4'"));
    assertEquals(2, run("SELECT * FROM c WHERE c.pk = 'k3' OFFSET 1 LIMIT 2").size());
    assertEquals(List.of(2), ints(run("SELECT VALUE 1 + 1")));
    assertEquals(numbers(2, 6), ints(run("SELECT VALUE c.n FROM c WHERE c.n < @m ORDER BY c.n OFFSET @o LIMIT @l",
        new SqlParameter("@m", 9), new SqlParameter("@o", 2), new SqlParameter("@l", 4))));
    fails(400, () -> run("SELECT VALUE SUM(c.n) / 2 FROM c"));
  }

  /** -1 leaves it to the server. */
  private static final int[] PAGE_SIZES = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, 19, 29, 31, 59, 60, 61, 199, 200, 201, -1};
  private static final int[] FEWER_SIZES = {1, 2, 7, 12, 31, 60, 199, 200, 201, -1};

  private static int n(ObjectNode item) {
    return item.get("n").asInt();
  }

  private static List<String> values(Predicate<ObjectNode> filter, Comparator<Integer> order) {
    return ITEMS.stream().filter(filter).map(QueriesTest::n).sorted(order).map(String::valueOf).toList();
  }

  /** The rows as text, sorted unless the query sorts them; this SDK makes sums and averages floating. */
  private static List<String> lines(String text, Stream<?> rows) {
    Stream<String> lines = rows.map(r -> r.toString().replaceAll("(\\d)\\.0\\b", "$1"));
    return text.contains("ORDER BY") ? lines.toList() : lines.sorted().toList();
  }

  private static void checkPageSizes(String text, Stream<?> rows) {
    checkPageSizes(PAGE_SIZES, text, rows);
  }

  private static void checkPageSizes(int[] sizes, String text, Stream<?> rows) {
    List<String> expected = lines(text, rows);
    CosmosPagedIterable<JsonNode> query = container.queryItems(text, new CosmosQueryRequestOptions(), JsonNode.class);
    for (int size : sizes) {
      List<JsonNode> got = new ArrayList<>();
      int pages = 0;
      for (FeedResponse<JsonNode> page : query.iterableByPage(size)) {
        got.addAll(page.getResults());
        assertTrue(size < 0 || page.getResults().size() <= size, () -> text + ": a page of " + page.getResults().size() + " by " + size);
        assertTrue(++pages < 500, "the pages must come to an end");
      }
      assertEquals(expected, lines(text, got.stream()), text + " by " + size);
    }
  }

  @Test
  void B99_pageSizesOfFilters() {
    Comparator<Integer> up = Comparator.naturalOrder();
    checkPageSizes("SELECT VALUE c.n FROM c WHERE c.n < 60", values(i -> n(i) < 60, up).stream());
    checkPageSizes("SELECT VALUE c.n FROM c WHERE c.tie = 1 AND c.n > 20", values(i -> i.get("tie").asInt() == 1 && n(i) > 20, up).stream());
  }

  @Test
  void B99_pageSizesOfOrders() {
    List<String> up = values(i -> true, Comparator.naturalOrder());
    checkPageSizes(FEWER_SIZES, "SELECT VALUE c.n FROM c ORDER BY c.n", up.stream()); // all items: by far the most pages
    checkPageSizes("SELECT VALUE c.n FROM c WHERE c.n > 140 ORDER BY c.n DESC", values(i -> n(i) > 140, Comparator.reverseOrder()).stream());
    checkPageSizes("SELECT TOP 17 VALUE c.n FROM c ORDER BY c.n", up.stream().limit(17));
    checkPageSizes("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 7 LIMIT 30", up.stream().skip(7).limit(30));
    Comparator<ObjectNode> two = Comparator.<ObjectNode>comparingInt(i -> i.get("tie").asInt()).thenComparingInt(i -> -n(i));
    checkPageSizes("SELECT c.tie, c.n FROM c WHERE c.n < 50 ORDER BY c.tie, c.n DESC",
        ITEMS.stream().filter(i -> n(i) < 50).sorted(two).map(i -> "{\"tie\":" + i.get("tie") + ",\"n\":" + n(i) + "}"));
  }

  @Test
  void B99_pageSizesOfGroups() {
    checkPageSizes("SELECT DISTINCT VALUE c.g FROM c", ITEMS.stream().map(i -> i.get("g")).distinct());
    checkPageSizes("SELECT DISTINCT c.g, c.tie FROM c", ITEMS.stream().map(i -> "{\"g\":" + i.get("g") + ",\"tie\":" + i.get("tie") + "}").distinct());
    Map<JsonNode, List<ObjectNode>> groups = ITEMS.stream().collect(Collectors.groupingBy(i -> i.get("g")));
    checkPageSizes("SELECT c.g, COUNT(1) AS k, SUM(c.n) AS s FROM c GROUP BY c.g", groups.entrySet().stream()
        .map(g -> "{\"g\":" + g.getKey() + ",\"k\":" + g.getValue().size() + ",\"s\":" + g.getValue().stream().mapToInt(QueriesTest::n).sum() + "}"));
    checkPageSizes("SELECT VALUE AVG(c.n) FROM c", Stream.of(ITEMS.stream().mapToInt(QueriesTest::n).average().orElseThrow()));
  }
}
