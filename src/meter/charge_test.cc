#include "meter/charge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace orrery::meter {
namespace {

constexpr uint64_t kKb = 1024;

/// Published figures: the formula's two decimals, and how far the published figure may be away.
struct Row {
    const char* what;
    double published;
    const char* formula;
    double tolerance;  // relative
    Charge charge;
};

void check(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
        SCOPED_TRACE(row.what);
        EXPECT_EQ(ru_text(row.charge), row.formula);
        EXPECT_LE(std::abs(ru_value(row.charge) - row.published),
                  row.tolerance * row.published + 0.005);
    }
}

/// A query that visits one partition.
Charge query(QueryWork work) {
    return query_partition(work) + query_bytes(work.loaded_bytes, work.returned_bytes);
}
/// Items loaded and returned whole.
Charge query(uint64_t seeks, uint64_t items, double kilobytes_each) {
    const auto bytes =
        static_cast<uint64_t>(std::llround(static_cast<double>(items) * kilobytes_each * 1024));
    return query(
        {.seeks = seeks, .loaded_items = items, .loaded_bytes = bytes, .returned_bytes = bytes});
}

TEST(Charge, PublishedPointReads) {
    check({
        {"1 KB", 1.00, "1.00", 0.007, point_read(1 * kKb)},
        {"2 KB", 1.04, "1.05", 0.007, point_read(2 * kKb)},
        {"4 KB", 1.14, "1.14", 0.007, point_read(4 * kKb)},
        {"8 KB", 1.33, "1.33", 0.007, point_read(8 * kKb)},
        {"16 KB", 1.67, "1.67", 0, point_read(16 * kKb)},
        {"32 KB", 2.19, "2.19", 0, point_read(32 * kKb)},
        {"64 KB", 4.76, "4.76", 0, point_read(64 * kKb)},
        {"128 KB", 9.95, "9.95", 0, point_read(128 * kKb)},
        {"256 KB", 20.28, "20.29", 0.0005, point_read(256 * kKb)},
        {"512 KB", 40.95, "40.95", 0, point_read(512 * kKb)},
        {"1 MB", 145.90, "145.90", 0, point_read(1024 * kKb)},
        {"2 MB", 291.80, "291.81", 0.0005, point_read(2048 * kKb)},
    });
}

TEST(Charge, PublishedWrites) {
    check({
        {"1 KB", 4.95, "4.95", 0.001, create(1 * kKb, 0)},
        {"2 KB", 6.29, "6.29", 0.001, create(2 * kKb, 0)},
        {"4 KB", 6.67, "6.67", 0.001, create(4 * kKb, 0)},
        {"8 KB", 7.04, "7.05", 0.001, create(8 * kKb, 0)},
        {"16 KB", 9.52, "9.52", 0.001, create(16 * kKb, 0)},
        {"32 KB", 11.23, "11.24", 0.001, create(32 * kKb, 0)},
        {"64 KB", 22.67, "22.67", 0.001, create(64 * kKb, 0)},
        {"128 KB", 48.19, "48.19", 0.001, create(128 * kKb, 0)},
        {"256 KB", 98.29, "98.29", 0, create(256 * kKb, 0)},
        {"512 KB", 184.57, "184.57", 0, create(512 * kKb, 0)},
        {"1 MB", 625, "625.00", 0, create(1024 * kKb, 0)},
        {"2 MB", 1250, "1250.00", 0, create(2048 * kKb, 0)},
        {"create, 10 terms", 7.0, "6.86", 0.021, create(kKb, 10)},
        {"replace, one value", 10.8, "10.67", 0.0125, replace(kKb, kKb, 2, 2)},
        {"patch, one value, 2 operations", 11.6, "11.47", 0.0125, patch(kKb, kKb, 2, 2, 2)},
        {"delete, 10 terms", 7.0, "6.86", 0.021, remove(kKb, 10)},
        {"create, 2 pairs", 5.71, "5.71", 0, create(100, 4)},
        {"create, 5 pairs", 7.05, "6.86", 0.03, create(900, 10)},
        {"create, 25 pairs", 15, "14.48", 0.035, create(kKb, 50)},
        {"create, 14 pairs, older index", 12.38, "10.29", 0.17, create(800, 28)},
        {"actor state, create", 6.29, "6.29", 0, create(500, 7)},
        {"actor state, replace", 10.29, "10.29", 0, replace(500, 500, 1, 1)},
        {"1 KB order, all paths", 13, "12.95", 0.01, create(kKb, 42)},
        {"1 KB order, some paths", 6, "6.10", 0.02, create(kKb, 6)},
        {"1 KB order, no paths", 5, "4.95", 0.01, create(kKb, 0)},
        {"read in a procedure", 5.63, "5.60", 0.07, stored_procedure_run() + point_read(500)},
        {"create in a procedure", 11.68, "10.89", 0.07, stored_procedure_run() + create(500, 7)},
        {"update in a procedure", 14.89, "14.89", 0.07,
         stored_procedure_run() + replace(500, 500, 1, 1)},
    });
}

