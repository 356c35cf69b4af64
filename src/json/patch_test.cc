#include "json/patch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/ended_test_support.h"
#include "json/parse.h"
#include "json/write.h"

namespace orrery::json {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// The patched item's text, or "error: …".
std::string patched(std::string_view item, std::string_view patch_text,
                    const std::vector<MemberPath>& key = {{"pk"}}) {
    Arena arena;
    const auto body = parse(patch_text, arena);
    EXPECT_TRUE(body.ok()) << patch_text;
    const auto patch = parse_patch(*body, arena);
    if (!patch.ok()) {
        EXPECT_EQ(ended(patch.error()), Ended::kBadRequest);
        return "malformed: " + patch.error().message;
    }
    const Value before = *parse(item, arena);
    const auto result = apply_patch(before, *patch, key, arena);
    EXPECT_EQ(to_text(before), item);
    if (result.ok()) return to_text(*result);
    EXPECT_EQ(ended(result.error()), Ended::kBadRequest);
    return "error: " + result.error().message;
}
std::string one(std::string_view item, const std::string& operation) {
    return patched(item, "[" + operation + "]");
}

TEST(ParsePatch, BothForms) {
    Arena arena;
    const auto bare =
        parse_patch(*parse(R"([{"op":"set","path":"/a~1b/~0/0","value":1}])", arena), arena);
    ASSERT_TRUE(bare.ok());
    EXPECT_THAT(bare->operations[0].path, ::testing::ElementsAre("a/b", "~", "0"));
    EXPECT_EQ(bare->condition, "");
    const auto full = parse_patch(
        *parse(
            R"({"condition":"from c where c.x>0","operations":[{"op":"increment","path":"/n","value":1},{"op":"move","from":"/a","path":"/b"}]})",
            arena),
        arena);
    ASSERT_TRUE(full.ok());
    EXPECT_EQ(full->condition, "from c where c.x>0");
    EXPECT_EQ(full->operations[0].kind, PatchKind::kIncrement);
    EXPECT_EQ(full->operations[1].from, std::vector<std::string>{"a"});
    EXPECT_EQ(parse_patch(
                  *parse(R"({"condition":null,"operations":[{"op":"remove","path":"/a"}]})", arena),
                  arena)
                  ->condition,
              "");
    EXPECT_EQ(parse_patch(*parse(R"([{"op":"set","path":"/","value":null}])", arena), arena)
                  ->operations[0]
                  .path,
              std::vector<std::string>{""});
}

TEST(ParsePatch, MalformedBodies) {
    const auto refusal = [](std::string_view text) {
        Arena arena;
        const auto patch = parse_patch(*parse(text, arena), arena);
        return patch.ok() ? std::string() : patch.error().message;
    };
    const auto in_second = [&](const std::string& operation) {
        return refusal(R"([{"op":"remove","path":"/a"},)" + operation + "]");
    };
    for (const char* body :
         {"null", "1", "\"x\"", "{}", R"({"operations":{}})", R"({"condition":"x"})"})
        EXPECT_THAT(refusal(body), HasSubstr("array")) << body;
    EXPECT_THAT(refusal("[]"), HasSubstr("1 to 10"));
    EXPECT_THAT(refusal(R"({"operations":[]})"), HasSubstr("1 to 10"));
    std::string many = "[";
    for (int i = 0; i < 10; ++i)
        many += std::string(i > 0 ? "," : "") + R"({"op":"set","path":"/a","value":1})";
    EXPECT_EQ(refusal(many + "]"), "");
    EXPECT_THAT(refusal(many + R"(,{"op":"remove","path":"/a"}])"), HasSubstr("has 11"));
    EXPECT_THAT(refusal(R"({"operations":[{"op":"remove","path":"/a"}],"conditon":"x"})"),
                HasSubstr("'conditon'"));
    EXPECT_THAT(refusal(R"({"operations":[{"op":"remove","path":"/a"}],"condition":5})"),
                HasSubstr("'condition'"));
    EXPECT_THAT(in_second("1"), HasSubstr("operation 1 must be an object"));
    EXPECT_THAT(in_second("{}"), HasSubstr("operation 1: 'op'"));
    EXPECT_THAT(in_second(R"({"op":5,"path":"/a"})"), HasSubstr("'op'"));
    for (const char* op : {"copy", "test", "Add", ""})
        EXPECT_THAT(in_second("{\"op\":\"" + std::string(op) + "\",\"path\":\"/a\"}"),
                    HasSubstr("'op' must be one of"));
    for (const char* path :
         {"null", "5", "\"\"", "\"a\"", "\"a/b\"", "\"/a~\"", "\"/a~2\"", "\"/~\"", "[\"a\"]"})
        EXPECT_THAT(in_second("{\"op\":\"remove\",\"path\":" + std::string(path) + "}"),
                    HasSubstr("operation 1: 'path'"))
            << path;
    EXPECT_THAT(in_second(R"({"op":"remove"})"), HasSubstr("'path'"));
    for (const char* op : {"add", "set", "replace", "incr", "increment"})
        EXPECT_THAT(in_second("{\"op\":\"" + std::string(op) + "\",\"path\":\"/a\"}"),
                    HasSubstr("'value' is missing"));
    for (const char* value : {"null", "\"1\"", "true", "[]", "{}"})
        EXPECT_THAT(
            in_second("{\"op\":\"incr\",\"path\":\"/a\",\"value\":" + std::string(value) + "}"),
            HasSubstr("'value' must be a number"));
    EXPECT_THAT(in_second(R"({"op":"move","path":"/a"})"), HasSubstr("'from'"));
    EXPECT_THAT(in_second(R"({"op":"move","path":"/a","from":"b"})"), HasSubstr("'from'"));
    EXPECT_THAT(in_second(R"({"op":"move","from":"/a","path":"/a/b"})"),
                HasSubstr("inside 'from'"));
}

TEST(ParsePatch, OwnsItsValues) {
    Arena arena;
    Patch patch;
    {
        Arena body;
        patch = *parse_patch(*parse(R"([{"op":"set","path":"/a","value":{"x":["y",1.50]}}])", body),
                             arena);
    }
    EXPECT_EQ(to_text(patch.operations[0].value), R"({"x":["y",1.50]})");
}

TEST(ApplyPatch, Members) {
    const char* item = R"({"id":"1","a":{"b":1},"z":0})";
    EXPECT_EQ(one(item, R"({"op":"add","path":"/n","value":1.50})"),
              R"({"id":"1","a":{"b":1},"z":0,"n":1.50})");
    EXPECT_EQ(one(item, R"({"op":"add","path":"/a","value":[]})"), R"({"id":"1","a":[],"z":0})");
    EXPECT_EQ(one(item, R"({"op":"set","path":"/a/c","value":null})"),
              R"({"id":"1","a":{"b":1,"c":null},"z":0})");
    EXPECT_EQ(one(item, R"({"op":"set","path":"/a/b","value":"x"})"),
              R"({"id":"1","a":{"b":"x"},"z":0})");
    EXPECT_EQ(one(item, R"({"op":"replace","path":"/a/b","value":2})"),
              R"({"id":"1","a":{"b":2},"z":0})");
    EXPECT_EQ(one(item, R"({"op":"remove","path":"/a"})"), R"({"id":"1","z":0})");
    EXPECT_EQ(one(item, R"({"op":"remove","path":"/a/b"})"), R"({"id":"1","a":{},"z":0})");
    EXPECT_EQ(one(item, R"({"op":"move","from":"/a/b","path":"/c"})"),
              R"({"id":"1","a":{},"z":0,"c":1})");
    EXPECT_EQ(one(item, R"({"op":"move","from":"/a","path":"/z"})"), R"({"id":"1","z":{"b":1}})");
    EXPECT_EQ(one(item, R"({"op":"move","from":"/a","path":"/a"})"), item);
    EXPECT_EQ(one(R"({"id":"1","a/b":{"~":1}})", R"({"op":"incr","path":"/a~1b/~0","value":1})"),
              R"({"id":"1","a/b":{"~":2}})");

    EXPECT_THAT(one(item, R"({"op":"replace","path":"/x","value":1})"),
                HasSubstr("'x' does not exist"));
    EXPECT_THAT(one(item, R"({"op":"remove","path":"/x"})"),
                StartsWith("error: Patch operation 0 (remove /x)"));
    EXPECT_THAT(one(item, R"({"op":"remove","path":"/a/x"})"), StartsWith("error: "));
    EXPECT_THAT(one(item, R"({"op":"set","path":"/x/y","value":1})"),
                HasSubstr("'x' does not exist"));
    EXPECT_THAT(one(item, R"({"op":"add","path":"/z/y","value":1})"),
                HasSubstr("neither an object nor an array"));
    EXPECT_THAT(one(item, R"({"op":"move","from":"/x","path":"/y"})"),
                HasSubstr("'x' does not exist"));
    EXPECT_THAT(one(item, R"({"op":"move","from":"/z","path":"/x/y"})"),
                HasSubstr("'x' does not exist"));
    EXPECT_THAT(one(item, R"({"op":"move","from":"/z/q","path":"/y"})"), StartsWith("error: "));
}

TEST(ApplyPatch, Arrays) {
    const char* item = R"({"id":"1","a":[1,2,{"x":3}]})";
    EXPECT_EQ(one(item, R"({"op":"add","path":"/a/0","value":0})"),
              R"({"id":"1","a":[0,1,2,{"x":3}]})");
    EXPECT_EQ(one(item, R"({"op":"add","path":"/a/3","value":9})"),
              R"({"id":"1","a":[1,2,{"x":3},9]})");
    EXPECT_EQ(one(item, R"({"op":"add","path":"/a/-","value":9})"),
              R"({"id":"1","a":[1,2,{"x":3},9]})");
    EXPECT_EQ(one(item, R"({"op":"set","path":"/a/0","value":0})"),
              R"({"id":"1","a":[0,2,{"x":3}]})");
    EXPECT_EQ(one(item, R"({"op":"set","path":"/a/-","value":9})"),
              R"({"id":"1","a":[1,2,{"x":3},9]})");
    EXPECT_EQ(one(item, R"({"op":"set","path":"/a/3","value":9})"),
              R"({"id":"1","a":[1,2,{"x":3},9]})");
    EXPECT_EQ(one(item, R"({"op":"replace","path":"/a/2/x","value":4})"),
              R"({"id":"1","a":[1,2,{"x":4}]})");
    EXPECT_EQ(one(item, R"({"op":"replace","path":"/a/1","value":[]})"),
              R"({"id":"1","a":[1,[],{"x":3}]})");
    EXPECT_EQ(one(item, R"({"op":"remove","path":"/a/1"})"), R"({"id":"1","a":[1,{"x":3}]})");
    EXPECT_EQ(one(item, R"({"op":"incr","path":"/a/1","value":-5})"),
              R"({"id":"1","a":[1,-3,{"x":3}]})");
    EXPECT_EQ(one(item, R"({"op":"move","from":"/a/0","path":"/a/2"})"),
              R"({"id":"1","a":[2,{"x":3},1]})");
    EXPECT_EQ(one(item, R"({"op":"move","from":"/a/2","path":"/a/0"})"),
              R"({"id":"1","a":[{"x":3},1,2]})");
    EXPECT_EQ(one(item, R"({"op":"move","from":"/a/0","path":"/a/-"})"),
              R"({"id":"1","a":[2,{"x":3},1]})");
    EXPECT_EQ(one(R"({"id":"1","0":{"-":1}})", R"({"op":"set","path":"/0/-","value":2})"),
              R"({"id":"1","0":{"-":2}})");

    for (const char* op : {"add", "set", "replace", "incr"}) {
        for (const char* index : {"4", "18446744073709551616", "99999999999999999999999"}) {
            EXPECT_THAT(one(item, R"({"op":")" + std::string(op) + R"(","path":"/a/)" + index +
                                      R"(","value":1})"),
                        HasSubstr("out of range"))
                << op << index;
        }
        for (const char* index : {"01", "00", "-1", "+1", "1.0", "x", "", " 1", "0x1", "--"})
            EXPECT_THAT(one(item, R"({"op":")" + std::string(op) + R"(","path":"/a/)" + index +
                                      R"(","value":1})"),
                        HasSubstr("not an index"))
                << op << index;
    }
    for (const char* op : {"replace", "incr", "remove"})
        for (const char* index : {"-", "3"})
            EXPECT_THAT(one(item, R"({"op":")" + std::string(op) + R"(","path":"/a/)" + index +
                                      R"(","value":1})"),
                        HasSubstr("out of range"))
                << op << index;
    EXPECT_THAT(one(item, R"({"op":"move","from":"/a/-","path":"/b"})"), HasSubstr("out of range"));
    EXPECT_THAT(one(item, R"({"op":"move","from":"/a/0","path":"/a/3"})"),
                HasSubstr("out of range"));
    EXPECT_THAT(one(item, R"({"op":"set","path":"/a/-/x","value":1})"), HasSubstr("out of range"));
}

