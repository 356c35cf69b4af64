package orrery;

import static orrery.Harness.*;
import static org.junit.jupiter.api.Assertions.*;

import com.azure.cosmos.ConsistencyLevel;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.*;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Partition keys, items, patch, TTL, unique keys, session, charges: B11–B33, B52, B53, B55, B56. */
class ItemsTest {
  private record Keyed(PartitionKey key, String text) {}

  private static Keyed keyed(Object value) throws Exception {
    return new Keyed(pk(value), "\"pk\":" + JSON.writeValueAsString(value));
  }

  /** Items with one id under different keys are different items. */
  private static void roundTrip(CosmosContainer container, List<Keyed> all) {
    for (Keyed k : all) container.createItem(json("{\"id\":\"same\"," + k.text + "}"), k.key, null);
    for (Keyed k : all)
      assertEquals(json("{\"id\":\"same\"," + k.text + "}"), user(container.readItem("same", k.key, ObjectNode.class).getItem()));
    for (Keyed k : all) assertEquals(204, container.deleteItem("same", k.key, null).getStatusCode());
    for (Keyed k : all) fails(404, () -> container.readItem("same", k.key, ObjectNode.class));
  }

  @Test
  void B11_scalarKeys() throws Exception {
    withContainer(definition(), 18000, container -> {
      List<Keyed> all = new ArrayList<>();
      for (Object key : List.of("a", "", "1", "true", "null", 1, 0, -1.5, 1e300, 9007199254740991L, true, false)) all.add(keyed(key));
      all.add(new Keyed(pk(null), "\"pk\":null"));
      roundTrip(container, all);
    });
  }

  @Test
  void B12_noneKey() throws Exception {
    withContainer(container -> {
      container.createItem(json("{'id':'1','other':1}"), PartitionKey.NONE, null);
      container.createItem(json("{'id':'1','pk':null}"), pk(null), null);
      assertEquals(1, container.readItem("1", PartitionKey.NONE, ObjectNode.class).getItem().get("other").asInt());
      assertTrue(read(container, null, "1").get("pk").isNull());
      container.replaceItem(json("{'id':'1','other':2}"), "1", PartitionKey.NONE, null);
      assertEquals(204, container.deleteItem("1", PartitionKey.NONE, null).getStatusCode());
      fails(404, () -> container.readItem("1", PartitionKey.NONE, ObjectNode.class));
      assertTrue(read(container, null, "1").get("pk").isNull());
    });
  }

  private static CosmosContainerProperties levels(String... paths) {
    return new CosmosContainerProperties(
        unique("c"), new PartitionKeyDefinition().setPaths(List.of(paths)).setKind(PartitionKind.MULTI_HASH).setVersion(PartitionKeyDefinitionVersion.V2));
  }

  @Test
  void B13_hierarchicalKeys() throws Exception {
    withContainer(levels("/tenant", "/user"), 0, container -> roundTrip(container, List.of(
        new Keyed(new PartitionKeyBuilder().add("t1").add("u1").build(), "\"tenant\":\"t1\",\"user\":\"u1\""),
        new Keyed(new PartitionKeyBuilder().add("t1").add("u2").build(), "\"tenant\":\"t1\",\"user\":\"u2\""),
        new Keyed(new PartitionKeyBuilder().add("u1").add("t1").build(), "\"tenant\":\"u1\",\"user\":\"t1\""),
        new Keyed(new PartitionKeyBuilder().add("t1").add(5).build(), "\"tenant\":\"t1\",\"user\":5"),
        new Keyed(new PartitionKeyBuilder().add("t1").addNullValue().build(), "\"tenant\":\"t1\",\"user\":null"))));
    withContainer(levels("/l1", "/l2/x", "/l3"), 18000, container -> {
      roundTrip(container, List.of(
          new Keyed(new PartitionKeyBuilder().add("a").add("b").add("c").build(), "\"l1\":\"a\",\"l2\":{\"x\":\"b\"},\"l3\":\"c\""),
          new Keyed(new PartitionKeyBuilder().add("a").add("b").add(true).build(), "\"l1\":\"a\",\"l2\":{\"x\":\"b\"},\"l3\":true"),
          new Keyed(new PartitionKeyBuilder().add("a").add(1).add("é").build(), "\"l1\":\"a\",\"l2\":{\"x\":1},\"l3\":\"é\"")));
      for (String[] row : new String[][] {{"p", "a", "b"}, {"q", "a", "z"}, {"r", "n", "b"}})
        container.createItem(json("{'id':'" + row[0] + "','l1':'" + row[1] + "','l2':{'x':'" + row[2] + "'},'l3':'c'}"));
      CosmosQueryRequestOptions prefix = new CosmosQueryRequestOptions().setPartitionKey(new PartitionKeyBuilder().add("a").build());
      assertEquals(List.of("p", "q"),
          container.queryItems("SELECT * FROM c", prefix, ObjectNode.class).stream().map(i -> i.get("id").asText()).sorted().toList());
    });
  }

