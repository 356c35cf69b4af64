#include "storage/detail/wal_recovery.h"

#include <fmt/format.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <vector>

#include "base/bytes.h"
#include "base/log.h"

// RocksDB's own checksum (hardware-assisted where possible); not in its public headers.
namespace rocksdb::crc32c {
uint32_t Extend(uint32_t initial, const char* data, size_t size);
}

namespace orrery::storage::detail {
namespace {

// Layout of a RocksDB log: blocks of 32 KiB; each holds fragments of
// {masked crc32c u32 LE over type and data, length u16 LE, type u8}; no fragment crosses a block.
constexpr size_t kBlockBytes = 32768;
constexpr size_t kHeaderBytes = 7;
enum FragmentType : uint8_t { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

// Layout of a batch: sequence u64, count u32, entries; log data is {tag 3, length varint, bytes}.
constexpr size_t kBatchHeaderBytes = 12;
constexpr char kLogDataTag = 3;
/// Where the group number ends: header, tag, length, number.
constexpr size_t kBatchStartBytes = kBatchHeaderBytes + 10;

struct Fragment {
    FragmentType type;
    std::string_view data;
};

/// The fragment at `at`, if its checksum is right.
std::optional<Fragment> fragment_at(std::string_view content, size_t at) {
    const size_t block_end = std::min(content.size(), (at / kBlockBytes + 1) * kBlockBytes);
    if (at + kHeaderBytes > block_end) return std::nullopt;
    const char* header = content.data() + at;
    const auto length = static_cast<size_t>(static_cast<uint8_t>(header[4])) |
                        static_cast<size_t>(static_cast<uint8_t>(header[5])) << 8;
    const auto type = static_cast<uint8_t>(header[6]);
    if (type < kFull || type > kLast || at + kHeaderBytes + length > block_end) return std::nullopt;
    const uint32_t masked = load_u32_le(header) - 0xa282ead8U;
    const uint32_t expected = (masked >> 17) | (masked << 15);
    if (rocksdb::crc32c::Extend(0, header + 6, length + 1) != expected) return std::nullopt;
    return Fragment{static_cast<FragmentType>(type), content.substr(at + kHeaderBytes, length)};
}

struct Record {
    size_t offset;
    std::optional<uint64_t> number;
};

struct ScannedLog {
    std::string path;
    uint64_t log_number = 0;
    std::vector<Record> records;     ///< whole and readable, before any damage
    std::optional<size_t> damage;    ///< where the first unreadable record begins
    size_t starts_after_damage = 0;  ///< records that begin, readably, after it
};

/// Looks for readable beginnings of records behind a damage: at every byte of the damaged block,
/// then from block to block.
size_t count_starts(std::string_view content, size_t from) {
    size_t starts = 0;
    for (size_t at = from; at < content.size();) {
        const std::optional<Fragment> fragment = fragment_at(content, at);
        if (fragment) {
            if (fragment->type == kFull || fragment->type == kFirst) ++starts;
            at += kHeaderBytes + fragment->data.size();
        } else {
            at = at / kBlockBytes == from / kBlockBytes ? at + 1
                                                        : (at / kBlockBytes + 1) * kBlockBytes;
        }
    }
    return starts;
}

using SequentialFile = std::unique_ptr<rocksdb::FSSequentialFile>;

/// Fills `buffer` from the file. The result is shorter only at the end of the file. nullopt:
/// unreadable.
std::optional<std::string_view> read_next(rocksdb::FSSequentialFile& file, std::string& buffer) {
    size_t filled = 0;
    while (filled < buffer.size()) {
        rocksdb::Slice got;
        char* const to = buffer.data() + filled;
        if (!file.Read(buffer.size() - filled, {}, &got, to, nullptr).ok()) return std::nullopt;
        if (got.empty()) break;
        if (got.data() != to) std::memmove(to, got.data(), got.size());
        filled += got.size();
    }
    return std::string_view(buffer.data(), filled);
}

std::optional<std::string> read_file(rocksdb::FileSystem& fs, const std::string& path) {
    uint64_t size = 0;
    SequentialFile file;
    if (!fs.GetFileSize(path, {}, &size, nullptr).ok()) return std::nullopt;
    if (!fs.NewSequentialFile(path, {}, &file, nullptr).ok()) return std::nullopt;
    std::string content(size, '\0');
    const std::optional<std::string_view> read = read_next(*file, content);
    if (!read) return std::nullopt;
    content.resize(read->size());
    return content;
}

/// Goes through a log from block to block, a few of them in memory at a time.
class LogScanner {
public:
    explicit LogScanner(ScannedLog& log) : log_(log) {}

