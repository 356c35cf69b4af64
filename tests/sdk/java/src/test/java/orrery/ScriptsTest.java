package orrery;

import static orrery.Harness.*;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.CosmosStoredProcedureProperties;
import com.azure.cosmos.models.CosmosStoredProcedureRequestOptions;
import com.azure.cosmos.models.CosmosStoredProcedureResponse;
import com.azure.cosmos.models.CosmosTriggerProperties;
import com.azure.cosmos.models.CosmosUserDefinedFunctionProperties;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.TriggerOperation;
import com.azure.cosmos.models.TriggerType;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Stored procedures, triggers and user-defined functions: B83–B86, B89, B90. */
class ScriptsTest {
  private static CosmosStoredProcedureResponse run(CosmosContainer container, String body, Object... parameters) {
    String id = unique("p");
    container.getScripts().createStoredProcedure(new CosmosStoredProcedureProperties(id, body));
    CosmosStoredProcedureRequestOptions options = new CosmosStoredProcedureRequestOptions();
    options.setPartitionKey(new PartitionKey("a"));
    options.setScriptLoggingEnabled(true);
    return container.getScripts().getStoredProcedure(id).execute(List.of(parameters), options);
  }

  private static ObjectNode item(String id, String pk) {
    return JSON.createObjectNode().put("id", id).put("pk", pk);
  }

  private static List<JsonNode> rows(CosmosContainer container, String query) {
    return container.queryItems(query, new CosmosQueryRequestOptions(), JsonNode.class).stream().collect(Collectors.toList());
  }

  @Test
  void B83_resources() throws Exception {
    withContainer(container -> {
      var scripts = container.getScripts();
      CosmosStoredProcedureProperties made = scripts.createStoredProcedure(new CosmosStoredProcedureProperties("s", "function () { return 1; }")).getProperties();
      fails(409, () -> scripts.createStoredProcedure(new CosmosStoredProcedureProperties("s", "function () {}")));
      CosmosException syntax = fails(400, () -> scripts.createStoredProcedure(new CosmosStoredProcedureProperties("t", "function () {\n  let x = = 5;\n}")));
      assertTrue(syntax.getMessage().contains("line 2, column"), syntax.getMessage());
      CosmosStoredProcedureProperties found = scripts.getStoredProcedure("s").read().getProperties();
      assertEquals("function () { return 1; }", found.getBody());
      found.setBody("function () { return 2; }");
      CosmosStoredProcedureProperties replaced = scripts.getStoredProcedure("s").replace(found).getProperties();
      assertNotEquals(made.getETag(), replaced.getETag());
      assertEquals(1, scripts.readAllStoredProcedures().stream().count());
      assertEquals(1, scripts.queryStoredProcedures("SELECT * FROM r WHERE r.id = 's'", new CosmosQueryRequestOptions()).stream().count());
      scripts.getStoredProcedure("s").delete();
      fails(404, () -> scripts.getStoredProcedure("s").read());
      CosmosTriggerProperties trigger = new CosmosTriggerProperties("t", "function () {}");
      trigger.setTriggerType(TriggerType.POST);
      trigger.setTriggerOperation(TriggerOperation.DELETE);
      scripts.createTrigger(trigger);
      CosmosTriggerProperties read = scripts.getTrigger("t").read().getProperties();
      assertEquals(TriggerType.POST, read.getTriggerType());
      assertEquals(TriggerOperation.DELETE, read.getTriggerOperation());
      assertEquals(1, scripts.readAllTriggers().stream().count());
      scripts.getTrigger("t").delete();
      scripts.createUserDefinedFunction(new CosmosUserDefinedFunctionProperties("f", "function (x) { return x; }"));
      assertEquals("function (x) { return x; }", scripts.getUserDefinedFunction("f").read().getProperties().getBody());
      assertEquals(1, scripts.readAllUserDefinedFunctions().stream().count());
      scripts.getUserDefinedFunction("f").delete();
    });
  }

