// Every operation of a session by every kind of client: who is let in, and that all is recorded.
#include <gtest/gtest.h>

#include <array>
#include <future>

#include "base/errors.h"
#include "engine/engine_test_support.h"
#include "engine/session.h"

namespace orrery::engine {
namespace {

using testing_support::TestEngine;

enum class Client : uint8_t {
    kNoKey,
    kWrongKey,
    kMaster,
    kReadOnly,
    kTokenToRead,
    kTokenToWrite,
    kTokenOfAnotherContainer,
    kTokenOfThisItem,
    kTokenOfAnotherItem,
    kTokenOfThisKey,
    kTokenOfAnotherKey,
    kExpiredToken,
    kCount,
};
constexpr size_t kClients = static_cast<size_t>(Client::kCount);

struct Row {
    Operation operation;
    /// One letter per client, in their order: y is let in, n is not. Tokens of items and keys are
    /// good for writing.
    std::string_view let_in;
};
/// Account keys, and those among them that are good for writing.
constexpr std::string_view kKeysRead = "nnyynnnnnnnn";
constexpr std::string_view kKeysWrite = "nnynnnnnnnnn";
/// Who adds an operation adds a row.
constexpr Row kRows[] = {
    {Operation::kReadItem, "nnyyyynynynn"},
    {Operation::kCreateItem, "nnynnynnnynn"},
    {Operation::kWriteItem, "nnynnynynynn"},
    {Operation::kDeletePartitionKey, "nnynnynnnynn"},
    {Operation::kReadFeed, "nnyyyynnnynn"},
    {Operation::kReadChanges, "nnyyyynnnynn"},
    {Operation::kQuery, "nnyyyynnnynn"},
    {Operation::kPlanQuery, "nnyyyynyyyyn"},
    {Operation::kRunProcedure, "nnynnynnnynn"},
    {Operation::kReadAccount, "nnyyyynyyyyn"},
    {Operation::kReadDatabases, kKeysRead},
    {Operation::kCreateDatabase, kKeysWrite},
    {Operation::kDeleteDatabase, kKeysWrite},
    {Operation::kReadContainer, "nnyyyynyyyyn"},
    {Operation::kListContainers, kKeysRead},
    {Operation::kCreateContainer, kKeysWrite},
    {Operation::kReplaceContainer, kKeysWrite},
    {Operation::kDeleteContainer, kKeysWrite},
    {Operation::kReadConflicts, "nnyyyynnnnnn"},
    {Operation::kReadScripts, "nnyyyynnnnnn"},
    {Operation::kCreateScript, kKeysWrite},
    {Operation::kReplaceScript, kKeysWrite},
    {Operation::kDeleteScript, kKeysWrite},
    {Operation::kReadUsers, kKeysRead},
    {Operation::kCreateUser, kKeysWrite},
    {Operation::kReplaceUser, kKeysWrite},
    {Operation::kDeleteUser, kKeysWrite},
    {Operation::kReadPermissions, kKeysWrite},
    {Operation::kCreatePermission, kKeysWrite},
    {Operation::kReplacePermission, kKeysWrite},
    {Operation::kDeletePermission, kKeysWrite},
    {Operation::kReadEncryptionKeys, kKeysRead},
    {Operation::kCreateEncryptionKey, kKeysWrite},
    {Operation::kReplaceEncryptionKey, kKeysWrite},
    {Operation::kReadOffers, kKeysRead},
    {Operation::kReplaceOffer, kKeysWrite},
    {Operation::kObserve, kKeysRead},
    {Operation::kManage, kKeysWrite},
    {Operation::kReadThroughput, kKeysRead},
    {Operation::kRedistribute, kKeysWrite},
    {Operation::kSetThroughputBuckets, kKeysWrite},
    {Operation::kReadPartitions, kKeysRead},
    {Operation::kChangeRanges, kKeysWrite},
    {Operation::kReadMaterializedView, kKeysRead},
};
static_assert(std::size(kRows) == kOperations);

class CountingObserver final : public RequestObserver {
public:
    void observe(const RequestRecord& record) override { records += record.inner ? 0 : 1; }
    std::atomic<int> records{0};
};

class TestStatement final : public Statement {
public:
    using Statement::Statement;
    void run_on_loop(std::unique_ptr<Task> task) override { task->run(); }
    bool cancelled() const override { return false; }
};

class SessionAccessTest : public ::testing::Test {
protected:
    SessionAccessTest() {
        test_.create_database("d");
        container_ = test_.create_container("d", kDefinition);
        test_.create_container("d", R"({"id":"other","partitionKey":{"paths":["/pk"]}})");
        catalog::NewScript procedure;
        procedure.id = "p";
        procedure.body = "function(){}";
        EXPECT_TRUE(test_.catalog()
                        .create_script(container_->rid, catalog::ChildType::kProcedure,
                                       std::move(procedure), catalog::Catalog::Upsert::kNo)
                        .ok());
    }

