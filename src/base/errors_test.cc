#include "base/errors.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/script_errors.h"
#include "base/throughput_errors.h"

namespace orrery {
namespace {

/// One error of each code that modules below the heads make.
std::vector<Error> all_errors() {
    using namespace errors;
    return {bad_request("x"),
            bad_json("x", 1),
            not_supported("x", "y"),
            missing_property("x"),
            invalid_id("x"),
            invalid_ttl("0"),
            missing_partition_key(),
            invalid_partition_key("x", "y"),
            invalid_continuation("x"),
            foreign_continuation(),
            continuation_cut(),
            foreign_feed_position(),
            feed_position_elsewhere(),
            feed_position_ahead("7", "0", 5),
            feed_history_gone(),
            partition_key_mismatch(),
            collection_rid_mismatch(),
            query_compile({{"SC1001", "near 'x'.", "", QueryProblem::Place{0, 1}}}),
            serverless_offer(),
            two_throughputs(),
            offer_is_autoscale(),
            offer_is_manual(),
            script_syntax("x", 1, 2),
            script_failed("x", "", 0),
            function_failed("f", "x"),
            trigger_runs_before("t"),
            trigger_runs_after("t"),
            unauthorized("x"),
            forbidden("x"),
            outside_token_key(),
            shared_database_full("x"),
            logical_partition_full("x"),
            too_many_scripts("triggers", 25),
            entity_too_large(2),
            batch_response_too_large(),
            script_memory(1 << 20),
            script_answer_too_large(4),
            memory_limit(1 << 20),
            not_found(),
            resource_not_found("x"),
            owner_not_found("x"),
            session_not_available(),
            range_gone("0"),
            range_switching("0"),
            transaction_gone("t"),
            cursor_gone("c"),
            not_the_writer("west"),
            region_gone("west"),
            conflict(),
            unique_key_conflict(),
            schema_exists("x"),
            precondition_failed(),
            patch_condition_failed(),
            failed_dependency(),
            retry_with(),
            write_conflict(),
            scale_running(),
            request_rate_too_large(5),
            metadata_rate_too_large(5),
            request_timeout("x"),
            script_timeout(5),
            scripts_busy(),
            scripts_stuck(5),
            service_unavailable("x"),
            outcome_unknown(),
            internal("x"),
            storage_read_only("x")};
}

TEST(ErrorsTest, EveryCodeHasAFactoryAndAText) {
    // Heads make these two themselves.
    std::set<Code> made = {Code::kOperationUnknown, Code::kBodyFormUnknown};
    for (const Error& error : all_errors()) {
        EXPECT_TRUE(made.insert(error.code).second) << error.message;
        EXPECT_FALSE(error.message.empty()) << static_cast<int>(error.code);
    }
    EXPECT_EQ(made.size(), kCodeCount);
}

TEST(ErrorsTest, Groups) {
    const auto count = [](bool (*is)(Code)) {
        size_t members = 0;
        for (size_t i = 0; i < kCodeCount; ++i) members += is(static_cast<Code>(i)) ? 1 : 0;
        return members;
    };
    EXPECT_TRUE(errors::is_bad_request(Code::kBadRequest));
    EXPECT_TRUE(errors::is_bad_request(Code::kTriggerRunsAfter));
    EXPECT_FALSE(errors::is_bad_request(Code::kOperationUnknown));
    EXPECT_EQ(count(errors::is_bad_request), 27u);
    EXPECT_EQ(count(errors::is_absence), 4u);
    EXPECT_EQ(count(errors::is_duplicate), 3u);
    EXPECT_EQ(count(errors::is_rate_limit), 2u);
    EXPECT_EQ(count(errors::is_server_failure), 5u);
}

TEST(ErrorsTest, DetailsSayWhatTheCodeDoesNot) {
    EXPECT_EQ(errors::entity_too_large(7).details.limit, 7u);
    EXPECT_EQ(errors::memory_limit(3 << 20).details.limit, 3u << 20);
    EXPECT_EQ(errors::too_many_scripts("triggers", 25).details.limit, 25u);
    EXPECT_EQ(errors::request_rate_too_large(17).details.retry_after_ms, 17);
    EXPECT_EQ(errors::metadata_rate_too_large(18).details.retry_after_ms, 18);
    EXPECT_EQ(errors::scripts_stuck(2).details.retry_after_ms, 1000);
    EXPECT_EQ(errors::owner_not_found("x").details.subject, "x");
    EXPECT_EQ(errors::range_gone("4").details.subject, "4");
    EXPECT_EQ(errors::not_the_writer("west").details.subject, "west");
    EXPECT_EQ(errors::invalid_partition_key("x", "y").details.expected, "y");
    EXPECT_EQ(errors::script_failed("x", "", 404).details.number, 404);
    for (const double number : {0.0, -1.0, 1.5, 65'536.0})
        EXPECT_EQ(errors::script_failed("x", "", number).details.number, 0) << number;
}

TEST(ErrorsTest, AQuerysProblemsMakeItsText) {
    const Error error = errors::query_compile(
        {{"SC1001", "One.", "", QueryProblem::Place{0, 1}}, {"", "Two.", "Hint.", std::nullopt}});
    EXPECT_EQ(error.message, "One. Two.");
    ASSERT_EQ(error.details.problems.size(), 2u);
    EXPECT_EQ(error.details.problems[1].hint, "Hint.");
}

TEST(ErrorsTest, AStatusIsOnePointer) {
    static_assert(sizeof(Status) == sizeof(void*));
    const Status status(errors::range_gone("0"));
    EXPECT_EQ(status.clone().error().details.subject, "0");
}

}  // namespace
}  // namespace orrery
