// Rids come in paths, headers and tokens. A text that is taken for a rid must be exactly what that
// rid is written as: no two texts name one resource.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "catalog/rid.h"

using namespace orrery::catalog;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const ContainerRid container{{0x2A3B4C5D}, 0x8000'0001};
    int taken = 0;
    if (const auto rid = parse_database_rid(text)) {
        CHECK(rid->number != 0 && rid->text() == text);
        ++taken;
    }
    if (const auto rid = parse_container_rid(text)) {
        CHECK(rid->text() == text);
        ++taken;
    }
    if (const auto rid = parse_user_rid(text)) {
        CHECK(rid->text() == text);
        ++taken;
    }
    if (const auto rid = parse_permission_rid(text)) {
        CHECK(rid->text() == text);
        ++taken;
    }
    if (const auto number = parse_item_rid(container, text)) {
        CHECK(child_rid(container, ChildType::kItem, *number) == text);
        ++taken;
    }
    if (const auto number = parse_offer_rid(text)) {
        CHECK(offer_rid(*number) == text);
        ++taken;
    }
    CHECK(taken <= 1);  // the kinds differ in length or in the top bit
    return 0;
}