    /// A token for what is named, with a user and a permission of its own.
    std::string token(const std::string& name, const std::string& mode, const std::string& resource,
                      const std::string& key = {}, int64_t seconds = 3600) {
        std::string body = R"({"id":")" + name + R"(","permissionMode":")" + mode +
                           R"(","resource":")" + resource + "\"";
        if (!key.empty()) body += R"(,"resourcePartitionKey":[")" + key + "\"]";
        test_.create_user("d", name);
        const auto permission = test_.create_permission("d", name, body + "}");
        return *test_.engine().tokens().issue(*permission, seconds);
    }

    Status sign_in(Session& session, Client client) {
        const auto& keys = test_.account().keys();
        const auto key = [&](size_t number) {
            EXPECT_TRUE(session.sign_in_with_key("localhost", keys[number].text));
            return Status();
        };
        const std::string own = "dbs/d/colls/c";
        switch (client) {
            case Client::kNoKey:
                return {};
            case Client::kWrongKey:
                EXPECT_FALSE(session.sign_in_with_key("localhost", "bm9uZSBvZiB0aGVzZSBrZXlz"));
                EXPECT_FALSE(session.sign_in_with_key("someone", keys[0].text));
                return {};
            case Client::kMaster:
                return key(0);
            case Client::kReadOnly:
                return key(2);
            case Client::kTokenToRead:
                return session.sign_in_with_token(token("read", "Read", own));
            case Client::kTokenToWrite:
                return session.sign_in_with_token(token("all", "All", own));
            case Client::kTokenOfAnotherContainer:
                return session.sign_in_with_token(token("other", "All", "dbs/d/colls/other"));
            case Client::kTokenOfThisItem:
                return session.sign_in_with_token(token("item", "All", own + "/docs/i"));
            case Client::kTokenOfAnotherItem:
                return session.sign_in_with_token(token("item2", "All", own + "/docs/j"));
            case Client::kTokenOfThisKey:
                return session.sign_in_with_token(token("key", "All", own, "k"));
            case Client::kTokenOfAnotherKey:
                return session.sign_in_with_token(token("key2", "All", own, "l"));
            case Client::kExpiredToken: {
                const std::string short_lived = token("short", "All", own, {}, 600);
                test_.clock().advance_us(601 * 1'000'000LL);
                const Status signed_in = session.sign_in_with_token(short_lived);
                EXPECT_FALSE(signed_in.ok());
                return {};
            }
            case Client::kCount:
                break;
        }
        return {};
    }

    /// How the operation ended.
    Status run(const Session& session, const StatementPtr& statement, Operation operation) {
        const auto used = session.use_container(*statement, "d", "c");
        if (!used.ok()) {
            statement->refuse(used.error());
            statement->finish({});
            return used.status().clone();
        }
        const std::string epk = TestEngine::epk(*container_, R"("k")");
        std::promise<Status> ended;
        const auto end = [&](const Status& status) { ended.set_value(status.clone()); };
        const auto end_page = [&](const auto& page) { end(page.status()); };
        const auto end_write = [&](const auto& answer) { end(answer.result.status); };
        start(session, statement, operation, epk, end, end_page, end_write);
        return ended.get_future().get();
    }

