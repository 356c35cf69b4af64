// The primary order: (EPK, id) over `ids`, in both directions.
#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "partition/record.h"
#include "query/exec/candidate_reader.h"
#include "query/exec/page.h"

namespace orrery::query {
namespace {

/// Walks the ids of one segment after the other; backward, the last segment first. Its position is
/// the (EPK, id) of the last item, which no split changes.
class Primary final : public ItemSource {
public:
    explicit Primary(const Page& page)
        : segments_(segments_of(page.scope, Position())),
          backward_(page.plan.backward),
          now_(page.scope.clock.wall_seconds()) {
        if (backward_) std::reverse(segments_.begin(), segments_.end());
    }
    Result<const FoundItem*> next(Page& page) override;
    void note(Page& page, Taken taken, uint64_t rows_done) override;
    void tell(Page& page) override;

private:
    struct Named {
        std::string epk;
        std::string id;
        storage::Docref docref;
    };
    void open(Page& page);
    void close(Page& page);
    Status gather(Page& page);
    /// A key of `ids`, as a scan's bound: this item's, or the first behind it.
    static std::string bound(const Segment& segment, std::string_view epk, std::string_view id,
                             bool behind);
    const Segment& segment() const { return segments_[at_]; }

    std::vector<Segment> segments_;
    const bool backward_;
    const int64_t now_;
    size_t at_ = 0;
    bool open_ = false;                     ///< the segment is being read
    std::unique_ptr<storage::Cursor> ids_;  ///< null: it has none
    std::vector<Named> batch_;
    size_t next_ = 0;  ///< in the batch
    size_t batch_size_ = 0;
    partition::Documents documents_;
    FoundItem item_;
    AccessReport report_;
    uint64_t matched_before_ = 0;
    int64_t index_us_ = 0;
    int64_t load_us_ = 0;
};

std::string Primary::bound(const Segment& segment, std::string_view epk, std::string_view id,
                           bool behind) {
    std::string key = storage::keys::id(segment.scope.partition, epk, storage::IdKind::kItem, id);
    if (behind) key.push_back('\0');
    return key;
}

void Primary::open(Page& page) {
    const Segment& segment = this->segment();
    const IdBounds& ids = page.plan.ids;
    const storage::PartitionId id = segment.scope.partition;
    const std::string whole = storage::keys::partition(id);
    std::string begin =
        segment.range.min.empty()
            ? whole
            : storage::keys::ids_of_epk(id, segment.range.min, storage::IdKind::kItem);
    std::string end =
        std::min(prefix_successor(whole),
                 storage::keys::ids_of_epk(id, segment.range.max, storage::IdKind::kItem));
    if (const auto& epk = page.scope.full_epk; epk && segment.range.contains(*epk)) {
        begin = bound(segment, *epk, ids.from, !ids.from_inclusive && !ids.from.empty());
        end = ids.to
                  ? bound(segment, *epk, *ids.to, ids.to_inclusive)
                  : prefix_successor(storage::keys::ids_of_epk(id, *epk, storage::IdKind::kItem));
    }
    const Position& from = page.resume;
    if (from.order == Position::Order::kPrimary) {
        // The item is done unless some of its rows are left.
        const bool again = from.item_rows > 0;
        if (backward_)
            end = std::min(end, bound(segment, from.segment_min, from.term, again));
        else
            begin = std::max(begin, bound(segment, from.segment_min, from.term, !again));
    }
    if (begin < end)
        ids_ = segment.view().scan(
            storage::Family::kIds, begin, end,
            backward_ ? storage::Direction::kBackward : storage::Direction::kForward);
    page.work_of(segment.partition);
    report_ = {};
    report_.partition = segment.partition;
    report_.access = "primary order";
    if (page.scope.explain) report_.detail = backward_ ? "ids, from their end" : "ids";
    matched_before_ = page.answer.matched_items;
    batch_size_ = 0;
    open_ = true;
    item_.source = segment.partition;
}

/// The next names into the batch, with their documents; none at the end.
Status Primary::gather(Page& page) {
    constexpr size_t kFirst = 16;
    constexpr size_t kMost = 256;
    const Clock& clock = page.scope.clock;
    const int64_t began = clock.monotonic_us();
    batch_size_ = batch_size_ == 0 ? kFirst : std::min(batch_size_ * 2, kMost);
    batch_.clear();
    next_ = 0;
    std::vector<storage::Docref> docrefs;
    for (; ids_ != nullptr && ids_->valid() && batch_.size() < batch_size_; ids_->next()) {
        auto key = storage::keys::decode_id(ids_->key());
        if (!key || key->kind != storage::IdKind::kItem || !segment().range.contains(key->epk) ||
            !page.plan.ids.contains(key->name))
            continue;
        TRY(const auto entry, partition::decode_id_entry(ids_->value()));
        batch_.push_back({std::move(key->epk), std::move(key->name), entry.docref});
        docrefs.push_back(entry.docref);
        ++report_.candidates;
    }
    if (ids_ != nullptr && !ids_->valid()) TRY_STATUS(ids_->status());
    index_us_ += clock.monotonic_us() - began;
    if (docrefs.empty()) return {};
    const int64_t loading = clock.monotonic_us();
    TRY_STATUS(documents_.read(*segment().source->partition, segment().view(), docrefs));
    load_us_ += clock.monotonic_us() - loading;
    return {};
}

Result<const FoundItem*> Primary::next(Page& page) {
    while (at_ < segments_.size()) {
        if (!open_) open(page);
        if (next_ == batch_.size()) {
            if (batch_size_ != 0 && (page.out_of_time() || page.cancelled())) {
                page.more = true;
                return nullptr;
            }
            TRY_STATUS(gather(page));
        }
        while (next_ < batch_.size()) {
            const size_t i = next_++;
            const auto bytes = documents_.at(i);
            if (!bytes) return entry_without_item();
            TRY(item_.document, json::decode_document(*bytes));
            if (!is_visible(segment(), now_, item_.document.header)) continue;
            item_.stored_bytes = bytes->size();
            item_.docref = batch_[i].docref;
            const Position& from = page.resume;
            const bool same = from.order == Position::Order::kPrimary &&
                              batch_[i].epk == from.segment_min && batch_[i].id == from.term;
            item_.rows_done = same ? from.item_rows : 0;
            return &item_;
        }
        if (ids_ != nullptr && ids_->valid()) continue;
        close(page);
    }
    return nullptr;
}

void Primary::note(Page& page, Taken taken, uint64_t rows_done) {
    if (taken != Taken::kPageFull || rows_done > 0) ++report_.loaded;
    if (taken == Taken::kClosed || (taken == Taken::kPageFull && rows_done == 0)) return;
    const Named& done = batch_[next_ - 1];
    page.position.order = Position::Order::kPrimary;
    page.position.segment_min = done.epk;
    page.position.term = done.id;
    page.position.item_rows = rows_done;
}

void Primary::close(Page& page) {
    report_.matched = page.answer.matched_items - matched_before_;
    page.answer.accesses.push_back(std::move(report_));
    page.answer.index_us += std::exchange(index_us_, 0);
    page.answer.load_us += std::exchange(load_us_, 0);
    ids_.reset();
    batch_.clear();
    next_ = 0;
    open_ = false;
    ++at_;
}

void Primary::tell(Page& page) {
    if (open_) close(page);
}

}  // namespace

std::unique_ptr<ItemSource> read_primary(const Page& page) {
    return std::make_unique<Primary>(page);
}

}  // namespace orrery::query
