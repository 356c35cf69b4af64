#include "cli/export.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "base/errors.h"
#include "base/system.h"
#include "cli/checkpoint.h"
#include "cli/export_csv.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "json/item.h"
#include "json/parse.h"
#include "json/write.h"

namespace orrery::cli {
namespace {

constexpr json::ParseOptions kAnswerOptions{.depth_max = 256, .refuse_duplicate_names = false};
constexpr int64_t kCheckpointEveryUs = 1'000'000;
constexpr int64_t kLookMs = 50;
constexpr int kRangeGone = 1002;

/// One physical partition, and how far it has been read.
struct Part {
    KeyRange range;
    std::string continuation;
    bool done = false;
    bool taken = false;
    /// The range was split or merged: its keys are named instead of its id.
    bool by_keys = false;
};

/// The file that grows. Bytes after `written_` are not counted yet.
class Output {
public:
    ~Output() {
        if (fd_ >= 0 && fd_ != STDOUT_FILENO) ::close(fd_);
    }
    Status open(const std::string& path, uint64_t keep_bytes, bool replace) {
        path_ = path;
        if (path == "-") {
            fd_ = STDOUT_FILENO;
            return {};
        }
        const int flags = O_WRONLY | O_CREAT | O_CLOEXEC |
                          (keep_bytes > 0 ? 0
                           : replace      ? O_TRUNC
                                          : O_EXCL);
        fd_ = ::open(path.c_str(), flags, 0644);
        if (fd_ < 0 && errno == EEXIST)
            return Status(errors::bad_request(fmt::format(
                "'{}' is there already. Write over it with --restart, or choose another name.",
                path)));
        if (fd_ < 0) return failed();
        if (keep_bytes > 0) {
            struct stat facts {};
            if (::fstat(fd_, &facts) != 0 || static_cast<uint64_t>(facts.st_size) < keep_bytes)
                return Status(errors::bad_request(fmt::format(
                    "'{}' is shorter than when its export was stopped. Begin anew with --restart.",
                    path)));
            if (::ftruncate(fd_, static_cast<off_t>(keep_bytes)) != 0 ||
                ::lseek(fd_, 0, SEEK_END) < 0)
                return failed();
        }
        written_ = keep_bytes;
        return {};
    }
    Status write(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return failed();
            bytes.remove_prefix(static_cast<size_t>(n));
            written_ += static_cast<uint64_t>(n);
        }
        return {};
    }
    Status sync() {
        if (fd_ != STDOUT_FILENO && ::fdatasync(fd_) != 0) return failed();
        return {};
    }
    uint64_t written() const { return written_; }

private:
    Status failed() const {
        return Status(errors::bad_request(
            fmt::format("'{}' cannot be written: {}.", path_, errno_text(errno))));
    }
    std::string path_;
    int fd_ = -1;
    uint64_t written_ = 0;
};

/// A new file that nobody else can name beforehand.
Result<std::string> temporary_file() {
    std::string path = "/tmp/orrery-export-XXXXXX";
    const int fd = ::mkstemp(path.data());
    if (fd < 0)
        return errors::bad_request(
            fmt::format("No temporary file can be made in /tmp: {}.", errno_text(errno)));
    ::close(fd);
    return path;
}

class Export {
public:
    Export(const ExportOptions& options, const AccountClient::Shared& account)
        : options_(options), account_(account) {}
    int run();

private:
    Status prepare();
    Status prepare_checkpoint();
    void work();
    Status read_part(AccountClient& client, Part& part);
    Result<HttpAnswer> request_page(AccountClient& client, Part& part);
    Status append_page(const HttpAnswer& answer, Part& part);
    Status end_file();
    Status save();
    void watch();
    int report(int64_t elapsed_us);
    void fail(std::string message);
    bool as_array() const { return format_ == FileFormat::kJson; }

