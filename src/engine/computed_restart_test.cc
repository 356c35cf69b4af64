#include <gtest/gtest.h>

#include <filesystem>

#include "base/crash_copy_test_support.h"
#include "engine/query_test_support.h"

/// Computed properties, and their index, after restarts and crashes.
namespace orrery::engine {
namespace {

using testing_support::TestEngine;

/// An engine over a folder; the index changes are carried out by the test.
class Restarting {
public:
    explicit Restarting(std::string folder)
        : server_(1'700'000'000, TestEngine::unthrottled(), {}, {}, std::move(folder)) {}
    std::vector<std::string> rows(const std::string& text, std::string* access = nullptr) {
        QueryRequest request;
        request.text = text;
        const auto answer = server_.engine().query(*catalog().find_container("d", "c"), request);
        if (!answer.ok()) return {answer.error().message};
        if (access != nullptr) *access = answer->page.accesses.at(0).access;
        return {answer->rows.begin(), answer->rows.end()};
    }
    std::vector<std::string> findings() {
        std::vector<std::string> out;
        const auto view = server_.store().view();
        for (const auto& range : catalog().find_container("d", "c")->ranges->ranges)
            CHECK(range.partition->check(*view, out).ok());
        return out;
    }
    TestEngine& server() { return server_; }
    catalog::Catalog& catalog() { return server_.catalog(); }

private:
    TestEngine server_;
};

TEST(ComputedRestartTest, DefinitionsAndChangesSurvive) {
    std::string folder =
        (std::filesystem::temp_directory_path() / "orrery-computed-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    const std::string first =
        R"({"id":"c","partitionKey":{"paths":["/id"],"kind":"Hash"},"indexingPolicy":)"
        R"({"includedPaths":[{"path":"/*"},{"path":"/low/?"}]},"computedProperties":)"
        R"([{"name":"low","query":"SELECT VALUE LOWER(c.name) FROM c"}]})";
    const std::string second =
        R"({"id":"c","indexingPolicy":{"includedPaths":[{"path":"/*"},{"path":"/low/?"}]},)"
        R"("computedProperties":[{"name":"low","query":"SELECT VALUE UPPER(c.name) FROM c"}]})";
    const std::string lower = "SELECT VALUE c.id FROM c WHERE c.low = \"x3\"";
    const std::string upper = "SELECT VALUE c.id FROM c WHERE c.low = \"X3\"";
    const std::vector<std::string> found{"\"i3\""};
    json::Arena arena;
    {
        Restarting server(folder);
        ASSERT_TRUE(
            rest::by_body::create_database(server.catalog(), *json::parse(R"({"id":"d"})", arena))
                .ok());
        const auto container =
            rest::by_body::create_container(server.catalog(), "d", *json::parse(first, arena));
        ASSERT_TRUE(container.ok()) << container.error().message;
        EXPECT_NE(
            rest::container_json(**container)
                .find(
                    R"("computedProperties":[{"name":"low","query":"SELECT VALUE LOWER(c.name) FROM c"}])"),
            std::string::npos);
        for (int i = 0; i < 20; ++i) {
            partition::ItemOperation operation;
            operation.kind = partition::OperationKind::kCreate;
            operation.body =
                R"({"id":"i)" + std::to_string(i) + R"(","name":"X)" + std::to_string(i) + "\"}";
            const auto answer = server.server().run(*container, "\"i" + std::to_string(i) + '"',
                                                    {std::move(operation)});
            ASSERT_TRUE(answer.result.results[0].status.ok());
        }
        copy_as_after_a_crash(folder, folder + "-crashed");
    }
    {
        // What a crash leaves behind: the index is made again from the items.
        Restarting server(folder + "-crashed");
        std::string access;
        EXPECT_EQ(server.rows(lower, &access), found);
        EXPECT_EQ(access, "index");
        EXPECT_EQ(server.findings(), std::vector<std::string>());
    }
    {
        Restarting server(folder);
        std::string access;
        EXPECT_EQ(server.rows(lower, &access), found);
        EXPECT_EQ(access, "index");
        EXPECT_EQ(server.findings(), std::vector<std::string>());
        const auto replaced = rest::by_body::replace_container(server.catalog(), "d", "c",
                                                               *json::parse(second, arena));
        ASSERT_TRUE(replaced.ok()) << replaced.error().message;
    }
    {
        // The change is not carried out yet: the old definition is still known for its entries.
        Restarting server(folder);
        EXPECT_EQ(server.catalog().index_progress(*server.catalog().find_container("d", "c")), 0);
        std::string access;
        EXPECT_EQ(server.rows(upper, &access), found);
        EXPECT_EQ(access, "scan");
        EXPECT_EQ(server.rows(lower).size(), 0U);
        for (bool more = true; more;) {
            const auto carried = server.catalog().carry_out_index_changes();
            ASSERT_TRUE(carried.ok());
            more = *carried;
        }
        EXPECT_EQ(server.rows(upper, &access), found);
        EXPECT_EQ(access, "index");
        EXPECT_EQ(server.findings(), std::vector<std::string>());
    }
    {
        Restarting server(folder);
        std::string access;
        EXPECT_EQ(server.rows(upper, &access), found);
        EXPECT_EQ(access, "index");
        EXPECT_EQ(server.rows(lower).size(), 0U);
        EXPECT_EQ(server.findings(), std::vector<std::string>());
    }
    std::filesystem::remove_all(folder);
    std::filesystem::remove_all(folder + "-crashed");
}

}  // namespace
}  // namespace orrery::engine
