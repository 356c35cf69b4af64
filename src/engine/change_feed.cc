#include <algorithm>
#include <charconv>

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
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return lsn;
}

EpkRange common(const EpkRange& a, const EpkRange& b) { return {std::max(a.min, b.min), std::min(a.max, b.max)}; }

/// A part of the feed and the range that serves it.
struct Part {
    ChangeFeedPosition position;
    const PartitionRange* range = nullptr;
    storage::Lsn up_to = 0;
};

/// After a split a position holds for all ranges that cover it.
std::vector<Part> parts_of(const catalog::Container& container, const std::vector<ChangeFeedPosition>& positions) {
    std::vector<Part> parts;
    for (const ChangeFeedPosition& position : positions)
        for (const PartitionRange* range : container.ranges->overlapping(position.range))
            parts.push_back(
                {{common(position.range, range->partition->identity().range), position.after}, range, 0});
    return parts;
}

int64_t quanta_of(const partition::Change& change) {
    // A delete counts as the version that it took away.
    const auto& item = change.current.document != nullptr ? change.current : change.previous;
    if (item.document == nullptr) return meter::read_quanta(0);
    const auto document = json::decode_document(*item.document);
    return meter::read_quanta(document.ok() ? document->text.size() : 0);
}

}  // namespace

Result<std::vector<ChangeFeedPosition>> Engine::change_feed_start(const catalog::Container& container,
                                                                  const ChangeFeedRequest& request,
                                                                  uint64_t scope) const {
    if (request.continuation.empty()) return std::vector<ChangeFeedPosition>{{request.range, 0}};
    const auto lsn = parse_lsn(request.continuation);
    if (!lsn) return continuations_.decode_changes(request.continuation, scope);
    for (const PartitionRange* range : container.ranges->overlapping(request.range)) {
        if (*lsn > range->partition->lsn())
            return errors::bad_request("The change feed position " + request.continuation +
                                       " in If-None-Match is ahead of partition key range '" + range->id +
                                       "', whose last change has number " +
                                       std::to_string(range->partition->lsn()) +
                                       ": it belongs to another container or range.");
    }
    return std::vector<ChangeFeedPosition>{{request.range, *lsn}};
}

Result<ChangeFeedAnswer> Engine::read_changes(const catalog::Container& container,
                                              const ChangeFeedRequest& request) const {
    const uint64_t scope = scope_hash(container, request.range, "changes", "");
    TRY(const auto start, change_feed_start(container, request, scope));
    std::vector<Part> parts = parts_of(container, start);
    // Before the view: whatever was published by then is in it.
    for (Part& part : parts) part.up_to = part.range->partition->lsn();
    const auto view = deps_.store.view();
    for (Part& part : parts) {
        if (request.from_now) {
            part.position.after = part.up_to;
        } else if (request.continuation.empty() && request.newer_than) {
            TRY(part.position.after, part.range->partition->lsn_before(*view, *request.newer_than, part.up_to));
        }
    }

    ChangeFeedAnswer answer;
    answer.nothing_new = true;
    int64_t quanta = 0;
    uint64_t bytes_left = limits::kResponsePageBytesMax;
    size_t read = 0;
    for (; read < parts.size() && answer.changes.size() < request.items_max && bytes_left > 0; ++read) {
        Part& part = parts[read];
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
        for (partition::Change& change : page.changes) {
            quanta += quanta_of(change);
            for (const auto* item : {&change.current, &change.previous})
                if (item->document != nullptr)
                    bytes_left -= std::min<uint64_t>(bytes_left, item->document->size());
            answer.changes.push_back(std::move(change));
        }
    }
    answer.nothing_new = answer.nothing_new && answer.changes.empty();
    answer.charge = meter::feed_page(quanta);
    if (answer.nothing_new) {
        answer.charge = {};
        for (size_t i = 0; i < std::max<size_t>(1, parts.size()); ++i) answer.charge += meter::failure(304, 0);
    }
    // What was read comes last next time, so that no range waits for another one's end.
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
    return answer;
}

}  // namespace orrery::engine
