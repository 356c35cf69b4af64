#include "json/problems.h"

#include <gtest/gtest.h>

namespace orrery::json {
namespace {

TEST(ProblemsTest, WhatAProblemLacksIsLeftOut) {
    const std::vector<QueryProblem> problems = {
        {"SC1001", "near 'x'.", "Say \"y\".", QueryProblem::Place{3, 5}},
        {"2206", "too many", "", std::nullopt},
        {"", "é", "", QueryProblem::Place{0, 0}}};
    EXPECT_EQ(problems_text(problems),
              R"({"errors":[{"severity":"Error","location":{"start":3,"end":5},"code":"SC1001",)"
              R"("message":"near 'x'.","hint":"Say \"y\"."},)"
              R"({"severity":"Error","code":2206,"message":"too many"},)"
              R"({"severity":"Error","location":{"start":0,"end":0},"message":"é"}]})");
}

}  // namespace
}  // namespace orrery::json
