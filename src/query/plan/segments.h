#pragma once

#include <string>
#include <vector>

#include "index/lookup.h"
#include "query/page.h"
#include "query/plan/position.h"

namespace orrery::query {

/// The part of a page's range that lies in one partition, or a piece of it.
struct Segment {
    size_t partition = 0;  ///< index in PageScope::sources
    const SourceRange* source = nullptr;
    partition::EpkRange range;  ///< items outside do not belong to it
    index::PostingScope scope;  ///< entries that may belong to it
    bool whole_partition = false;
    bool one_key = false;  ///< one key, or one prefix of hierarchical keys: a short run of items
    bool resumed = false;  ///< an earlier page left off in it, here:
    bool scanned = false;  ///< … and read its items one after the other
    std::string resume_term;
    std::string resume_docref;
    uint64_t resume_rows = 0;

    const partition::ContainerSettings& settings() const { return *source->settings; }
    const storage::View& view() const { return *source->view; }
};

/// The range cut at partition borders and around the segment in progress; what is done is left out.
/// `scope` outlives them.
std::vector<Segment> segments_of(const PageScope& scope, const Position& position);

}  // namespace orrery::query
