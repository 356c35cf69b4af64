#include "json/parse.h"

#include "json/detail/builder.h"
#include "json/detail/scanner.h"

namespace orrery::json {

Result<Value> parse(std::string_view text, Arena& arena, const ParseOptions& options) {
    // One copy of the text holds all strings without escapes and all number texts.
    const std::string_view owned = arena.copy(text);
    detail::Builder builder(arena, !options.refuse_duplicate_names);
    detail::Scanner<detail::Builder> scanner(owned, builder, arena,
                                             {options.depth_max, options.refuse_duplicate_names});
    if (!scanner.run()) return scanner.error();
    return builder.result();
}

}  // namespace orrery::json
