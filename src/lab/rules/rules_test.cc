#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "json/parse.h"
#include "json/write.h"
#include "lab/rules/report.h"

namespace orrery::lab {
namespace {

// tests/lab/rules.json: for every rule, observations on which it must speak, and close relatives on
// which it must not.
std::string cases_text() {
    std::ifstream file(std::string(ORRERY_LAB_TESTS) + "/rules.json");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

const Judgement& judgement_of(const std::vector<Judgement>& all, int rule) {
    return all[static_cast<size_t>(rule - 1)];
}

TEST(Rules, EachSpeaksWhereItMustAndOnlyThere) {
    const std::string text = cases_text();
    json::Arena arena;
    const auto cases = json::parse(text, arena);
    ASSERT_TRUE(cases.ok()) << "tests/lab/rules.json";
    std::set<int> covered;
    for (const auto& one : cases->elements()) {
        const int rule = static_cast<int>(one.member("rule").as_double());
        covered.insert(rule);
        const std::string name =
            std::to_string(rule) + " " + std::string(one.member("name").as_string());
        const auto triggers = read_observation(json::to_text(one.member("triggers")));
        const auto quiet = read_observation(json::to_text(one.member("quiet")));
        ASSERT_TRUE(triggers.ok() && quiet.ok()) << name;
        const auto loud = judge_all(*triggers, {});
        const auto& found = judgement_of(loud, rule);
        ASSERT_EQ(found.state(), Judgement::State::kFound) << name << ": " << found.why;
        for (const auto& finding : found.findings) {
            EXPECT_EQ(finding.rule, rule);
            EXPECT_FALSE(finding.summary.empty()) << name;
            EXPECT_FALSE(finding.facts.empty()) << name;
            EXPECT_FALSE(finding.change.text.empty()) << name;
            EXPECT_TRUE(finding.saved_month > 0 || !finding.saving_note.empty()) << name;
            EXPECT_GE(finding.saved_ru_month, 0) << name;
            if (!finding.change.json.empty()) {
                EXPECT_TRUE(json::parse(finding.change.json, arena).ok())
                    << name << ": " << finding.change.json;
            }
            EXPECT_TRUE(json::parse(finding_json(finding), arena).ok()) << name;
        }
        const auto silent = judge_all(*quiet, {});
        for (const auto& finding : judgement_of(silent, rule).findings)
            ADD_FAILURE() << name << ": " << finding.summary;
    }
    EXPECT_EQ(covered.size(), all_rules().size());
}

TEST(Rules, WithoutEvidenceNothingIsSaidAndNothingPasses) {
    Observation nothing;
    // These need no traffic: without a neighbour, a level or a mode there is nothing to judge.
    const std::set<int> quiet = {7, 25, 26, 28};
    for (const auto& judgement : judge_all(nothing, {})) {
        EXPECT_TRUE(judgement.findings.empty()) << judgement.rule;
        const bool no_evidence = judgement.state() == Judgement::State::kNoEvidence;
        // Rules on writes have nothing to say about a container without any.
        if (judgement.rule == 12 || judgement.rule == 35) continue;
        EXPECT_EQ(no_evidence, !quiet.contains(judgement.rule))
            << judgement.rule << " " << judgement.why;
    }
}

TEST(Rules, ThresholdsCanBeChanged) {
    json::Arena arena;
    const auto observation = read_observation(
        R"({"observedSeconds":3600,"keyPaths":["/t"],"itemUse":{"samples":10,"meanBytes":500},
            "paths":[{"path":"/a","samples":10,"terms":2}],"queries":[{"text":"q","runs":5,"pages":5}],
            "operations":[{"operation":"create","requests":3600,"ru":20000}]})");
    ASSERT_TRUE(observation.ok());
    EXPECT_EQ(judgement_of(judge_all(*observation, {}), 15).state(), Judgement::State::kNoEvidence);
    const auto limits = read_thresholds(*json::parse(R"({"unusedIndexDays":0.01})", arena));
    ASSERT_TRUE(limits.ok());
    const auto all = judge_all(*observation, *limits);
    ASSERT_EQ(judgement_of(all, 15).state(), Judgement::State::kFound);
    // 3,600 writes an hour, two terms of 4/21 RU each, 730 hours.
    EXPECT_EQ(judgement_of(all, 15).findings[0].saved_ru_month, 1'001'143);
    EXPECT_FALSE(read_thresholds(*json::parse(R"({"unusedIndexDay":1})", arena)).ok());
    EXPECT_FALSE(read_thresholds(*json::parse(R"({"unusedIndexDays":"x"})", arena)).ok());
}

/// What was wanted is that of the busiest minute. Where that is less than what is provisioned, it
/// is said that bursts are the matter, and the advice is for the busiest second: never more
/// throughput than was ever asked for on top of a need that is smaller.
TEST(Rules, ThroughputThatWasWantedIsThatOfTheBusiestMinute) {
    const auto found = [](const std::string& minutes) {
        const auto observation = read_observation(
            R"({"observedSeconds":3600,"keyPaths":["/pk"],"throughput":{"mode":"manual","ru":400},
                "ranges":[{"id":"0","provisionedRu":400,"minutes":[)" +
            minutes + "]}]}");
        EXPECT_TRUE(observation.ok()) << observation.error().message;
        return judgement_of(judge_all(*observation, {}), 27).findings.at(0);
    };
    const std::string quiet = R"({"ru":6,"peakRu":1,"requests":6,"throttled":0},)";
    // 18,000 RU in 1,800 requests and 1,200 more of 10 RU each that were refused: 500 a second.
    const auto steady =
        found(quiet + quiet + R"({"ru":18000,"peakRu":400,"requests":3000,"throttled":1200})");
    EXPECT_EQ(steady.severity, Severity::kHigh);
    EXPECT_EQ(steady.change.json, R"({"throughput":500})");
    // A few seconds of one minute.
    const auto burst = found(quiet + R"({"ru":3000,"peakRu":795,"requests":600,"throttled":270})");
    EXPECT_EQ(burst.severity, Severity::kMedium);
    EXPECT_EQ(burst.change.json, R"({"throughput":800})");
    EXPECT_NE(burst.change.text.find("bursts"), std::string::npos) << burst.change.text;
}

/// A level against skew names something: numbers that queries filter by have more values, and are
/// not it.
TEST(Rules, AFurtherKeyLevelNamesSomething) {
    const auto level = [](const std::string& paths) {
        const auto observation = read_observation(
            R"({"observedSeconds":3600,"keyPaths":["/tenant"],"items":1000,"bytes":1000000,
                "storageKeys":{"complete":true,"distinct":50,"medianBytes":1000,"gini":0.9,
                    "largest":[{"key":"[\"big\"]","items":900,"bytes":900000}]},
                "itemUse":{"samples":900,"meanBytes":500},"paths":[)" +
            paths + "]}");
        EXPECT_TRUE(observation.ok()) << observation.error().message;
        if (!observation.ok()) return std::string();
        const auto all = judge_all(*observation, {});
        EXPECT_EQ(judgement_of(all, 1).state(), Judgement::State::kFound);
        json::Arena arena;
        const auto change = json::parse(judgement_of(all, 1).findings[0].change.json, arena);
        const auto key = change->member("partitionKey").member("paths").elements();
        EXPECT_EQ(key.size(), 2u);
        EXPECT_EQ(key[0].as_string(), "/tenant");
        return std::string(key[1].as_string());
    };
    const std::string price =
        R"({"path":"/price","samples":900,"distinct":880,"filterRuns":500,"examples":["1.5","20"]})";
    const std::string user =
        R"({"path":"/user","samples":900,"distinct":300,"filterRuns":3,"examples":["\"anna\"","\"bob\""]})";
    const std::string mail =
        R"({"path":"/mail","samples":900,"distinct":890,"examples":["\"a@b\"","\"c@d\""]})";
    const std::string when =
        R"({"path":"/when","samples":900,"distinct":900,"filterRuns":9,"timeLike":true,"examples":["\"2024-01-01T00:00:00Z\""]})";
    const std::string device =
        R"({"path":"/deviceId","samples":900,"distinct":200,"filterRuns":1,"examples":["17","4711"]})";
    EXPECT_EQ(level(price), "/id");
    EXPECT_EQ(level(when), "/id");
    EXPECT_EQ(level(price + "," + user), "/user");
    EXPECT_EQ(level(price + "," + mail), "/mail");
    // Queries that filter by it find their partition.
    EXPECT_EQ(level(mail + "," + price + "," + user), "/user");
    // A number that is called an id is one.
    EXPECT_EQ(level(price + "," + when + "," + device), "/deviceId");
}