  @Test
  void B14_versions() throws Exception {
    PartitionKeyDefinitionVersion[] versions = {PartitionKeyDefinitionVersion.V1, PartitionKeyDefinitionVersion.V2, null};
    for (PartitionKeyDefinitionVersion version : versions)
      withContainer(definition(version, "/pk"), 18000, container -> {
        assertEquals(version, container.read().getProperties().getPartitionKeyDefinition().getVersion());
        List<Keyed> all = new ArrayList<>();
        for (Object key : List.of("x", 7, true, "long".repeat(20))) all.add(keyed(key));
        all.add(new Keyed(pk(null), "\"pk\":null"));
        roundTrip(container, all);
      });
  }

  @Test
  void B15_unicodeKeys() throws Exception {
    withContainer(definition(), 18000, container -> {
      List<Keyed> all = new ArrayList<>();
      for (String key : List.of("é", "日本語", "🪐 orbit", "a\"b\\c", "tab\tnew\nline", "e\u0301", "ß", "\u200b", "Ω≈ç√")) all.add(keyed(key));
      roundTrip(container, all);
    });
  }

  @Test
  void B16_longKeys() throws Exception {
    withContainer(container -> {
      String at = "k".repeat(2048);
      List<Keyed> all = new ArrayList<>();
      for (String key : List.of(at, at.substring(1), "é".repeat(1024))) all.add(keyed(key));
      roundTrip(container, all);
      fails(400, () -> container.createItem(json("{'id':'1','pk':'" + at + "x'}"), pk(at + "x"), null));
    });
  }

  @Test
  void B17_lifeOfAnItem() throws Exception {
    withContainer(container -> {
      ObjectNode created = create(container, "a", "{'id':'1','pk':'a','n':1}").getItem();
      CosmosItemResponse<ObjectNode> got = container.readItem("1", pk("a"), ObjectNode.class);
      assertEquals(200, got.getStatusCode());
      assertEquals(created, got.getItem());
      CosmosItemResponse<ObjectNode> replaced = container.replaceItem(json("{'id':'1','pk':'a','n':2}"), "1", pk("a"), null);
      assertEquals(200, replaced.getStatusCode());
      assertEquals(created.get("_rid"), replaced.getItem().get("_rid"));
      assertEquals(200, container.upsertItem(json("{'id':'1','pk':'a','n':3}"), pk("a"), null).getStatusCode());
      assertEquals(201, container.upsertItem(json("{'id':'2','pk':'a','n':4}"), pk("a"), null).getStatusCode());
      assertEquals(3, read(container, "a", "1").get("n").asInt());
      assertEquals(204, container.deleteItem("1", pk("a"), null).getStatusCode());
      missing(container, "a", "1");
      assertEquals(4, read(container, "a", "2").get("n").asInt());
    });
  }

  @Test
  void B18_conflictAndNotFound() throws Exception {
    withContainer(container -> {
      create(container, "a", "{'id':'1','pk':'a','n':1}");
      fails(409, () -> container.createItem(json("{'id':'1','pk':'a','n':2}"), pk("a"), null));
      assertEquals(1, read(container, "a", "1").get("n").asInt());
      fails(404, 0, () -> container.readItem("1", pk("b"), ObjectNode.class));
      fails(404, () -> container.replaceItem(json("{'id':'2','pk':'a'}"), "2", pk("a"), null));
      fails(404, () -> container.patchItem("2", pk("a"), CosmosPatchOperations.create().set("/x", 1), ObjectNode.class));
      fails(404, () -> container.deleteItem("2", pk("a"), null));
      fails(400, 1001, () -> container.createItem(json("{'id':'3','pk':'a'}"), pk("b"), null));
    });
  }

