#include "engine/principal.h"
#include "base/ended_test_support.h"

#include <gtest/gtest.h>

namespace orrery::engine {
namespace {

constexpr Access kAll[] = {Access::kAccountRead,   Access::kMetadataRead, Access::kMetadataWrite,
                           Access::kContainerRead, Access::kItemRead,     Access::kItemWrite,
                           Access::kItemCreate,    Access::kFeedRead};

class PrincipalTest : public ::testing::Test {
protected:
    PrincipalTest() {
        own_.rid = {{1}, 0x80000001};
        other_.rid = {{1}, 0x80000002};
        token_.kind = Principal::Kind::kToken;
        token_.scope.container = own_.rid;
        token_.scope.mode = catalog::PermissionMode::kAll;
    }
    static bool allowed(const Principal& who, Access access, const AccessTarget& target) {
        const Status status = authorize(who, access, target);
        if (!status.ok()) {
            EXPECT_EQ(ended(status.error()), Ended::kForbidden);
        }
        return status.ok();
    }

    catalog::Container own_;
    catalog::Container other_;
    Principal token_;
};

TEST_F(PrincipalTest, NobodyMayNothing) {
    for (const auto access : kAll)
        EXPECT_EQ(authorize({}, access, {&own_, "k", "i"}).error().code, Code::kUnauthorized);
}

TEST_F(PrincipalTest, MasterMayEverything) {
    Principal master;
    master.kind = Principal::Kind::kMaster;
    for (const auto access : kAll) EXPECT_TRUE(allowed(master, access, {&own_, "k", "i"}));
}

TEST_F(PrincipalTest, ReadOnlyKeyReads) {
    Principal reader;
    reader.kind = Principal::Kind::kReadOnly;
    for (const auto access : kAll) {
        const bool write = access == Access::kMetadataWrite || access == Access::kItemWrite ||
                           access == Access::kItemCreate;
        EXPECT_EQ(allowed(reader, access, {&own_, "k", "i"}), !write) << static_cast<int>(access);
    }
}

TEST_F(PrincipalTest, TokenIsBoundToItsContainer) {
    for (const auto access : kAll) {
        const bool metadata = access == Access::kMetadataRead || access == Access::kMetadataWrite;
        EXPECT_EQ(allowed(token_, access, {&own_, "k", "i"}), !metadata)
            << static_cast<int>(access);
        EXPECT_EQ(allowed(token_, access, {&other_, "k", "i"}), access == Access::kAccountRead);
        EXPECT_EQ(allowed(token_, access, {}), access == Access::kAccountRead);
    }
}

TEST_F(PrincipalTest, ReadTokenDoesNotWrite) {
    token_.scope.mode = catalog::PermissionMode::kRead;
    EXPECT_TRUE(allowed(token_, Access::kItemRead, {&own_, "k", "i"}));
    EXPECT_TRUE(allowed(token_, Access::kFeedRead, {&own_, std::nullopt, {}}));
    EXPECT_FALSE(allowed(token_, Access::kItemWrite, {&own_, "k", "i"}));
    EXPECT_FALSE(allowed(token_, Access::kItemCreate, {&own_, "k", {}}));
}

TEST_F(PrincipalTest, ItemTokenSeesOneItem) {
    token_.scope.item_id = "i";
    EXPECT_TRUE(allowed(token_, Access::kContainerRead, {&own_, std::nullopt, {}}));
    EXPECT_TRUE(allowed(token_, Access::kItemRead, {&own_, "k", "i"}));
    EXPECT_TRUE(allowed(token_, Access::kItemWrite, {&own_, "k", "i"}));
    EXPECT_FALSE(allowed(token_, Access::kItemRead, {&own_, "k", "j"}));
    EXPECT_FALSE(allowed(token_, Access::kItemWrite, {&own_, "k", {}}));
    EXPECT_FALSE(allowed(token_, Access::kFeedRead, {&own_, "k", "i"}));
    // The id that a create names beside its body proves nothing.
    EXPECT_FALSE(allowed(token_, Access::kItemCreate, {&own_, "k", "i"}));
}

TEST_F(PrincipalTest, KeyTokenSeesOneLogicalPartition) {
    token_.scope.epk = "AAAA";
    for (const auto access :
         {Access::kItemRead, Access::kItemWrite, Access::kItemCreate, Access::kFeedRead}) {
        EXPECT_TRUE(allowed(token_, access, {&own_, "AAAA", "i"}));
        EXPECT_TRUE(
            allowed(token_, access, {&own_, "AAAABBBB", "i"}));  // below a hierarchical prefix
        EXPECT_FALSE(allowed(token_, access, {&own_, "AAAB", "i"}));
        EXPECT_FALSE(allowed(token_, access,
                             {&own_, "AAA", "i"}));  // a prefix of the scope is more than the scope
        EXPECT_FALSE(allowed(token_, access, {&own_, "", "i"}));
        EXPECT_FALSE(allowed(token_, access, {&own_, std::nullopt, "i"}));
    }
}

TEST_F(PrincipalTest, TheEmptyKeyIsNoPrefixOfAll) {
    token_.scope.epk = "";
    EXPECT_TRUE(allowed(token_, Access::kItemRead, {&own_, "", "i"}));
    EXPECT_FALSE(allowed(token_, Access::kItemRead, {&own_, "AAAA", "i"}));
    EXPECT_FALSE(allowed(token_, Access::kFeedRead, {&own_, std::nullopt, {}}));
}

}  // namespace
}  // namespace orrery::engine