TEST(Observation, SurvivesJson) {
    const std::string text = cases_text();
    json::Arena arena;
    const auto cases = json::parse(text, arena);
    ASSERT_TRUE(cases.ok());
    for (const auto& one : cases->elements()) {
        const auto first = read_observation(json::to_text(one.member("triggers")));
        ASSERT_TRUE(first.ok());
        const std::string written = observation_json(*first);
        const auto second = read_observation(written);
        ASSERT_TRUE(second.ok()) << written;
        EXPECT_EQ(observation_json(*second), written);
    }
    const auto wrong = read_observation(R"({"queries":[{"runs":1},{"runs":"many"}]})");
    ASSERT_FALSE(wrong.ok());
    EXPECT_NE(wrong.error().message.find("/queries/1/runs"), std::string::npos)
        << wrong.error().message;
    EXPECT_FALSE(read_observation(R"({"querys":[]})").ok());
    EXPECT_FALSE(read_observation("[]").ok());
    EXPECT_FALSE(read_observation("{").ok());
}

TEST(Report, NamesWorstAndEscapes) {
    const auto observation = read_observation(
        R"({"database":"<b>","container":"c","observedSeconds":3600,"keyPaths":["/t"],"consistency":"Strong",
            "operations":[{"operation":"read","requests":10,"ru":20}]})");
    ASSERT_TRUE(observation.ok());
    const Report report = make_report({*observation}, {}, 1'700'000'000);
    ASSERT_TRUE(report.worst().has_value());
    EXPECT_EQ(*report.worst(), Severity::kMedium);
    json::Arena arena;
    const auto json = json::parse(report_json(report, true), arena);
    ASSERT_TRUE(json.ok());
    EXPECT_EQ(json->member("worst").as_string(), "medium");
    EXPECT_EQ(json->member("containers").elements()[0].member("findings").elements().size(), 1u);
    EXPECT_TRUE(json->member("containers").elements()[0].member("observation").is_object());
    EXPECT_EQ(report_html(report).find("<b> /"), std::string::npos);
    EXPECT_NE(report_html(report).find("&lt;b&gt;"), std::string::npos);
    EXPECT_NE(report_markdown(report).find("### 25."), std::string::npos);
    const Report empty = make_report({}, {}, 0);
    EXPECT_FALSE(empty.worst().has_value());
    EXPECT_TRUE(json::parse(report_json(empty, false), arena).ok());
}

}  // namespace
}  // namespace orrery::lab