  @Test
  void B19_ifMatch() throws Exception {
    withContainer(container -> {
      String first = create(container, "a", "{'id':'1','pk':'a','n':1}").getETag();
      CosmosItemRequestOptions stale = new CosmosItemRequestOptions().setIfMatchETag(first);
      String second = container.replaceItem(json("{'id':'1','pk':'a','n':2}"), "1", pk("a"), new CosmosItemRequestOptions().setIfMatchETag(first)).getETag();
      assertNotEquals(first, second);
      fails(412, () -> container.replaceItem(json("{'id':'1','pk':'a','n':9}"), "1", pk("a"), stale));
      fails(412, () -> container.upsertItem(json("{'id':'1','pk':'a','n':9}"), pk("a"), stale));
      fails(412, () -> container.deleteItem("1", pk("a"), stale));
      assertEquals(2, read(container, "a", "1").get("n").asInt());
      container.replaceItem(json("{'id':'1','pk':'a','n':3}"), "1", pk("a"), new CosmosItemRequestOptions().setIfMatchETag("*"));
      String third = read(container, "a", "1").get("_etag").asText();
      assertEquals(204, container.deleteItem("1", pk("a"), new CosmosItemRequestOptions().setIfMatchETag(third)).getStatusCode());
    });
  }

  @Test
  void B20_ifNoneMatch() throws Exception {
    withContainer(container -> {
      String etag = create(container, "a", "{'id':'1','pk':'a'}").getETag();
      CosmosItemRequestOptions condition = new CosmosItemRequestOptions().setIfNoneMatchETag(etag);
      CosmosItemResponse<ObjectNode> same = container.readItem("1", pk("a"), condition, ObjectNode.class);
      assertEquals(304, same.getStatusCode());
      assertNull(same.getItem());
      container.replaceItem(json("{'id':'1','pk':'a','n':2}"), "1", pk("a"), null);
      CosmosItemResponse<ObjectNode> changed = container.readItem("1", pk("a"), condition, ObjectNode.class);
      assertEquals(200, changed.getStatusCode());
      assertEquals(2, changed.getItem().get("n").asInt());
    });
  }

  @Test
  void B21_systemProperties() throws Exception {
    withContainer(container -> {
      long now = System.currentTimeMillis() / 1000;
      CosmosItemResponse<ObjectNode> response = create(container, "a", "{'id':'1','pk':'a','_rid':'x','_ts':1,'_etag':'y'}");
      ObjectNode item = response.getItem();
      assertTrue(Math.abs(item.get("_ts").asLong() - now) <= 60);
      String rid = item.get("_rid").asText();
      assertEquals(16, Base64.getDecoder().decode(rid.replace('-', '/')).length);
      assertTrue(item.get("_self").asText().endsWith("docs/" + rid + "/"));
      assertEquals(response.getETag(), item.get("_etag").asText());
      List<String> names = new ArrayList<>();
      item.fieldNames().forEachRemaining(names::add);
      assertEquals(List.of("id", "pk", "_rid", "_self", "_etag", "_attachments", "_ts"), names);
    });
  }

  @Test
  void B22_specialIds() throws Exception {
    List<String> ids = List.of("a b", "50%", "%20", "a+b", "é", "日本", "🪐", "it's", "say \"x\"", "what?", "a&b=c", "a:b;c,d", "x@y", "(1)[2]{3}", "~", "dbs", "a%2Fb", "`^|<>$");
    withContainer(container -> {
      for (String id : ids) {
        ObjectNode item = json("{'pk':'a'}").put("id", id);
        container.createItem(item, pk("a"), null);
        assertEquals(id, read(container, "a", id).get("id").asText());
        container.replaceItem(item.put("n", 1), id, pk("a"), null);
      }
      assertEquals(ids.stream().sorted().toList(),
          container.readAllItems(pk("a"), ObjectNode.class).stream().map(i -> i.get("id").asText()).sorted().toList());
      for (String id : ids) assertEquals(204, container.deleteItem(id, pk("a"), null).getStatusCode(), id);
    });
  }

  @Test
  void B23_orderAndValues() throws Exception {
    withContainer(container -> {
      String text = "{\"zebra\":1,\"id\":\"1\",\"apple\":[1,\"two\",null,true,{\"z\":1,\"a\":2},[]],\"pk\":\"a\",\"with space\":\"\",\"日本\":\"🪐\","
          + "\"num\":[0,-1,1.5,9007199254740993,18446744073709551615,0.1],\"obj\":{\"b\":{},\"a\":{\"c\":[[[]]]}},\"a.b\":2}";
      container.createItem((ObjectNode) JSON.readTree(text), pk("a"), null);
      assertEquals(text, JSON.writeValueAsString(user(read(container, "a", "1"))));
    });
  }

