#include "cli/shell_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/completion.h"
#include "cli/shell.h"
#include "json/parse.h"

namespace orrery::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(StatementsTest, EndAtSemicolonsOutsideStrings) {
    std::string text = "SELECT ';' FROM c; SELECT \"a\\\";\" -- not; here\nFROM c;\n ; SELECT 1";
    EXPECT_THAT(take_statements(text),
                ElementsAre("SELECT ';' FROM c", "SELECT \"a\\\";\" -- not; here\nFROM c"));
    EXPECT_EQ(text, " SELECT 1");
    text = "  \n";
    EXPECT_THAT(take_statements(text), IsEmpty());
    EXPECT_EQ(text, "");
}

TEST(StatementsTest, Words) {
    EXPECT_THAT(split_words(".read \"a b\"  c"), ElementsAre(".read", "a b", "c"));
    EXPECT_THAT(split_words(""), IsEmpty());
}

TEST(CompletionTest, WordsFunctionsPathsParametersCommands) {
    CompletionContext context;
    context.commands = {".use", ".unset", ".help"};
    context.containers = {"shop/orders", "shop/items", "crm/people"};
    context.paths = {"address", "address.city", "address.zip", "age", "name"};
    context.parameters = {"@who"};
    EXPECT_THAT(complete_line("sel", context).candidates, ElementsAre("SELECT"));
    EXPECT_EQ(complete_line("SELECT * FROM c WHERE starts", context).typed, 6u);
    EXPECT_THAT(complete_line("SELECT * FROM c WHERE starts", context).candidates,
                ElementsAre("STARTSWITH("));
    EXPECT_THAT(complete_line("SELECT c.a", context).candidates,
                ElementsAre("address", "address.", "age"));
    EXPECT_THAT(complete_line("SELECT c.address.", context).candidates,
                ElementsAre("address.city", "address.zip"));
    EXPECT_THAT(complete_line("WHERE c.x = @", context).candidates, ElementsAre("@who"));
    EXPECT_THAT(complete_line(".u", context).candidates, ElementsAre(".unset", ".use"));
    EXPECT_THAT(complete_line(".use shop/", context).candidates,
                ElementsAre("shop/items", "shop/orders"));
    EXPECT_THAT(complete_line("", context).candidates, IsEmpty());
    EXPECT_THAT(complete_line("SELECT 1.5", context).candidates, IsEmpty());
}

TEST(CompletionTest, PathsComeFromItems) {
    json::Arena arena;
    std::vector<std::string> paths;
    collect_paths(*json::parse(R"({"a":{"b":1,"c d":2},"e":[{"f":1}],"a-b":3})", arena), paths);
    EXPECT_THAT(paths, ElementsAre("a", "a.b", "e"));
}

TEST(ParametersTest, JsonOrText) {
    std::map<std::string, std::string> parameters;
    ASSERT_TRUE(add_parameter("@n=5", parameters).ok());
    ASSERT_TRUE(add_parameter("@s=ann", parameters).ok());
    ASSERT_TRUE(add_parameter("@q=\"5\"", parameters).ok());
    EXPECT_EQ(parameters["@n"], "5");
    EXPECT_EQ(parameters["@s"], "\"ann\"");
    EXPECT_EQ(parameters["@q"], "\"5\"");
    EXPECT_FALSE(add_parameter("n=5", parameters).ok());
    EXPECT_FALSE(add_parameter("@=5", parameters).ok());
}

TEST(CompletionFileTest, NamesEverything) {
    const std::vector<CommandWord> commands = {
        {"serve",
         "Run it",
         {{"--mode", "It's [how]", true, false, {"a", "b"}}, {"--all", "All", false, false, {}}},
         {}},
        {"completion", "Files", {}, {"bash", "zsh"}}};
    for (const ShellKind kind : {ShellKind::kBash, ShellKind::kZsh, ShellKind::kFish}) {
        const std::string text = completion_file(kind, "orrery", commands);
        for (const char* word : {"serve", "mode", "all", "a b", "bash zsh"})
            EXPECT_THAT(text, HasSubstr(word));
    }
}

}  // namespace
}  // namespace orrery::cli
