#include <algorithm>

#include "base/bytes.h"
#include "base/errors.h"
#include "storage/detail/own_keys.h"
#include "storage/detail/posting_lists.h"
#include "storage/detail/term_prefix.h"
#include "storage/detail/view.h"

namespace orrery::storage::detail {
namespace {

/// This many steps through entries take as long as one search.
constexpr uint64_t kSearchEntries = 32;
constexpr uint64_t kListedEntriesMin = 4;

/// The families whose iterators are pooled.
bool is_pooled(Family family) {
    return family == Family::kItems || family == Family::kIds || family == Family::kIndex;
}

/// A walk over one family on disk, bounded by RocksDB. Iterators are borrowed from the pool where
/// the view shows what another one has shown.
class DiskCursor final : public Cursor {
public:
    DiskCursor(std::shared_ptr<const ViewImpl> view, const ViewImpl::Range& range)
        : view_(std::move(view)),
          database_(view_->database()),
          budget_(range.budget),
          pooled_(is_pooled(range.family) && view_->index_files().generation != 0 &&
                  !range.end.empty()),
          forward_(range.direction == Direction::kForward) {
        if (budget_ != nullptr && !budget_->spend(kSearchSteps)) return;
        term_bytes_ = range.term_bytes;
        obtain(range);
        source_->lower.assign(range.begin);
        source_->upper.assign(range.end);
        source_->lower_slice = source_->lower;
        source_->upper_slice = source_->upper;
        iterator_ = source_->iterator.get();
        forward_ ? iterator_->SeekToFirst() : iterator_->SeekToLast();
        arrive();
    }
    ~DiskCursor() override {
        // Terms with fewer entries get no list: there are many, and their lists would waste memory.
        if (term_bytes_ > 0 && steps_ >= kListedEntriesMin)
            database_.posting_lists().note_walk(
                std::string_view(source_->lower).substr(0, term_bytes_), kSearchEntries + steps_);
        if (pooled_ && source_ != nullptr && iterator_->status().ok())
            database_.iterators().give_back(std::move(source_));
    }
    DiskCursor(const DiskCursor&) = delete;
    DiskCursor& operator=(const DiskCursor&) = delete;

    /// This walk does not count as a request for the term.
    void leave_unnoted() { term_bytes_ = 0; }

    bool valid() const override { return valid_; }
    std::string_view key() const override { return key_; }
    std::string_view value() const override { return view_of(iterator_->value()); }
    void next() override {
        if (budget_ != nullptr && !budget_->spend(1 + value().size() / kBytesPerStep)) {
            valid_ = false;
            return;
        }
        ++steps_;
        forward_ ? iterator_->Next() : iterator_->Prev();
        arrive();
    }
    void seek(std::string_view key) override {
        if (budget_ != nullptr && !budget_->spend(kSearchSteps)) {
            valid_ = false;
            return;
        }
        steps_ += kSearchSteps;
        forward_ ? iterator_->Seek(slice(key)) : iterator_->SeekForPrev(slice(key));
        arrive();
    }
    Status status() const override {
        if (budget_ != nullptr && budget_->exceeded) return Status(over_budget());
        const rocksdb::Status status = iterator_->status();
        if (status.ok()) return {};
        return Status(errors::internal(database_.explain(status)));
    }

private:
    void obtain(const ViewImpl::Range& range) {
        const bool index = range.family == Family::kIndex;
        const IteratorKind kind{range.family, view_->index_files().generation,
                                index ? 0 : view_->sequence(), range.term_bytes > 0,
                                budget_ != nullptr};
        IteratorPool& pool = database_.iterators();
        stop_counting();
        if (pooled_) source_ = pool.take(kind);
        if (source_ != nullptr) return;
        source_ = std::make_unique<PooledIterator>();
        source_->kind = kind;
        if (pooled_) source_->epoch = pool.epoch();
        // RocksDB may look at the bounds at any time, so set them first.
        source_->lower.assign(range.begin);
        source_->upper.assign(range.end);
        source_->lower_slice = source_->lower;
        source_->upper_slice = source_->upper;
        rocksdb::ReadOptions options = walk_options(view_->read_options(budget_));
        options.total_order_seek = !kind.one_term;
        options.iterate_lower_bound = &source_->lower_slice;
        if (!range.end.empty()) options.iterate_upper_bound = &source_->upper_slice;
        source_->iterator.reset(
            database_.db().NewIterator(options, database_.family(range.family)));
    }

    /// Asks RocksDB once per step, not once per question.
    void arrive() {
        valid_ = iterator_->Valid();
        if (valid_) {
            key_ = view_of(iterator_->key());
        } else if (budget_ != nullptr && iterator_->status().IsIncomplete()) {
            budget_->exceeded = true;
        }
    }

