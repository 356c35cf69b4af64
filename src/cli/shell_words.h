#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/line_editor.h"
#include "json/value.h"

namespace orrery::cli {

/// Takes finished statements (up to a semicolon outside of strings and comments) from the front of
/// `text`; what remains there is not finished. Blank statements are dropped.
std::vector<std::string> take_statements(std::string& text);

/// A shell command's words: blanks separate, double quotes hold together.
std::vector<std::string> split_words(std::string_view line);

/// The words of the language and its functions, for completion.
const std::vector<std::string>& query_words();

struct CompletionContext {
    std::vector<std::string> commands;    ///< ".use", …
    std::vector<std::string> containers;  ///< "shop/orders"
    std::vector<std::string> paths;  ///< "customer", "address.city": paths of the container's data
    std::vector<std::string> parameters;  ///< "@name"
};
/// What may stand at the end of `before`. Paths follow an alias and a dot.
Completion complete_line(std::string_view before, const CompletionContext& context);

/// Paths of the items' members, "a.b"; arrays end a path.
void collect_paths(const json::Value& item, std::vector<std::string>& out);

}  // namespace orrery::cli
