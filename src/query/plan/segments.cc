#include "query/plan/segments.h"

#include <algorithm>

#include "partition/docref_bounds.h"

namespace orrery::query {

std::vector<Segment> segments_of(const PageScope& page, const Position& position) {
    // What is left of the request's range, and where each part of it stands.
    struct Part {
        std::string_view min;
        std::string_view max;
        const Position::Piece* at;  ///< null: at its beginning
    };
    std::vector<Part> parts;
    Position::Piece current;
    std::string_view begin = page.range.min;
    if (position.order == Position::Order::kDocref || position.order == Position::Order::kTerms ||
        position.order == Position::Order::kScan) {
        current = {position.segment_max, position.term, position.docref, position.item_rows};
        parts.push_back({position.segment_min, position.segment_max, &current});
        begin = position.segment_max;
        for (const Position::Piece& piece : position.pieces) {
            parts.push_back({begin, piece.max, &piece});
            begin = piece.max;
        }
    }
    parts.push_back({begin, page.range.max, nullptr});

    std::vector<Segment> out;
    for (size_t i = 0; i < page.sources.size(); ++i) {
        const SourceRange& source = page.sources[i];
        const auto& identity = source.partition->identity();
        const auto& key = source.settings->key;
        for (const Part& part : parts) {
            const std::string_view min =
                std::max<std::string_view>({part.min, page.range.min, identity.range.min});
            const std::string_view max =
                std::min<std::string_view>({part.max, page.range.max, identity.range.max});
            if (min >= max) continue;
            Segment& segment = out.emplace_back();
            const partition::EpkRange& range = segment.range;
            segment.partition = i;
            segment.source = &source;
            segment.range.min = min;
            segment.range.max = max;
            if (part.at != nullptr) {
                segment.resumed = !part.at->docref.empty();
                segment.scanned = segment.resumed && part.at == &current &&
                                  position.order == Position::Order::kScan;
                segment.resume_term = part.at->term;
                segment.resume_docref = part.at->docref;
                segment.resume_rows = part.at->item_rows;
            }
            segment.whole_partition = range == identity.range;
            segment.scope.view = source.view.get();
            segment.scope.partition = identity.id;
            segment.scope.docref_bytes = 8 * (key.level_count() + 1);
            segment.one_key = range.is_of_key();
            if (segment.one_key && page.full_epk && key.level_count() == 1)
                segment.scope.runs = std::make_shared<index::KeyRuns>();
            if (!segment.whole_partition) {
                const auto bounds = partition::docref_bounds(key, range);
                segment.scope.docref_begin = bounds.begin;
                segment.scope.docref_end = bounds.end;
            }
        }
    }
    return out;
}

}  // namespace orrery::query
