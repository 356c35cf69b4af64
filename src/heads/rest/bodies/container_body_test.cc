#include "heads/rest/bodies/container_body.h"

#include <gtest/gtest.h>

#include "catalog/catalog_test_support.h"
#include "catalog/definition_record.h"

namespace orrery::rest {
namespace {

using catalog::same_indexing;
using catalog::testing::message_of;

constexpr std::string_view kDefaultIndexing =
    R"("indexingPolicy":{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"}],)"
    R"("excludedPaths":[{"path":"/\"_etag\"/?"}]})";
constexpr std::string_view kDefaultConflicts =
    R"("conflictResolutionPolicy":{"mode":"LastWriterWins","conflictResolutionPath":"/_ts",)"
    R"("conflictResolutionProcedure":""})";
constexpr std::string_view kDefaultGeospatial = R"("geospatialConfig":{"type":"Geography"}})";

/// A definition read from a body: as the catalog keeps it, as the partitions see it, and as clients
/// get it back, without the id.
struct Definition {
    catalog::ContainerDefinition whole;
    partition::ContainerSettings settings;
    std::string tail;
};

Result<Definition> made_of(catalog::ContainerDefinition definition) {
    TRY_STATUS(catalog::validate(definition));
    TRY(auto settings, catalog::settings_of(definition));
    std::string tail = definition_json("c", definition).substr(10);
    return Definition{std::move(definition), std::move(settings), std::move(tail)};
}

class DefinitionTest : public ::testing::Test {
protected:
    /// A create's body: `{"id":"c","partitionKey":{"paths":["/pk"]},` + members + `}`.
    Result<Definition> with(std::string_view members, bool legacy = false) {
        return of(R"({"partitionKey":{"paths":["/pk"]})" +
                      (members.empty() ? "" : "," + std::string(members)) + "}",
                  legacy);
    }
    Result<Definition> of(const std::string& body, bool legacy = false) {
        TRY(ContainerBody read, read_container_body(parse(body), legacy));
        EXPECT_EQ(read.id, "c");
        return made_of(std::move(read.definition));
    }
    Result<Definition> replace(const Definition& stored, const std::string& body) {
        catalog::Container before;
        before.id = "c";
        before.definition = std::make_shared<const catalog::ContainerDefinition>(stored.whole);
        TRY(auto after, read_container_replacement(parse(body), before));
        TRY_STATUS(catalog::check_unchanged(stored.whole, after));
        return made_of(std::move(after));
    }
    /// The body with an id.
    json::Value parse(const std::string& body) {
        auto value = json::parse(
            R"({"id":"c")" + std::string(body == "{}" ? "" : ",") + body.substr(1), arena_);
        EXPECT_TRUE(value.ok()) << body;
        return *value;
    }
    json::Arena arena_;
};

TEST_F(DefinitionTest, DefaultsAreFilledIn) {
    const auto definition = with("");
    ASSERT_TRUE(definition.ok());
    EXPECT_EQ(definition_json("a\"b", definition->whole),
              std::string(R"({"id":"a\"b",)") + std::string(kDefaultIndexing) +
                  R"(,"partitionKey":{"paths":["/pk"],"kind":"Hash"},)" +
                  std::string(kDefaultConflicts) + "," + std::string(kDefaultGeospatial));
    EXPECT_FALSE(definition->settings.default_ttl);
    EXPECT_FALSE(definition->whole.legacy_fixed());
}

