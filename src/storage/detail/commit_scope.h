#pragma once

#include <rocksdb/write_batch.h>

#include <vector>

#include "storage/detail/database.h"
#include "storage/store.h"

namespace orrery::storage::detail {

/// The write batch of one commit group, with an index over its own entries so that get() sees them.
/// Owned by the committer thread.
class GroupScope final : public CommitScope {
public:
    struct IndexChange {
        PartitionId partition;
        Lsn lsn;
    };

    explicit GroupScope(Database& database);

    void begin_group(uint64_t number);
    void begin_operation();
    /// `keep` is false: everything that the operation wrote is undone.
    void end_operation(bool keep);

    Result<std::optional<std::string>> get(Family family, std::string_view key) override;
    void put(Family family, std::string_view key, std::string_view value) override;
    void remove(Family family, std::string_view key) override;
    void index(PartitionId partition, Lsn lsn, IndexDelta delta) override;
    void count(std::string_view counter_key, Count delta) override;
    void retire(PartitionId partition) override;
    size_t savepoint() override;
    void rollback_to(size_t savepoint) override;

    rocksdb::WriteBatch& batch() { return batch_; }
    const std::vector<IndexChange>& index_changes() const { return index_changes_; }
    /// In the order of index_changes().
    std::vector<IndexDelta>& deltas() { return deltas_; }
    std::vector<std::pair<std::string, Count>>& counts() { return counts_; }
    const std::vector<PartitionId>& retired() const { return retired_; }

private:
    /// An entry of the batch. Keys and values are found in the batch's own bytes.
    struct Pending {
        uint32_t key_offset;
        uint32_t key_size;
        uint32_t value_offset;
        uint32_t value_size;
        uint32_t bucket;
        uint32_t next;  ///< older entry of the same bucket
        Family family;
        bool removed;
    };
    struct Mark {
        size_t pending;
        size_t index_changes;
        size_t counts;
        size_t retired;
    };
    static constexpr uint32_t kNone = UINT32_MAX;

    std::string_view bytes(uint32_t offset, uint32_t size) const {
        return std::string_view(batch_.Data()).substr(offset, size);
    }
    uint32_t bucket_of(Family family, std::string_view key) const;
    void note(Family family, std::string_view key, size_t value_size, bool removed);
    void undo_to_mark(const Mark& mark);
    void grow_buckets();

    Database& database_;
    rocksdb::WriteBatch batch_;
    std::vector<Pending> pending_;
    std::vector<uint32_t> buckets_;  ///< newest entry of each bucket
    std::vector<Mark> marks_;        ///< one per save point of batch_
    std::vector<IndexChange> index_changes_;
    std::vector<IndexDelta> deltas_;
    std::vector<std::pair<std::string, Count>> counts_;
    std::vector<PartitionId> retired_;
};

}  // namespace orrery::storage::detail
