#include <gtest/gtest.h>

#include "catalog/catalog_test_support.h"

namespace orrery::catalog {
namespace {

using json::Dialect;
using testing::Account;
using testing::Folder;
using testing::message_of;

NewContainer container_of(std::string id, Dialect dialect) {
    NewContainer out;
    out.id = std::move(id);
    out.definition.dialect = dialect;
    out.definition.schema = {1, "schema of " + out.id};
    out.definition.key =
        partition::make_partition_key_definition(partition::KeyKind::kHash, 2, {"/pk"}).value();
    out.definition.indexing = index::parse_indexing_policy({}).value();
    return out;
}

class DialectTest : public ::testing::Test {
protected:
    DialectTest() : account_(folder_.path()) {
        EXPECT_TRUE(account_.create_database(R"({"id":"d"})").ok());
        for (const auto& [id, dialect] :
             {std::pair{"sql", Dialect::kNosql}, std::pair{"mongo", Dialect::kMongo},
              std::pair{"table", Dialect::kTable}, std::pair{"mongo2", Dialect::kMongo}}) {
            const auto created = account_->create_container("d", container_of(id, dialect));
            EXPECT_TRUE(created.ok()) << message_of(created);
        }
    }
    std::vector<std::string> listed(Dialects dialects, uint32_t items_max = 1) {
        std::vector<std::string> out;
        ListingRequest request{"", items_max};
        do {
            const auto page =
                account_->list_containers(*account_->find_database("d"), request, dialects);
            EXPECT_FALSE(page.items.empty());
            for (const ContainerPtr& container : page.items) out.push_back(container->id);
            request.continuation = page.continuation;
        } while (!request.continuation.empty());
        return out;
    }
    Folder folder_;
    Account account_;
};

TEST_F(DialectTest, EachSeesItsOwn) {
    using Names = std::vector<std::string>;
    for (int round = 0; round < 2; ++round) {
        EXPECT_NE(account_->find_container("d", "sql"), nullptr);
        EXPECT_EQ(account_->find_container("d", "mongo"), nullptr);
        const auto mongo = account_->find_container("d", "mongo", Dialect::kMongo);
        ASSERT_NE(mongo, nullptr);
        EXPECT_EQ(mongo->definition->schema, (DialectSchema{1, "schema of mongo"}));
        EXPECT_EQ(account_->find_container("d", mongo->rid_text), nullptr);
        EXPECT_EQ(account_->find_container("d", "mongo", Dialect::kTable), nullptr);
        const Dialects both = Dialects(Dialect::kNosql) | Dialect::kTable;
        EXPECT_NE(account_->find_container("d", "sql", both), nullptr);
        EXPECT_NE(account_->find_container("d", "table", both), nullptr);
        EXPECT_EQ(account_->find_container("d", "mongo", both), nullptr);
        EXPECT_EQ(listed(Dialect::kNosql), Names({"sql"}));
        EXPECT_EQ(listed(Dialect::kMongo), Names({"mongo", "mongo2"}));
        EXPECT_EQ(listed(Dialect::kMongo, 2), Names({"mongo", "mongo2"}));
        EXPECT_EQ(listed(both), Names({"sql", "table"}));
        EXPECT_EQ(account_->all_containers().size(), 4U);
        account_.reopen();
    }
}

TEST_F(DialectTest, NamesAreTakenForAll) {
    const auto again = account_->create_container("d", container_of("sql", Dialect::kNosql));
    ASSERT_FALSE(again.ok());
    EXPECT_EQ(again.error().code, Code::kConflict);
    for (const auto& [id, dialect] :
         {std::pair{"mongo", Dialect::kNosql}, std::pair{"sql", Dialect::kTable}}) {
        const auto taken = account_->create_container("d", container_of(id, dialect));
        ASSERT_FALSE(taken.ok());
        EXPECT_EQ(taken.error().code, Code::kSchemaExists);
    }
}

TEST_F(DialectTest, PermissionsAreForNosqlContainers) {
    ASSERT_TRUE(account_->create_user("d", "u", Catalog::Upsert::kNo).ok());
    const auto permission = [&](const std::string& container) {
        return ended(account_->create_permission(
            "d", "u", {"p" + container, PermissionMode::kAll, "dbs/d/colls/" + container, ""},
            Catalog::Upsert::kNo));
    };
    EXPECT_EQ(permission("sql"), Ended::kOk);
    EXPECT_EQ(permission("mongo"), Ended::kNotFound);
}

TEST_F(DialectTest, SchemasCanBeReplaced) {
    const auto before = account_->find_container("d", "mongo", Dialect::kMongo);
    ContainerDefinition definition = *before->definition;
    definition.schema = {2, "new"};
    ASSERT_TRUE(account_->replace_container("d", "mongo", definition, before->version.etag).ok());
    account_.reopen();
    EXPECT_EQ(account_->find_container("d", "mongo", Dialect::kMongo)->definition->schema,
              (DialectSchema{2, "new"}));
}

}  // namespace
}  // namespace orrery::catalog