/// The text that clients see is what older versions kept; both forms read back equal.
TEST_F(DefinitionTest, StoredFormsReadBackEqual) {
    const auto definition = with(
        R"("defaultTtl":60,"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/a/b","/\"x y\""]},{"paths":["/c"]}]},)"
        R"("indexingPolicy":{"indexingMode":"consistent","includedPaths":[{"path":"/a/?"}],"excludedPaths":[{"path":"/*"}],)"
        R"("compositeIndexes":[[{"path":"/a"},{"path":"/b","order":"descending"}]],)"
        R"("spatialIndexes":[{"path":"/p/*","boundingBox":{"xmin":-1.5,"ymin":-2,"xmax":3,"ymax":4}}]},)"
        R"("geospatialConfig":{"type":"Geometry"},)"
        R"("conflictResolutionPolicy":{"mode":"LastWriterWins","conflictResolutionPath":"/v"},)"
        R"("clientEncryptionPolicy":{"includedPaths":[{"path":"/s","clientEncryptionKeyId":"k",)"
        R"("encryptionType":"Deterministic","encryptionAlgorithm":"AEAD_AES_256_CBC_HMAC_SHA256"}],"policyFormatVersion":2},)"
        R"("changeFeedPolicy":{"retentionDuration":0},"computedProperties":[])");
    ASSERT_TRUE(definition.ok()) << message_of(definition);
    const auto from_json = catalog::definition_of_json(definition->tail);
    const auto from_bytes =
        catalog::decode_definition(catalog::encode_definition(definition->whole));
    for (const auto* stored : {&from_json, &from_bytes}) {
        ASSERT_TRUE(stored->ok()) << message_of(*stored);
        const auto again = made_of(**stored);
        ASSERT_TRUE(again.ok()) << message_of(again);
        EXPECT_EQ(again->tail, definition->tail);
        EXPECT_EQ(again->settings.unique_keys, definition->settings.unique_keys);
        EXPECT_EQ(again->settings.default_ttl, 60);
        EXPECT_TRUE(same_indexing(again->settings.indexing, definition->settings.indexing));
        EXPECT_EQ(catalog::encode_definition(again->whole),
                  catalog::encode_definition(definition->whole));
    }
}

TEST_F(DefinitionTest, StoredMaterializedViewsReadBackEqual) {
    const auto definition = with(
        R"("materializedViewDefinition":{"sourceCollectionId":"s","definition":"SELECT s.pk, s.a FROM s"})");
    ASSERT_TRUE(definition.ok()) << message_of(definition);
    const auto from_json = catalog::definition_of_json(definition->tail);
    const auto from_bytes =
        catalog::decode_definition(catalog::encode_definition(definition->whole));
    for (const auto* stored : {&from_json, &from_bytes}) {
        ASSERT_TRUE(stored->ok()) << message_of(*stored);
        EXPECT_EQ(made_of(**stored)->tail, definition->tail);
        EXPECT_TRUE((*stored)->materialized_view->shows("a"));
        EXPECT_FALSE((*stored)->materialized_view->shows("b"));
    }
}

TEST_F(DefinitionTest, ComputedProperties) {
    constexpr std::string_view kInvalid = "One of the specified inputs is invalid";
    const auto list = [&](const std::string& text) {
        return read_container_body(
            parse(R"({"partitionKey":{"paths":["/pk"]},"computedProperties":)" + text + "}"),
            false);
    };
    for (const std::string bad : {R"([{"query":"SELECT VALUE c.a FROM c"}])", R"([{"name":"x"}])",
                                  R"([{"name":5,"query":"SELECT VALUE c.a FROM c"}])",
                                  R"([{"name":"x","query":{}}])", R"(["x"])"})
        EXPECT_EQ(message_of(list(bad)), kInvalid) << bad;
    const auto read = list(R"([{"name":"x","query":"q"},{"name":null,"query":""}])");
    ASSERT_TRUE(read.ok()) << message_of(read);
    const std::vector<index::ComputedProperty> expected = {{"x", "q"}, {"", ""}};
    EXPECT_EQ(read->definition.computed, expected);
    EXPECT_NE(
        definition_json("c", read->definition)
            .find(R"("computedProperties":[{"name":"x","query":"q"},{"name":"","query":""}])"),
        std::string::npos);
}

TEST_F(DefinitionTest, UnknownMembersAreRefusedByName) {
    const auto odd = with(R"("color":"red")");
    EXPECT_EQ(ended(odd), Ended::kBadRequest);
    EXPECT_NE(message_of(odd).find("'color'"), std::string::npos);
    EXPECT_EQ(ended(with(R"("ttlPropertyPath":"/t")")), Ended::kBadRequest);
    EXPECT_EQ(ended(with(R"("IndexingPolicy":{})")), Ended::kBadRequest);
    // What the server added comes back from clients, and null for what they do not use.
    const auto harmless = with(R"("_rid":"x","_ts":5,"_docs":"docs/","schema":null)");
    ASSERT_TRUE(harmless.ok());
    EXPECT_EQ(harmless->tail, with("")->tail);
}

TEST_F(DefinitionTest, MissingKeyNeedsAnOldClient) {
    EXPECT_EQ(ended(of("{}")), Ended::kBadRequest);
    EXPECT_EQ(ended(of(R"({"partitionKey":null})")), Ended::kBadRequest);
    const auto legacy = of("{}", true);
    ASSERT_TRUE(legacy.ok());
    EXPECT_TRUE(legacy->whole.legacy_fixed());
    EXPECT_NE(legacy->tail.find(
                  R"("partitionKey":{"paths":["/_partitionKey"],"kind":"Hash","systemKey":true})"),
              std::string::npos)
        << legacy->tail;
}

TEST_F(DefinitionTest, KeyIsValidated) {
    EXPECT_EQ(ended(of(R"({"partitionKey":{"paths":[]}})")), Ended::kBadRequest);
    EXPECT_EQ(ended(of(R"({"partitionKey":{"paths":["pk"]}})")), Ended::kBadRequest);
    EXPECT_EQ(ended(of(R"({"partitionKey":{"paths":["/a","/b"],"kind":"Hash"}})")),
              Ended::kBadRequest);
    EXPECT_EQ(ended(of(R"({"partitionKey":"/pk"})")), Ended::kBadRequest);
    const auto multi = of(R"({"partitionKey":{"paths":["/a","/b"],"kind":"MultiHash"}})");
    ASSERT_TRUE(multi.ok());
    EXPECT_NE(multi->tail.find(R"("kind":"MultiHash","version":2)"), std::string::npos)
        << multi->tail;
}

TEST_F(DefinitionTest, DefaultTtl) {
    for (std::string_view good : {"-1", "1", "2147483647", "60.0"})
        EXPECT_EQ(ended(with("\"defaultTtl\":" + std::string(good))), Ended::kOk) << good;
    for (std::string_view bad :
         {"0", "-2", "1.5", "2147483648", "\"60\"", "true", "[1]", "1e300"}) {
        const auto result = with("\"defaultTtl\":" + std::string(bad));
        EXPECT_EQ(ended(result), Ended::kBadRequest) << bad;
        EXPECT_NE(message_of(result).find("defaultTtl"), std::string::npos);
    }
    const auto off = with(R"("defaultTtl":null)");
    ASSERT_TRUE(off.ok());
    EXPECT_FALSE(off->settings.default_ttl);
    EXPECT_EQ(off->tail.find("defaultTtl"), std::string::npos);
}

TEST_F(DefinitionTest, UnenforcedPoliciesAreRefusedByName) {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"computedProperties", R"([{"name":"x","query":"SELECT VALUE LOWER(c.a) FROM c"}])"},
        {"vectorEmbeddingPolicy",
         R"({"vectorEmbeddings":[{"path":"/v","dataType":"float32","dimensions":3,"distanceFunction":"cosine"}]})"},
        {"fullTextPolicy", R"({"defaultLanguage":"en-US","fullTextPaths":[{"path":"/t"}]})"},
        {"analyticalStorageTtl", "-1"},
        {"analyticalStorageTtl", "100"},
        {"dataMaskingPolicy", R"({"includedPaths":[{"path":"/a"}]})"},
        {"conflictResolutionPolicy",
         R"({"mode":"Custom","conflictResolutionProcedure":"dbs/d/colls/c/sprocs/s"})"},
    };
    for (const auto& [name, value] : cases) {
        const auto result = with("\"" + name + "\":" + value);
        EXPECT_EQ(ended(result), Ended::kBadRequest) << name;
        EXPECT_NE(message_of(result).find(name), std::string::npos) << message_of(result);
        EXPECT_NE(message_of(result).find("not supported"), std::string::npos)
            << message_of(result);
    }
}

TEST_F(DefinitionTest, ChangeFeedRetention) {
    const auto ten = with(R"("changeFeedPolicy":{"retentionDuration":10})");
    ASSERT_TRUE(ten.ok());
    EXPECT_EQ(ten->settings.feed_retention_seconds, 600);
    EXPECT_NE(ten->tail.find(R"("changeFeedPolicy":{"retentionDuration":10})"), std::string::npos);
    EXPECT_EQ(
        with(R"("changeFeedPolicy":{"retentionDuration":0})")->settings.feed_retention_seconds, 0);
    EXPECT_TRUE(with(R"("changeFeedPolicy":{"retentionDuration":43200})").ok());
}

TEST_F(DefinitionTest, PoliciesThatAskForNothingAreAccepted) {
    for (std::string_view members :
         {R"("computedProperties":[])", R"("computedProperties":null)",
          R"("vectorEmbeddingPolicy":null)", R"("vectorEmbeddingPolicy":{"vectorEmbeddings":[]})",
          R"("fullTextPolicy":null)", R"("clientEncryptionPolicy":null)",
          R"("analyticalStorageTtl":null)", R"("analyticalStorageTtl":0)",
          R"("changeFeedPolicy":null)", R"("materializedViews":[])",
          R"("changeFeedPolicy":{"retentionDuration":0})",
          R"("geospatialConfig":{"type":"Geography"})", R"("conflictResolutionPolicy":null)",
          R"("indexingPolicy":null)", R"("uniqueKeyPolicy":null)"})
        EXPECT_EQ(ended(with(members)), Ended::kOk) << members;
}

TEST_F(DefinitionTest, MalformedPoliciesAreRefused) {
    for (
        std::string_view members :
        {R"("computedProperties":{})", R"("vectorEmbeddingPolicy":[])", R"("fullTextPolicy":"en")",
         R"("analyticalStorageTtl":"x")", R"("analyticalStorageTtl":-5)", R"("changeFeedPolicy":5)",
         R"("changeFeedPolicy":{"retentionDuration":-1})",
         R"("changeFeedPolicy":{"retentionDuration":43201})",
         R"("changeFeedPolicy":{"retentionDuration":1.5})", R"("geospatialConfig":"Geography")",
         R"("geospatialConfig":{"type":"Flat"})", R"("conflictResolutionPolicy":"x")",
         R"("conflictResolutionPolicy":{"mode":"FirstWriterWins"})",
         R"("conflictResolutionPolicy":{"mode":"LastWriterWins","conflictResolutionPath":"a"})",
         R"("conflictResolutionPolicy":{"mode":"LastWriterWins","conflictResolutionPath":5})",
         R"("conflictResolutionPolicy":{"mode":"LastWriterWins","conflictResolutionProcedure":"p"})",
         R"("indexingPolicy":"all")",
         R"("indexingPolicy":{"compositeIndexes":[[{"path":"/a"},{"path":"/b/*"}]]})"})
        EXPECT_EQ(ended(with(members)), Ended::kBadRequest) << members;
}

TEST_F(DefinitionTest, ConflictResolutionPath) {
    const auto definition = with(
        R"("conflictResolutionPolicy":{"mode":"lastWriterWins","conflictResolutionPath":"/my/version"})");
    ASSERT_TRUE(definition.ok());
    EXPECT_NE(
        definition->tail.find(
            R"({"mode":"LastWriterWins","conflictResolutionPath":"/my/version","conflictResolutionProcedure":""})"),
        std::string::npos);
}

TEST_F(DefinitionTest, UniqueKeyRules) {
    const auto keys = [&](const std::string& list) {
        return with(R"("uniqueKeyPolicy":{"uniqueKeys":[)" + list + "]}");
    };
    const auto repeated = [](size_t count, const auto& make) {
        std::string out;
        for (size_t i = 0; i < count; ++i) out += (i == 0 ? "" : ",") + make(i);
        return out;
    };
    const auto one_key = [](size_t i) { return R"({"paths":["/k)" + std::to_string(i) + R"("]})"; };
    const auto one_path = [](size_t i) { return "\"/p" + std::to_string(i) + "\""; };
    EXPECT_EQ(ended(keys("")), Ended::kOk);
    EXPECT_EQ(ended(keys(repeated(10, one_key))), Ended::kOk);
    EXPECT_EQ(ended(keys(repeated(11, one_key))), Ended::kBadRequest);
    EXPECT_EQ(ended(keys(R"({"paths":[)" + repeated(16, one_path) + "]}")), Ended::kOk);
    EXPECT_EQ(ended(keys(R"({"paths":[)" + repeated(17, one_path) + "]}")), Ended::kBadRequest);
    for (std::string_view bad :
         {R"({"paths":[]})", R"({})", R"(5)", R"({"paths":"/a"})", R"({"paths":[5]})",
          R"({"paths":["a"]})", R"({"paths":[""]})", R"({"paths":["/"]})", R"({"paths":["/a/"]})",
          R"({"paths":["/a//b"]})", R"({"paths":["/a/*"]})", R"({"paths":["/a/?"]})",
          R"({"paths":["/a/[]/b"]})", R"({"paths":["/\"a"]})", R"({"paths":["/\"a\"b"]})",
          R"({"paths":["/_ts"]})", R"({"paths":["/a","/a"]})", R"({"paths":["/a","/\"a\""]})",
          R"({"paths":["/a"]},{"paths":["/a"]})"})
        EXPECT_EQ(ended(keys(std::string(bad))), Ended::kBadRequest) << bad;
    const auto good = keys(R"({"paths":["/a/b","/\"x y\"/c"]})");
    ASSERT_TRUE(good.ok());
    const std::vector<partition::UniqueKey> expected = {{0, {{"a", "b"}, {"x y", "c"}}}};
    EXPECT_EQ(good->settings.unique_keys, expected);
}

TEST_F(DefinitionTest, ReplaceKeepsKeyAndUniqueKeys) {
    const auto stored = with(
        R"("uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/a"]},{"paths":["/b","/c"]}]},"defaultTtl":5)");
    ASSERT_TRUE(stored.ok());
    const auto bare = replace(*stored, "{}");
    ASSERT_TRUE(bare.ok()) << message_of(bare);
    EXPECT_EQ(bare->settings.unique_keys, stored->settings.unique_keys);
    EXPECT_EQ(bare->settings.key.paths, stored->settings.key.paths);
    EXPECT_FALSE(bare->settings.default_ttl);  // back to the default
    for (std::string_view same :
         {R"({"partitionKey":{"paths":["/pk"]}})",
          R"({"partitionKey":{"paths":["/pk"],"kind":"Hash"}})",
          R"({"partitionKey":{"paths":["/pk"],"kind":"Hash","version":1}})",
          R"({"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/c","/b"]},{"paths":["/a"]}]}})"})
        EXPECT_EQ(ended(replace(*stored, std::string(same))), Ended::kOk) << same;
    for (std::string_view other :
         {R"({"partitionKey":{"paths":["/other"]}})",
          R"({"partitionKey":{"paths":["/pk"],"version":2}})",
          R"({"partitionKey":{"paths":["/pk"],"kind":"MultiHash","version":2}})",
          R"({"partitionKey":"/pk"})", R"({"partitionKey":{}})",
          R"({"uniqueKeyPolicy":{"uniqueKeys":[]}})",
          R"({"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/a"]}]}})"}) {
        const auto result = replace(*stored, std::string(other));
        EXPECT_EQ(ended(result), Ended::kBadRequest) << other;
        EXPECT_NE(message_of(result).find("cannot be changed"), std::string::npos)
            << message_of(result);
    }
}

/// A container that was made when such a path was accepted opens as ever.
TEST_F(DefinitionTest, SystemPropertiesAreIncludedInStoredPoliciesOnly) {
    const std::string indexing =
        R"("indexingPolicy":{"includedPaths":[{"path":"/*"},{"path":"/_rid/?"}]})";
    const auto created = with(indexing);
    EXPECT_EQ(ended(created), Ended::kBadRequest);
    EXPECT_NE(message_of(created).find("'/_rid/?'"), std::string::npos) << message_of(created);
    EXPECT_EQ(
        ended(catalog::definition_of_json(indexing + R"(,"partitionKey":{"paths":["/pk"]}})")),
        Ended::kOk);
    const auto plain = with("");
    ASSERT_TRUE(plain.ok());
    EXPECT_EQ(ended(replace(*plain, "{" + indexing + "}")), Ended::kBadRequest);
    EXPECT_EQ(ended(with(R"("indexingPolicy":{"includedPaths":[{"path":"/*"},{"path":"/_ts/?"}],)"
                         R"("excludedPaths":[{"path":"/_rid/?"},{"path":"/\"_etag\"/?"}]})")),
              Ended::kOk);
}

TEST_F(DefinitionTest, SameIndexingIgnoresTheOrderOfPaths) {
    const auto a = with(
        R"("indexingPolicy":{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/a/*"},{"path":"/b/*"}]})");
    const auto b = with(
        R"("indexingPolicy":{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/b/*"},{"path":"/a/*"}]})");
    const auto c = with(
        R"("indexingPolicy":{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/b/*"}]})");
    ASSERT_TRUE(a.ok() && b.ok() && c.ok());
    EXPECT_TRUE(same_indexing(a->settings.indexing, b->settings.indexing));
    EXPECT_FALSE(same_indexing(a->settings.indexing, c->settings.indexing));
}

TEST_F(DefinitionTest, PlanarGeometry) {
    const auto plane = with(R"("geospatialConfig":{"type":"geometry"})");
    ASSERT_TRUE(plane.ok());
    EXPECT_EQ(plane->settings.space, index::GeometrySpace::kPlane);
    EXPECT_NE(plane->tail.find(R"("geospatialConfig":{"type":"Geometry"})"), std::string::npos);
    EXPECT_EQ(with("")->settings.space, index::GeometrySpace::kEarth);

    const auto indexed = [&](const std::string& space, const std::string& box) {
        return with(R"("geospatialConfig":{"type":")" + space +
                    R"("},"indexingPolicy":{"spatialIndexes":[{"path":"/p/*")" + box + "}]}");
    };
    const std::string box = R"(,"boundingBox":{"xmin":-1,"ymin":-2,"xmax":3,"ymax":4})";
    const auto with_box = indexed("Geometry", box);
    ASSERT_TRUE(with_box.ok()) << message_of(with_box);
    ASSERT_EQ(with_box->settings.indexing.spatials.size(), 1U);
    EXPECT_EQ(with_box->settings.indexing.spatials[0].grid.box, (index::PlaneBox{-1, -2, 3, 4}));
    EXPECT_TRUE(indexed("Geography", "").ok());
    // A plane needs a box, the Earth has none.
    for (const auto& refused : {indexed("Geometry", ""), indexed("Geography", box)}) {
        EXPECT_EQ(ended(refused), Ended::kBadRequest);
        EXPECT_NE(message_of(refused).find("bounding box"), std::string::npos)
            << message_of(refused);
    }
}

}  // namespace
}  // namespace orrery::rest
