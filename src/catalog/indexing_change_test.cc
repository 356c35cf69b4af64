#include <atomic>
#include <thread>

#include "base/crash_copy_test_support.h"
#include "catalog/catalog_test_support.h"

namespace orrery::catalog {
namespace {

using namespace testing;
using Findings = std::vector<std::string>;

constexpr std::string_view kDefault = R"({"id":"c","partitionKey":{"paths":["/pk"],"version":2}})";
constexpr std::string_view kFew =
    R"({"id":"c","indexingPolicy":{"includedPaths":[{"path":"/v/?"}],"excludedPaths":[{"path":"/*"}]}})";
constexpr std::string_view kComposite =
    R"({"id":"c","indexingPolicy":{"compositeIndexes":[[{"path":"/v"},{"path":"/_ts","order":"descending"}]]}})";
constexpr std::string_view kNone = R"({"id":"c","indexingPolicy":{"indexingMode":"none"}})";

std::vector<index::PathStep> path(const char* name) {
    return {index::PathStep{.any_element = false, .name = name}};
}

class IndexingChangeTest : public ::testing::Test {
protected:
    void SetUp() override {
        ASSERT_TRUE(account_.create_database(R"({"id":"d"})").ok());
        ASSERT_TRUE(account_.create_container("d", kDefault).ok());
    }
    ContainerPtr container() { return account_->find_container("d", "c"); }
    const partition::ContainerSettings& settings() { return *container()->settings; }
    void put_items(int count) {
        for (int i = 0; i < count; ++i)
            ASSERT_TRUE(account_.put_item(*container(), std::to_string(i)).committed);
    }
    void replace(std::string_view body) {
        const auto replaced = account_.replace_container("d", "c", body);
        ASSERT_TRUE(replaced.ok()) << message_of(replaced);
    }
    /// As the engine's thread does.
    void carry_out() {
        for (;;) {
            const auto more = account_->carry_out_index_changes();
            ASSERT_TRUE(more.ok()) << message_of(more);
            if (!*more) return;
        }
    }
    Findings check() {
        Findings findings;
        const storage::ViewPtr view = account_.store->view();
        for (const ContainerPtr now = container();
             const PartitionRange& range : now->ranges->ranges)
            EXPECT_TRUE(range.partition->check(*view, findings).ok());
        return findings;
    }

    Folder folder_;
    Account account_{folder_.path()};
};

TEST_F(IndexingChangeTest, CarriedOutInTheBackground) {
    put_items(10);
    EXPECT_EQ(account_->index_progress(*container()), 100);
    int woken = 0;
    account_->on_index_change([&] { ++woken; });
    replace(kComposite);
    EXPECT_EQ(woken, 1);
    EXPECT_EQ(account_->index_progress(*container()), 0);
    EXPECT_EQ(settings().previous.size(), 1U);
    EXPECT_FALSE(settings().composite_usable(settings().indexing.composites.at(0)));
    EXPECT_TRUE(settings().path_usable(path("v")));
    EXPECT_EQ(check(), Findings());
    const Version version = container()->version;
    carry_out();
    EXPECT_EQ(account_->index_progress(*container()), 100);
    EXPECT_TRUE(settings().previous.empty());
    EXPECT_TRUE(settings().composite_usable(settings().indexing.composites.at(0)));
    // Clients see no change of the container.
    EXPECT_EQ(container()->version.etag, version.etag);
    EXPECT_NE(rest::container_json(*container()).find("compositeIndexes"), std::string::npos);
    EXPECT_EQ(container()->ranges->ranges[0].partition->settings(), container()->settings);
    EXPECT_EQ(check(), Findings());
    // The same policy again, and other properties, change no index.
    replace(kComposite);
    EXPECT_EQ(woken, 1);
    EXPECT_TRUE(settings().previous.empty());
}

TEST_F(IndexingChangeTest, SurvivesARestart) {
    put_items(10);
    replace(kFew);
    account_.reopen();
    EXPECT_EQ(settings().previous.size(), 1U);
    EXPECT_EQ(settings().index_change, 1U);
    EXPECT_FALSE(settings().path_usable(path("pk")));
    EXPECT_EQ(check(), Findings());
    ASSERT_TRUE(account_.put_item(*container(), "3").committed);
    carry_out();
    EXPECT_EQ(check(), Findings());
    EXPECT_TRUE(settings().undefined_usable(path("v")));
    account_.reopen();
    EXPECT_TRUE(settings().previous.empty());
    EXPECT_TRUE(settings().undefined_usable(path("v")));
    EXPECT_EQ(check(), Findings());
}

TEST_F(IndexingChangeTest, OneAfterAnother) {
    put_items(10);
    replace(kFew);
    replace(kComposite);
    EXPECT_EQ(settings().previous.size(), 2U);
    EXPECT_FALSE(settings().path_usable(path("pk")));  // kFew has no entries there
    replace(kNone);
    replace(kComposite);  // a policy that comes back is not a previous one
    EXPECT_EQ(settings().previous.size(), 3U);
    account_.reopen();
    EXPECT_EQ(settings().previous.size(), 3U);
    EXPECT_EQ(check(), Findings());
    // A change of other properties leaves the running one alone.
    replace(R"({"id":"c","defaultTtl":100,"indexingPolicy":)" + settings().indexing.json + "}");
    EXPECT_EQ(settings().previous.size(), 3U);
    carry_out();
    EXPECT_TRUE(settings().path_usable(path("pk")));
    EXPECT_EQ(check(), Findings());
}

TEST_F(IndexingChangeTest, TooManyAtOnce) {
    put_items(1);
    const auto body = [](int i) {
        return R"({"id":"c","indexingPolicy":{"excludedPaths":[{"path":"/p)" + std::to_string(i) +
               R"(/?"}]}})";
    };
    for (int i = 0; i < 8; ++i) replace(body(i));
    EXPECT_EQ(ended(account_.replace_container("d", "c", body(8))), Ended::kBadRequest);
    EXPECT_EQ(settings().previous.size(), 8U);
    carry_out();
    replace(body(8));
    carry_out();
    EXPECT_EQ(check(), Findings());
}

TEST_F(IndexingChangeTest, SortedPaths) {
    put_items(3);
    const ContainerPtr before = container();
    EXPECT_FALSE(settings().undefined_usable(path("s")));
    ASSERT_TRUE(account_->request_sorted_path(*before, path("s")).ok());
    EXPECT_FALSE(settings().undefined_usable(path("s")));
    carry_out();
    EXPECT_TRUE(settings().undefined_usable(path("s")));
    EXPECT_EQ(check(), Findings());
    const ContainerPtr after = container();
    EXPECT_EQ(after->definition, before->definition);
    EXPECT_EQ(after->version.etag, before->version.etag);
    ASSERT_TRUE(account_->request_sorted_path(*before, path("s")).ok());
    EXPECT_EQ(container(), after);  // it is there already
    account_.reopen();
    EXPECT_TRUE(settings().undefined_usable(path("s")));
    // They stay with a new policy, unless it does not index them.
    replace(kComposite);
    carry_out();
    EXPECT_TRUE(settings().undefined_usable(path("s")));
    replace(kFew);
    carry_out();
    EXPECT_TRUE(settings().indexing.sorted.empty());
    EXPECT_EQ(ended(account_->request_sorted_path(*container(), path("s"))), Ended::kBadRequest);
    EXPECT_EQ(check(), Findings());
}

TEST_F(IndexingChangeTest, SortedPathsAreLimited) {
    for (int i = 0; i < 32; ++i) {
        ASSERT_TRUE(
            account_->request_sorted_path(*container(), path(("s" + std::to_string(i)).c_str()))
                .ok());
        carry_out();
    }
    EXPECT_EQ(ended(account_->request_sorted_path(*container(), path("more"))), Ended::kBadRequest);
    EXPECT_EQ(settings().indexing.sorted.size(), 32U);
}

TEST_F(IndexingChangeTest, DeletedWhileItRuns) {
    put_items(3);
    replace(kFew);
    ASSERT_TRUE(account_->delete_container("d", "c", "").ok());
    carry_out();
    EXPECT_EQ(container(), nullptr);
}

TEST_F(IndexingChangeTest, SurvivesACrash) {
    put_items(30);
    replace(kComposite);
    ASSERT_TRUE(account_->carry_out_index_changes().ok());
    put_items(5);
    Folder crashed;
    copy_as_after_a_crash(folder_.path(), crashed.path());
    Account other(crashed.path());
    const auto findings = [&] {
        Findings out;
        const ContainerPtr there = other->find_container("d", "c");
        EXPECT_TRUE(there->ranges->ranges[0].partition->check(*other.store->view(), out).ok());
        return out;
    };
    EXPECT_EQ(findings(), Findings());
    for (auto more = other->carry_out_index_changes(); more.ok() && *more;
         more = other->carry_out_index_changes()) {
    }
    EXPECT_TRUE(other->find_container("d", "c")->settings->previous.empty());
    EXPECT_EQ(findings(), Findings());
}

/// Writers, a thread that changes the policy again and again, and one that carries changes out.
TEST_F(IndexingChangeTest, WritersGoOn) {
    put_items(100);
    std::atomic<bool> stop{false};
    std::atomic<int> checked{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; !stop; ++i) {
                const std::string id = std::to_string((i * 7 + t * 31) % 120);
                if (i % 5 == 0)
                    (void)account_.delete_item(*container(), id);
                else
                    EXPECT_TRUE(account_.put_item(*container(), id).committed);
            }
        });
    threads.emplace_back([&] {
        while (!stop) {
            const auto more = account_->carry_out_index_changes();
            EXPECT_TRUE(more.ok()) << message_of(more);
            if (more.ok() && !*more) std::this_thread::yield();
        }
    });
    threads.emplace_back([&] {
        while (!stop) {
            // A view from before a change that has ended since is not judged.
            const auto before = container()->ranges->ranges[0].partition->settings();
            const Findings findings = check();
            if (container()->ranges->ranges[0].partition->settings() != before) continue;
            ++checked;
            EXPECT_TRUE(findings.empty()) << findings.front();
        }
    });
    const std::string_view bodies[] = {kFew, kComposite, kNone, kDefault};
    for (int i = 0; i < 40; ++i) {
        const auto replaced = account_.replace_container("d", "c", bodies[i % 4]);
        EXPECT_TRUE(replaced.ok()) << message_of(replaced);
        std::this_thread::sleep_for(std::chrono::milliseconds(i % 3 * 10));
    }
    // Once the last change is carried out, the settings rest while the writers go on.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (checked == 0 && std::chrono::steady_clock::now() < deadline)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stop = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_GT(checked, 0);
    EXPECT_EQ(check(), Findings());
    carry_out();
    EXPECT_EQ(check(), Findings());
    EXPECT_TRUE(settings().previous.empty());
}

}  // namespace
}  // namespace orrery::catalog