    /// The log's next bytes; all calls but the last bring whole blocks. False: damage was found,
    /// and readable records may stand from search_from() on.
    bool take(std::string_view blocks) {
        size_t at = 0;
        while (at < blocks.size()) {
            const size_t left = kBlockBytes - at % kBlockBytes;
            if (left < kHeaderBytes) {
                at += left;
                continue;
            }
            const std::optional<Fragment> fragment = fragment_at(blocks, at);
            const bool begins = fragment && (fragment->type == kFull || fragment->type == kFirst);
            if (!fragment || begins == open_record_.has_value()) {
                log_.damage = open_record_.value_or(before_ + at);
                search_from_ = before_ + (begins ? at : at + 1);
                return false;
            }
            add(*fragment, before_ + at);
            at += kHeaderBytes + fragment->data.size();
        }
        before_ += blocks.size();
        return true;
    }
    /// After the last byte.
    void finish() {
        if (open_record_) log_.damage = open_record_;
    }
    size_t search_from() const { return search_from_; }

private:
    void add(const Fragment& fragment, size_t offset) {
        if (!open_record_) {
            open_record_ = offset;
            batch_start_.clear();
        }
        if (batch_start_.size() < kBatchStartBytes)
            batch_start_.append(fragment.data.substr(0, kBatchStartBytes));
        if (fragment.type == kFull || fragment.type == kLast) {
            log_.records.push_back({*open_record_, decode_group_number(batch_start_)});
            open_record_.reset();
        }
    }