TEST(ApplyPatch, Increment) {
    const auto incr = [](const std::string& number, const std::string& by) {
        return one("{\"id\":\"1\",\"n\":" + number + "}",
                   R"({"op":"incr","path":"/n","value":)" + by + "}");
    };
    EXPECT_EQ(incr("1", "2"), R"({"id":"1","n":3})");
    EXPECT_EQ(incr("9007199254740993", "2"), R"({"id":"1","n":9007199254740995})");
    EXPECT_EQ(incr("9223372036854775806", "1"), R"({"id":"1","n":9223372036854775807})");
    EXPECT_EQ(incr("9223372036854775807", "1"), R"({"id":"1","n":9223372036854776000})");
    EXPECT_EQ(incr("-9223372036854775808", "-1"), R"({"id":"1","n":-9223372036854776000})");
    EXPECT_EQ(incr("1.5", "1"), R"({"id":"1","n":2.5})");
    EXPECT_EQ(incr("1", "0.5"), R"({"id":"1","n":1.5})");
    EXPECT_EQ(incr("1.0", "1"), R"({"id":"1","n":2})");
    EXPECT_THAT(incr("1e308", "1e308"), HasSubstr("beyond the range"));
    EXPECT_EQ(one(R"({"id":"1"})", R"({"op":"incr","path":"/n","value":1.50})"),
              R"({"id":"1","n":1.50})");
    for (const char* value : {"null", "\"1\"", "true", "[]", "{}"})
        EXPECT_THAT(incr(value, "1"), HasSubstr("not a number")) << value;
    EXPECT_THAT(one(R"({"id":"1"})", R"({"op":"incr","path":"/x/n","value":1})"),
                HasSubstr("does not exist"));
}

