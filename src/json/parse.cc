#include "json/parse.h"

#include "json/detail/builder.h"
#include "json/detail/scanner.h"
#include "json/detail/typed_builder.h"

namespace orrery::json {
namespace {

Result<Value> parse_typed(std::string_view text, Arena& arena, const ParseOptions& options) {
    detail::TypedBuilder builder(arena, !options.refuse_duplicate_names);
    detail::Scanner<detail::TypedBuilder> scanner(
        text, builder, arena, {options.depth_max, options.refuse_duplicate_names});
    if (!scanner.run()) return scanner.error();
    if (builder.wrong_at() != nullptr)
        return errors::bad_json("'$t' and '$v' are no value of a known type",
                                static_cast<uint64_t>(builder.wrong_at() - text.data()));
    return builder.result();
}

}  // namespace

Result<Value> parse(std::string_view text, Arena& arena, const ParseOptions& options) {
    // One copy of the text holds all strings without escapes and all number texts.
    const std::string_view owned = arena.copy(text);
    if (options.typed_values) return parse_typed(owned, arena, options);
    detail::Builder builder(arena, !options.refuse_duplicate_names);
    detail::Scanner<detail::Builder> scanner(owned, builder, arena,
                                             {options.depth_max, options.refuse_duplicate_names});
    if (!scanner.run()) return scanner.error();
    return builder.result();
}

}  // namespace orrery::json
