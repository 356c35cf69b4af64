#include "catalog/definition_record.h"

#include <gtest/gtest.h>

#include "base/encoding.h"
#include "catalog/catalog_test_support.h"

namespace orrery::catalog {
namespace {

using testing::message_of;

index::IndexPath path_of(std::string_view text) {
    return index::parse_index_path(text).value();
}

/// Has everything that a definition can have but computed properties.
ContainerDefinition rich() {
    ContainerDefinition out;
    out.dialect = json::Dialect::kMongo;
    out.schema = {3, std::string("a\0b", 3)};
    out.key = partition::make_partition_key_definition(partition::KeyKind::kMultiHash, 2,
                                                       {"/t", "/\"u v\""})
                  .value();
    index::IndexingPolicy policy;
    policy.included = {path_of("/*"), path_of("/a/?")};
    policy.excluded = {path_of("/\"_etag\"/?")};
    policy.composites = {{{{{{false, "a"}}, false, "/a"}, {{{false, "b"}}, true, "/b"}}}};
    policy.spatials = {{path_of("/p/?"), {1, index::PlaneBox{-1, -2, 3, 4.5}}}};
    out.indexing = index::complete_policy(std::move(policy)).value();
    out.unique_keys = UniqueKeyPolicy{{{1, {"/e"}}, {300, {"/f", "/g"}}}, 301};
    out.conflict_path = "/v";
    out.default_ttl = -1;
    out.feed_retention_minutes = 5;
    out.space = index::GeometrySpace::kPlane;
    out.computed.emplace();
    out.encryption = {2, {{"/s", "k", true}}};
    out.index_names = {
        {"a_1", IndexName::Kind::kPath, index_identity(out.indexing.included[1])},
        {"a_1_b_-1", IndexName::Kind::kComposite, index_identity(out.indexing.composites[0])},
        {"e", IndexName::Kind::kUniqueKey, "1"},
        {"other", IndexName::Kind::kUniqueKey, "1"}};
    out.expiry = {"/at", 7};
    return out;
}

TEST(DefinitionRecord, GoldenBytes) {
    ContainerDefinition plain;
    plain.key =
        partition::make_partition_key_definition(partition::KeyKind::kHash, 2, {"/pk"}).value();
    plain.indexing = index::parse_indexing_policy({}).value();
    EXPECT_EQ(hex_encode_upper(encode_definition(plain)),
              "01"  // version
              "00"
              "00"
              "00"  // nosql, no schema
              "00"
              "02"
              "01"
              "00"
              "01"
              "032F706B"  // Hash, version 2 as given, ["/pk"]
              "00"
              "01"  // consistent, automatic
              "01"
              "022F2A"  // included: /*
              "01"
              "0A2F225F65746167222F3F"  // excluded: /"_etag"/?
              "00"
              "00"          // no composite, no spatial indexes
              "00"          // no unique keys
              "042F5F7473"  // conflicts: /_ts
              "00"
              "00"
              "00"  // no time to live, retention; the Earth
              "00"  // no computed properties
              "01"
              "00"    // encryption: version 1, no paths
              "00"    // no materialized view
              "00"    // no names
              "00");  // no expiry by a property
    EXPECT_EQ(hex_encode_upper(encode_definition(rich())),
              "01"
              "01"
              "03"
              "03610062"
              "01"
              "02"
              "01"
              "00"
              "02"
              "022F74"
              "062F2275207622"
              "00"
              "01"
              "02"
              "022F2A"
              "042F612F3F"
              "01"
              "0A2F225F65746167222F3F"
              "01"
              "02"
              "022F61"
              "00"
              "022F62"
              "01"
              "01"
              "042F702F3F"
              "01"
              "01"
              "000000000000F0BF"
              "00000000000000C0"
              "0000000000000840"
              "0000000000001240"
              "01"
              "02"
              "01"
              "01"
              "022F65"
              "AC02"
              "02"
              "022F66"
              "022F67"
              "AD02"
              "022F76"
              "01"
              "00"
              "01"
              "06"
              "01"
              "01"
              "00"
              "02"
              "01"
              "022F73"
              "016B"
              "01"
              "00"
              "04"
              "03615F31"
              "00"
              "062F2261222F3F"
              "08615F315F625F2D31"
              "01"
              "132F226122206173630A2F22622220646573630A"
              "0165"
              "03"
              "0131"
              "056F74686572"
              "03"
              "0131"
              "01"
              "032F6174"
              "08");
}

TEST(DefinitionRecord, RoundTrip) {
    const std::string bytes = encode_definition(rich());
    const auto again = decode_definition(bytes);
    ASSERT_TRUE(again.ok()) << message_of(again);
    EXPECT_EQ(encode_definition(*again), bytes);
    EXPECT_TRUE(validate(*again).ok()) << message_of(validate(*again));
    EXPECT_EQ(again->dialect, json::Dialect::kMongo);
    EXPECT_EQ(again->schema, rich().schema);
    EXPECT_EQ(again->unique_keys, rich().unique_keys);
    EXPECT_EQ(again->index_names, rich().index_names);
    EXPECT_EQ(again->expiry, rich().expiry);
    EXPECT_EQ(again->key.member_paths, rich().key.member_paths);
    EXPECT_TRUE(same_indexing(again->indexing, rich().indexing));
    EXPECT_NE(again->indexing.tree, nullptr);
}

TEST(DefinitionRecord, DamageIsFound) {
    const std::string bytes = encode_definition(rich());
    for (size_t cut = 0; cut < bytes.size(); ++cut)
        EXPECT_FALSE(decode_definition(bytes.substr(0, cut)).ok()) << cut;
    EXPECT_FALSE(decode_definition(bytes + "x").ok());
    std::string newer = bytes;
    newer[0] = 2;
    EXPECT_NE(message_of(decode_definition(newer)).find("newer version"), std::string::npos);
    for (const size_t at :
         {size_t{1}, size_t{7}, size_t{22}}) {  // dialect, kind of the key, indexing mode
        std::string odd = bytes;
        odd[at] = 9;
        EXPECT_EQ(ended(decode_definition(odd)), Ended::kInternal) << at;
    }
}

TEST(DefinitionRecord, Policies) {
    const auto policy = rich().indexing;
    const auto again = decode_policy(encode_policy(policy));
    ASSERT_TRUE(again.ok()) << message_of(again);
    EXPECT_TRUE(same_indexing(again->policy, policy));
    EXPECT_EQ(again->policy.json, policy.json);
    const std::string bytes = encode_policy(policy);
    for (size_t cut = 0; cut < bytes.size(); ++cut)
        EXPECT_FALSE(decode_policy(bytes.substr(0, cut)).ok()) << cut;
}

TEST(ContainerDefinition, IndexNamesStandForIndexes) {
    ContainerDefinition definition = rich();
    EXPECT_TRUE(validate(definition).ok());
    definition.index_names.push_back({"e", IndexName::Kind::kUniqueKey, "300"});
    EXPECT_NE(message_of(validate(definition)).find("given twice"), std::string::npos);
    definition.index_names.back() = {"none", IndexName::Kind::kUniqueKey, "2"};
    EXPECT_NE(message_of(validate(definition)).find("'none'"), std::string::npos);
    definition.index_names.back() = {"two", IndexName::Kind::kSpatial,
                                     index_identity(definition.indexing.spatials[0].path)};
    EXPECT_TRUE(validate(definition).ok());
}

TEST(ContainerDefinition, NumbersOfUniqueKeys) {
    const auto policy = number_unique_keys({{"/a"}, {"/b", "/c"}});
    EXPECT_EQ(policy, (UniqueKeyPolicy{{{0, {"/a"}}, {1, {"/b", "/c"}}}, 2}));
    EXPECT_TRUE(split_unique_keys(policy).ok());
    EXPECT_EQ(ended(split_unique_keys({{{0, {"/a"}}, {0, {"/b"}}}, 1})), Ended::kBadRequest);
    EXPECT_EQ(ended(split_unique_keys({{{1, {"/a"}}}, 1})), Ended::kBadRequest);
}

TEST(ContainerDefinition, ExpiryByAProperty) {
    ContainerDefinition definition = rich();
    definition.default_ttl = std::nullopt;
    auto settings = settings_of(definition);
    ASSERT_TRUE(settings.ok()) << message_of(settings);
    EXPECT_EQ(settings->expiry, (partition::ExpiryProperty{{"at"}, 7}));
    EXPECT_EQ(settings->default_ttl, -1);  // on
    for (const ExpiryDefinition& bad :
         {ExpiryDefinition{"at", 7}, ExpiryDefinition{"/at", -1}, ExpiryDefinition{"/_ts", 7}}) {
        definition.expiry = bad;
        EXPECT_EQ(ended(validate(definition)), Ended::kBadRequest) << bad.path << bad.seconds;
    }
}

TEST(ContainerDefinition, WhatStays) {
    const ContainerDefinition before = rich();
    EXPECT_TRUE(check_unchanged(before, before).ok());
    const auto refusal = [&](auto change) {
        ContainerDefinition after = before;
        change(after);
        return message_of(check_unchanged(before, after));
    };
    EXPECT_EQ(refusal([](auto& d) { d.default_ttl = 5; }), "");
    EXPECT_EQ(refusal([](auto& d) { d.schema.bytes = "other"; }), "");
    EXPECT_NE(refusal([](auto& d) { d.key.paths = {"/t"}; }).find("'partitionKey'"),
              std::string::npos);
    EXPECT_NE(refusal([](auto& d) { d.unique_keys->keys.pop_back(); }).find("'uniqueKeyPolicy'"),
              std::string::npos);
    EXPECT_NE(refusal([](auto& d) { d.encryption.paths.clear(); }).find("'clientEncryptionPolicy'"),
              std::string::npos);
    EXPECT_NE(refusal([](auto& d) { d.dialect = json::Dialect::kTable; }).find("'dialect'"),
              std::string::npos);
}

}  // namespace
}  // namespace orrery::catalog
