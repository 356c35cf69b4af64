#include "query/heavy.h"

#include <gtest/gtest.h>

#include "query/query.h"

namespace orrery::query {
namespace {

TEST(Heavy, QueriesThatMayStayWithAnItem) {
    const auto heavy = [](std::string_view text) {
        const auto compiled = compile(text);
        EXPECT_TRUE(compiled.ok()) << text;
        return compiled.ok() && is_heavy(**compiled);
    };
    EXPECT_FALSE(heavy("SELECT * FROM c WHERE c.a = 1 ORDER BY c.b"));
    EXPECT_FALSE(heavy("SELECT c.a, COUNT(1) FROM c WHERE ARRAY_CONTAINS(c.t, 1) GROUP BY c.a"));
    EXPECT_TRUE(heavy("SELECT VALUE t FROM c JOIN t IN c.t"));
    EXPECT_TRUE(heavy("SELECT * FROM c WHERE EXISTS(select VALUE t FROM t IN c.t)"));
    EXPECT_TRUE(heavy("SELECT ARRAY(SELECT VALUE t FROM t IN c.t) AS a FROM c"));
    EXPECT_TRUE(heavy("SELECT * FROM (SELECT VALUE c.a FROM c)"));
    EXPECT_TRUE(heavy("SELECT udf.f(c.a) FROM c"));
}

}  // namespace
}  // namespace orrery::query