TEST(Charge, PublishedQueries) {
    check({
        {"key, no match", 2.79, "2.79", 0, query(1, 0, 0)},
        {"key, 0.9 KB", 2.83, "2.84", 0.004, query(1, 1, 0.9)},
        {"key and id, 0.9 KB", 2.93, "2.96", 0.01, query(2, 1, 0.9)},
        {"key and id, 2 KB", 2.95, "3.00", 0.02, query(2, 1, 2)},
        {"IN of 1", 2.92, "2.93", 0.004, query(2, 1, 0.15)},
        {"IN of 2", 3.06, "3.06", 0, query(3, 2, 0.15)},
        {"IN of 3", 3.20, "3.20", 0, query(4, 3, 0.15)},
        {"IN of 5", 3.47, "3.48", 0.004, query(6, 5, 0.15)},
        {"equality, 3 of 0.4 KB", 2.89, "2.87", 0.014, query(1, 3, 0.4)},
        {"equality, 3 of 0.9 KB", 2.89, "2.93", 0.014, query(1, 3, 0.9)},
        {"equality, one of 6.5 KB", 2.98, "3.05", 0.025, query(1, 1, 6.5)},
        {"equality, one of 9.7 KB", 3.19, "3.18", 0.004, query(1, 1, 9.7)},
        {"key, ORDER BY, 3 of 0.2 KB", 2.89, "2.85", 0.015, query(1, 3, 0.2)},
        {"range, 13 of 0.45 KB", 3.23, "3.18", 0.02, query(1, 13, 0.45)},
        {"no filter, 8 of 0.3 KB", 2.40, "2.44", 0.02, query(0, 8, 0.3)},
        {"scan, 295 of 0.45 KB, one match", 7.07, "7.08", 0.002,
         query({.loaded_items = 295, .loaded_bytes = 135936, .returned_bytes = 461})},
        {"scan of 400 MB", 4059.95, "4084.45", 0.01,
         query({.loaded_items = 60'951, .loaded_bytes = 400'000'000})},
        {"100 results of 1 KB", 10, "7.89", 0.25, query(1, 100, 1)},
        {"no match in a partition", 2.5, "2.79", 0.2, query(1, 0, 0)},
        {"indexed query on a 1 KB order", 3, "2.84", 0.06, query(1, 1, 1)},
    });
}

TEST(Charge, WorkedExamples) {
    const auto expect_quanta = [](Charge charge, int64_t quanta, const char* text) {
        EXPECT_EQ(charge.units, quanta * kUnitsPerQuantum) << text;
        EXPECT_EQ(ru_text(charge), text);
    };
    expect_quanta(create(19, 4), 120, "5.71");                  // 1
    expect_quanta(remove(19, 4), 120, "5.71");                  // 1
    expect_quanta(point_read(19), 21, "1.00");                  // 1
    expect_quanta(create(10, 2), 112, "5.33");                  // 2
    expect_quanta(create(104, 16), 168, "8.00");                // 3
    expect_quanta(create(104, 4), 120, "5.71");                 // 4
    expect_quanta(create(104, 0), 104, "4.95");                 // 4, mode none
    expect_quanta(create(82, 14), 160, "7.62");                 // 5
    expect_quanta(create(75, 13), 156, "7.43");                 // 6
    expect_quanta(replace(75, 75, 4, 4), 240, "11.43");         // 7
    EXPECT_EQ(ru_text(patch(75, 75, 4, 4, 1)), "11.83");        // 7
    expect_quanta(create(32, 6), 128, "6.10");                  // 8
    expect_quanta(create(3'000, 6), 160, "7.62");               // 9
    expect_quanta(point_read(3'000), 23, "1.10");               // 9
    expect_quanta(strong_read(point_read(3'000)), 46, "2.19");  // 9
    expect_quanta(create(716'800, 6), 7'297, "347.48");         // 10
    expect_quanta(point_read(716'800), 1'670, "79.52");         // 10
    const Charge two_seeks =
        query({.seeks = 2, .loaded_items = 4, .loaded_bytes = 1600, .returned_bytes = 1600});
    EXPECT_EQ(two_seeks.units, 63'402'281);  // 11
    EXPECT_EQ(ru_text(two_seeks), "3.02");   // 11
    Charge fan_out;
    for (int i = 0; i < 3; ++i) fan_out += query_partition({.seeks = 2});
    EXPECT_EQ(ru_text(fan_out + query_bytes(0, 0)), "8.73");                        // 12
    expect_quanta(create(19, 4) + point_read(19) + remove(104, 16), 309, "14.71");  // 13
    EXPECT_EQ(ru_text(stored_procedure_run() + create(19, 4)), "10.31");            // 14
    expect_quanta(feed_page(point_read(19) + point_read(3'000)), 44, "2.10");       // 15
    expect_quanta(failure(Code::kConflict), 26, "1.24");                            // 15
}

TEST(Charge, SizesBetweenAnchors) {
    EXPECT_EQ(read_quanta(0), 21);
    EXPECT_EQ(read_quanta(1024), 21);
    EXPECT_EQ(read_quanta(1025), 22);  // rounded up at once
    EXPECT_EQ(read_quanta(2048), 22);
    EXPECT_EQ(read_quanta(2049), 23);
    EXPECT_EQ(write_quanta(0), 104);
    EXPECT_EQ(write_quanta(1025), 108);
    EXPECT_EQ(write_quanta(512 * kKb), 3876);
    EXPECT_EQ(write_quanta(512 * kKb + 1), 3877);  // single quanta above 512 KB
    int64_t read_before = 0;
    int64_t write_before = 0;
    for (uint64_t bytes = 0; bytes <= 2048 * kKb; bytes += 97) {
        EXPECT_GE(read_quanta(bytes), read_before);
        EXPECT_GE(write_quanta(bytes), write_before);
        EXPECT_TRUE(bytes > 512 * kKb || write_quanta(bytes) % 4 == 0);
        read_before = read_quanta(bytes);
        write_before = write_quanta(bytes);
    }
    EXPECT_GT(read_quanta(~uint64_t{0}), 0);  // no overflow, whatever is asked
    EXPECT_GT(write_quanta(~uint64_t{0}), 0);
}

TEST(Charge, QueryExtras) {
    EXPECT_EQ(query_partition({}).units, 47'250'000);
    EXPECT_EQ(query_partition({.index_entries = 1000}).units, 47'250'000 + 10'500'000);
    EXPECT_EQ(query_partition({.join_tuples = 100}).units, 47'250'000 + 21'000'000);
    EXPECT_EQ(query_partition({.udf_calls = 100}).units, 47'250'000 + 21'000'000);
    EXPECT_EQ(query_bytes(1, 0).units, 174);  // 174.3 rounded down, once
    EXPECT_EQ(query_bytes(0, 1).units, 615);
    EXPECT_EQ(query_bytes(1, 1).units, 789);
}

TEST(Charge, FeedsMetadataFailures) {
    EXPECT_EQ(ru_text(feed_page({})), "1.00");
    EXPECT_EQ(ru_text(feed_page(from_quanta(21))), "1.00");
    EXPECT_EQ(ru_text(feed_page(from_quanta(22))), "1.05");
    EXPECT_EQ(ru_text(metadata_read()), "1.00");
    EXPECT_EQ(ru_text(strong_read(metadata_read())), "2.00");
    EXPECT_EQ(ru_text(metadata_write()), "4.95");
    EXPECT_EQ(ru_text(script_write()), "6.29");
    EXPECT_EQ(ru_text(trigger_run()), "2.00");
    EXPECT_EQ(ru_text(not_modified()), "1.00");
}

TEST(Charge, EveryFailure) {
    size_t priced = 0;
    const auto costs = [&](std::string_view ru, std::initializer_list<Code> codes) {
        for (const Code code : codes) {
            EXPECT_EQ(ru_text(failure(code)), ru) << static_cast<int>(code);
            ++priced;
        }
    };
    for (; priced <= static_cast<size_t>(Code::kTriggerRunsAfter); ++priced)
        EXPECT_EQ(ru_text(failure(static_cast<Code>(priced))), "1.00") << priced;
    costs("1.00", {Code::kNotFound, Code::kResourceNotFound, Code::kOwnerNotFound,
                   Code::kSessionNotAvailable, Code::kEntityTooLarge, Code::kBatchResponseTooLarge,
                   Code::kScriptMemory, Code::kScriptAnswerTooLarge, Code::kMemoryLimit,
                   Code::kLogicalPartitionFull, Code::kTransactionGone, Code::kCursorGone});
    costs("1.24", {Code::kConflict, Code::kUniqueKeyConflict, Code::kSchemaExists,
                   Code::kPreconditionFailed, Code::kPatchConditionFailed, Code::kRetryWith,
                   Code::kWriteConflict});
    costs("0.38", {Code::kRateLimited, Code::kMetadataRateLimited});
    costs("0.00", {Code::kOperationUnknown, Code::kBodyFormUnknown, Code::kUnauthorized,
                   Code::kForbidden,        Code::kOutsideTokenKey, Code::kSharedDatabaseFull,
                   Code::kTooManyScripts,   Code::kRangeGone,       Code::kRangeSwitching,
                   Code::kNotTheWriter,     Code::kRegionGone,      Code::kFailedDependency,
                   Code::kScaleRunning,     Code::kRequestTimeout,  Code::kScriptTimeout,
                   Code::kScriptsBusy,      Code::kScriptsStuck,    Code::kServiceUnavailable,
                   Code::kOutcomeUnknown,   Code::kInternal,        Code::kStorageReadOnly});
    EXPECT_EQ(priced, kCodeCount);
}

TEST(Charge, ClassicProfile) {
    const Pricing classic{ChargeProfile::kClassic, nullptr};
    const auto read = [&](uint64_t bytes) { return ru_text(point_read(bytes, classic)); };
    const auto write = [&](uint64_t bytes) { return ru_text(create(bytes, 0, classic)); };
    EXPECT_EQ(read(10), "1.00");
    EXPECT_EQ(read(1 * kKb), "1.00");
    EXPECT_EQ(read(4 * kKb), "1.30");
    EXPECT_EQ(read(34 * kKb), "5.65");
    EXPECT_EQ(read(64 * kKb), "10.00");
    EXPECT_EQ(read(100 * kKb), "10.00");
    EXPECT_EQ(read(200 * kKb), "20.00");  // beyond the table, as the size
    EXPECT_EQ(write(1 * kKb), "5.00");
    EXPECT_EQ(write(4 * kKb), "7.00");
    EXPECT_EQ(write(64 * kKb), "48.00");
    EXPECT_EQ(write(100 * kKb), "50.00");
    EXPECT_EQ(write(2048 * kKb), "1024.00");
    EXPECT_EQ(ru_text(create(1 * kKb, 10, classic)), "6.90");  // terms cost what they cost
    EXPECT_EQ(ru_text(replace(1 * kKb, 4 * kKb, 0, 0, classic)), "12.00");
    EXPECT_GT(point_read(~uint64_t{0}, classic).units, 0);  // no overflow
}

/// Every price, itemised: the lines add up to it.
TEST(Bill, AddsUpExactly) {
    const auto check = [](const auto& price, size_t lines) {
        Bill bill;
        const Charge charge = price(Pricing{ChargeProfile::kCurrent, &bill});
        EXPECT_EQ(bill.total(), charge);
        EXPECT_EQ(bill.lines().size(), lines);
    };
    check([](const Pricing& by) { return point_read(5'000, by); }, 1);
    check([](const Pricing& by) { return create(5'000, 7, by); }, 2);
    check([](const Pricing& by) { return replace(5'000, 6'000, 3, 4, by); }, 4);
    check([](const Pricing& by) { return patch(5'000, 6'000, 3, 4, 2, by); }, 5);
    check([](const Pricing& by) { return remove(5'000, 7, by); }, 2);
    check([](const Pricing& by) { return feed_page({}, by); }, 1);
    check([](const Pricing& by) { return feed_page(point_read(5'000, by), by); }, 1);
    check([](const Pricing& by) { return strong_read(point_read(5'000, by), by); }, 2);
    check([](const Pricing& by) { return stored_procedure_run(by) + create(19, 4, by); }, 3);
    check([](const Pricing& by) { return trigger_run(by); }, 1);
    check([](const Pricing& by) { return failure(Code::kConflict, by); }, 1);
    for (uint64_t bytes = 0; bytes < 4'000; bytes += 37)
        check(
            [&](const Pricing& by) {
                QueryWork work;
                work.seeks = 3;
                work.loaded_items = 4;
                work.index_entries = 5;
                work.join_tuples = 6;
                work.udf_calls = 7;
                return query_partition(work, by) + query_bytes(bytes + 1, 3 * bytes + 1, by);
            },
            9);
}

TEST(Bill, IsBounded) {
    Bill bill;
    for (int i = 0; i < 100; ++i) {
        bill.set_scope("operation " + std::to_string(i));
        create(100, 4, {ChargeProfile::kCurrent, &bill});
    }
    EXPECT_EQ(bill.lines().size(), 200u);
    const std::string whole = bill.json(ChargeProfile::kCurrent, 1 << 20);
    EXPECT_NE(whole.find("operation 99"), std::string::npos);
    const std::string added = bill.json(ChargeProfile::kCurrent, 4096);
    EXPECT_LE(added.size(), 4096u);
    EXPECT_EQ(
        added,
        R"({"requestCharge":571.43,"units":12000000000,"unitsPerRequestUnit":21000000,"profile":"current",)"
        R"("terms":[{"term":"writeBytes","count":10000,"units":10400000000,"requestUnits":495.238095},)"
        R"({"term":"termsAdded","count":400,"units":1600000000,"requestUnits":76.190476}]})");
    const std::string tiny = bill.json(ChargeProfile::kCurrent, 10);
    EXPECT_NE(tiny.find(R"({"term":"other","count":10400,"units":12000000000)"), std::string::npos)
        << tiny;
}

TEST(Charge, RoundsHalfUp) {
    EXPECT_EQ(ru_text({0}), "0.00");
    EXPECT_EQ(ru_text({104'999}), "0.00");
    EXPECT_EQ(ru_text({105'000}), "0.01");
    EXPECT_EQ(ru_text({314'999}), "0.01");
    EXPECT_EQ(ru_text({315'000}), "0.02");
    EXPECT_EQ(ru_text({kUnitsPerRu * 123'456}), "123456.00");
}

}  // namespace
}  // namespace orrery::meter
