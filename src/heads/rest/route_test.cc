#include "heads/rest/route.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heads/rest/answers.h"

namespace orrery::rest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Route route(std::string_view target) {
    auto result = parse_route(target);
    EXPECT_TRUE(result.ok()) << target << ": " << (result.ok() ? "" : result.error().message);
    return result.ok() ? *result : Route();
}

int refusal(std::string_view target) {
    const auto result = parse_route(target);
    return result.ok() ? 0 : status_of(result.error());
}

struct Row {
    std::string_view target;
    ResourceType type;
    bool feed;
    std::vector<std::string> ids;
    std::string_view segment;
    std::string_view link;
};

TEST(RouteTest, EveryRouteOfTheProtocol) {
    using enum ResourceType;
    const std::vector<Row> rows = {
        {"/", kAccount, false, {}, "", ""},
        {"/dbs", kDatabase, true, {}, "dbs", ""},
        {"/dbs/d", kDatabase, false, {"d"}, "dbs", "dbs/d"},
        {"/dbs/d/colls", kContainer, true, {"d"}, "colls", "dbs/d"},
        {"/dbs/d/colls/c", kContainer, false, {"d", "c"}, "colls", "dbs/d/colls/c"},
        {"/dbs/d/colls/c/docs", kItem, true, {"d", "c"}, "docs", "dbs/d/colls/c"},
        {"/dbs/d/colls/c/docs/i", kItem, false, {"d", "c", "i"}, "docs", "dbs/d/colls/c/docs/i"},
        {"/dbs/d/colls/c/sprocs", kProcedure, true, {"d", "c"}, "sprocs", "dbs/d/colls/c"},
        {"/dbs/d/colls/c/sprocs/s",
         kProcedure,
         false,
         {"d", "c", "s"},
         "sprocs",
         "dbs/d/colls/c/sprocs/s"},
        {"/dbs/d/colls/c/triggers", kTrigger, true, {"d", "c"}, "triggers", "dbs/d/colls/c"},
        {"/dbs/d/colls/c/triggers/t",
         kTrigger,
         false,
         {"d", "c", "t"},
         "triggers",
         "dbs/d/colls/c/triggers/t"},
        {"/dbs/d/colls/c/udfs", kUdf, true, {"d", "c"}, "udfs", "dbs/d/colls/c"},
        {"/dbs/d/colls/c/udfs/u", kUdf, false, {"d", "c", "u"}, "udfs", "dbs/d/colls/c/udfs/u"},
        {"/dbs/d/colls/c/conflicts", kConflict, true, {"d", "c"}, "conflicts", "dbs/d/colls/c"},
        {"/dbs/d/colls/c/conflicts/x",
         kConflict,
         false,
         {"d", "c", "x"},
         "conflicts",
         "dbs/d/colls/c/conflicts/x"},
        {"/dbs/d/colls/c/pkranges", kRange, true, {"d", "c"}, "pkranges", "dbs/d/colls/c"},
        {"/dbs/d/colls/c/operations/partitionkeydelete",
         kPartitionKeyDelete,
         false,
         {"d", "c"},
         "colls",
         "dbs/d/colls/c"},
        {"/dbs/d/colls/c/docs/i/attachments",
         kAttachment,
         true,
         {"d", "c", "i"},
         "attachments",
         "dbs/d/colls/c/docs/i"},
        {"/dbs/d/colls/c/docs/i/attachments/a",
         kAttachment,
         false,
         {"d", "c", "i", "a"},
         "attachments",
         "dbs/d/colls/c/docs/i/attachments/a"},
        {"/dbs/d/users", kUser, true, {"d"}, "users", "dbs/d"},
        {"/dbs/d/users/u", kUser, false, {"d", "u"}, "users", "dbs/d/users/u"},
        {"/dbs/d/users/u/permissions",
         kPermission,
         true,
         {"d", "u"},
         "permissions",
         "dbs/d/users/u"},
        {"/dbs/d/users/u/permissions/p",
         kPermission,
         false,
         {"d", "u", "p"},
         "permissions",
         "dbs/d/users/u/permissions/p"},
        {"/dbs/d/clientencryptionkeys",
         kEncryptionKey,
         true,
         {"d"},
         "clientencryptionkeys",
         "dbs/d"},
        {"/dbs/d/clientencryptionkeys/k",
         kEncryptionKey,
         false,
         {"d", "k"},
         "clientencryptionkeys",
         "dbs/d/clientencryptionkeys/k"},
        {"/offers", kOffer, true, {}, "offers", ""},
        {"/offers/AbC1", kOffer, false, {"AbC1"}, "offers", "offers/AbC1"},
    };
    for (const auto& row : rows) {
        const Route parsed = route(row.target);
        EXPECT_EQ(parsed.type, row.type) << row.target;
        EXPECT_EQ(parsed.feed, row.feed) << row.target;
        EXPECT_EQ(parsed.ids, row.ids) << row.target;
        EXPECT_EQ(parsed.type_segment, row.segment) << row.target;
        EXPECT_EQ(parsed.link, row.link) << row.target;
        // Python ends most paths in a slash; some clients start with two.
        const Route sloppy = route("/" + std::string(row.target) + "//");
        EXPECT_EQ(sloppy.type, row.type) << row.target;
        EXPECT_EQ(sloppy.ids, row.ids) << row.target;
        EXPECT_EQ(sloppy.link, row.link) << row.target;
    }
}

