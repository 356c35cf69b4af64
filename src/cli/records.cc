#include "cli/records.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/errors.h"
#include "base/system.h"
#include "cli/interrupt.h"

namespace orrery::cli {
namespace {

constexpr size_t kReadBytes = 256 << 10;
constexpr int kLookMs = 100;

Error at_line(uint64_t line, std::string_view what) {
    return errors::bad_request(fmt::format("Line {}: {}", line, what));
}

bool is_space(int byte) {
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

class JsonRecords final : public RecordReader {
public:
    explicit JsonRecords(Source& source) : source_(source) {}

    Result<bool> next(Record& out) override {
        TRY_STATUS(open());
        skip_space();
        if (in_array_) {
            if (source_.peek() == ']') {
                source_.get();
                skip_space();
                if (source_.peek() >= 0)
                    return at_line(line_, "There is more after the end of the array.");
                return ended();
            }
            if (!first_) {
                if (source_.peek() != ',')
                    return source_.peek() < 0
                               ? at_line(line_, "The array is not closed: the file is cut off.")
                               : at_line(line_, "A comma is missing between two elements.");
                take();
                skip_space();
            }
        } else if (source_.peek() == ',') {
            return at_line(line_, "A comma between items that are in no array.");
        }
        if (source_.peek() < 0) {
            if (!source_.status().ok()) return source_.status().clone();
            if (in_array_) return at_line(line_, "The array is not closed: the file is cut off.");
            return false;
        }
        first_ = false;
        return read_value(out);
    }

    Status resume(uint64_t offset, uint64_t line) override {
        TRY_STATUS(open());
        first_ = false;
        line_ = line;
        return source_.seek(offset);
    }

private:
    int take() {
        const int byte = source_.get();
        if (byte == '\n') ++line_;
        return byte;
    }
    void skip_space() {
        while (is_space(source_.peek())) take();
    }
    Result<bool> ended() {
        if (!source_.status().ok()) return source_.status().clone();
        return false;
    }
    /// A byte order mark and the array's bracket, once.
    Status open() {
        if (opened_) return {};
        opened_ = true;
        if (source_.peek() == 0xEF) {
            if (take() != 0xEF || take() != 0xBB || take() != 0xBF)
                return Status(at_line(1, "The file is not UTF-8."));
        }
        skip_space();
        if (source_.peek() == '[') {
            take();
            in_array_ = true;
        }
        return source_.status().clone();
    }
    /// Up to the bracket that closes the value, or up to white space or a comma for a scalar.
    Result<bool> read_value(Record& out) {
        out.text.clear();
        out.line = line_;
        size_t depth = 0;
        bool in_string = false;
        while (true) {
            const int byte = source_.peek();
            if (byte < 0) {
                if (!source_.status().ok()) return source_.status().clone();
                if (depth > 0 || in_string)
                    return at_line(
                        out.line,
                        "The item that begins here is not complete: the file is cut off.");
                break;
            }
            if (depth == 0 && !in_string && !out.text.empty() &&
                (is_space(byte) || byte == ',' || byte == ']'))
                break;
            out.text.push_back(static_cast<char>(byte));
            take();
            if (out.text.size() > kRecordBytesMax)
                return at_line(
                    out.line,
                    "The item that begins here is larger than 16 MB; a container takes 2 MB.");
            if (in_string) {
                if (byte == '\\' && source_.peek() >= 0)
                    out.text.push_back(static_cast<char>(take()));
                else if (byte == '"')
                    in_string = false;
            } else if (byte == '"') {
                in_string = true;
            } else if (byte == '{' || byte == '[') {
                ++depth;
            } else if (byte == '}' || byte == ']') {
                if (depth == 0) return at_line(line_, "A bracket is closed that was not opened.");
                if (--depth == 0) break;
            }
        }
        out.end_offset = source_.offset();
        out.end_line = line_;
        return true;
    }

    Source& source_;
    uint64_t line_ = 1;
    bool opened_ = false;
    bool in_array_ = false;
    bool first_ = true;
};

/// Lines; line ends inside quotes belong to the record where `quotes` say so.
class LineRecords final : public RecordReader {
public:
    enum class Quotes : uint8_t { kPlain, kSpanLines };
    LineRecords(Source& source, Quotes quotes) : source_(source), quotes_(quotes) {}

    Result<bool> next(Record& out) override {
        if (!opened_) {
            opened_ = true;
            if (source_.peek() == 0xEF) {
                for (int i = 0; i < 3; ++i) source_.get();
            }
        }
        do {
            out.text.clear();
            out.line = line_;
            TRY(const bool any, read_line(out));
            if (!any) return false;
        } while (out.text.find_first_not_of(" \t") == std::string::npos);
        out.end_offset = source_.offset();
        out.end_line = line_;
        return true;
    }

    Status resume(uint64_t offset, uint64_t line) override {
        opened_ = true;
        line_ = line;
        return source_.seek(offset);
    }

private:
    Result<bool> read_line(Record& out) {
        bool in_quotes = false;
        if (source_.peek() < 0) {
            if (!source_.status().ok()) return source_.status().clone();
            return false;
        }
        while (true) {
            const int byte = source_.get();
            if (byte < 0) {
                if (!source_.status().ok()) return source_.status().clone();
                if (in_quotes)
                    return at_line(out.line, "A quoted field that begins here is never closed.");
                break;
            }
            if (byte == '\n') {
                ++line_;
                if (!in_quotes) break;
            }
            if (byte == '"' && quotes_ == Quotes::kSpanLines) in_quotes = !in_quotes;
            out.text.push_back(static_cast<char>(byte));
            if (out.text.size() > kRecordBytesMax)
                return at_line(
                    out.line,
                    "The record that begins here is larger than 16 MB. Is a quote missing?");
        }
        if (out.text.ends_with('\r')) out.text.pop_back();
        return true;
    }

    Source& source_;
    const Quotes quotes_;
    uint64_t line_ = 1;
    bool opened_ = false;
};

}  // namespace

Result<std::unique_ptr<Source>> Source::open(const std::string& path) {
    std::unique_ptr<Source> out(new Source());
    out->path_ = path;
    if (path == "-") {
        out->fd_ = ::dup(STDIN_FILENO);
        return out;
    }
    out->fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat facts {};
    if (out->fd_ < 0 || ::fstat(out->fd_, &facts) != 0)
        return errors::bad_request(
            fmt::format("'{}' cannot be read: {}.", path, errno_text(errno)));
    if (S_ISDIR(facts.st_mode))
        return errors::bad_request(fmt::format("'{}' is a folder, not a file.", path));
    out->is_file_ = S_ISREG(facts.st_mode);
    if (out->is_file_) {
        out->size_ = static_cast<uint64_t>(facts.st_size);
        out->modified_ = facts.st_mtim.tv_sec * 1'000'000'000 + facts.st_mtim.tv_nsec;
    }
    return out;
}

Source::~Source() {
    if (fd_ >= 0) ::close(fd_);
}

bool Source::refill() {
    if (!status_.ok()) return false;
    base_ += buffer_.size();
    at_ = 0;
    buffer_.resize(kReadBytes);
    ssize_t n = 0;
    // A pipe or terminal may be silent for ever, and a signal may reach another thread.
    while (!is_file_) {
        pollfd entry{fd_, POLLIN, 0};
        if (::poll(&entry, 1, kLookMs) > 0) break;
        if (interrupted()) {
            buffer_.clear();
            status_ = Status(errors::bad_request("Interrupted."));
            return false;
        }
    }
    do {
        n = ::read(fd_, buffer_.data(), buffer_.size());
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        status_ = Status(
            errors::bad_request(fmt::format("'{}' cannot be read: {}.", path_, errno_text(errno))));
    buffer_.resize(n < 0 ? 0 : static_cast<size_t>(n));
    return n > 0;
}

Status Source::seek(uint64_t offset) {
    if (!is_file_ || ::lseek(fd_, static_cast<off_t>(offset), SEEK_SET) < 0)
        return Status(
            errors::bad_request(fmt::format("'{}' cannot be read from its middle.", path_)));
    buffer_.clear();
    at_ = 0;
    base_ = offset;
    return {};
}

std::unique_ptr<RecordReader> json_records(Source& source) {
    return std::make_unique<JsonRecords>(source);
}
std::unique_ptr<RecordReader> line_records(Source& source) {
    return std::make_unique<LineRecords>(source, LineRecords::Quotes::kPlain);
}
std::unique_ptr<RecordReader> csv_records(Source& source) {
    return std::make_unique<LineRecords>(source, LineRecords::Quotes::kSpanLines);
}

}  // namespace orrery::cli