    const std::shared_ptr<const ViewImpl> view_;
    const Database& database_;  // kept by the view
    ReadBudget* const budget_;
    const bool pooled_;
    const bool forward_;
    PooledIteratorPtr source_;
    rocksdb::Iterator* iterator_ = nullptr;
    bool valid_ = false;
    std::string_view key_;
    size_t term_bytes_ = 0;  ///< of the keys of a walk through one term: partition, path and term
    uint64_t steps_ = 0;     ///< after the first search
};

/// The part of a run inside the range, and the position in it. Done when position is outside.
struct Source {
    const Run* run;
    size_t begin;
    size_t end;
    size_t position;  ///< backward: one above the entry
    size_t age;       ///< larger is newer
    std::string_view key;
};

/// A range of one path has the store's own entries only if the path is one of those.
bool may_meet_reserved(const ViewImpl::Range& range) {
    constexpr size_t kPathBytes = 12;
    return range.begin.size() < kPathBytes || is_reserved_index_key(range.begin) ||
           range.begin.substr(0, kPathBytes) != range.end.substr(0, kPathBytes);
}

/// Merges the disk with a heap of runs. Runs hide the disk, newer runs hide older ones. As long as
/// the disk's key comes first, a step costs one comparison more than the disk's own step.
class IndexCursor final : public Cursor {
public:
    IndexCursor(std::unique_ptr<Cursor> disk, const std::vector<RunPtr>& runs,
                const ViewImpl::Range& range)
        : disk_(std::move(disk)),
          budget_(range.budget),
          forward_(range.direction == Direction::kForward),
          meets_reserved_(may_meet_reserved(range)) {
        for (size_t i = 0; i < runs.size(); ++i) {
            const Run& run = *runs[i];
            const size_t from = run.lower_bound(range.begin);
            const size_t to = range.end.empty() ? run.size() : run.lower_bound(range.end, from);
            if (from < to) sources_.push_back({&run, from, to, forward_ ? from : to, i, {}});
        }
        rebuild_heap();
        settle();
    }

    /// True when only the disk has entries in the range.
    bool adds_nothing() const { return sources_.empty() && !meets_reserved_; }
    std::unique_ptr<Cursor> take_disk() { return std::move(disk_); }

    bool valid() const override { return state_ != State::kEnd; }
    std::string_view key() const override { return state_ == State::kDisk ? disk_->key() : key_; }
    std::string_view value() const override {
        if (state_ == State::kDisk) return disk_->value();
        return change_ == Run::Change::kAddPartial ? kPartialTerm : std::string_view();
    }
    void next() override {
        if (state_ == State::kDisk) disk_->next();
        settle();
    }
    void seek(std::string_view key) override {
        disk_->seek(key);
        for (Source& source : sources_) {
            if (forward_) {
                source.position =
                    std::clamp(source.run->lower_bound(key), source.begin, source.end);
            } else {
                size_t above = source.run->lower_bound(key);
                if (above < source.run->size() && source.run->key(above) == key) ++above;
                source.position = std::clamp(above, source.begin, source.end);
            }
        }
        rebuild_heap();
        settle();
    }
    Status status() const override { return disk_->status(); }

private:
    enum class State : uint8_t { kEnd, kDisk, kRun };

    /// Negative: a comes first in the cursor's direction.
    int order(std::string_view a, std::string_view b) const {
        const int compared = a.compare(b);
        return forward_ ? compared : -compared;
    }

    bool load(Source& source) const {
        if (source.position == (forward_ ? source.end : source.begin)) return false;
        source.key = source.run->key(forward_ ? source.position : source.position - 1);
        return true;
    }

    void rebuild_heap() {
        heap_.clear();
        for (Source& source : sources_) {
            if (load(source)) heap_.push_back(&source);
        }
        std::make_heap(heap_.begin(), heap_.end(), Later{this});
    }

    /// Moves the first source of the heap one entry on.
    void advance_top() {
        std::pop_heap(heap_.begin(), heap_.end(), Later{this});
        Source& source = *heap_.back();
        forward_ ? ++source.position : --source.position;
        if (load(source)) {
            std::push_heap(heap_.begin(), heap_.end(), Later{this});
        } else {
            heap_.pop_back();
        }
    }

    /// The store's own entries are no part of the index: step over them partition by partition.
    void skip_reserved() {
        while (disk_->valid() && is_reserved_index_key(disk_->key())) {
            if (disk_->key().size() < 12) {
                disk_->next();
                continue;
            }
            const PartitionId partition = load_u32_be(disk_->key().data());
            disk_->seek(forward_ ? keys::index_path(partition, keys::kReservedPathHashes)
                                 : keys::partition(partition));
        }
    }

