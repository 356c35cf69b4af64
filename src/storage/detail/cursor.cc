#include <algorithm>

#include "base/bytes.h"
#include "base/errors.h"
#include "storage/detail/own_keys.h"
#include "storage/detail/view.h"

namespace orrery::storage::detail {
namespace {

/// A walk over one family on disk, bounded by RocksDB.
class DiskCursor final : public Cursor {
public:
    DiskCursor(std::shared_ptr<const View> view, const Database& database,
               rocksdb::ReadOptions options, Family family, std::string_view begin,
               std::string_view end, Direction direction)
        : view_(std::move(view)),
          database_(database),
          begin_(begin),
          end_(end),
          direction_(direction) {
        begin_slice_ = begin_;
        end_slice_ = end_;
        options.iterate_lower_bound = &begin_slice_;
        if (!end_.empty()) options.iterate_upper_bound = &end_slice_;
        iterator_.reset(database.db().NewIterator(options, database.family(family)));
        direction == Direction::kForward ? iterator_->SeekToFirst() : iterator_->SeekToLast();
        arrive();
    }

    bool valid() const override { return valid_; }
    std::string_view key() const override { return key_; }
    std::string_view value() const override { return view_of(iterator_->value()); }
    void next() override {
        direction_ == Direction::kForward ? iterator_->Next() : iterator_->Prev();
        arrive();
    }
    void seek(std::string_view key) override {
        direction_ == Direction::kForward ? iterator_->Seek(slice(key))
                                          : iterator_->SeekForPrev(slice(key));
        arrive();
    }
    Status status() const override {
        const rocksdb::Status status = iterator_->status();
        if (status.ok()) return {};
        return Status(errors::internal(database_.explain(status)));
    }

private:
    /// Asks RocksDB once per step, not once per question.
    void arrive() {
        valid_ = iterator_->Valid();
        if (valid_) key_ = view_of(iterator_->key());
    }

    const std::shared_ptr<const View> view_;
    const Database& database_;  // kept by the view
    const std::string begin_;
    const std::string end_;
    const Direction direction_;
    rocksdb::Slice begin_slice_;
    rocksdb::Slice end_slice_;
    std::unique_ptr<rocksdb::Iterator> iterator_;
    bool valid_ = false;
    std::string_view key_;
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

/// Merges the disk with a heap of runs. Runs hide the disk, newer runs hide older ones. As long as
/// the disk's key comes first, a step costs one comparison more than the disk's own step.
class IndexCursor final : public Cursor {
public:
    IndexCursor(std::unique_ptr<DiskCursor> disk, const std::vector<RunPtr>& runs,
                std::string_view begin, std::string_view end, Direction direction)
        : disk_(std::move(disk)), forward_(direction == Direction::kForward) {
        for (size_t i = 0; i < runs.size(); ++i) {
            const Run& run = *runs[i];
            const size_t from = run.lower_bound(begin);
            const size_t to = end.empty() ? run.size() : run.lower_bound(end);
            if (from < to) sources_.push_back({&run, from, to, forward_ ? from : to, i, {}});
        }
        rebuild_heap();
        settle();
    }

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

    const std::unique_ptr<DiskCursor> disk_;
    const bool forward_;
    std::vector<Source> sources_;
    std::vector<Source*> heap_;
    State state_ = State::kEnd;
    std::string_view key_;
    Run::Change change_ = Run::Change::kRemove;
};

}  // namespace

std::unique_ptr<Cursor> make_cursor(std::shared_ptr<const View> view, const Database& database,
                                    const rocksdb::ReadOptions& options, Family family,
                                    const std::vector<RunPtr>& runs, std::string_view begin,
                                    std::string_view end, Direction direction) {
    auto disk = std::make_unique<DiskCursor>(std::move(view), database, options, family, begin, end,
                                             direction);
    if (family != Family::kIndex) return disk;
    return std::make_unique<IndexCursor>(std::move(disk), runs, begin, end, direction);
}

}  // namespace orrery::storage::detail
