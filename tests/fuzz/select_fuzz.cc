// Reading a part of an item must give what reading all of it gives, and damaged text an error or
// another value. The first line of the input holds paths (names apart by '.', paths by ','), the
// rest is the text.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "json/item.h"
#include "json/order.h"
#include "json/parse.h"
#include "json/select.h"
#include "json/write.h"

using namespace orrery;        // NOLINT
using namespace orrery::json;  // NOLINT

namespace {

std::vector<MemberPath> read_paths(std::string_view line) {
    std::vector<MemberPath> paths(1, MemberPath(1));
    for (const char c : line) {
        if (c == ',') {
            paths.emplace_back(1);
        } else if (c == '.') {
            paths.back().emplace_back();
        } else {
            paths.back().back().push_back(c);
        }
    }
    return paths;
}

Value follow(Value value, const MemberPath& path) {
    for (const std::string& name : path) value = value.member(name);
    return value;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const size_t line = input.find('\n');
    if (line == std::string_view::npos) return 0;
    const auto paths = read_paths(input.substr(0, line));
    const Selection selection(paths);
    const std::string_view text = input.substr(line + 1);

    Arena arena;
    (void)parse_selected(text, selection, arena).ok();

    const auto item = read_item(text, {}, nullptr);
    if (!item.ok()) return 0;
    const auto full = parse(item->text, arena);
    const auto part = parse_selected(item->text, selection, arena);
    CHECK(full.ok() && part.ok());
    for (const MemberPath& path : paths)
        CHECK(to_text(follow(*full, path)) == to_text(follow(*part, path)));
    const auto all = parse_selected(item->text, Selection({MemberPath{}}), arena);
    CHECK(all.ok() && to_text(*all) == item->text);
    return 0;
}