TEST(RouteTest, PublicPathsAndDirectMode) {
    EXPECT_EQ(route("/ready").type, ResourceType::kPublic);
    EXPECT_EQ(route("/alive/").path, "/alive");
    EXPECT_EQ(route("/_explorer/emulator.pem?x").path, "/_explorer/emulator.pem");
    EXPECT_EQ(route("/addresses/?$resolveFor=dbs/d&$filter=protocol%20eq%20rntbd").type,
              ResourceType::kAddress);
    // A database may carry any of these names: below /dbs they are ids like others.
    EXPECT_EQ(route("/dbs/ready").type, ResourceType::kDatabase);
}

TEST(RouteTest, EmptyTargetIsTheAccount) {
    for (const auto target : {"", "/", "//", "/?x=1", "/#x"})
        EXPECT_EQ(route(target).type, ResourceType::kAccount) << target;
}

TEST(RouteTest, QueryPartIsNoPath) {
    EXPECT_THAT(route("/dbs/d?a=/dbs/x").ids, ElementsAre("d"));
    EXPECT_THAT(route("/dbs/d%3Fa").ids, ElementsAre("d?a"));  // an encoded '?' belongs to the id
}

TEST(RouteTest, SegmentsAreDecodedOnce) {
    const Route item = route("/dbs/d/colls/c/docs/x%25y%20%C3%A9");
    EXPECT_EQ(item.last_id(), "x%y é");
    EXPECT_EQ(item.link, "dbs/d/colls/c/docs/x%y é");
    EXPECT_EQ(route("/dbs/a%2525").last_id(), "a%25");
    EXPECT_EQ(route("/dbs/a+b").last_id(), "a+b");
    EXPECT_EQ(route("/dbs/KjtMXQ%3D%3D").last_id(), "KjtMXQ==");
    EXPECT_EQ(route("/%64bs/d").type, ResourceType::kDatabase);
}

TEST(RouteTest, EncodedSlashesAreNeverSeparators) {
    EXPECT_EQ(refusal("/dbs/a%2Fb"), 400);
    EXPECT_EQ(refusal("/dbs/a%2fb"), 400);
    EXPECT_EQ(refusal("/dbs/a%5Cb"), 400);
    EXPECT_EQ(refusal("/dbs/a\\b"), 400);
    EXPECT_EQ(refusal("/dbs%2Fd"), 400);
    EXPECT_EQ(refusal("/dbs/d/colls/c/docs/%2E%2E%2Fx"), 400);
}