  @Test
  void B24_contentResponseOff() throws Exception {
    withContainer(container -> {
      CosmosItemRequestOptions quiet = new CosmosItemRequestOptions().setContentResponseOnWriteEnabled(false);
      CosmosItemResponse<ObjectNode> created = container.createItem(json("{'id':'1','pk':'a'}"), pk("a"), quiet);
      assertEquals(201, created.getStatusCode());
      assertNull(created.getItem());
      assertNotNull(created.getETag());
      assertNull(container.replaceItem(json("{'id':'1','pk':'a','n':1}"), "1", pk("a"), quiet).getItem());
      CosmosItemResponse<ObjectNode> upserted = container.upsertItem(json("{'id':'1','pk':'a','n':2}"), pk("a"), quiet);
      assertNull(upserted.getItem());
      ObjectNode item = read(container, "a", "1");
      assertEquals(2, item.get("n").asInt());
      assertEquals(upserted.getETag(), item.get("_etag").asText());
    });
  }

  @Test
  void B25_twoMegabytes() throws Exception {
    withContainer(container -> {
      int frame = "{\"id\":\"1\",\"pk\":\"a\",\"s\":\"\"}".length();
      ObjectNode big = json("{'id':'1','pk':'a'}").put("s", "x".repeat(2 * 1024 * 1024 + 1 - frame));
      fails(413, () -> container.createItem(big, pk("a"), null));
      missing(container, "a", "1");
      String fits = "x".repeat(2 * 1024 * 1024 - 4096);
      container.createItem(json("{'id':'1','pk':'a'}").put("s", fits), pk("a"), null);
      assertEquals(fits.length(), read(container, "a", "1").get("s").asText().length());
    });
  }

  @Test
  void B26_badIds() throws Exception {
    withContainer(container -> {
      String longest = "x".repeat(1023);
      fails(400, () -> container.createItem(json("{'pk':'a'}"), pk("a"), null));
      fails(400, () -> container.createItem(json("{'id':'','pk':'a'}"), pk("a"), null));
      fails(400, () -> container.createItem(json("{'id':'x" + longest + "','pk':'a'}"), pk("a"), null));
      fails(400, () -> container.createItem(json("{'id':'a/b','pk':'a'}"), pk("a"), null));
      create(container, "a", "{'id':'" + longest + "','pk':'a'}");
      assertEquals(longest, read(container, "a", longest).get("id").asText());
      create(container, "a", "{'id':'1','pk':'a'}");
      fails(400, () -> container.replaceItem(json("{'id':'2','pk':'a'}"), "1", pk("a"), null));
    });
  }

  @Test
  void B27_patch() throws Exception {
    withContainer(container -> {
      create(container, "a", "{'id':'1','pk':'a','n':1,'gone':true,'from':'here','f':1.5}");
      CosmosPatchOperations operations = CosmosPatchOperations.create()
          .add("/added", json("{'x':1}"))
          .set("/added/y", List.of(1))
          .replace("/n", 5)
          .remove("/gone")
          .increment("/n", 2)
          .increment("/fresh", 3)
          .increment("/f", -0.25)
          .move("/from", "/to");
      CosmosItemResponse<ObjectNode> response = container.patchItem("1", pk("a"), operations, ObjectNode.class);
      assertEquals(200, response.getStatusCode());
      assertEquals(json("{'id':'1','pk':'a','n':7,'f':1.25,'added':{'x':1,'y':[1]},'fresh':3,'to':'here'}"), user(read(container, "a", "1")));
    });
  }

  @Test
  void B28_patchArrays() throws Exception {
    withContainer(container -> {
      create(container, "a", "{'id':'1','pk':'a','list':['a','b','c'],'x/y':1,'m~n':1}");
      container.patchItem("1", pk("a"), CosmosPatchOperations.create()
          .add("/list/1", "inserted").add("/list/-", "last").set("/list/0", "A").remove("/list/2").replace("/x~1y", 2).increment("/m~0n", 1), ObjectNode.class);
      assertEquals(json("{'id':'1','pk':'a','list':['A','inserted','c','last'],'x/y':2,'m~n':2}"), user(read(container, "a", "1")));
    });
  }

