#include <gtest/gtest.h>

#include "base/bytes.h"
#include "storage/detail/term_prefix.h"
#include "storage/keys.h"

namespace orrery::storage::detail {
namespace {

size_t prefix_of(std::string_view term) {
    std::string key = keys::index_path(7, 1000);
    key.append(term).append(16, 'd');
    const size_t bytes = term_prefix_bytes(key.data(), key.size());
    return bytes == 0 ? 0 : bytes - 12;
}

TEST(TermPrefix, EndsWhereTheTermEnds) {
    using namespace std::string_literals;
    EXPECT_EQ(prefix_of("\x20"s), 1U);
    EXPECT_EQ(prefix_of("\x40"s + "12345678"), 9U);
    EXPECT_EQ(prefix_of("\x78"s + "12345678"), 9U);
    EXPECT_EQ(prefix_of("\x50"s + "ab\0\0"s), 5U);
    EXPECT_EQ(prefix_of("\x50"s + "ab\0\1"s), 5U);
    EXPECT_EQ(prefix_of("\x50"s + "a\0\xFF"s + "b\0\0"s), 7U);
    // Of a composite's terms the first.
    EXPECT_EQ(prefix_of("\x50"s + "ab\0\0\x20"s), 5U);
}

TEST(TermPrefix, KeysWithoutOne) {
    using namespace std::string_literals;
    EXPECT_EQ(prefix_of("\xAF"s), 0U);  // backwards
    const std::string own = keys::index_path(7, 3) + "\x20";
    EXPECT_EQ(term_prefix_bytes(own.data(), own.size()), 0U);
    const std::string cut = keys::index_path(7, 1000) + "\x50" + "ab";
    EXPECT_EQ(term_prefix_bytes(cut.data(), cut.size()), 0U);
    const std::string short_number = keys::index_path(7, 1000) + "\x40" + "123";
    EXPECT_EQ(term_prefix_bytes(short_number.data(), short_number.size()), 0U);
    EXPECT_EQ(term_prefix_bytes(own.data(), 4), 0U);
}

}  // namespace
}  // namespace orrery::storage::detail
