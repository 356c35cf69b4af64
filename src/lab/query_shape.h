#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "query/compile.h"

namespace orrery::lab {

/// What queries that differ in constants only have in common. Paths are "/a/b".
struct QueryShape {
    std::string text;
    bool returns_items = false;  ///< SELECT *, SELECT VALUE c
    bool aggregates = false;
    std::vector<std::string> equality_paths;  ///< each compared with a constant in every item found
    std::vector<std::string> filter_paths;
    std::vector<std::string> order_paths;  ///< "/a ASC"
    std::vector<std::string> projected_paths;
    std::vector<std::string>
        scan_functions;  ///< called in the filter over the item, not served by an index
};

/// A query's text with `?` for constants, blanks and letter case of words made alike.
std::string normalized_query(std::string_view text);
/// The same for texts that differ in constants only.
uint64_t shape_hash(std::string_view text);
/// Of its text. Remembered, a few per thread: queries come again and again.
uint64_t shape_hash(const std::shared_ptr<const query::CompiledQuery>& query);
QueryShape shape_of(const query::CompiledQuery& query);

}  // namespace orrery::lab