TEST(RouteTest, DotsAreOrdinaryIds) {
    EXPECT_EQ(refusal("/dbs/d/../colls"), 404);  // "d" and ".." are not resolved against each other
    EXPECT_THAT(route("/dbs/..").ids, ElementsAre(".."));
    EXPECT_THAT(route("/dbs/%2e%2e/colls/.").ids, ElementsAre("..", "."));
    EXPECT_EQ(refusal("/_explorer/../dbs"), 0);
    EXPECT_EQ(route("/_explorer/../dbs").type, ResourceType::kPublic);
}

TEST(RouteTest, MalformedEscapesAndBytes) {
    for (const auto target : {"/dbs/%", "/dbs/%4", "/dbs/%zz", "/dbs/a%G0", "/dbs/%FF", "/dbs/%C3",
                              "/dbs/%ED%A0%80", "/dbs/%C0%AF", "/dbs/\xFF"})
        EXPECT_EQ(refusal(target), 400) << target;
    // Legal UTF-8 that is odd: item ids may hold it, the resources themselves decide.
    EXPECT_EQ(route("/dbs/d/colls/c/docs/%00").last_id(), std::string(1, '\0'));
}

TEST(RouteTest, EmptyInnerSegments) {
    EXPECT_EQ(refusal("/dbs//colls"), 400);
    EXPECT_EQ(refusal("/dbs/d//colls/c"), 400);
}

TEST(RouteTest, UnknownResources) {
    for (const auto target :
         {"/db", "/dbs/d/docs", "/colls", "/dbs/d/colls/c/offers", "/dbs/d/users/u/docs",
          "/offers/x/y", "/dbs/d/colls/c/pkranges/0/docs", "/dbs/d/colls/c/operations",
          "/dbs/d/colls/c/operations/other", "/dbs/d/colls/c/operations/partitionkeydelete/x",
          "/dbs/d/colls/c/docs/i/attachments/a/media"})
        EXPECT_EQ(refusal(target), 404) << target;
}

TEST(RouteTest, DepthIsBounded) {
    std::string deep;
    for (int i = 0; i < 10'000; ++i) deep += "/dbs";
    EXPECT_EQ(refusal(deep), 404);
    EXPECT_EQ(refusal("/" + std::string(60'000, 'a')), 404);
}

TEST(RouteTest, RidBasedPaths) {
    const Route ranges = route("/dbs/KjtMXQ==/colls/KjtMXYAAAAE=/pkranges");
    EXPECT_THAT(ranges.ids, ElementsAre("KjtMXQ==", "KjtMXYAAAAE="));
    EXPECT_EQ(ranges.last_id(), "KjtMXYAAAAE=");
    EXPECT_TRUE(ranges.feed);
}

TEST(RouteTest, SegmentNamesIgnoreCaseIdsDoNot) {
    const Route container = route("/DBS/Db/Colls/C");
    EXPECT_EQ(container.type, ResourceType::kContainer);
    EXPECT_THAT(container.ids, ElementsAre("Db", "C"));
    EXPECT_EQ(container.type_segment, "colls");
    EXPECT_EQ(container.link, "DBS/Db/Colls/C");  // what the client wrote is what it signs
}

TEST(RouteTest, RefusalsSayWhatIsWrong) {
    EXPECT_THAT(parse_route("/dbs/d/dogs").error().message, HasSubstr("'dogs'"));
    EXPECT_THAT(parse_route("/dbs/%zz").error().message, HasSubstr("percent escape"));
}

}  // namespace
TEST(Route, OwnEndpointsAreSignedByTheirPath) {
    const auto route = parse_route("/_orrery/containers/my%20db/c/metrics?minutes=5");
    ASSERT_TRUE(route.ok());
    EXPECT_EQ(route->type, ResourceType::kOwn);
    EXPECT_EQ(route->type_segment, "_orrery");
    EXPECT_EQ(route->link, "containers/my db/c/metrics");
    EXPECT_EQ(route->ids, (std::vector<std::string>{"containers", "my db", "c", "metrics"}));
    const auto bare = parse_route("/_orrery/");
    ASSERT_TRUE(bare.ok());
    EXPECT_EQ(bare->type, ResourceType::kOwn);
    EXPECT_TRUE(bare->ids.empty());
}

}  // namespace orrery::rest
