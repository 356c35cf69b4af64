#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/item.h"
#include "json/value.h"

namespace orrery::json {

namespace detail {
struct SelectionNode;
}

/// Which members of items are wanted: a tree of names, built from paths. A path selects the whole
/// value at its end; longer paths below it add nothing. The empty path selects the whole item.
/// Immutable; values made with it borrow its names.
class Selection {
public:
    Selection();  ///< nothing
    explicit Selection(const std::vector<MemberPath>& paths);

    bool selects_all() const;
    bool selects_nothing() const;
    /// Whether anything at or below a top-level member is selected.
    bool includes(std::string_view name) const;

private:
    friend Result<Value> parse_selected(std::string_view, const Selection&, Arena&,
                                        std::span<const Member>);
    std::shared_ptr<const detail::SelectionNode> root_;
};

/// The selected part of a stored item: an object with the selected members only, in the text's
/// order; objects on the way to one are reduced likewise, and left out when they are no objects.
/// Every selected value is the one that parse() gives.
///
/// `text` is trusted to be an item's stored text (minified, fewest escapes, names unique) and is
/// read no further than to the last member found: damaged text gives an error or a wrong value.
/// `more` are members that are not in the text (system properties); those selected follow at the
/// end. The result borrows from `text`, `selection`, `more` and `arena`.
Result<Value> parse_selected(std::string_view text, const Selection& selection, Arena& arena,
                             std::span<const Member> more);
inline Result<Value> parse_selected(std::string_view text, const Selection& selection,
                                    Arena& arena) {
    return parse_selected(text, selection, arena, {});
}

}  // namespace orrery::json