  @Test
  void B29_conditionalPatch() throws Exception {
    withContainer(container -> {
      create(container, "a", "{'id':'1','pk':'a','n':1}");
      CosmosPatchOperations operations = CosmosPatchOperations.create().increment("/n", 1);
      CosmosPatchItemRequestOptions no = new CosmosPatchItemRequestOptions();
      no.setFilterPredicate("from c where c.n = 5");
      fails(412, () -> container.patchItem("1", pk("a"), operations, no, ObjectNode.class));
      assertEquals(1, read(container, "a", "1").get("n").asInt());
      CosmosPatchItemRequestOptions yes = new CosmosPatchItemRequestOptions();
      yes.setFilterPredicate("from c where c.n = 1");
      container.patchItem("1", pk("a"), operations, yes, ObjectNode.class);
      assertEquals(2, read(container, "a", "1").get("n").asInt());
    });
  }

  @Test
  void B30_refusedPatches() throws Exception {
    withContainer(container -> {
      ObjectNode before = create(container, "a", "{'id':'1','pk':'a','s':'text','list':[1]}").getItem();
      CosmosPatchOperations eleven = CosmosPatchOperations.create();
      for (int n = 0; n < 11; n++) eleven.set("/p" + n, n);
      List<CosmosPatchOperations> bad = List.of(
          eleven,
          CosmosPatchOperations.create().set("/p", 1).replace("/none", 1),
          CosmosPatchOperations.create().set("/p", 1).remove("/none"),
          CosmosPatchOperations.create().set("/p", 1).increment("/s", 1),
          CosmosPatchOperations.create().set("/p", 1).set("/id", "2"),
          CosmosPatchOperations.create().set("/p", 1).set("/pk", "b"),
          CosmosPatchOperations.create().set("/p", 1).set("/_ts", 1),
          CosmosPatchOperations.create().set("/p", 1).add("/list/5", 1),
          CosmosPatchOperations.create().set("/p", 1).move("/none", "/x"));
      for (CosmosPatchOperations operations : bad) fails(400, () -> container.patchItem("1", pk("a"), operations, ObjectNode.class));
      assertEquals(before, read(container, "a", "1"));
    });
  }

  @Test
  void B31_containerTtl() throws Exception {
    withContainer(definition().setDefaultTimeToLiveInSeconds(2), 0, container -> {
      create(container, "a", "{'id':'1','pk':'a'}");
      create(container, "a", "{'id':'stays','pk':'a','ttl':-1}");
      Thread.sleep(3200);
      missing(container, "a", "1");
      assertEquals(List.of("stays"), container.readAllItems(pk("a"), ObjectNode.class).stream().map(i -> i.get("id").asText()).toList());
      fails(404, () -> container.replaceItem(json("{'id':'1','pk':'a'}"), "1", pk("a"), null));
      create(container, "a", "{'id':'1','pk':'a'}");
    });
  }

  @Test
  void B32_itemTtl() throws Exception {
    withDatabase(database -> {
      CosmosContainer on = add(database, definition().setDefaultTimeToLiveInSeconds(-1), 0);
      CosmosContainer off = add(database, definition(), 0);
      create(on, "a", "{'id':'short','pk':'a','ttl':2}");
      create(on, "a", "{'id':'kept','pk':'a','ttl':2}");
      create(on, "a", "{'id':'forever','pk':'a'}");
      create(off, "a", "{'id':'ignored','pk':'a','ttl':1}");
      fails(400, () -> on.createItem(json("{'id':'z','pk':'a','ttl':0}"), pk("a"), null));
      fails(400, () -> on.createItem(json("{'id':'z','pk':'a','ttl':'5'}"), pk("a"), null));
      on.upsertItem(json("{'id':'kept','pk':'a','ttl':3000}"), pk("a"), null);
      Thread.sleep(3200);
      missing(on, "a", "short");
      read(on, "a", "kept");
      read(on, "a", "forever");
      read(off, "a", "ignored");
    });
  }

  @Test
  void B33_uniqueKeys() throws Exception {
    UniqueKeyPolicy policy = new UniqueKeyPolicy().setUniqueKeys(List.of(new UniqueKey(List.of("/email")), new UniqueKey(List.of("/k/a", "/b"))));
    withContainer(definition().setUniqueKeyPolicy(policy), 0, container -> {
      create(container, "a", "{'id':'1','pk':'a','email':'x','k':{'a':1},'b':1}");
      fails(409, () -> container.createItem(json("{'id':'2','pk':'a','email':'x','k':{'a':2},'b':2}"), pk("a"), null));
      create(container, "b", "{'id':'2','pk':'b','email':'x','k':{'a':1},'b':1}");
      fails(409, () -> container.createItem(json("{'id':'3','pk':'a','email':'other','k':{'a':1},'b':1}"), pk("a"), null));
      create(container, "a", "{'id':'3','pk':'a','email':'third','k':{'a':1},'b':'1'}");
      fails(409, () -> container.upsertItem(json("{'id':'3','pk':'a','email':'x','k':{'a':1},'b':'1'}"), pk("a"), null));
      fails(409, () -> container.patchItem("3", pk("a"), CosmosPatchOperations.create().set("/email", "x"), ObjectNode.class));
      assertEquals("third", read(container, "a", "3").get("email").asText());
      container.deleteItem("1", pk("a"), null);
      create(container, "a", "{'id':'again','pk':'a','email':'x','k':{'a':1},'b':1}");
    });
  }