    template <typename End, typename EndPage, typename EndWrite>
    void start(const Session& session, const StatementPtr& statement, Operation operation,
               const std::string& epk, const End& end, const EndPage& end_page,
               const EndWrite& end_write) {
        const partition::EpkRange range = partition::range_of_key(epk);
        switch (operation) {
            case Operation::kReadItem:
                return session.read(
                    statement, {epk, "i", std::nullopt, {}},
                    [&](partition::OperationResult& result) { end(result.status); });
            case Operation::kCreateItem: {
                ItemWrite write;
                write.epk = epk;
                write.operation.kind = partition::OperationKind::kUpsert;
                write.operation.body = R"({"id":"i","pk":"k"})";
                return session.write(statement, std::move(write), end_write);
            }
            case Operation::kWriteItem: {
                ItemWrite write;
                write.epk = epk;
                write.operation.kind = partition::OperationKind::kDelete;
                write.operation.id = "i";
                return session.write(statement, std::move(write), end_write);
            }
            case Operation::kDeletePartitionKey:
                return session.delete_partition_key(statement, epk, end);
            case Operation::kReadFeed: {
                FeedRequest feed;
                feed.range = range;
                feed.limited_to = epk;
                return session.read_feed(statement, feed, end_page);
            }
            case Operation::kReadChanges: {
                ChangeFeedRequest changes;
                changes.range = range;
                changes.limited_to = epk;
                return session.read_changes(statement, changes, end_page);
            }
            case Operation::kQuery: {
                QueryRequest query;
                query.text = "SELECT * FROM c";
                query.range = range;
                query.limited_to = epk;
                return session.query(statement, query, end_page);
            }
            case Operation::kPlanQuery:
                return session.plan_query(statement, {"SELECT * FROM c", {}, true, std::nullopt},
                                          end_page);
            case Operation::kRunProcedure: {
                ProcedureRequest procedure;
                procedure.procedure =
                    *session.find_script(*statement, catalog::ChildType::kProcedure, "p");
                procedure.epk = epk;
                return session.run_procedure(statement, procedure,
                                             [&](ProcedureAnswer& answer) { end(answer.status); });
            }
            case Operation::kReadThroughput:
                end_page(session.throughput(*statement, *container_));
                return statement->finish({});
            case Operation::kReadPartitions:
                end_page(session.partitions(*statement, *container_));
                return statement->finish({});
            case Operation::kChangeRanges: {
                catalog::RangeChange change;
                change.container = container_->rid;
                change.range_ids = {"no such range"};
                end_page(session.change_ranges(*statement, change));
                return statement->finish({});
            }
            case Operation::kReadMaterializedView:
                end_page(session.materialized_view(*statement, *container_));
                return statement->finish({});
            default:
                return start_metadata(session, *statement, operation, end_page);
        }
    }

    /// Operations on the catalog, which is given out for one of the two.
    template <typename EndPage>
    void start_metadata(const Session& session, Statement& statement, Operation operation,
                        const EndPage& end_page) {
        if (rule_of(operation).hand == Hand::kReads)
            end_page(session.look_up(statement, operation));
        else
            end_page(session.change(statement, operation));
        statement.finish({});
    }

    static constexpr std::string_view kDefinition =
        R"({"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}})";
    TestEngine test_;
    CountingObserver observer_;
    const Door door_{test_.engine(), &observer_};
    catalog::ContainerPtr container_;
};

bool is_refusal(const Status& status) {
    if (status.ok()) return false;
    const Code code = status.error().code;
    return code == Code::kUnauthorized || code == Code::kForbidden ||
           code == Code::kOutsideTokenKey;
}

TEST_F(SessionAccessTest, EveryOperationByEveryClient) {
    for (size_t client = 0; client < kClients; ++client) {
        Session session(door_);
        ASSERT_TRUE(sign_in(session, static_cast<Client>(client)).ok());
        for (const Row& row : kRows) {
            ASSERT_EQ(row.let_in.size(), kClients);
            SCOPED_TRACE("client " + std::to_string(client) + ", operation " +
                         std::to_string(static_cast<int>(row.operation)));
            const int before = observer_.records;
            const auto statement = std::make_shared<TestStatement>(door_);
            const Status ended = run(session, statement, row.operation);
            EXPECT_EQ(is_refusal(ended), row.let_in[client] == 'n')
                << (ended.ok() ? "let in" : ended.error().message);
            // The completion comes first.
            while (observer_.records == before) std::this_thread::yield();
            EXPECT_EQ(observer_.records, before + 1);
        }
    }
}

