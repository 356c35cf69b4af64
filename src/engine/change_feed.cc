#include <algorithm>
#include <charconv>

#include "base/bytes.h"
#include "base/errors.h"
#include "base/limits.h"
#include "engine/engine.h"
#include "json/document.h"

namespace orrery::engine {
namespace {

using catalog::PartitionRange;
using partition::EpkRange;

/// A position over one range: its LSN in decimal digits.
std::optional<storage::Lsn> parse_lsn(std::string_view text) {
    storage::Lsn lsn = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), lsn);
    if (text.empty() || error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return lsn;
}

EpkRange common(const EpkRange& a, const EpkRange& b) {
    return {std::max(a.min, b.min), std::min(a.max, b.max)};
}

/// A part of the feed and the range that serves it.
struct Part {
    ChangeFeedPosition position;
    const PartitionRange* range = nullptr;
    storage::Lsn up_to = 0;
};

/// After a split a position holds for all ranges that cover it.
std::vector<Part> parts_of(const catalog::Container& container,
                           const std::vector<ChangeFeedPosition>& positions) {
    std::vector<Part> parts;
    for (const ChangeFeedPosition& position : positions)
        for (const PartitionRange* range : container.ranges->overlapping(position.range))
            parts.push_back(
                {{common(position.range, range->partition->identity().range), position.after},
                 range,
                 0});
    return parts;
}

/// The positions of a wider feed, as a reader of `wanted` needs them: a client that learns of a
/// split gives each new range the position of the old one, which may already be one over several
/// ranges.
Result<std::vector<ChangeFeedPosition>> narrowed(std::vector<ChangeFeedPosition> positions,
                                                 const EpkRange& wanted) {
    std::erase_if(positions, [&](const ChangeFeedPosition& position) {
        return position.range.max <= wanted.min || wanted.max <= position.range.min;
    });
    std::vector<EpkRange> held;
    for (ChangeFeedPosition& position : positions) {
        position.range = common(position.range, wanted);
        held.push_back(position.range);
    }
    std::sort(held.begin(), held.end(),
              [](const EpkRange& a, const EpkRange& b) { return a.min < b.min; });
    std::string_view covered = wanted.min;
    for (const EpkRange& range : held)
        if (range.min <= covered) covered = range.max;
    if (covered < wanted.max) return errors::feed_position_elsewhere();
    return positions;
}

/// Parts that one range serves and that stand at the same place become one again: a reader who has
/// seen all holds one position for each range, however often ranges have split and merged.
void join_neighbours(std::vector<Part>& parts) {
    std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
        return a.position.range.min < b.position.range.min;
    });
    std::vector<Part> joined;
    for (Part& part : parts) {
        if (!joined.empty() && joined.back().range == part.range &&
            joined.back().position.after == part.position.after &&
            joined.back().position.range.max == part.position.range.min)
            joined.back().position.range.max = part.position.range.max;
        else
            joined.push_back(std::move(part));
    }
    parts = std::move(joined);
}

meter::Charge price_of(const partition::Change& change, const meter::Pricing& by) {
    // A delete is priced as the version that it removed.
    const auto& item = change.current.document != nullptr ? change.current : change.previous;
    if (item.document == nullptr) return meter::point_read(0, by);
    const auto document = json::decode_document(*item.document);
    return meter::point_read(document.ok() ? document->text_bytes() : 0, by);
}

}  // namespace

Result<std::vector<ChangeFeedPosition>> Engine::change_feed_start(
    const catalog::Container& container, const ChangeFeedRequest& request, uint64_t scope) const {
    if (request.continuation.empty()) return std::vector<ChangeFeedPosition>{{request.range, 0}};
    const auto lsn = parse_lsn(request.continuation);
    if (!lsn) {
        TRY(auto positions, continuations_.decode_changes(request.continuation, scope));
        return narrowed(positions, request.range);
    }
    for (const PartitionRange* range : container.ranges->overlapping(request.range)) {
        if (*lsn > range->partition->lsn())
            return errors::feed_position_ahead(request.continuation, range->id,
                                               range->partition->lsn());
    }
    return std::vector<ChangeFeedPosition>{{request.range, *lsn}};
}

