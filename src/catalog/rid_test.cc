#include "catalog/rid.h"

#include <gtest/gtest.h>

#include "base/encoding.h"

namespace orrery::catalog {
namespace {

constexpr DatabaseRid kDatabase{0x2A3B4C5D};
constexpr ContainerRid kContainer{kDatabase, 0x8000'0001};

TEST(Rid, ProtocolVectors) {
    EXPECT_EQ(kDatabase.text(), "KjtMXQ==");
    EXPECT_EQ(kContainer.text(), "KjtMXYAAAAE=");
    EXPECT_EQ(child_rid(kContainer, ChildType::kItem, 1), "KjtMXYAAAAEBAAAAAAAAAA==");
    EXPECT_EQ(child_rid(kContainer, ChildType::kRange, 2), "KjtMXYAAAAECAAAAAAAAUA==");
}

TEST(Rid, TypeIsTheHighNibbleOfTheLastByte) {
    for (ChildType type : {ChildType::kItem, ChildType::kConflict, ChildType::kRange,
                           ChildType::kUdf, ChildType::kTrigger, ChildType::kProcedure}) {
        const auto bytes = rid_decode(child_rid(kContainer, type, 0x0FFF'FFFF'FFFF'FFFF));
        ASSERT_TRUE(bytes && bytes->size() == 16);
        EXPECT_EQ(static_cast<uint8_t>(bytes->back()) >> 4, static_cast<uint8_t>(type));
    }
}

TEST(Rid, DatabaseRoundTrip) {
    for (uint32_t number : {1u, 0x2A3B4C5Du, 0xFFFFFFFFu}) {
        const auto parsed = parse_database_rid(DatabaseRid{number}.text());
        ASSERT_TRUE(parsed);
        EXPECT_EQ(parsed->number, number);
    }
    EXPECT_FALSE(parse_database_rid("AAAAAA=="));  // zero
}

TEST(Rid, ContainerAndUserDifferInTheTopBit) {
    const UserRid user{kDatabase, 7};
    EXPECT_EQ(parse_container_rid(kContainer.text()), kContainer);
    EXPECT_EQ(parse_user_rid(user.text()), user);
    EXPECT_FALSE(parse_container_rid(user.text()));
    EXPECT_FALSE(parse_user_rid(kContainer.text()));
}

TEST(Rid, PermissionRoundTrip) {
    const PermissionRid permission{{kDatabase, 7}, 0x0102030405060708};
    EXPECT_EQ(parse_permission_rid(permission.text()), permission);
    EXPECT_FALSE(parse_permission_rid(child_rid(kContainer, ChildType::kItem, 1)));
}

TEST(Rid, ItemNumber) {
    for (uint64_t number : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 40, (uint64_t{1} << 60) - 1})
        EXPECT_EQ(parse_item_rid(kContainer, child_rid(kContainer, ChildType::kItem, number)),
                  number);
    const ContainerRid other{kDatabase, 0x8000'0002};
    EXPECT_FALSE(parse_item_rid(other, child_rid(kContainer, ChildType::kItem, 1)));
    EXPECT_FALSE(parse_item_rid(kContainer, child_rid(kContainer, ChildType::kProcedure, 1)));
}

TEST(Rid, Offer) {
    EXPECT_EQ(offer_rid(1), "AAAB");
    EXPECT_EQ(offer_rid(kOfferNumberMax), "----");
    for (uint32_t number : {0u, 1u, 0x01BDDDu, kOfferNumberMax})
        EXPECT_EQ(parse_offer_rid(offer_rid(number)), number);
}

TEST(Rid, MalformedTextsAreNoRids) {
    for (std::string_view text : {"", "=", "KjtMXQ", "KjtMXQ=", "KjtMXR==", "KjtMXQ==x",
                                  "Kj/MXQ==", " KjtMXQ==", "KjtMXYAAAAE", "KjtMXYAAAAF=",
                                  "KjtMXYAAAAEBAAAAAAAAAB==", "KjtMXYAAAAEBAAAAAAAA", "!!!!"}) {
        EXPECT_FALSE(parse_database_rid(text)) << text;
        EXPECT_FALSE(parse_container_rid(text)) << text;
        EXPECT_FALSE(parse_user_rid(text)) << text;
        EXPECT_FALSE(parse_permission_rid(text)) << text;
        EXPECT_FALSE(parse_item_rid(kContainer, text)) << text;
        EXPECT_FALSE(parse_offer_rid(text)) << text;
    }
}

}  // namespace
}  // namespace orrery::catalog