  @Test
  void B52_session() throws Exception {
    withContainer(container -> {
      CosmosItemResponse<ObjectNode> created = create(container, "a", "{'id':'1','pk':'a'}");
      assertTrue(created.getSessionToken().matches("\\d+:-?\\d+#\\d+.*"), created.getSessionToken());
      for (int n = 0; n < 20; n++) {
        String token = container.upsertItem(json("{'id':'1','pk':'a','n':" + n + "}"), pk("a"), null).getSessionToken();
        CosmosItemRequestOptions options = new CosmosItemRequestOptions().setSessionToken(token).setConsistencyLevel(ConsistencyLevel.SESSION);
        assertEquals(n, container.readItem("1", pk("a"), options, ObjectNode.class).getItem().get("n").asInt());
      }
    });
  }

  @Test
  void B53_charges() throws Exception {
    withContainer(container -> {
      assertEquals(5.71, create(container, "a", "{'id':'1','pk':'a'}").getRequestCharge());
      assertEquals(1.00, container.readItem("1", pk("a"), ObjectNode.class).getRequestCharge());
      CosmosException conflict = fails(409, () -> container.createItem(json("{'id':'1','pk':'a'}"), pk("a"), null));
      assertEquals(1.24, conflict.getRequestCharge());
      assertEquals(5.71, container.deleteItem("1", pk("a"), null).getRequestCharge());
      assertEquals(8.00, create(container, "t1", "{'id':'7','pk':'t1','tags':['x','y','x'],'dim':{'w':1,'h':1.0},'ok':true,'gone':null,'none':[],'sub':{}}").getRequestCharge());
    });
  }

  @Test
  void B55_notIndexed() throws Exception {
    IndexingPolicy none = new IndexingPolicy().setAutomatic(false).setIndexingMode(IndexingMode.NONE);
    withContainer(definition().setIndexingPolicy(none), 0, container -> {
      assertEquals(IndexingMode.NONE, container.read().getProperties().getIndexingPolicy().getIndexingMode());
      assertEquals(4.95, create(container, "a", "{'id':'1','pk':'a'}").getRequestCharge());
      read(container, "a", "1");
    });
    withContainer(container -> {
      CosmosItemRequestOptions exclude = new CosmosItemRequestOptions().setIndexingDirective(IndexingDirective.EXCLUDE);
      assertEquals(4.95, container.createItem(json("{'id':'1','pk':'a'}"), pk("a"), exclude).getRequestCharge());
    });
  }

  @Test
  void B56_concurrentWriters() throws Exception {
    withContainer(container -> {
      ExecutorService pool = Executors.newFixedThreadPool(8);
      try {
        List<Callable<Integer>> creates = IntStream.range(0, 16).<Callable<Integer>>mapToObj(n -> () -> {
          try {
            return container.createItem(json("{'id':'one','pk':'a','n':" + n + "}"), pk("a"), null).getStatusCode();
          } catch (CosmosException e) {
            return e.getStatusCode();
          }
        }).toList();
        List<Integer> statuses = new ArrayList<>();
        for (Future<Integer> f : pool.invokeAll(creates)) statuses.add(f.get());
        assertEquals(1, statuses.stream().filter(s -> s == 201).count());
        assertEquals(15, statuses.stream().filter(s -> s == 409).count());
        create(container, "a", "{'id':'sum','pk':'a','n':0}");
        Callable<Integer> increment = () -> container.patchItem("sum", pk("a"), CosmosPatchOperations.create().increment("/n", 1), ObjectNode.class).getStatusCode();
        for (Future<Integer> f : pool.invokeAll(Stream.generate(() -> increment).limit(40).toList())) assertEquals(200, f.get());
        assertEquals(40, read(container, "a", "sum").get("n").asInt());
      } finally {
        pool.shutdown();
      }
    });
  }
}
