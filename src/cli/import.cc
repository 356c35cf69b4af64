#include "cli/import.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <mutex>
#include <thread>

#include "base/errors.h"
#include "cli/checkpoint.h"
#include "cli/detail/import_pipeline.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "json/write.h"

namespace orrery::cli {
namespace {

constexpr int64_t kCheckpointEveryUs = 1'000'000;
constexpr int64_t kLookMs = 50;

class Import {
public:
    Import(const ImportOptions& options, const AccountClient::Shared& account)
        : options_(options), account_(account), pipeline_(options.parallel) {}

    int run();

private:
    Status prepare();
    Status prepare_container(AccountClient& client);
    Status open_source();
    Status prepare_reader();
    Status prepare_checkpoint();
    void read();
    void work();
    /// True when the item is dealt with; otherwise the import has failed.
    bool write(AccountClient& client, const detail::ImportPipeline::Task& task);
    bool reject(const detail::ImportPipeline::Task& task, const std::string& message);
    void watch();
    Status save() const;
    ProgressFigures figures() const;
    int report(int64_t elapsed_us);

    const ImportOptions& options_;
    const AccountClient::Shared& account_;
    const SystemClock clock_;
    FileFormat format_ = FileFormat::kByName;
    ContainerInfo container_;
    std::unique_ptr<Source> source_;
    std::unique_ptr<RecordReader> reader_;
    std::unique_ptr<ItemConverter> converter_;
    std::string checkpoint_file_;  ///< empty: the source cannot be read from its middle
    uint64_t sent_before_ = 0;     ///< up to here an earlier run may have written
    detail::ImportPipeline pipeline_;
    std::mutex rejects_mutex_;
    std::ofstream rejects_;
    std::atomic<uint64_t> written_{0};
    std::atomic<uint64_t> bytes_{0};
    std::atomic<uint64_t> present_{0};  ///< skipped, or written by an earlier attempt
    std::atomic<uint64_t> rejected_{0};
    std::atomic<size_t> running_{0};
};

Status Import::prepare_container(AccountClient& client) {
    const auto& name = options_.container;
    if (options_.create) {
        if (options_.key_paths.empty())
            return Status(
                errors::bad_request("--create needs the partition key of the container, for "
                                    "example --partition-key /customer."));
        auto created = create_missing(
            client,
            {.name = name, .key_paths = options_.key_paths, .throughput = options_.throughput});
        if (!created.ok()) return std::move(created).take_status();
    }
    auto found = read_container(client, name);
    if (!found.ok() && found.error().code == Code::kResourceNotFound)
        return Status(
            errors::bad_request(fmt::format("There is no container '{}'. Create it, or let this "
                                            "command do it: --create --partition-key /NAME.",
                                            name.text())));
    if (!found.ok()) return std::move(found).take_status();
    container_ = std::move(*found);
    std::vector<std::vector<std::string>> wanted;
    for (const std::string& path : options_.key_paths) wanted.push_back(parse_key_path(path));
    if (options_.create && wanted != container_.key_paths)
        return Status(errors::bad_request(
            fmt::format("The container '{}' is there already, with another partition key. Leave "
                        "out --create and --partition-key to use it as it is.",
                        name.text())));
    return {};
}

Status Import::open_source() {
    TRY(source_, Source::open(options_.source));
    format_ = options_.format;
    if (format_ == FileFormat::kByName) {
        TRY(format_, format_of_name(options_.source));
    }
    if (!options_.csv_option.empty() && format_ != FileFormat::kCsv && format_ != FileFormat::kTsv)
        return Status(errors::bad_request(
            fmt::format("{} is for tables; this file is not read as one. Add --format csv, or "
                        "leave it out.",
                        options_.csv_option)));
    return {};
}

Status Import::prepare_reader() {
    std::optional<CsvConverter> csv;
    if (format_ == FileFormat::kCsv || format_ == FileFormat::kTsv) {
        reader_ = csv_records(*source_);
        CsvOptions csv_options = options_.csv;
        if (format_ == FileFormat::kTsv && !options_.csv_delimiter_given)
            csv_options.delimiter = '\t';
        Record header;
        TRY(const bool any, reader_->next(header));
        if (!any)
            return Status(errors::bad_request(
                "The file is empty: a CSV file begins with a line of column names."));
        TRY(auto names, split_csv(header.text, csv_options.delimiter));
        TRY(csv, CsvConverter::create(std::move(names.texts), csv_options));
        detail::ImportPipeline::Mark mark;
        mark.offset = header.end_offset;
        mark.line = header.end_line;
        pipeline_.start_from(mark);
    } else {
        reader_ =
            format_ == FileFormat::kJsonLines ? line_records(*source_) : json_records(*source_);
    }
    ConversionOptions conversion = options_.conversion;
    conversion.mongo = format_ == FileFormat::kMongo;
    converter_ = std::make_unique<ItemConverter>(container_, conversion, std::move(csv));
    return {};
}

Status Import::prepare_checkpoint() {
    if (!source_->is_file()) {
        if (options_.resume)
            return Status(errors::bad_request(
                "--resume needs a file: the standard input cannot be read from its middle."));
        return {};
    }
    checkpoint_file_ =
        options_.checkpoint.empty() ? options_.source + ".orrery-import" : options_.checkpoint;
    TRY(const auto found, load_checkpoint(checkpoint_file_));
    if (!found.has_value() || options_.restart) {
        if (options_.resume && !found.has_value())
            return Status(errors::bad_request(fmt::format(
                "--resume: there is no checkpoint '{}'; nothing was begun, or it was finished.",
                checkpoint_file_)));
        return {};
    }
    if (!options_.resume)
        return Status(errors::bad_request(
            fmt::format("An import of this file was begun and not finished ({} items are done). Go "
                        "on with --resume, or begin anew with --restart.",
                        with_commas(found->number("items")))));
    if (found->text("container") != options_.container.text() ||
        found->text("endpoint") != account_.settings.endpoint.text())
        return Status(
            errors::bad_request(fmt::format("The checkpoint '{}' is of an import into {} at {}. "
                                            "Use --restart to import into {} from the beginning.",
                                            checkpoint_file_, found->text("container"),
                                            found->text("endpoint"), options_.container.text())));
    if (found->number("sourceBytes") != source_->size() ||
        found->text("sourceModified") != std::to_string(source_->modified_ns()))
        return Status(errors::bad_request(
            fmt::format("'{}' has changed since the import was begun, so its middle is not where "
                        "it was. Begin anew with --restart.",
                        options_.source)));
    detail::ImportPipeline::Mark mark;
    mark.number = found->number("items");
    mark.offset = found->number("offset");
    mark.line = found->number("line");
    mark.handed_out = found->number("handedOut");
    sent_before_ = mark.handed_out;
    pipeline_.start_from(mark);
    return reader_->resume(mark.offset, mark.line);
}

Status Import::prepare() {
    TRY_STATUS(open_source());
    AccountClient client(account_);
    TRY_STATUS(prepare_container(client));
    TRY_STATUS(prepare_reader());
    TRY_STATUS(prepare_checkpoint());
    if (!options_.rejects.empty()) {
        rejects_.open(options_.rejects, options_.resume ? std::ios::app : std::ios::trunc);
        if (!rejects_)
            return Status(errors::bad_request(
                fmt::format("--rejects: '{}' cannot be written.", options_.rejects)));
    }
    return {};
}

void Import::read() {
    Record record;
    while (!pipeline_.stopped()) {
        auto any = reader_->next(record);
        if (!any.ok()) return pipeline_.end_of_input(any.error().message);
        if (!*any || !pipeline_.push(std::move(record))) break;
    }
    pipeline_.end_of_input();
}

bool Import::reject(const detail::ImportPipeline::Task& task, const std::string& message) {
    if (options_.rejects.empty()) {
        pipeline_.fail(message + (message.ends_with('.') ? "" : ".") +
                       " To go on without such items, give them a file: --rejects FILE.");
        return false;
    }
    std::string line = fmt::format(R"({{"line":{},"error":)", task.record.line);
    json::write_string(line, message);
    line += R"(,"text":)";
    json::write_string(line, task.record.text);
    line += "}\n";
    const std::lock_guard lock(rejects_mutex_);
    rejects_ << line;
    rejects_.flush();
    if (!rejects_) {
        pipeline_.fail(fmt::format("'{}' cannot be written", options_.rejects));
        return false;
    }
    rejected_ += 1;
    return true;
}

bool Import::write(AccountClient& client, const detail::ImportPipeline::Task& task) {
    const auto item = converter_->convert(task.record);
    if (!item.ok()) return reject(task, item.error().message);
    Headers headers = {{"content-type", "application/json"},
                       {"prefer", "return=minimal"},
                       {"x-ms-documentdb-partitionkey", item->partition_key}};
    if (options_.mode == WriteMode::kUpsert)
        headers.emplace_back("x-ms-documentdb-is-upsert", "true");
    bool lost_before = false;
    const auto answer = client.send(
        {.method = "POST",
         .resource = item_feed(options_.container.database, options_.container.container),
         .headers = headers,
         .body = item->text},
        &lost_before);
    if (!answer.ok()) {
        if (!is_no_answer(answer.error(), NoAnswer::kInterrupted))
            pipeline_.fail(answer.error().message);
        return false;
    }
    if (answer->status < 300) {
        written_ += 1;
        bytes_ += item->text.size();
        return true;
    }
    if (answer->status == 409) {
        // Create: the attempt whose answer was lost, or the run before this one, wrote it.
        if (options_.mode == WriteMode::kSkip || lost_before || task.number <= sent_before_) {
            present_ += 1;
            return true;
        }
        return reject(task, fmt::format("Line {}: the item '{}' is there already; --mode upsert "
                                        "replaces, --mode skip keeps it",
                                        task.record.line, item->id));
    }
    const Error error = answer_error(*answer);
    const std::string message =
        fmt::format("Line {}, item '{}': {}", task.record.line, item->id, error.message);
    // Errors of this item alone can be set aside; other errors would hit every item.
    if (answer->status == 400 || answer->status == 413 ||
        (answer->status == 403 && answer->sub_status() == 1014))
        return reject(task, message);
    if (!interrupted()) pipeline_.fail(message);
    return false;
}

void Import::work() {
    AccountClient client(account_);
    detail::ImportPipeline::Task task;
    while (pipeline_.pop(task)) {
        if (!write(client, task)) break;
        pipeline_.finished(task.number);
    }
    running_ -= 1;
}

Status Import::save() const {
    if (checkpoint_file_.empty()) return {};
    const detail::ImportPipeline::Mark mark = pipeline_.mark();
    Checkpoint out;
    out.set("format", std::string("orrery-import-1"));
    out.set("source", options_.source);
    out.set("sourceBytes", source_->size());
    out.set("sourceModified", std::to_string(source_->modified_ns()));
    out.set("endpoint", account_.settings.endpoint.text());
    out.set("container", options_.container.text());
    out.set("items", mark.number);
    out.set("offset", mark.offset);
    out.set("line", mark.line);
    out.set("handedOut", std::max(mark.handed_out, sent_before_));
    return save_checkpoint(checkpoint_file_, out);
}

ProgressFigures Import::figures() const {
    ProgressFigures out;
    out.items = written_ + present_ + rejected_;
    out.bytes = bytes_;
    if (source_->size() > 0)
        out.fraction =
            static_cast<double>(pipeline_.mark().offset) / static_cast<double>(source_->size());
    if (account_.traffic != nullptr) out.throttled = account_.traffic->throttled;
    return out;
}

void Import::watch() {
    Progress progress(options_.source == "-" ? "standard input" : options_.source, clock_);
    int64_t saved_us = clock_.monotonic_us();
    while (running_ > 0) {
        progress.show(figures());
        const int64_t now = clock_.monotonic_us();
        if (now - saved_us >= kCheckpointEveryUs) {
            saved_us = now;
            if (const Status saved = save(); !saved.ok()) pipeline_.fail(saved.error().message);
        }
        if (interrupted()) pipeline_.stop();
        if (interrupted())
            std::this_thread::sleep_for(std::chrono::milliseconds(kLookMs));
        else
            wait_ms(kLookMs);
    }
}

int Import::report(int64_t elapsed_us) {
    std::string error = pipeline_.error();
    const bool stopped = interrupted();
    const detail::ImportPipeline::Mark mark = pipeline_.mark();
    const bool complete = error.empty() && !stopped;
    if (complete) {
        if (!checkpoint_file_.empty()) remove_checkpoint(checkpoint_file_);
    } else if (const Status saved = save(); !saved.ok()) {
        fmt::print(stderr, "orrery: {}\n", saved.error().message);
    }
    const double seconds = std::max(static_cast<double>(elapsed_us) / 1e6, 0.001);
    std::string line = fmt::format(
        "{} item{} ({}) into {} in {}: {}/s, {:.2f} RU", with_commas(written_),
        written_ == 1 ? "" : "s", bytes_text(bytes_), options_.container.text(),
        duration_text(elapsed_us),
        with_commas(static_cast<uint64_t>(static_cast<double>(written_.load()) / seconds)),
        account_.traffic == nullptr ? 0.0 : account_.traffic->charge());
    if (present_ > 0) line += fmt::format("; {} were there already", with_commas(present_));
    if (rejected_ > 0)
        line += fmt::format("; {} refused, see {}", with_commas(rejected_), options_.rejects);
    if (account_.traffic != nullptr && account_.traffic->throttled > 0)
        line += fmt::format(
            "; {} answers 429, waited for{}", with_commas(account_.traffic->throttled),
            account_.traffic->throttled > written_ ? " (more throughput would make it faster)"
                                                   : "");
    fmt::print(stderr, "{}{}\n", complete ? "Imported " : "Stopped: ", line);
    if (complete) return rejected_ > 0 ? 1 : 0;
    if (!error.empty()) fmt::print(stderr, "orrery: {}\n", error);
    if (!checkpoint_file_.empty() && mark.number > 0)
        fmt::print(stderr,
                   "orrery: everything up to line {} is written; the same command with --resume "
                   "goes on from there.\n",
                   mark.line);
    return stopped ? kInterruptedExit : 1;
}

int Import::run() {
    if (const Status prepared = prepare(); !prepared.ok()) {
        fmt::print(stderr, "orrery: {}\n", prepared.error().message);
        return interrupted() ? kInterruptedExit : 1;
    }
    const int64_t begun_us = clock_.monotonic_us();
    running_ = options_.parallel;
    std::vector<std::thread> workers;
    for (size_t i = 0; i < options_.parallel; ++i) workers.emplace_back([this] { work(); });
    std::thread reader([this] { read(); });
    watch();
    pipeline_.stop();
    for (auto& worker : workers) worker.join();
    reader.join();
    return report(clock_.monotonic_us() - begun_us);
}

}  // namespace

Result<FileFormat> parse_file_format(std::string_view text) {
    if (text == "json") return FileFormat::kJson;
    if (text == "jsonl" || text == "ndjson") return FileFormat::kJsonLines;
    if (text == "csv") return FileFormat::kCsv;
    if (text == "tsv") return FileFormat::kTsv;
    if (text == "mongo") return FileFormat::kMongo;
    return errors::bad_request(
        fmt::format("--format '{}' is none of json, jsonl, csv, tsv, mongo.", text));
}

Result<FileFormat> format_of_name(const std::string& path) {
    const auto ends = [&](std::string_view ending) { return path.ends_with(ending); };
    if (ends(".jsonl") || ends(".ndjson")) return FileFormat::kJsonLines;
    if (ends(".json")) return FileFormat::kJson;
    if (ends(".csv")) return FileFormat::kCsv;
    if (ends(".tsv")) return FileFormat::kTsv;
    return errors::bad_request(fmt::format(
        "The name '{}' does not tell the format. Add --format json, jsonl, csv, tsv or mongo.",
        path));
}

int run_import(const ImportOptions& options, const AccountClient::Shared& account) {
    return Import(options, account).run();
}

}  // namespace orrery::cli