    ScannedLog& log_;
    size_t before_ = 0;                  // bytes of earlier calls
    std::optional<size_t> open_record_;  // where a record of several fragments begins
    std::string batch_start_;            // enough bytes to find the group number
    size_t search_from_ = 0;
};

/// False: unreadable.
bool scan(rocksdb::FileSystem& fs, ScannedLog& log) {
    SequentialFile file;
    if (!fs.NewSequentialFile(log.path, {}, &file, nullptr).ok()) return false;
    LogScanner scanner(log);
    std::string buffer(32 * kBlockBytes, '\0');
    while (true) {
        const std::optional<std::string_view> blocks = read_next(*file, buffer);
        if (!blocks) return false;
        if (!scanner.take(*blocks)) break;
        if (blocks->size() == buffer.size()) continue;
        scanner.finish();
        return true;
    }
    const std::optional<std::string> content = read_file(fs, log.path);
    if (!content) return false;
    log.starts_after_damage = count_starts(*content, scanner.search_from());
    return true;
}

std::optional<std::vector<ScannedLog>> scan_logs(rocksdb::FileSystem& fs,
                                                 const std::string& folder) {
    std::vector<std::string> names;
    if (!fs.GetChildren(folder, {}, &names, nullptr).ok()) return std::nullopt;
    std::vector<ScannedLog> logs;
    for (const std::string& name : names) {
        if (!name.ends_with(".log")) continue;
        ScannedLog log;
        const char* const end = name.data() + name.size() - 4;
        const auto parsed = std::from_chars(name.data(), end, log.log_number);
        if (parsed.ec != std::errc() || parsed.ptr != end) continue;
        log.path = folder + "/" + name;
        if (!scan(fs, log)) return std::nullopt;
        logs.push_back(std::move(log));
    }
    std::sort(logs.begin(), logs.end(),
              [](const ScannedLog& a, const ScannedLog& b) { return a.log_number < b.log_number; });
    return logs;
}

/// Puts the first `bytes` of the log in its place; the file as it was may be kept.
bool replace_with_prefix(rocksdb::FileSystem& fs, const std::string& folder, const ScannedLog& log,
                         size_t bytes, bool keep_original) {
    const std::optional<std::string> content = read_file(fs, log.path);
    if (!content || content->size() < bytes) return false;
    const std::string shorter = log.path + ".shorter";
    std::unique_ptr<rocksdb::FSWritableFile> file;
    rocksdb::IOStatus status = fs.NewWritableFile(shorter, {}, &file, nullptr);
    if (status.ok()) status = file->Append(rocksdb::Slice(content->data(), bytes), {}, nullptr);
    if (status.ok()) status = file->Sync({}, nullptr);
    if (status.ok()) status = file->Close({}, nullptr);
    if (status.ok() && keep_original)
        status = fs.RenameFile(log.path, log.path + ".damaged", {}, nullptr);
    if (status.ok()) status = fs.RenameFile(shorter, log.path, {}, nullptr);
    std::unique_ptr<rocksdb::FSDirectory> directory;
    if (status.ok()) status = fs.NewDirectory(folder, {}, &directory, nullptr);
    if (status.ok()) status = directory->Fsync({}, nullptr);
    return status.ok();
}

struct Cut {
    size_t log = 0;
    size_t offset = 0;
    size_t readable_after = 0;
};

/// The first place that is unreadable, or from which a group number is missing.
std::optional<Cut> find_cut(const std::vector<ScannedLog>& logs, uint64_t oldest_needed) {
    std::optional<Cut> cut;
    uint64_t last = 0;  // 0: none seen yet
    for (size_t i = 0; i < logs.size(); ++i) {
        const ScannedLog& log = logs[i];
        if (log.log_number < oldest_needed) continue;
        if (cut) {
            cut->readable_after += log.records.size() + log.starts_after_damage;
            continue;
        }
        for (size_t r = 0; r < log.records.size() && !cut; ++r) {
            const std::optional<uint64_t> number = log.records[r].number;
            if (!number) continue;
            const bool session_begins = r == 0 && *number == 1;
            if (last != 0 && *number != last + 1 && !session_begins) {
                cut =
                    Cut{i, log.records[r].offset, log.records.size() - r + log.starts_after_damage};
            }
            last = *number;
        }
        if (!cut && log.damage) cut = Cut{i, *log.damage, log.starts_after_damage};
    }
    return cut;
}

}  // namespace

std::string encode_group_number(uint64_t number) {
    std::string out;
    append_u64_le(out, number);
    return out;
}

std::optional<uint64_t> decode_group_number(std::string_view batch) {
    if (batch.size() < kBatchStartBytes) return std::nullopt;
    if (batch[kBatchHeaderBytes] != kLogDataTag || batch[kBatchHeaderBytes + 1] != 8)
        return std::nullopt;
    return load_u64_le(batch.data() + kBatchHeaderBytes + 2);
}

void OldestLogProbe::ColumnFamilyLogNumberMap(const std::map<uint32_t, uint64_t>& log_numbers,
                                              const std::map<std::string, uint32_t>& /*names*/) {
    oldest_ = UINT64_MAX;
    for (const auto& [family, log_number] : log_numbers) oldest_ = std::min(oldest_, log_number);
}

rocksdb::WalFilter::WalProcessingOption OldestLogProbe::LogRecordFound(
    unsigned long long /*log_number*/, const std::string& /*log_file_name*/,
    const rocksdb::WriteBatch& /*batch*/, rocksdb::WriteBatch* /*new_batch*/,
    bool* /*batch_changed*/) {
    return WalProcessingOption::kStopReplay;
}

WalCheck check_wal(rocksdb::FileSystem& file_system, const WalCheckOptions& options) {
    const std::optional<std::vector<ScannedLog>> logs = scan_logs(file_system, options.folder);
    if (!logs) {
        return {WalCheck::Outcome::kRefused,
                "the write-ahead log in " + options.folder + " cannot be read."};
    }
    std::optional<Cut> cut = find_cut(*logs, 0);
    if (cut) cut = find_cut(*logs, options.oldest_needed_log());
    if (!cut) return {};
    const ScannedLog& log = (*logs)[cut->log];
    const bool torn_end = cut->readable_after == 0;
    if (torn_end && options.read_only) return {};
    if (!torn_end && (options.durability == Durability::kSync || options.read_only)) {
        return {WalCheck::Outcome::kRefused,
                fmt::format(
                    "the write-ahead log {} is damaged at byte {}, and {} later writes stand after "
                    "that place. "
                    "Opening it would lose acknowledged writes. Restore the folder from a backup.",
                    log.path, cut->offset, cut->readable_after)};
    }
    bool done = replace_with_prefix(file_system, options.folder, log, cut->offset, !torn_end);
    for (size_t i = cut->log + 1; i < logs->size() && done && !torn_end; ++i) {
        const std::string& path = (*logs)[i].path;
        done = file_system.RenameFile(path, path + ".damaged", {}, nullptr).ok();
    }
    if (!done)
        return {WalCheck::Outcome::kRefused,
                "the write-ahead log " + log.path + " could not be cut."};
    log::warning(
        torn_end ? fmt::format("storage: cut a torn write, never acknowledged, off the end of {}",
                               log.path)
                 : fmt::format(
                       "storage: a power cut under relaxed durability left a hole in {}; the log "
                       "ends there now, {} later writes are kept aside in *.damaged files",
                       log.path, cut->readable_after));
    return {};
}

}  // namespace orrery::storage::detail