/// A batch and a bulk ask for each of their operations.
TEST_F(SessionAccessTest, BatchesAskForEachOperation) {
    Session session(door_);
    ASSERT_TRUE(sign_in(session, Client::kReadOnly).ok());
    const std::string epk = TestEngine::epk(*container_, R"("k")");
    const auto statement = std::make_shared<TestStatement>(door_);
    ASSERT_TRUE(*session.use_container(*statement, "d", "c"));
    partition::Transaction transaction;
    transaction.epk = epk;
    transaction.operations.resize(2);
    transaction.operations[0].id = "i";
    transaction.operations[1].id = "i";
    transaction.operations[1].kind = partition::OperationKind::kDelete;
    session.batch(statement, std::move(transaction), [](TransactionAnswer& answer) {
        EXPECT_TRUE(answer.refused);
        EXPECT_TRUE(is_refusal(answer.result.results.front().status));
    });
    const auto bulk = std::make_shared<TestStatement>(door_);
    ASSERT_TRUE(*session.use_container(*bulk, "d", "c"));
    std::vector<BulkOperation> operations(2);
    for (auto& operation : operations) operation.epk = epk;
    operations[0].operation.id = "i";
    operations[1].operation.kind = partition::OperationKind::kUpsert;
    operations[1].operation.body = R"({"id":"i","pk":"k"})";
    std::promise<std::pair<bool, bool>> refused;
    session.bulk(bulk, std::move(operations), [&](BulkAnswer& answer) {
        refused.set_value(
            {is_refusal(answer.results[0].status), is_refusal(answer.results[1].status)});
    });
    EXPECT_EQ(refused.get_future().get(), std::pair(false, true));
}

/// What was found costs what its row says, twice under Strong; once counted it is recorded, also by
/// a head that forgets to.
TEST_F(SessionAccessTest, MetadataIsPricedAndRecorded) {
    Session session(door_);
    ASSERT_TRUE(sign_in(session, Client::kMaster).ok());
    const int before = observer_.records;
    {
        TestStatement statement(door_);
        ASSERT_TRUE(session.look_up(statement, Operation::kReadUsers).ok());
        EXPECT_EQ(statement.outcome().charge, meter::metadata_read());
        ASSERT_TRUE(session.change(statement, Operation::kCreateUser).ok());
        EXPECT_EQ(statement.outcome().charge, meter::metadata_read());
    }
    EXPECT_EQ(observer_.records, before + 1);
    TestStatement written(door_);
    ASSERT_TRUE(session.change(written, Operation::kCreateScript).ok());
    EXPECT_EQ(written.outcome().charge, meter::script_write());

    AccountSettings settings = TestEngine::unthrottled();
    settings.consistency = ConsistencyLevel::kStrong;
    TestEngine strong(1'700'000'000, settings);
    const Door door(strong.engine(), nullptr);
    Session other(door);
    ASSERT_TRUE(other.sign_in_with_key("orrery", strong.account().keys()[0].text));
    TestStatement read(door);
    ASSERT_TRUE(other.look_up(read, Operation::kReadUsers).ok());
    EXPECT_EQ(read.outcome().charge, meter::strong_read(meter::metadata_read()));
    read.set_not_modified();
    EXPECT_EQ(read.outcome().charge, meter::metadata_read());
    TestStatement weaker(door);
    ASSERT_TRUE(weaker.ask_for_level(ConsistencyLevel::kEventual, "Eventual").ok());
    ASSERT_TRUE(other.look_up(weaker, Operation::kReadUsers).ok());
    EXPECT_EQ(weaker.outcome().charge, meter::metadata_read());
}

TEST_F(SessionAccessTest, SignaturesAreGoodForAWhile) {
    const auto sign = [&](int64_t signed_at) {
        Session session(door_);
        const std::string signature = test_.account().keys()[1].hmac.sign_text("text");
        const auto known = session.sign_in({"text", signature, signed_at});
        return known.ok() && *known && session.principal().kind == Principal::Kind::kMaster;
    };
    const int64_t now = test_.clock().wall_seconds();
    EXPECT_TRUE(sign(now));
    EXPECT_TRUE(sign(now - 899));
    EXPECT_FALSE(sign(now - 901));
    EXPECT_FALSE(sign(now + 901));
    Session session(door_);
    EXPECT_FALSE(*session.sign_in({"text", "c2lnbmF0dXJl", now}));
    EXPECT_EQ(session.principal().kind, Principal::Kind::kNobody);
}

TEST_F(SessionAccessTest, KeysAsPasswords) {
    for (const std::string user : {"localhost", "orrery"}) {
        Session session(door_);
        EXPECT_TRUE(session.sign_in_with_key(user, test_.account().keys()[3].text));
        EXPECT_EQ(session.principal().kind, Principal::Kind::kReadOnly);
    }
}

}  // namespace
}  // namespace orrery::engine
