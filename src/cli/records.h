#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace orrery::cli {

/// A file or the standard input, read front to back in pieces. Owned by one thread.
class Source {
public:
    /// "-" is the standard input.
    static Result<std::unique_ptr<Source>> open(const std::string& path);
    ~Source();
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;

    /// The next byte, or -1 at the end.
    int peek() {
        if (at_ < buffer_.size() || refill()) return static_cast<unsigned char>(buffer_[at_]);
        return -1;
    }
    int get() {
        const int byte = peek();
        if (byte >= 0) ++at_;
        return byte;
    }
    uint64_t offset() const { return base_ + at_; }  ///< of the next byte
    /// Only for files.
    Status seek(uint64_t offset);
    bool is_file() const { return is_file_; }
    uint64_t size() const { return size_; }            ///< 0 when unknown
    int64_t modified_ns() const { return modified_; }  ///< 0 when unknown
    /// Set when a read failed, which peek() shows as the end.
    const Status& status() const { return status_; }

private:
    Source() = default;
    bool refill();

    int fd_ = -1;
    std::string path_;
    bool is_file_ = false;
    uint64_t size_ = 0;
    int64_t modified_ = 0;
    std::string buffer_;
    size_t at_ = 0;
    uint64_t base_ = 0;  ///< offset of buffer_[0]
    Status status_;
};

/// One item's text as it stands in the source.
struct Record {
    std::string text;
    uint64_t line = 0;        ///< where it begins, from 1
    uint64_t end_offset = 0;  ///< reading goes on here after it
    uint64_t end_line = 0;
};

/// Cuts a source into records without understanding them more than that needs. Owned by one thread.
class RecordReader {
public:
    virtual ~RecordReader() = default;
    /// False at the end. Errors name the line.
    virtual Result<bool> next(Record& out) = 0;
    /// Goes on after a record that was read before, in the same source.
    virtual Status resume(uint64_t offset, uint64_t line) = 0;

    static constexpr size_t kRecordBytesMax = 16 << 20;
};

/// JSON values one after the other, or the elements of one array.
std::unique_ptr<RecordReader> json_records(Source& source);
/// Lines that are not blank: one that is damaged does not spoil the next.
std::unique_ptr<RecordReader> line_records(Source& source);
/// Lines of CSV (RFC 4180): a record may span lines inside quotes. The header line is a record too.
std::unique_ptr<RecordReader> csv_records(Source& source);

}  // namespace orrery::cli