TEST(ApplyPatch, InOrderAndAllOrNothing) {
    EXPECT_EQ(
        patched(
            R"({"id":"1"})",
            R"([{"op":"add","path":"/a","value":{}},{"op":"set","path":"/a/b","value":[1]},{"op":"add","path":"/a/b/0","value":0},{"op":"incr","path":"/a/b/1","value":5},{"op":"move","from":"/a/b","path":"/c"}])"),
        R"({"id":"1","a":{},"c":[0,6]})");
    EXPECT_THAT(patched(R"({"id":"1","a":1})",
                        R"([{"op":"remove","path":"/a"},{"op":"replace","path":"/a","value":1}])"),
                StartsWith("error: Patch operation 1 (replace /a)"));
}

TEST(ApplyPatch, ImmutableProperties) {
    const char* item = R"({"id":"1","pk":"p","t":{"u":"q","v":1},"a":1})";
    const std::vector<MemberPath> key = {{"pk"}, {"t", "u"}};
    for (const char* path : {"/id", "/id/x", "/_rid", "/_self", "/_etag", "/_ts", "/_attachments",
                             "/_lsn", "/_ts/x", "/pk", "/pk/x", "/t/u", "/t/u/w"}) {
        for (const char* op : {"add", "set", "replace", "remove", "incr"})
            EXPECT_THAT(patched(item,
                                R"([{"op":")" + std::string(op) + R"(","path":")" + path +
                                    R"(","value":1}])",
                                key),
                        HasSubstr("cannot be changed"))
                << op << path;
        EXPECT_THAT(
            patched(item, R"([{"op":"move","from":")" + std::string(path) + R"(","path":"/b"}])",
                    key),
            HasSubstr("cannot be changed"));
        EXPECT_THAT(
            patched(item, R"([{"op":"move","from":"/a","path":")" + std::string(path) + R"("}])",
                    key),
            HasSubstr("cannot be changed"));
    }
    // A parent of the key may be replaced as long as the key stays what it is.
    EXPECT_EQ(patched(item, R"([{"op":"set","path":"/t","value":{"u":"q"}}])", key),
              R"({"id":"1","pk":"p","t":{"u":"q"},"a":1})");
    for (const char* patch :
         {R"([{"op":"set","path":"/t","value":{"u":"other"}}])", R"([{"op":"remove","path":"/t"}])",
          R"([{"op":"move","from":"/t","path":"/s"}])"})
        EXPECT_THAT(patched(item, patch, key), HasSubstr("partition key /t/u")) << patch;
    EXPECT_EQ(
        patched(
            item,
            R"([{"op":"set","path":"/t/v","value":2},{"op":"set","path":"/t/id","value":3},{"op":"set","path":"/_x","value":4}])",
            key),
        R"({"id":"1","pk":"p","t":{"u":"q","v":2,"id":3},"a":1,"_x":4})");
    // A missing key cannot be created.
    EXPECT_THAT(patched(R"({"id":"1"})", R"([{"op":"add","path":"/pk","value":"p"}])"),
                HasSubstr("cannot be changed"));
    EXPECT_THAT(patched(R"({"id":"1"})", R"([{"op":"add","path":"/t","value":{"u":1}}])", key),
                HasSubstr("partition key"));
}
}  // namespace
}  // namespace orrery::json