    void settle() {
        while (true) {
            if (budget_ != nullptr && !budget_->spend(1)) {
                state_ = State::kEnd;
                return;
            }
            skip_reserved();
            const bool on_disk = disk_->valid();
            // Damage on disk must not look like an end: stop here, status() says why.
            if (heap_.empty() || (!on_disk && !disk_->status().ok())) {
                state_ = on_disk ? State::kDisk : State::kEnd;
                return;
            }
            const Source& newest = *heap_.front();
            if (on_disk) {
                const int compared = order(disk_->key(), newest.key);
                if (compared < 0) {
                    state_ = State::kDisk;
                    return;
                }
                if (compared == 0) disk_->next();
            }
            key_ = newest.key;
            change_ = newest.run->change(forward_ ? newest.position : newest.position - 1);
            do {
                advance_top();
            } while (!heap_.empty() && heap_.front()->key == key_);
            if (change_ != Run::Change::kRemove) {
                state_ = State::kRun;
                return;
            }
        }
    }

    struct Later {
        const IndexCursor* cursor;
        bool operator()(const Source* a, const Source* b) const {
            const int compared = cursor->order(a->key, b->key);
            return compared != 0 ? compared > 0 : a->age < b->age;
        }
    };

    std::unique_ptr<Cursor> disk_;
    ReadBudget* const budget_;
    const bool forward_;
    const bool meets_reserved_;
    std::vector<Source> sources_;
    std::vector<Source*> heap_;
    State state_ = State::kEnd;
    std::string_view key_;
    Run::Change change_ = Run::Change::kRemove;
};

/// The entries of a term, read from the disk; null when there are more than `most`, or unlike ones.
/// Errors give null too: the reader of the term will see them.
PostingListPtr make_list(const std::shared_ptr<const ViewImpl>& view, std::string_view prefix,
                         uint64_t most) {
    const std::string end = prefix_successor(prefix);
    DiskCursor disk(view,
                    {Family::kIndex, prefix, end, Direction::kForward, nullptr, prefix.size()});
    disk.leave_unnoted();
    auto list = std::make_shared<PostingList>(std::string(prefix));
    for (; disk.valid(); disk.next())
        if (list->size() >= most || !list->append(disk.key(), disk.value())) return nullptr;
    if (!disk.status().ok()) return nullptr;
    list->shrink();
    list->set_table(view->index_files().table);
    return list;
}

/// The entries of a term on disk, from a list in memory. Makes the list when it is worth it. Null:
/// read the files.
std::unique_ptr<Cursor> list_cursor(const std::shared_ptr<const ViewImpl>& view,
                                    const ViewImpl::Range& range) {
    // While a table is being ingested, it is not known whether the snapshot has its entries.
    if (range.term_bytes == 0 || view->index_files().generation == 0) return nullptr;
    const std::string_view prefix = range.begin.substr(0, range.term_bytes);
    PostingLists& lists = view->database().posting_lists();
    PostingListPtr list = lists.find(prefix, view->index_files().table);
    if (list == nullptr) {
        const uint64_t entries = lists.worthwhile(prefix);
        if (entries == 0) return nullptr;
        if (range.budget != nullptr) {
            // A thread that may wait will make the list.
            range.budget->exceeded = true;
            return nullptr;
        }
        list = make_list(view, prefix, std::min<uint64_t>(entries, lists.list_bytes_max() / 16));
        lists.tried(prefix, list != nullptr);
        if (list == nullptr) return nullptr;
        lists.insert(list);
    }
    return walk_list(std::move(list), range.begin, range.end, range.budget);
}

}  // namespace

std::unique_ptr<Cursor> make_cursor(std::shared_ptr<const ViewImpl> view,
                                    const ViewImpl::Range& range) {
    const std::vector<RunPtr>& runs = view->runs();
    std::unique_ptr<Cursor> disk;
    if (range.family == Family::kIndex) disk = list_cursor(view, range);
    if (disk == nullptr) disk = std::make_unique<DiskCursor>(std::move(view), range);
    if (range.family != Family::kIndex) return disk;
    if (runs.empty() && !may_meet_reserved(range)) return disk;
    auto merged = std::make_unique<IndexCursor>(std::move(disk), runs, range);
    if (merged->adds_nothing()) return merged->take_disk();
    return merged;
}

std::unique_ptr<Cursor> make_disk_cursor(std::shared_ptr<const ViewImpl> view,
                                         const ViewImpl::Range& range) {
    return std::make_unique<DiskCursor>(std::move(view), range);
}

}  // namespace orrery::storage::detail
