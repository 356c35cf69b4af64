#include "json/item.h"
#include "base/ended_test_support.h"
#include "base/rounds_test_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/limits.h"
#include "json/order.h"
#include "json/parse.h"
#include "json/random_json_test.h"
#include "json/typed_text.h"
#include "json/write.h"

namespace orrery::json {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Writes the events down; refuses what `skip` says.
class Recorder : public ItemVisitor {
public:
    std::function<bool(const std::string& path)> skip = [](const std::string&) { return false; };
    std::vector<std::string> events;

    bool enter_member(std::string_view name) override { return enter("/" + std::string(name)); }
    bool enter_element() override { return enter("/[]"); }
    void leave() override {
        ASSERT_FALSE(lengths_.empty());
        path_.resize(lengths_.back());
        lengths_.pop_back();
    }
    void scalar(const Value& value) override { events.push_back(path_ + "=" + to_text(value)); }
    void container(Type type) override {
        events.push_back(path_ + (type == Type::kArray ? "=[" : "={"));
    }
    bool balanced() const { return lengths_.empty(); }

private:
    bool enter(const std::string& segment) {
        if (skip(path_ + segment)) return false;
        lengths_.push_back(path_.size());
        path_ += segment;
        return true;
    }
    std::string path_;
    std::vector<size_t> lengths_;
};

/// The same events from a parsed value, the obvious way.
void expected_events(const Value& value, const std::string& path, const Recorder& rules,
                     std::vector<std::string>& events) {
    if (!path.empty() || !value.is_object()) {
        events.push_back(path + "=" +
                         (value.is_array()    ? "["
                          : value.is_object() ? "{"
                                              : to_text(value)));
    }
    if (value.is_array())
        for (const Value& e : value.elements())
            if (!rules.skip(path + "/[]")) expected_events(e, path + "/[]", rules, events);
    if (value.is_object()) {
        for (const Member& m : value.members()) {
            if (path.empty() && is_system_property(m.name)) continue;
            const std::string inner = path + "/" + std::string(m.name);
            if (!rules.skip(inner)) expected_events(m.value, inner, rules, events);
        }
    }
}

Result<IncomingItem> read(std::string_view body, const std::vector<MemberPath>& paths = {}) {
    return read_item(body, {&paths}, nullptr);
}
std::string refusal(std::string_view body, Ended how = Ended::kBadRequest) {
    const auto item = read(body);
    if (item.ok()) return "";
    EXPECT_EQ(ended(item.error()), how) << body;
    return item.error().message;
}

TEST(ReadItem, MinifiesAndKeepsOrderAndNumbers) {
    const auto item = read(
        "\n{ \"b\" : 1.50 ,\t\"id\" : \"x\" , \"a\":[ 1E2 , -0 , { } , [ ] ],\r\n"
        "\"s\\u0061\\/\": \"\\u00e9\\n\\u000a\\u0001\\ud83d\\ude00\" } ");
    ASSERT_TRUE(item.ok()) << item.error().message;
    EXPECT_EQ(
        item->text,
        "{\"b\":1.50,\"id\":\"x\",\"a\":[1E2,-0,{},[]],\"sa/\":\"é\\n\\n\\u0001\U0001F600\"}");
    EXPECT_EQ(item->id, "x");
    EXPECT_TRUE(item->ttl.is_undefined());
}

TEST(ReadItem, DropsSystemPropertiesAtTheTopOnly) {
    const std::string kept = R"({"id":"x","o":{"_rid":1,"_ts":2},"_x":1,"_RID":2})";
    const std::string rid = R"("_rid":"abc")";
    const std::string etag = R"("_etag" : "\"00\"")";
    const std::string ts = R"("\u005fts":1 )";
    const std::string self = R"("_self":{"deep":[1,"\u0041",{"_x":[]}]})";
    const std::string rest = R"("_attachments":[ ],"_lsn":9)";
    const std::string body = R"("id":"x","o":{"_rid":1,"_ts":2},"_x":1,"_RID":2)";
    for (const char* comma : {",", " , ", "\n,"}) {
        const std::string system = rid + comma + etag + comma + ts + comma + self + comma + rest;
        for (const std::string& text :
             {"{" + system + comma + body + "}", "{" + body + comma + system + "}",
              "{ " + rid + comma + body + comma + rest + " }",
              "{\"id\":\"x\"" + (comma + system) + comma +
                  R"("o":{"_rid":1,"_ts":2},"_x":1,"_RID":2})"}) {
            const auto item = read(text);
            ASSERT_TRUE(item.ok()) << text << item.error().message;
            EXPECT_EQ(item->text, kept) << text;
        }
    }
    // What is dropped must be JSON all the same.
    EXPECT_NE(refusal(R"({"id":"x","_ts":tru})"), "");
    EXPECT_NE(refusal(R"({"id":"x","_ts":1e999})"), "");
    EXPECT_NE(refusal(R"({"id":"x","_ts":1,"_ts":2})"), "");
    EXPECT_THAT(refusal(R"({"_rid":"only"})"), HasSubstr("'id; '"));
}

