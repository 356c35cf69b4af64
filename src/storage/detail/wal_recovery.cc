#include "storage/detail/wal_recovery.h"

#include "base/bytes.h"

namespace orrery::storage::detail {

std::string encode_group_number(uint64_t number) {
    std::string out;
    append_u64_le(out, number);
    return out;
}

Status recover_wal(rocksdb::FileSystem&, const std::string&, Durability, bool) {
    return {};
}

}  // namespace orrery::storage::detail
