#include "query/function_names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace orrery::query {
namespace {

TEST(FunctionNames, AreKnown) {
    EXPECT_TRUE(is_aggregate_function("count"));
    EXPECT_FALSE(is_aggregate_function("ABS"));
    EXPECT_TRUE(is_served_function("StartsWith"));
    EXPECT_FALSE(is_served_function("UPPER"));
    EXPECT_FALSE(is_served_function("nothing"));
}

/// The browser's editor has a list of its own, in its language: it says what the table says.
TEST(FunctionNames, AreThoseOfTheEditor) {
    std::ifstream file(ORRERY_EDITOR_FUNCTIONS);
    ASSERT_TRUE(file) << ORRERY_EDITOR_FUNCTIONS;
    std::stringstream text;
    text << file.rdbuf();
    const std::string source = text.str();
    const size_t begin = source.find("export const FUNCTIONS");
    ASSERT_NE(begin, std::string::npos);
    const std::string list = source.substr(begin, source.find("};", begin) - begin);
    size_t offered = 0;
    for (const FunctionName& function : function_names()) {
        if (!function.offered) continue;
        ++offered;
        std::string entry = std::string(function.name) + ": '";
        entry += std::string(function.arguments) + "'";
        EXPECT_NE(list.find(entry), std::string::npos) << entry << " is missing in the editor";
    }
    EXPECT_EQ(static_cast<size_t>(std::count(list.begin(), list.end(), '\'')), 2 * offered)
        << "the editor has functions that the language does not have";
}

}  // namespace
}  // namespace orrery::query