TEST(ReadItem, Id) {
    EXPECT_THAT(refusal("{}"), HasSubstr("required properties - 'id; '"));
    EXPECT_THAT(refusal(R"({"a":{"id":"x"}})"), HasSubstr("'id; '"));
    EXPECT_THAT(refusal(R"({"a":[{"id":"x"}]})"), HasSubstr("'id; '"));
    for (const char* id : {"1", "null", "true", "[]", "{}", "[\"x\"]", "{\"id\":\"x\"}"})
        EXPECT_THAT(refusal("{\"id\":" + std::string(id) + "}"), HasSubstr("must be a string"))
            << id;
    EXPECT_THAT(refusal(R"({"id":""})"), HasSubstr("empty"));
    EXPECT_THAT(refusal(R"({"id":"a/b"})"), HasSubstr("'/'"));
    EXPECT_THAT(refusal(R"({"id":"a\/b"})"), HasSubstr("'/'"));
    EXPECT_THAT(refusal(R"({"id":"a\\b"})"), HasSubstr("'/'"));
    EXPECT_THAT(refusal("{\"id\":\"" + std::string(1024, 'x') + "\"}"), HasSubstr("1023"));
    EXPECT_EQ(read("{\"id\":\"" + std::string(1023, 'x') + "\"}")->id.size(), 1023u);
    EXPECT_THAT(refusal("{\"id\":\"" + std::string(1022, 'x') + "é\"}"), HasSubstr("1023"));
    EXPECT_EQ(read(R"({"id":"a?b# \u0001\u00e9 "})")->id, "a?b# \x01é ");
    EXPECT_EQ(read(R"({"\u0069d":"x"})")->id, "x");
}

TEST(ReadItem, OnlyObjects) {
    for (const char* body : {"[]", "\"id\"", "1", "null", "[{\"id\":\"x\"}]"})
        EXPECT_THAT(refusal(body), HasSubstr("must be a JSON object")) << body;
}

TEST(ReadItem, MalformedBodies) {
    const std::string sample =
        "{\"id\":\"\xC3\xA9\\u00e9\",\"n\":[1.5e3,{\"a\":true}],\"_ts\":1,\"b\":\"tail\"}";
    ASSERT_EQ(refusal(sample), "");
    for (size_t length = 0; length < sample.size(); ++length)
        EXPECT_NE(refusal(std::string_view(sample).substr(0, length)), "") << length;
    for (const char* body :
         {"\xEF\xBB\xBF{\"id\":\"x\"}", "{\"id\":\"x\"}}", "{\"id\":\"x\"} x",
          "{\"id\":\"x\",\"a\":NaN}", "{\"id\":\"x\",\"a\":01}", "{\"id\":\"x\",\"a\":1e999}",
          "{\"id\":\"x\",\"a\":\"\\ud800\"}", "{\"id\":\"x\",\"a\":\"\x80\"}",
          "{\"id\":\"x\",\"id\":\"x\"}", "{\"id\":\"x\",\"a\":{\"b\":1,\"b\":1}}",
          "{\"id\":\"x\",\"a\":\"\n\"}", "{\"id\":\"x\",}", "{\"id\":\"x\" \"a\":1}"})
        EXPECT_NE(refusal(body), "") << body;
}

TEST(ReadItem, Depth) {
    // The item itself is the first level.
    const auto body = [](size_t levels) {
        return "{\"id\":\"x\",\"a\":" + std::string(levels - 1, '[') +
               std::string(levels - 1, ']') + "}";
    };
    EXPECT_EQ(refusal(body(128)), "");
    EXPECT_THAT(refusal(body(129)), HasSubstr("nesting"));
}

TEST(ReadItem, SizeCountsTheStoredText) {
    const std::string frame = R"({"id":"x","a":""})";
    const std::string fits(limits::kItemBytesMax - frame.size(), 'y');
    const auto largest = read("{ \"id\":\"x\", \"_etag\":\"dropped\", \"a\":\"" + fits + "\"}");
    ASSERT_TRUE(largest.ok());
    EXPECT_EQ(largest->text.size(), limits::kItemBytesMax);
    EXPECT_NE(refusal("{\"id\":\"x\",\"a\":\"" + fits + "y\"}", Ended::kTooLarge), "");
    // An escape counts as what is stored.
    EXPECT_EQ(refusal("{\"id\":\"x\",\"a\":\"" + fits.substr(1) + "\\u0079\"}"), "");
}

TEST(ReadItem, PartitionKey) {
    const std::vector<MemberPath> paths = {{"a", "b"}, {"c"}, {"a"}, {"a", "x", "y"}, {"n"}};
    const auto keys = [&](std::string_view body) {
        const auto item = read(body, paths);
        EXPECT_TRUE(item.ok()) << item.error().message;
        std::vector<std::string> texts;
        for (const Value& v : item->partition_key)
            texts.push_back(v.is_undefined() ? "undefined" : to_text(v));
        return texts;
    };
    EXPECT_THAT(keys(R"({"id":"1"})"),
                ElementsAre("undefined", "undefined", "undefined", "undefined", "undefined"));
    EXPECT_THAT(keys(R"({"id":"1","c":"C","a":{"b":"é","x":{"y":null}},"n":1.50})"),
                ElementsAre("\"é\"", "\"C\"", "undefined", "null", "1.50"));
    EXPECT_THAT(keys(R"({"id":"1","c":[1],"a":"s","n":{}})"),
                ElementsAre("undefined", "undefined", "\"s\"", "undefined", "undefined"));
    // Not through arrays, not deeper, not elsewhere, and not after leaving the parent.
    EXPECT_THAT(keys(R"({"id":"1","a":[{"b":1}],"z":{"a":{"b":2},"c":3},"c":true})"),
                ElementsAre("undefined", "true", "undefined", "undefined", "undefined"));
    EXPECT_THAT(keys(R"({"id":"1","a":{"q":{"b":1},"x":{"q":1},"y":2},"b":3,"x":{"y":4},"y":5})"),
                ElementsAre("undefined", "undefined", "undefined", "undefined", "undefined"));
    EXPECT_THAT(keys(R"({"id":"1","\u0061":{"\u0062":"\u0041"}})"),
                ElementsAre("\"A\"", "undefined", "undefined", "undefined", "undefined"));
    // Values outlive the body.
    std::string body = R"({"id":"1","c":"kept"})";
    const auto item = read(body, paths);
    std::fill(body.begin(), body.end(), 'x');
    EXPECT_EQ(item->partition_key[1].as_string(), "kept");
}

TEST(ReadItem, Ttl) {
    EXPECT_EQ(read(R"({"id":"1","ttl":60})")->ttl.as_int64(), 60);
    EXPECT_EQ(to_text(read(R"({"id":"1","ttl":-1.0})")->ttl), "-1.0");
    EXPECT_EQ(to_text(read(R"({"id":"1","ttl":"soon"})")->ttl), "\"soon\"");
    EXPECT_EQ(to_text(read(R"({"ttl":{"a":[ 1 ]},"id":"1"})")->ttl), R"({"a":[1]})");
    EXPECT_TRUE(read(R"({"id":"1","ttl":null})")->ttl.is_null());
    EXPECT_TRUE(read(R"({"id":"1","a":{"ttl":5}})")->ttl.is_undefined());
}

TEST(ItemVisitor, EventsInDocumentOrder) {
    Recorder recorder;
    const std::vector<MemberPath> paths;
    ASSERT_TRUE(
        read_item(R"({"id":"x","_ts":1,"a":{"b":[1,[],{"c":null}]},"_self":{"q":1},"d":"\u0041"})",
                  {&paths}, &recorder)
            .ok());
    EXPECT_THAT(recorder.events,
                ElementsAre("/id=\"x\"", "/a={", "/a/b=[", "/a/b/[]=1", "/a/b/[]=[", "/a/b/[]={",
                            "/a/b/[]/c=null", "/d=\"A\""));
    EXPECT_TRUE(recorder.balanced());
}

TEST(ItemVisitor, RandomItemsAgreeWithTheParser) {
    test::RandomJson random(4);
    const std::vector<MemberPath> paths = {{"a"}, {"a", "b"}, {"b", "a", "c"}};
    for (int i = 0; i < rounds(3000); ++i) {
        Arena arena;
        std::vector<Member> members = {{"id", Value::string("x")}};
        const Value rest = random.object(arena, 5);
        for (const Member& m : rest.members()) members.push_back(m);
        std::vector<Member> sent = members;
        if (random.chance(50)) sent.insert(sent.begin(), {"_rid", random.value(arena, 2)});
        if (random.chance(50)) sent.insert(sent.begin() + 1, {"_ts", random.value(arena, 2)});
        if (random.chance(50)) sent.push_back({"_etag", random.value(arena, 2)});
        const std::string body = random.sloppy_text(Value::object(sent));
        const uint64_t salt = random.engine()();

        Recorder incoming;
        incoming.skip = [&](const std::string& path) {
            return salt % 2 == 0 && (std::hash<std::string>()(path) ^ salt) % 8 == 1;
        };
        const auto item = read_item(body, {&paths}, &incoming);
        ASSERT_TRUE(item.ok()) << body << item.error().message;
        EXPECT_EQ(item->text, to_text(Value::object(members))) << body;
        std::vector<std::string> expected;
        expected_events(*parse(body, arena), "", incoming, expected);
        EXPECT_EQ(incoming.events, expected) << body;
        EXPECT_TRUE(incoming.balanced());

        Recorder stored;
        stored.skip = incoming.skip;
        ASSERT_TRUE(walk_item(item->text, stored).ok());
        EXPECT_EQ(stored.events, expected);

        const auto extracted = extract(item->text, paths, arena);
        ASSERT_TRUE(extracted.ok());
        for (size_t p = 0; p < paths.size(); ++p) {
            Value at = Value::object(members);
            for (const std::string& name : paths[p]) at = at.member(name);
            const Value& found = (*extracted)[p];
            ASSERT_EQ(found.type(), at.type()) << body;
            EXPECT_EQ(to_text(found), to_text(at));
            const Value& key = item->partition_key[p];
            EXPECT_EQ(to_text(key), at.is_scalar() ? to_text(at) : "");
        }
    }
}

TEST(WalkItem, DamageIsReported) {
    Recorder recorder;
    const std::string text = R"({"id":"x","a":[1,"b",{"c":true}]})";
    EXPECT_TRUE(walk_item(text, recorder).ok());
    for (size_t length = 0; length < text.size(); ++length) {
        Recorder cut;
        const Status status = walk_item(std::string_view(text).substr(0, length), cut);
        ASSERT_FALSE(status.ok());
        EXPECT_EQ(ended(status.error()), Ended::kInternal);
        Arena arena;
        EXPECT_FALSE(extract(std::string_view(text).substr(0, length), {{"a"}, {"z"}}, arena).ok());
    }
    EXPECT_FALSE(walk_item("[1]", recorder).ok());
}

TEST(Extract, WholeContainersAndOverlappingPaths) {
    Arena arena;
    const std::string text = R"({"id":"x","a":{"b":[1,{"c":"é"}],"d":"\n"},"e":[]})";
    const auto values = *extract(
        text, {{"a"}, {"a", "b"}, {"a", "d"}, {"e"}, {"a", "b", "c"}, {"zz"}, {}, {"a"}}, arena);
    ASSERT_EQ(values.size(), 8u);
    EXPECT_EQ(to_text(values[0]), R"({"b":[1,{"c":"é"}],"d":"\n"})");
    EXPECT_EQ(to_text(values[1]), R"([1,{"c":"é"}])");
    EXPECT_EQ(to_text(values[2]), R"("\n")");
    EXPECT_EQ(to_text(values[3]), "[]");
    EXPECT_TRUE(values[4].is_undefined());
    EXPECT_TRUE(values[5].is_undefined());
    EXPECT_EQ(to_text(values[6]), text);
    EXPECT_EQ(to_text(values[7]), to_text(values[0]));
    EXPECT_EQ(to_text(extract(text, {{"a", "d"}, {"a"}}, arena)->at(1)), to_text(values[0]));
    EXPECT_TRUE(extract(text, {}, arena)->empty());
    // Nothing behind the last value is needed.
    EXPECT_EQ(to_text(extract(R"({"a":{"b":5},"c":)", {{"a", "b"}}, arena)->at(0)), "5");
    EXPECT_FALSE(extract(R"({"a":{"b":5},"c":)", {{"c"}}, arena).ok());
}

TEST(CheckItemId, Rules) {
    EXPECT_TRUE(check_item_id("a b?c#d").ok());
    EXPECT_TRUE(check_item_id(std::string(1023, 'x')).ok());
    for (const std::string& id : {std::string(), std::string("a/b"), std::string("a\\b"),
                                  std::string(1024, 'x'), std::string("\xFF")})
        EXPECT_EQ(ended(check_item_id(id).error()), Ended::kBadRequest);
}

TEST(SystemProperty, ExactNames) {
    for (const char* name : {"_rid", "_self", "_etag", "_ts", "_attachments", "_lsn"})
        EXPECT_TRUE(is_system_property(name)) << name;
    for (const char* name : {"", "_", "rid", "_RID", "_rids", "_t", "__ts", "id", "ttl"})
        EXPECT_FALSE(is_system_property(name)) << name;
}

// Items of dialects with typed values.

/// Writes down what a visitor is shown.
class Transcript final : public ItemVisitor {
public:
    bool enter_member(std::string_view name) override {
        text_.append("/").append(name);
        return name != "hidden";
    }
    bool enter_element() override {
        text_ += "/[]";
        return true;
    }
    void leave() override { text_ += '^'; }
    void scalar(const Value& value) override {
        text_ += '=';
        write_typed(text_, value);
    }
    void container(Type type) override { text_ += type == Type::kArray ? "[" : "{"; }
    std::string text_;
};

TEST(TypedItem, AllMembersAreTheClients) {
    const std::vector<MemberPath> paths = {{"k", "d"}, {"missing"}, {"k"}};
    const std::string sent =
        R"({ "_ts": 1, "id":{"$t":7,"$v":"303132333435363738396162"}, "ttl":"x", "_etag" : [],)"
        R"("k":{"d":{"$t":9,"$v":"5"}}})";
    Transcript transcript;
    const auto item = read_item(sent, {&paths, Dialect::kMongo}, &transcript);
    ASSERT_TRUE(item.ok()) << item.error().message;
    EXPECT_EQ(item->text,
              R"({"_ts":1,"id":{"$t":7,"$v":"303132333435363738396162"},"ttl":"x","_etag":[],)"
              R"("k":{"d":{"$t":9,"$v":"5"}}})");
    EXPECT_EQ(item->id, "");
    EXPECT_TRUE(item->ttl.is_undefined());
    ASSERT_EQ(item->partition_key.size(), 3u);
    EXPECT_EQ(item->partition_key[0].as_date(), 5);
    EXPECT_TRUE(item->partition_key[1].is_undefined());
    EXPECT_TRUE(item->partition_key[2].is_undefined());
    EXPECT_EQ(transcript.text_,
              R"(/_ts=1^/id={"$t":7,"$v":"303132333435363738396162"}^/ttl="x"^/_etag[^)"
              R"(/k{/d={"$t":9,"$v":"5"}^^)");
    // The same events from the stored text.
    Transcript stored;
    ASSERT_TRUE(walk_item(item->text, stored, Dialect::kMongo).ok());
    EXPECT_EQ(stored.text_, transcript.text_);
    Arena arena;
    const auto values = extract(item->text, paths, arena, Dialect::kMongo);
    ASSERT_TRUE(values.ok());
    EXPECT_EQ((*values)[0].as_date(), 5);
    EXPECT_TRUE((*values)[2].is_object());
}

TEST(TypedItem, AWrappedObjectIsWalkedAsItIs) {
    Transcript transcript;
    ASSERT_TRUE(walk_item(R"({"$t":3,"$v":{"a":{"$t":3,"$v":{"$t":1,"hidden":2}},"$t":null}})",
                          transcript, Dialect::kTable)
                    .ok());
    EXPECT_EQ(transcript.text_, "/a{/$t=1^/hidden^/$t=null^");
    // In the dialect nosql it is an object like any other.
    Transcript plain;
    ASSERT_TRUE(walk_item(R"({"a":{"$t":18,"$v":"1"}})", plain).ok());
    EXPECT_EQ(plain.text_, R"(/a{/$t=18^/$v="1"^^)");
}

TEST(TypedItem, WhatIsRefused) {
    for (const std::string_view body : {"[]", "1", R"({"a":1,"a":2})", R"({"a":{"$t":99,"$v":""}})",
                                        "{", R"({"$t":18,"$v":"1"})"})
        EXPECT_FALSE(read_item(body, {nullptr, Dialect::kMongo}, nullptr).ok()) << body;
    const std::string large = R"({"a":")" + std::string(limits::kItemBytesMax, 'x') + R"("})";
    EXPECT_FALSE(read_item(large, {nullptr, Dialect::kMongo}, nullptr).ok());
    Transcript transcript;
    EXPECT_FALSE(walk_item(R"({"a":{"$t":99,"$v":""}})", transcript, Dialect::kMongo).ok());
    EXPECT_FALSE(walk_item("[]", transcript, Dialect::kMongo).ok());
}

}  // namespace
}  // namespace orrery::json
