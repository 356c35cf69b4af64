// A patch either applies as a whole or is refused with a 400; it never touches the id, a system
// property or the partition key, and its result is an item again.
// Input: the item, a newline, the patch.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/errors.h"
#include "json/order.h"
#include "json/parse.h"
#include "json/patch.h"
#include "json/write.h"

using namespace orrery;        // NOLINT
using namespace orrery::json;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const size_t newline = input.find('\n');
    if (newline == std::string_view::npos) return 0;
    Arena arena;
    const auto item = parse(input.substr(0, newline), arena);
    const auto body = parse(input.substr(newline + 1), arena);
    if (!item.ok() || !body.ok()) return 0;
    const auto patch = parse_patch(*body, arena);
    if (!patch.ok()) {
        CHECK(errors::is_bad_request(patch.error().code));
        return 0;
    }
    const std::vector<MemberPath> key = {{"pk"}, {"a", "b"}};
    const std::string before = to_text(*item);
    const auto result = apply_patch(*item, *patch, key, arena);
    CHECK(to_text(*item) == before);
    if (!result.ok()) {
        CHECK(errors::is_bad_request(result.error().code));
        return 0;
    }
    for (const char* name : {"id", "_rid", "_self", "_etag", "_ts", "_attachments", "_lsn", "pk"})
        CHECK(equal(item->member(name), result->member(name)));
    CHECK(equal(item->member("a").member("b"), result->member("a").member("b")));
    ParseOptions deep;
    deep.depth_max = 1024;
    const std::string after = to_text(*result);
    const auto again = parse(after, arena, deep);
    CHECK(again.ok() && to_text(*again) == after);
    return 0;
}