Result<ChangeFeedAnswer> Engine::read_changes(const catalog::Container& given,
                                              const ChangeFeedRequest& request) const {
    // Ranges that move while they are looked up are looked up again.
    for (;;) {
        TRY(const Routed routed, route(given));
        TRY(auto answer, read_changes_of(*routed.container, request));
        if (answer) return std::move(*answer);
    }
}

Result<std::optional<ChangeFeedAnswer>> Engine::read_changes_of(
    const catalog::Container& container, const ChangeFeedRequest& request) const {
    // A position names its own range.
    const uint64_t scope = scope_hash(container, {}, "changes", "");
    TRY(const auto start, change_feed_start(container, request, scope));
    std::vector<Part> parts = parts_of(container, start);
    // Before the view: whatever was published by then is in it.
    for (Part& part : parts) part.up_to = part.range->partition->lsn();
    const auto view = deps_.store.view();
    for (const Part& part : parts)
        if (!part.range->partition->is_current()) return std::optional<ChangeFeedAnswer>();
    for (Part& part : parts) {
        if (request.from_now) {
            part.position.after = part.up_to;
        } else if (request.continuation.empty() && request.newer_than) {
            TRY(part.position.after,
                part.range->partition->lsn_before(*view, *request.newer_than, part.up_to));
        }
    }

    ChangeFeedAnswer answer;
    answer.nothing_new = true;
    const meter::Pricing by = pricing(request.bill);
    uint64_t bytes_left = limits::kResponsePageBytesMax;
    size_t read = 0;
    for (; read < parts.size() && answer.changes.size() < request.items_max && bytes_left > 0;
         ++read) {
        Part& part = parts[read];
        if (const Status admitted = admit(*part.range, request.terms); !admitted.ok()) {
            if (read == 0) return admitted.error();
            break;  // answer what the others gave; this one is first next time
        }
        answer.touched = {part.range->id, part.up_to};
        partition::ChangesRequest page_request;
        page_request.range = part.position.range;
        page_request.epk = request.full_epk;
        page_request.after = part.position.after;
        page_request.up_to = part.up_to;
        page_request.newer_than = request.newer_than;
        page_request.all_versions = request.all_versions;
        page_request.items_max = request.items_max - static_cast<uint32_t>(answer.changes.size());
        page_request.bytes_max = bytes_left;
        TRY(auto page, part.range->partition->read_changes(*view, page_request));
        part.position.after = page.position;
        answer.nothing_new = answer.nothing_new && !page.more;
        meter::Charge from_range;
        for (partition::Change& change : page.changes) {
            from_range += price_of(change, by);
            for (const auto* item : {&change.current, &change.previous})
                if (item->document != nullptr)
                    bytes_left -= std::min<uint64_t>(bytes_left, item->document->size());
            answer.changes.push_back(std::move(change));
        }
        answer.charge += from_range;
        answer.range_charges.push_back({part.range->number, from_range});
    }
    // A range that was not asked may have something new.
    answer.nothing_new = answer.nothing_new && read == parts.size();
    answer.nothing_new = answer.nothing_new && answer.changes.empty();
    if (answer.nothing_new) {
        // No news costs the same for every range that was polled, whatever the level.
        answer.range_charges.clear();
        for (const Part& part : parts) {
            answer.range_charges.push_back({part.range->number, meter::not_modified(by)});
            answer.charge += answer.range_charges.back().charge;
            settle(*part.range, request.terms, answer.range_charges.back().charge);
        }
        if (parts.empty()) answer.charge = meter::not_modified(by);
        join_neighbours(parts);
        read = 0;
    } else {
        std::vector<const PartitionRange*> ranges;
        for (const Part& part : parts) ranges.push_back(part.range);
        settle_feed(answer, ranges, request.terms, by);
    }
    // Ranges that were read go to the end, so that no range waits for another.
    std::rotate(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(read), parts.end());
    if (parts.size() == 1) {
        answer.position = std::to_string(parts[0].position.after);
    } else if (parts.empty()) {
        answer.position = "0";
    } else {
        std::vector<ChangeFeedPosition> positions;
        for (Part& part : parts) positions.push_back(std::move(part.position));
        answer.position = continuations_.encode_changes(positions, scope);
    }
    return std::optional<ChangeFeedAnswer>(std::move(answer));
}

}  // namespace orrery::engine