  @Test
  void B84_procedure() throws Exception {
    withContainer(container -> {
      CosmosStoredProcedureResponse answer = run(container, "function (a, b) { console.log('with ' + b); getContext().getResponse().setBody(a + b); }", "x", 5);
      assertEquals("\"x5\"", answer.getResponseAsString());
      assertEquals("with 5", answer.getScriptLog());
      assertEquals(4.6, answer.getRequestCharge(), 0.001);
      CosmosException error = fails(400, () -> run(container, "function () { throw new Error(ErrorCodes.Conflict, 'told so'); }"));
      assertEquals(409, error.getSubStatusCode());
      assertTrue(error.getMessage().contains("told so"), error.getMessage());
    });
  }

  @Test
  void B85_allOrNothing() throws Exception {
    withContainer(container -> {
      String body = "function (count, fail) { for (let i = 0; i < count; i++) __.createDocument(__.getSelfLink(), {id: 'i' + i, pk: 'a'},"
          + " (e) => { if (e) throw new Error(e.number, e.body); }); if (fail) throw new Error('enough'); }";
      fails(400, () -> run(container, body, 20, true));
      assertEquals(0, rows(container, "SELECT * FROM c").size());
      run(container, body, 20, false);
      assertEquals(20, rows(container, "SELECT * FROM c").size());
    });
  }

  @Test
  void B86_queriesAndEtags() throws Exception {
    withContainer(container -> {
      for (int n = 0; n < 6; n++) container.createItem(item("i" + n, "a").put("n", n));
      String body = "function () { __.queryDocuments(__.getSelfLink(), 'SELECT * FROM c WHERE c.n >= 4 ORDER BY c.n', (e, rows) => { if (e) throw e; rows[0].changed = true;"
          + " __.replaceDocument(rows[0]._self, rows[0], {etag: rows[0]._etag}, (e2, r) => { if (e2) throw e2; __.response.setBody(r._etag); }); }); }";
      String etag = run(container, body).getResponseAsString();
      assertEquals(JSON.valueToTree(container.readItem("i4", new PartitionKey("a"), ObjectNode.class).getItem().get("_etag").asText()).toString(), etag);
    });
  }

  @Test
  void B89_triggers() throws Exception {
    withContainer(container -> {
      CosmosTriggerProperties pre = new CosmosTriggerProperties("stamp", "function () { const r = getContext().getRequest(); const b = r.getBody(); b.stamped = true; r.setBody(b); }");
      pre.setTriggerType(TriggerType.PRE);
      pre.setTriggerOperation(TriggerOperation.CREATE);
      container.getScripts().createTrigger(pre);
      CosmosTriggerProperties post = new CosmosTriggerProperties("check", "function () { if (getContext().getResponse().getBody().fail) throw new Error('no'); }");
      post.setTriggerType(TriggerType.POST);
      post.setTriggerOperation(TriggerOperation.ALL);
      container.getScripts().createTrigger(post);
      CosmosItemRequestOptions options = new CosmosItemRequestOptions();
      options.setPreTriggerInclude(List.of("stamp"));
      options.setPostTriggerInclude(List.of("check"));
      ObjectNode made = container.createItem(item("1", "a"), new PartitionKey("a"), options).getItem();
      assertTrue(made.get("stamped").asBoolean());
      fails(400, () -> container.createItem(item("2", "a").put("fail", true), new PartitionKey("a"), options));
      assertEquals(1, rows(container, "SELECT * FROM c").size());
    });
  }

  @Test
  void B90_functions() throws Exception {
    withContainer(container -> {
      for (int n = 0; n < 10; n++) container.createItem(item("i" + n, "p" + n % 3).put("n", n));
      container.getScripts().createUserDefinedFunction(new CosmosUserDefinedFunctionProperties("twice", "function (x) { return x * 2; }"));
      assertEquals("[4, 2, 0]", rows(container, "SELECT VALUE udf.twice(c.n) FROM c WHERE udf.twice(c.n) < 6 ORDER BY c.n DESC").toString());
      assertEquals(90.0, rows(container, "SELECT VALUE SUM(udf.twice(c.n)) FROM c").get(0).asDouble());
      CosmosException error = fails(400, () -> rows(container, "SELECT VALUE udf.none(c.n) FROM c"));
      assertTrue(error.getMessage().contains("does not exist"), error.getMessage());
    });
  }
}