    const ExportOptions& options_;
    const AccountClient::Shared& account_;
    const SystemClock clock_;
    FileFormat format_ = FileFormat::kByName;
    std::string
        data_file_;  ///< where items go first: the target, or for CSV lines of JSON beside it
    std::string checkpoint_file_;  ///< empty: not resumable
    ContainerInfo container_;
    std::mutex mutex_;  ///< guards everything below
    std::vector<Part> parts_;
    Output output_;
    uint64_t items_ = 0;
    uint64_t items_before_ = 0;
    CsvColumns columns_;
    std::string error_;
    std::atomic<bool> stop_{false};
    std::atomic<size_t> running_{0};
};

Status Export::prepare_checkpoint() {
    if (options_.target == "-") {
        if (options_.resume)
            return Status(errors::bad_request(
                "--resume needs a file: what went to the standard output is gone."));
        return output_.open(
            format_ == FileFormat::kCsv || format_ == FileFormat::kTsv ? data_file_ : "-", 0, true);
    }
    checkpoint_file_ =
        options_.checkpoint.empty() ? options_.target + ".orrery-export" : options_.checkpoint;
    TRY(const auto found, load_checkpoint(checkpoint_file_));
    if (!found.has_value() || options_.restart) {
        if (options_.resume)
            return Status(errors::bad_request(
                fmt::format("--resume: there is no checkpoint '{}'.", checkpoint_file_)));
        if (data_file_ != options_.target && ::access(options_.target.c_str(), F_OK) == 0 &&
            !options_.restart)
            return Status(errors::bad_request(fmt::format(
                "'{}' is there already. Write over it with --restart, or choose another name.",
                options_.target)));
        return output_.open(data_file_, 0, options_.restart || data_file_ != options_.target);
    }
    if (!options_.resume)
        return Status(errors::bad_request(
            fmt::format("An export into this file was begun and not finished ({} items are there). "
                        "Go on with --resume, or begin anew with --restart.",
                        with_commas(found->number("items")))));
    if (found->text("container") != options_.container.text() ||
        found->text("endpoint") != account_.settings.endpoint.text() ||
        found->text("query") != options_.query)
        return Status(
            errors::bad_request(fmt::format("The checkpoint '{}' is of another container, account "
                                            "or query. Begin anew with --restart.",
                                            checkpoint_file_)));
    parts_.clear();
    for (uint64_t i = 0; i < found->number("parts"); ++i) {
        const std::string prefix = fmt::format("part{}.", i);
        Part part;
        part.range = {found->text(prefix + "id"), found->text(prefix + "min"),
                      found->text(prefix + "max")};
        part.continuation = found->text(prefix + "continuation");
        part.done = found->text(prefix + "done") == "yes";
        part.by_keys = true;  // ranges may have moved since
        parts_.push_back(std::move(part));
    }
    items_ = items_before_ = found->number("items");
    columns_.restore(found->text("columns"));
    return output_.open(data_file_, found->number("bytes"), false);
}

Status Export::prepare() {
    format_ = options_.format;
    if (format_ == FileFormat::kByName) {
        format_ = FileFormat::kJsonLines;
        if (options_.target != "-") {
            TRY(format_, format_of_name(options_.target));
        }
    }
    if (format_ == FileFormat::kMongo)
        return Status(
            errors::bad_request("Exports are json, jsonl, csv or tsv; mongoimport reads jsonl."));
    const bool csv = format_ == FileFormat::kCsv || format_ == FileFormat::kTsv;
    if (options_.delimiter_given && format_ != FileFormat::kCsv)
        return Status(errors::bad_request("--delimiter is for --format csv."));
    data_file_ = options_.target;
    if (csv && options_.target == "-") {
        TRY(data_file_, temporary_file());
    } else if (csv) {
        data_file_ += ".part.jsonl";
    }
    AccountClient client(account_);
    TRY(container_, read_container(client, options_.container));
    TRY(const auto ranges, read_ranges(client, options_.container));
    for (const KeyRange& range : ranges) {
        Part part;
        part.range = range;
        parts_.push_back(std::move(part));
    }
    TRY_STATUS(prepare_checkpoint());
    if (output_.written() == 0 && as_array()) TRY_STATUS(output_.write("["));
    return {};
}

Result<HttpAnswer> Export::request_page(AccountClient& client, Part& part) {
    std::string query;
    while (true) {
        Headers headers = {{"x-ms-max-item-count", "1000"},
                           {"x-ms-read-key-type", "EffectivePartitionKeyRange"},
                           {"x-ms-start-epk", part.range.min},
                           {"x-ms-end-epk", part.range.max}};
        if (!part.by_keys)
            headers.emplace_back("x-ms-documentdb-partitionkeyrangeid", part.range.id);
        if (!part.continuation.empty())
            headers.emplace_back("x-ms-continuation", part.continuation);
        AccountClient::Request request{
            .resource = item_feed(options_.container.database, options_.container.container)};
        if (!options_.query.empty()) {
            headers.emplace_back("content-type", "application/query+json");
            headers.emplace_back("x-ms-documentdb-isquery", "true");
            headers.emplace_back("x-ms-documentdb-query-enablecrosspartition", "true");
            query = R"({"query":)";
            json::write_string(query, options_.query);
            query += "}";
            request.method = "POST";
            request.body = query;
        }
        request.headers = std::move(headers);
        TRY(auto answer, client.send(request));
        if (answer.status == 410 && answer.sub_status() == kRangeGone && !part.by_keys) {
            part.by_keys = true;  // split or merged meanwhile; positions are positions among keys
            continue;
        }
        if (answer.status >= 400) return answer_error(answer);
        return answer;
    }
}

Status Export::append_page(const HttpAnswer& answer, Part& part) {
    json::Arena arena;
    TRY(const auto parsed, json::parse(answer.body, arena, kAnswerOptions));
    const json::Value items = parsed.member("Documents");
    if (!items.is_array())
        return Status(errors::internal("The server's answer has no 'Documents'."));
    std::string text;
    std::vector<std::string> lines;
    for (const json::Value& item : items.elements()) {
        std::vector<json::Member> members;
        json::Value kept = item;
        if (item.is_object() && !options_.system_properties) {
            for (const json::Member& member : item.members())
                if (!json::is_system_property(member.name)) members.push_back(member);
            kept = json::Value::object(members);
        }
        lines.push_back(json::to_text(kept));
        if (format_ == FileFormat::kCsv || format_ == FileFormat::kTsv) {
            if (!kept.is_object())
                return Status(
                    errors::bad_request("The query gives values that are no objects, which a table "
                                        "cannot hold. Use --format jsonl."));
            columns_.add(kept);
        }
    }
    const std::lock_guard lock(mutex_);
    for (const std::string& line : lines) {
        if (as_array()) text += items_ == 0 ? "\n" : ",\n";
        text += line;
        if (!as_array()) text += "\n";
        ++items_;
    }
    TRY_STATUS(output_.write(text));
    part.continuation = answer.header("x-ms-continuation");
    part.done = part.continuation.empty();
    return {};
}

Status Export::read_part(AccountClient& client, Part& part) {
    while (!stop_ && !part.done) {
        TRY(const auto answer, request_page(client, part));
        TRY_STATUS(append_page(answer, part));
    }
    return {};
}

void Export::fail(std::string message) {
    const std::lock_guard lock(mutex_);
    if (error_.empty()) error_ = std::move(message);
    stop_ = true;
}

void Export::work() {
    AccountClient client(account_);
    while (!stop_) {
        Part* part = nullptr;
        {
            const std::lock_guard lock(mutex_);
            for (Part& candidate : parts_) {
                if (candidate.done || candidate.taken) continue;
                part = &candidate;
                candidate.taken = true;
                break;
            }
        }
        if (part == nullptr) break;
        if (const Status status = read_part(client, *part); !status.ok()) {
            if (!interrupted()) fail(status.error().message);
            break;
        }
    }
    running_ -= 1;
}

Status Export::save() {
    if (checkpoint_file_.empty()) return {};
    const std::lock_guard lock(mutex_);
    // The file must hold what the checkpoint says before the checkpoint says it.
    TRY_STATUS(output_.sync());
    Checkpoint out;
    out.set("format", std::string("orrery-export-1"));
    out.set("endpoint", account_.settings.endpoint.text());
    out.set("container", options_.container.text());
    out.set("query", options_.query);
    out.set("items", items_);
    out.set("bytes", output_.written());
    out.set("columns", columns_.text());
    out.set("parts", parts_.size());
    for (size_t i = 0; i < parts_.size(); ++i) {
        const std::string prefix = fmt::format("part{}.", i);
        out.set(prefix + "id", parts_[i].range.id);
        out.set(prefix + "min", parts_[i].range.min);
        out.set(prefix + "max", parts_[i].range.max);
        out.set(prefix + "continuation", parts_[i].continuation);
        out.set(prefix + "done", std::string(parts_[i].done ? "yes" : "no"));
    }
    return save_checkpoint(checkpoint_file_, out);
}

void Export::watch() {
    Progress progress(options_.container.text(), clock_);
    int64_t saved_us = clock_.monotonic_us();
    while (running_ > 0) {
        ProgressFigures figures;
        {
            const std::lock_guard lock(mutex_);
            figures.items = items_ - items_before_;
            figures.bytes = output_.written();
            if (options_.query.empty() && container_.item_count > 0)
                figures.fraction =
                    static_cast<double>(items_) / static_cast<double>(container_.item_count);
        }
        if (account_.traffic != nullptr) figures.throttled = account_.traffic->throttled;
        progress.show(figures);
        if (const int64_t now = clock_.monotonic_us(); now - saved_us >= kCheckpointEveryUs) {
            saved_us = now;
            if (const Status saved = save(); !saved.ok()) fail(saved.error().message);
        }
        if (interrupted()) {
            stop_ = true;
            std::this_thread::sleep_for(std::chrono::milliseconds(kLookMs));
        } else {
            wait_ms(kLookMs);
        }
    }
}

Status Export::end_file() {
    if (as_array()) TRY_STATUS(output_.write(items_ == 0 ? "]\n" : "\n]\n"));
    TRY_STATUS(output_.sync());
    if (format_ != FileFormat::kCsv && format_ != FileFormat::kTsv) return {};
    const char delimiter = format_ == FileFormat::kTsv ? '\t' : options_.delimiter;
    TRY_STATUS(write_csv(data_file_, options_.target, columns_.names(), delimiter));
    ::unlink(data_file_.c_str());
    return {};
}

int Export::report(int64_t elapsed_us) {
    const bool stopped = interrupted();
    bool complete = error_.empty() && !stopped;
    if (complete) {
        if (const Status ended = end_file(); !ended.ok()) {
            error_ = ended.error().message;
            complete = false;
        } else if (!checkpoint_file_.empty()) {
            remove_checkpoint(checkpoint_file_);
        }
    } else if (const Status saved = save(); !saved.ok()) {
        fmt::print(stderr, "orrery: {}\n", saved.error().message);
    }
    const uint64_t now = items_ - items_before_;
    const double seconds = std::max(static_cast<double>(elapsed_us) / 1e6, 0.001);
    std::string line = fmt::format(
        "{} item{} ({}) from {} in {}: {}/s, {:.2f} RU", with_commas(now), now == 1 ? "" : "s",
        bytes_text(output_.written()), options_.container.text(), duration_text(elapsed_us),
        with_commas(static_cast<uint64_t>(static_cast<double>(now) / seconds)),
        account_.traffic == nullptr ? 0.0 : account_.traffic->charge());
    if (items_before_ > 0) line += fmt::format("; {} in all", with_commas(items_));
    fmt::print(stderr, "{}{}\n", complete ? "Exported " : "Stopped: ", line);
    if (complete) return 0;
    if (!error_.empty()) fmt::print(stderr, "orrery: {}\n", error_);
    if (!checkpoint_file_.empty())
        fmt::print(stderr, "orrery: the same command with --resume goes on from here.\n");
    if (checkpoint_file_.empty() && data_file_ != "-") ::unlink(data_file_.c_str());
    return stopped ? kInterruptedExit : 1;
}

int Export::run() {
    if (const Status prepared = prepare(); !prepared.ok()) {
        if (options_.target == "-" && data_file_ != "-") ::unlink(data_file_.c_str());
        fmt::print(stderr, "orrery: {}\n", prepared.error().message);
        return interrupted() ? kInterruptedExit : 1;
    }
    const int64_t begun_us = clock_.monotonic_us();
    const size_t threads = std::min(options_.parallel, parts_.size());
    running_ = threads;
    std::vector<std::thread> workers;
    for (size_t i = 0; i < threads; ++i) workers.emplace_back([this] { work(); });
    watch();
    for (auto& worker : workers) worker.join();
    return report(clock_.monotonic_us() - begun_us);
}

}  // namespace

int run_export(const ExportOptions& options, const AccountClient::Shared& account) {
    return Export(options, account).run();
}

}  // namespace orrery::cli
