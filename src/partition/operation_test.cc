#include "partition/operation.h"

#include "base/encoding.h"
#include "partition/charge.h"
#include "partition/partition_test_support.h"

namespace orrery::partition {
namespace {

using namespace testing;

TEST(Operation, CreateAndRead) {
    Bench bench;
    const OperationResult created =
        bench.one("a", create(R"( {"id":"1", "pk":"a", "v":1.50, "_ts":3} )"));
    ASSERT_EQ(end_of(created), Ended::kCreated) << message_of(created);
    EXPECT_EQ(text_of(created), R"({"id":"1","pk":"a","v":1.50})");
    EXPECT_EQ(bench.last_lsn, 1U);
    const auto header = json::decode_document(*created.item.document).value().header;
    EXPECT_EQ(header.lsn, 1U);
    EXPECT_EQ(header.ts, bench.clock.wall_seconds());
    EXPECT_EQ(created.etag, json::etag_text(header.etag_nonce, 1));
    EXPECT_EQ(created.item.docref.item_number(), (uint64_t{3} << kItemCounterBits) | 1);

    const auto cached = bench.partition->read_cached(epk_of("a"), "1", "");
    ASSERT_TRUE(cached);
    EXPECT_EQ(text_of(*cached), text_of(created));
    EXPECT_EQ(cached->etag, created.etag);
    bench.cache->erase_partition(Bench::kPartition);
    const auto from_memory = bench.partition->read_cached(epk_of("a"), "1", "");
    ASSERT_TRUE(from_memory);
    EXPECT_EQ(text_of(*from_memory), text_of(created));
    EXPECT_EQ(from_memory->etag, created.etag);
    EXPECT_EQ(end_of(*bench.partition->read_cached(epk_of("a"), "2", "")), Ended::kNotFound);

    ASSERT_TRUE(bench.store->flush().ok());
    bench.cache->erase_partition(Bench::kPartition);
    EXPECT_FALSE(bench.partition->read_cached(epk_of("a"), "1", ""));  // a file has to be read
    const OperationResult from_store = bench.partition->read(epk_of("a"), "1", "");
    EXPECT_EQ(text_of(from_store), text_of(created));
    EXPECT_EQ(from_store.etag, created.etag);
    EXPECT_TRUE(bench.partition->read_cached(epk_of("a"), "1", ""));  // the read filled it

    EXPECT_EQ(end_of(bench.one("a", read("1", created.etag))), Ended::kNotModified);
    EXPECT_EQ(end_of(bench.one("a", read("1", "*"))), Ended::kNotModified);
    EXPECT_EQ(bench.one("a", read("1", "*")).etag, created.etag);
    EXPECT_EQ(end_of(bench.one("a", read("1", "other"))), Ended::kOk);
    EXPECT_EQ(end_of(bench.one("b", read("1"))), Ended::kNotFound);
    EXPECT_EQ(end_of(bench.one("a", read("2"))), Ended::kNotFound);
    EXPECT_EQ(end_of(bench.one("a", read(std::string(4000, 'x')))), Ended::kNotFound);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Operation, CreateRefusals) {
    Bench bench;
    EXPECT_EQ(end_of(bench.one("a", create(R"({"pk":"a"})"))), Ended::kBadRequest);
    EXPECT_EQ(end_of(bench.one("a", create(R"({"id":"","pk":"a"})"))), Ended::kBadRequest);
    EXPECT_EQ(end_of(bench.one("a", create(R"({"id":"1/2","pk":"a"})"))), Ended::kBadRequest);
    EXPECT_EQ(end_of(bench.one("a", create("not json"))), Ended::kBadRequest);
    const OperationResult mismatch = bench.one("a", create(R"({"id":"1","pk":"b"})"));
    EXPECT_EQ(end_of(mismatch), Ended::kBadRequest);
    EXPECT_EQ(mismatch.status.error().code, Code::kPartitionKeyMismatch);
    EXPECT_EQ(end_of(bench.one("a", create(R"({"id":"1"})"))), Ended::kBadRequest);
    EXPECT_EQ(end_of(bench.one("a", create(R"({"id":"1","pk":"a"})"))), Ended::kCreated);
    EXPECT_EQ(end_of(bench.one("a", create(R"({"id":"1","pk":"a"})"))), Ended::kConflict);
    EXPECT_EQ(end_of(bench.one("b", create(R"({"id":"1","pk":"b"})"))),
              Ended::kCreated);  // another logical partition
    EXPECT_EQ(bench.partition->lsn(), 2U);
    EXPECT_EQ(bench.totals().items, 2);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Operation, ReplaceWithConditions) {
    Bench bench;
    EXPECT_EQ(end_of(bench.one("a", replace("1", R"({"id":"1","pk":"a"})"))), Ended::kNotFound);
    const OperationResult first = bench.one("a", create(R"({"id":"1","pk":"a","v":1})"));
    const OperationResult second =
        bench.one("a", replace("1", R"({"id":"1","pk":"a","v":2})", first.etag));
    ASSERT_EQ(end_of(second), Ended::kOk) << message_of(second);
    EXPECT_NE(second.etag, first.etag);
    EXPECT_EQ(second.item.docref, first.item.docref);
    EXPECT_EQ(bench.last_lsn, 2U);
    EXPECT_EQ(end_of(bench.one("a", replace("1", R"({"id":"1","pk":"a","v":3})", first.etag))),
              Ended::kPrecondition);
    EXPECT_EQ(end_of(bench.one("a", replace("1", R"({"id":"1","pk":"a","v":3})", "*"))),
              Ended::kOk);
    EXPECT_EQ(end_of(bench.one("a", replace("1", R"({"id":"2","pk":"a"})"))), Ended::kBadRequest);
    EXPECT_EQ(end_of(bench.one("a", replace("1", R"({"id":"1","pk":"b"})"))), Ended::kBadRequest);
    EXPECT_EQ(text_of(bench.one("a", read("1"))), R"({"id":"1","pk":"a","v":3})");
    bench.cache->erase_partition(Bench::kPartition);
    EXPECT_EQ(end_of(bench.one("a", replace("1", R"({"id":"1","pk":"a","v":4})"))), Ended::kOk);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Operation, Upsert) {
    Bench bench;
    const OperationResult created =
        bench.one("a", upsert(R"({"id":"1","pk":"a"})", "no-such-etag"));
    EXPECT_EQ(end_of(created), Ended::kCreated);
    EXPECT_FALSE(created.work.existed);
    EXPECT_EQ(end_of(bench.one("a", upsert(R"({"id":"1","pk":"a","v":1})", "no-such-etag"))),
              Ended::kPrecondition);
    const OperationResult replaced =
        bench.one("a", upsert(R"({"id":"1","pk":"a","v":1})", created.etag));
    EXPECT_EQ(end_of(replaced), Ended::kOk);
    EXPECT_TRUE(replaced.work.existed);
    EXPECT_EQ(replaced.item.docref, created.item.docref);
    EXPECT_EQ(end_of(bench.one("a", upsert(R"({"id":"1","pk":"c"})"))), Ended::kBadRequest);
    EXPECT_EQ(bench.totals().items, 1);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Operation, Delete) {
    Bench bench;
    EXPECT_EQ(end_of(bench.one("a", remove("1"))), Ended::kNotFound);
    const OperationResult created = bench.one("a", create(R"({"id":"1","pk":"a"})"));
    EXPECT_EQ(end_of(bench.one("a", remove("1", "other"))), Ended::kPrecondition);
    const OperationResult removed = bench.one("a", remove("1", created.etag));
    EXPECT_EQ(end_of(removed), Ended::kRemoved);
    EXPECT_FALSE(removed.has_item);
    EXPECT_EQ(removed.etag, "");
    EXPECT_EQ(end_of(bench.one("a", read("1"))), Ended::kNotFound);
    EXPECT_EQ(end_of(bench.one("a", remove("1"))), Ended::kNotFound);
    const OperationResult again = bench.one("a", create(R"({"id":"1","pk":"a"})"));
    EXPECT_EQ(end_of(again), Ended::kCreated);
    EXPECT_NE(again.item.docref, created.item.docref);
    EXPECT_EQ(bench.partition->lsn(), 3U);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Operation, Patch) {
    Bench bench;
    EXPECT_EQ(end_of(bench.one("a", patch("1", R"([{"op":"set","path":"/v","value":1}])"))),
              Ended::kNotFound);
    const OperationResult created = bench.one("a", create(R"({"id":"1","pk":"a","v":1,"w":[1]})"));
    const OperationResult patched = bench.one(
        "a",
        patch("1",
              R"([{"op":"incr","path":"/v","value":2},{"op":"add","path":"/w/-","value":2}])"));
    ASSERT_EQ(end_of(patched), Ended::kOk) << message_of(patched);
    EXPECT_EQ(text_of(patched), R"({"id":"1","pk":"a","v":3,"w":[1,2]})");
    EXPECT_EQ(patched.work.patch_operations, 2U);
    EXPECT_EQ(end_of(bench.one(
                  "a", patch("1", R"([{"op":"set","path":"/v","value":1}])", {}, created.etag))),
              Ended::kPrecondition);
    EXPECT_EQ(end_of(bench.one("a", patch("1", R"([{"op":"set","path":"/pk","value":"b"}])"))),
              Ended::kBadRequest);
    EXPECT_EQ(end_of(bench.one("a", patch("1", R"([{"op":"set","path":"/id","value":"2"}])"))),
              Ended::kBadRequest);
    EXPECT_EQ(end_of(bench.one("a", patch("1", R"([{"op":"set","path":"/_ts","value":2}])"))),
              Ended::kBadRequest);
    EXPECT_EQ(end_of(bench.one("a", patch("1", R"([{"op":"replace","path":"/none","value":2}])"))),
              Ended::kBadRequest);
    std::string seen;
    const auto condition = [&](const json::Value& item) -> Result<bool> {
        EXPECT_EQ(item.member("_etag").as_string(), "\"" + patched.etag + "\"");
        EXPECT_EQ(item.member("_ts").as_int64(), bench.clock.wall_seconds());
        seen = item.member("_rid").as_string();
        return item.member("v").as_int64() == 4;
    };
    EXPECT_EQ(
        end_of(bench.one("a", patch("1", R"([{"op":"set","path":"/v","value":9}])", condition))),
        Ended::kPrecondition);
    const auto rid = rid_decode(seen);
    ASSERT_TRUE(rid && rid->size() == 16);
    EXPECT_EQ(load_u64_le(rid->data() + 8), created.item.docref.item_number());
    EXPECT_EQ(text_of(bench.one("a", read("1"))), text_of(patched));
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Operation, SizeAndDepthLimits) {
    Bench bench;
    const auto sized = [](const std::string& id, size_t bytes) {
        const std::string head = R"({"id":")" + id + R"(","pk":"a","s":")";
        return head + std::string(bytes - head.size() - 2, 'x') + "\"}";
    };
    EXPECT_EQ(end_of(bench.one("a", create(sized("1", 2 << 20)))), Ended::kCreated);
    EXPECT_EQ(end_of(bench.one("a", create(sized("2", (2 << 20) + 1)))), Ended::kTooLarge);
    EXPECT_EQ(end_of(bench.one("a", patch("1", R"([{"op":"set","path":"/t","value":1}])"))),
              Ended::kTooLarge);
    const auto nested = [](const std::string& id, size_t levels) {
        return R"({"id":")" + id + R"(","pk":"a","n":)" + std::string(levels - 1, '[') +
               std::string(levels - 1, ']') + "}";
    };
    EXPECT_EQ(end_of(bench.one("a", create(nested("3", 128)))), Ended::kCreated);
    EXPECT_EQ(end_of(bench.one("a", create(nested("4", 129)))), Ended::kBadRequest);
    std::string deep = R"([{"op":"set","path":"/n","value":{"n":)" + std::string(125, '[') +
                       std::string(125, ']') + "}}]";
    EXPECT_EQ(end_of(bench.one("a", patch("3", deep))), Ended::kOk);
    deep = R"([{"op":"set","path":"/n/n/0/0","value":)" + std::string(125, '[') +
           std::string(125, ']') + "}]";
    EXPECT_EQ(end_of(bench.one("a", patch("3", deep))), Ended::kBadRequest);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Operation, IndexingDirective) {
    Bench bench;
    ItemOperation excluded = create(R"({"id":"1","pk":"a","v":1})");
    excluded.directive = IndexingDirective::kExclude;
    OperationResult result = bench.one("a", std::move(excluded));
    EXPECT_EQ(result.work.terms_added, 0U);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
    // The cached version does not tell that it was not indexed: the committer must find out.
    result = bench.one("a", replace("1", R"({"id":"1","pk":"a","v":1})"));
    EXPECT_EQ(result.work.terms_added, 6U);
    EXPECT_EQ(result.work.terms_removed, 0U);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
    excluded = upsert(R"({"id":"1","pk":"a","v":1})");
    excluded.directive = IndexingDirective::kExclude;
    result = bench.one("a", std::move(excluded));
    EXPECT_EQ(result.work.terms_removed, 6U);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
    result = bench.one("a", patch("1", R"([{"op":"set","path":"/v","value":2}])"));
    EXPECT_EQ(result.work.terms_added, 0U);
    EXPECT_EQ(end_of(bench.one("a", remove("1"))), Ended::kRemoved);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Operation, WorkAndCharges) {
    ContainerSettings settings = default_settings();
    settings.unique_keys = {{0, {{"u"}}}};
    Bench bench(settings);
    const OperationResult created = bench.one("a", create(R"({"id":"1","pk":"a","v":1,"u":1})"));
    EXPECT_EQ(created.work.terms_added, 2U * 4 + 1);
    EXPECT_EQ(created.work.new_bytes, 31U);
    EXPECT_EQ(charge_of(created), meter::create(31, 9));
    const OperationResult replaced =
        bench.one("a", replace("1", R"({"id":"1","pk":"a","v":2,"u":10})"));
    EXPECT_EQ(replaced.work.terms_removed, 2U * 2 + 1);
    EXPECT_EQ(replaced.work.terms_added, 2U * 2 + 1);
    EXPECT_EQ(replaced.work.old_bytes, 31U);
    EXPECT_EQ(charge_of(replaced), meter::replace(31, 32, 5, 5));
    const OperationResult patched =
        bench.one("a", patch("1", R"([{"op":"set","path":"/v","value":3}])"));
    EXPECT_EQ(charge_of(patched), meter::patch(32, 32, 2, 2, 1));
    const OperationResult found = bench.one("a", read("1"));
    EXPECT_EQ(charge_of(found), meter::point_read(32));
    EXPECT_EQ(charge_of(bench.one("a", read("1", found.etag))), meter::not_modified());
    EXPECT_EQ(charge_of(bench.one("a", read("2"))), meter::failure(Code::kNotFound));
    EXPECT_EQ(charge_of(bench.one("a", create(R"({"id":"1","pk":"a"})"))),
              meter::failure(Code::kConflict));
    const OperationResult removed = bench.one("a", remove("1"));
    EXPECT_EQ(removed.work.terms_removed, 9U);
    EXPECT_EQ(charge_of(removed), meter::remove(32, 9));
}

TEST(Operation, UniqueKeys) {
    ContainerSettings settings = default_settings();
    settings.unique_keys = {{0, {{"email"}}}, {1, {{"x", "y"}, {"z"}}}};
    Bench bench(settings);
    EXPECT_EQ(end_of(bench.one("a", create(R"({"id":"1","pk":"a","email":"e1","z":1})"))),
              Ended::kCreated);
    EXPECT_EQ(end_of(bench.one("a", create(R"({"id":"2","pk":"a","email":"e1","z":2})"))),
              Ended::kConflict);
    EXPECT_EQ(end_of(bench.one("a", create(R"({"id":"2","pk":"a","email":"e2","z":1.0})"))),
              Ended::kConflict);
    EXPECT_EQ(end_of(bench.one("b", create(R"({"id":"2","pk":"b","email":"e1","z":1})"))),
              Ended::kCreated);
    EXPECT_EQ(end_of(bench.one("a", create(R"({"id":"2","pk":"a","email":"E1","z":"1"})"))),
              Ended::kCreated);
    EXPECT_EQ(end_of(bench.one("a", create(R"({"id":"3","pk":"a","z":3})"))), Ended::kCreated);
    EXPECT_EQ(end_of(bench.one("a", create(R"({"id":"4","pk":"a","email":null,"z":4})"))),
              Ended::kConflict);
    // Its own old value is no conflict; another's is.
    EXPECT_EQ(
        end_of(bench.one("a", replace("1", R"({"id":"1","pk":"a","email":"e1","z":1,"w":1})"))),
        Ended::kOk);
    EXPECT_EQ(end_of(bench.one("a", replace("1", R"({"id":"1","pk":"a","email":"E1","z":1})"))),
              Ended::kConflict);
    EXPECT_EQ(end_of(bench.one("a", patch("1", R"([{"op":"set","path":"/email","value":"E1"}])"))),
              Ended::kConflict);
    EXPECT_EQ(end_of(bench.one("a", upsert(R"({"id":"1","pk":"a","email":"e9","z":1})"))),
              Ended::kOk);
    EXPECT_EQ(end_of(bench.one("a", create(R"({"id":"5","pk":"a","email":"e1","z":5})"))),
              Ended::kCreated);
    EXPECT_EQ(end_of(bench.one("a", remove("5"))), Ended::kRemoved);
    EXPECT_EQ(end_of(bench.one("a", create(R"({"id":"6","pk":"a","email":"e1","z":5})"))),
              Ended::kCreated);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Operation, LogicalPartitionQuota) {
    ContainerSettings settings = default_settings();
    settings.logical_partition_bytes_max = 100;
    Bench bench(settings);
    EXPECT_EQ(
        end_of(bench.one(
            "a", create(R"({"id":"1","pk":"a","s":"0123456789012345678901234567890123456789"})"))),
        Ended::kCreated);
    EXPECT_EQ(
        end_of(bench.one(
            "b", create(R"({"id":"1","pk":"b","s":"0123456789012345678901234567890123456789"})"))),
        Ended::kCreated);
    const OperationResult full = bench.one(
        "a", create(R"({"id":"2","pk":"a","s":"0123456789012345678901234567890123456789"})"));
    EXPECT_EQ(end_of(full), Ended::kPartitionFull);
    // In a batch the operation that is too much says so; what makes room in time does.
    const auto batch = [&](std::vector<ItemOperation> operations) {
        Transaction transaction;
        transaction.epk = epk_of("a");
        transaction.is_batch = true;
        transaction.operations = std::move(operations);
        std::vector<Ended> statuses;
        for (const OperationResult& one : bench.run(std::move(transaction)).results)
            statuses.push_back(end_of(one));
        return statuses;
    };
    const std::string half =
        R"({"id":"2","pk":"a","s":"0123456789012345678901234567890123456789"})";
    EXPECT_EQ(batch({read("1"), create(R"({"id":"3","pk":"a"})"), create(half),
                     create(R"({"id":"4","pk":"a"})")}),
              (std::vector<Ended>{Ended::kDependency, Ended::kDependency, Ended::kPartitionFull,
                                  Ended::kDependency}));
    EXPECT_EQ(batch({remove("1"), create(half)}),
              (std::vector<Ended>{Ended::kRemoved, Ended::kCreated}));
    EXPECT_EQ(batch({create(R"({"id":"1","pk":"a"})"), remove("2")}),
              (std::vector<Ended>{Ended::kCreated, Ended::kRemoved}));
    EXPECT_EQ(end_of(bench.one("a", read("1"))), Ended::kOk);
    EXPECT_EQ(end_of(bench.one("a", replace("1", R"({"id":"1","pk":"a"})"))), Ended::kOk);
    EXPECT_EQ(end_of(bench.one("a", create(R"({"id":"2","pk":"a"})"))), Ended::kCreated);
}

TEST(Operation, OutsideTheRangeIsGone) {
    Bench bench;
    bench.store->view();
    auto upper =
        Partition::open({.id = 8, .range = {.min = "\x20", .max = "\xFF"}, .rid_prefix = 4},
                        bench.partition->settings(),
                        {*bench.store, *bench.cache, *bench.workers, bench.clock})
            .value();
    Transaction transaction;
    transaction.epk = "\x10";
    transaction.operations.push_back(create(R"({"id":"1","pk":"a"})"));
    std::promise<TransactionResult> promise;
    upper->execute(std::move(transaction),
                   [&](TransactionResult result) { promise.set_value(std::move(result)); });
    EXPECT_EQ(end_of(promise.get_future().get().results[0]), Ended::kRangeGone);
}

TEST(Operation, ReopenContinues) {
    Bench bench;
    for (int i = 0; i < 3; ++i)
        bench.one("a", create(R"({"id":")" + std::to_string(i) + R"(","pk":"a"})"));
    // Another handle on the same store sees the same LSN and never the same item numbers.
    auto again = Partition::open(bench.partition->identity(), bench.partition->settings(),
                                 {*bench.store, *bench.cache, *bench.workers, bench.clock})
                     .value();
    EXPECT_EQ(again->lsn(), 3U);
    bench.partition = again;
    const OperationResult next = bench.one("a", create(R"({"id":"3","pk":"a"})"));
    EXPECT_EQ(bench.last_lsn, 4U);
    EXPECT_GE(next.item.docref.item_number() & ((uint64_t{1} << kItemCounterBits) - 1), 4U);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

TEST(Operation, ClockBackwards) {
    Bench bench;
    const auto ts = [](const OperationResult& result) {
        return json::decode_document(*result.item.document).value().header.ts;
    };
    const int64_t first = ts(bench.one("a", create(R"({"id":"1","pk":"a"})")));
    bench.clock.advance_seconds(-100);
    EXPECT_EQ(ts(bench.one("a", create(R"({"id":"2","pk":"a"})"))), first);
    EXPECT_EQ(bench.check(), std::vector<std::string>());
}

}  // namespace
}  // namespace orrery::partition
