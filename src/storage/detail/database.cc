#include "storage/detail/database.h"

#include <fmt/format.h>
#include <rocksdb/convenience.h>
#include <rocksdb/listener.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/sst_file_reader.h>

#include <algorithm>

#include "base/errors.h"
#include "base/log.h"
#include "storage/detail/own_keys.h"
#include "storage/detail/wal_recovery.h"

namespace orrery::storage::detail {
namespace {

constexpr std::string_view kMemoryFolder = "/orrery";

Status open_error(std::string message) {
    return Status(errors::service_unavailable(std::move(message)));
}

/// Creates the folder and its parents.
rocksdb::IOStatus create_folders(rocksdb::FileSystem& fs, const std::string& folder) {
    for (size_t slash = folder.find('/', 1); slash != std::string::npos;
         slash = folder.find('/', slash + 1)) {
        const std::string parent = folder.substr(0, slash);
        if (!fs.FileExists(parent, {}, nullptr).ok()) {
            rocksdb::IOStatus made = fs.CreateDirIfMissing(parent, {}, nullptr);
            if (!made.ok()) return made;
        }
    }
    return fs.CreateDirIfMissing(folder, {}, nullptr);
}

}  // namespace

void stop_counting() {
    thread_local const bool told = [] {
        rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
        return true;
    }();
    (void)told;
}

class Database::Listener final : public rocksdb::EventListener {
public:
    void OnBackgroundError(rocksdb::BackgroundErrorReason /*reason*/,
                           rocksdb::Status* status) override {
        const std::lock_guard lock(mutex_);
        if (callback_) callback_(*status);
    }
    void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason /*reason*/, rocksdb::Status /*error*/,
                              bool* auto_recovery) override {
        *auto_recovery = false;
    }
    void OnCompactionCompleted(rocksdb::DB* /*db*/,
                               const rocksdb::CompactionJobInfo& info) override {
        replaced(info.cf_name);
    }
    void OnFlushCompleted(rocksdb::DB* /*db*/, const rocksdb::FlushJobInfo& info) override {
        replaced(info.cf_name);
    }
    void set(std::function<void(const rocksdb::Status&)> callback) {
        const std::lock_guard lock(mutex_);
        callback_ = std::move(callback);
    }
    /// Called when files or memtables of families with pooled iterators have been replaced.
    void on_files_changed(std::function<void()> callback) {
        const std::lock_guard lock(mutex_);
        files_changed_ = std::move(callback);
    }

private:
    void replaced(const std::string& family) {
        if (family != family_name(Family::kIndex) && family != family_name(Family::kItems) &&
            family != family_name(Family::kIds))
            return;
        const std::lock_guard lock(mutex_);
        if (files_changed_) files_changed_();
    }

    std::mutex mutex_;
    std::function<void(const rocksdb::Status&)> callback_;
    std::function<void()> files_changed_;
};

Result<std::shared_ptr<Database>> Database::open(const StoreOptions& options) {
    std::shared_ptr<Database> database(new Database());
    TRY_STATUS(database->prepare_folder(options));
    TRY_STATUS(database->open_database(options));
    TRY_STATUS(database->check_format(options));
    return database;
}

Database::~Database() {
    const rocksdb::Status closed = close();
    if (!closed.ok()) log::warning("storage: closing " + folder_ + ": " + closed.ToString());
}

Status Database::prepare_folder(const StoreOptions& options) {
    in_memory_ = options.folder.empty();
    if (in_memory_) {
        memory_env_.reset(rocksdb::NewMemEnv(rocksdb::Env::Default()));
        folder_ = kMemoryFolder;
    } else {
        folder_ = options.folder;
        while (folder_.size() > 1 && folder_.back() == '/') folder_.pop_back();
    }
    if (options.file_system != nullptr) {
        file_system_ = std::static_pointer_cast<rocksdb::FileSystem>(options.file_system);
    } else {
        file_system_ = in_memory_ ? memory_env_->GetFileSystem() : rocksdb::FileSystem::Default();
    }
    env_ = rocksdb::NewCompositeEnv(file_system_);
    staging_folder_ = folder_ + "/staging";

    rocksdb::FileSystem& fs = *file_system_;
    if (options.read_only) {
        if (!fs.FileExists(folder_ + "/CURRENT", {}, nullptr).ok()) {
            return open_error(fmt::format("There is no store in the folder {}.", folder_));
        }
    } else {
        rocksdb::IOStatus made = create_folders(fs, folder_);
        if (made.ok()) made = fs.CreateDirIfMissing(staging_folder_, {}, nullptr);
        if (!made.ok()) {
            return open_error(
                fmt::format("The data folder {} cannot be created: {}", folder_, explain(made)));
        }
    }
    // Take the lock before reading anything: check_wal() must never touch the log of a running
    // server.
    const rocksdb::IOStatus locked = fs.LockFile(folder_ + "/ORRERY.LOCK", {}, &lock_, nullptr);
    if (!locked.ok()) {
        lock_ = nullptr;
        const std::string text = locked.ToString();
        if (text.find("ermission") != std::string::npos ||
            text.find("ead-only") != std::string::npos) {
            return open_error(
                fmt::format("No right to write in the data folder {}: {}", folder_, text));
        }
        return open_error(
            fmt::format("The data folder {} is in use by another process. Stop that one first, or "
                        "choose another folder.",
                        folder_));
    }
    if (!options.read_only) {
        // A crash left these tables before their ingestion; their changes are replayed from the
        // log.
        std::vector<std::string> leftovers;
        fs.GetChildren(staging_folder_, {}, &leftovers, nullptr).PermitUncheckedError();
        for (const std::string& name : leftovers) {
            if (name.ends_with(".sst")) {
                fs.DeleteFile(staging_folder_ + "/" + name, {}, nullptr).PermitUncheckedError();
            }
        }
    }
    return {};
}

Status Database::open_database(const StoreOptions& options) {
    rocksdb::DBOptions db_options = database_options(options, env_.get());
    listener_ = std::make_shared<Listener>();
    db_options.listeners.push_back(listener_);
    const std::shared_ptr<rocksdb::Cache> cache =
        rocksdb::NewLRUCache(options.block_cache_bytes, 4, false, 0.5);
    term_columns_ = std::make_unique<TermColumns>(cache);
    posting_lists_ = std::make_unique<PostingLists>(cache);

    std::vector<std::string> present;
    if (rocksdb::DB::ListColumnFamilies(db_options, folder_, &present).ok()) {
        for (const std::string& name : present) {
            bool known = false;
            for (size_t i = 0; i < kFamilyCount; ++i)
                known = known || name == family_name(static_cast<Family>(i));
            if (!known) {
                return open_error(
                    fmt::format("The data folder {} was written by a newer version of Orrery (it "
                                "has the unknown family "
                                "'{}'). Use that version, or another folder.",
                                folder_, name));
            }
        }
    }
    std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
    for (size_t i = 0; i < kFamilyCount; ++i) {
        const auto family = static_cast<Family>(i);
        descriptors.emplace_back(std::string(family_name(family)),
                                 family_options(family, cache, filter_));
    }
    for (size_t i = 0; i < kFamilyCount; ++i) {
        table_options_[i] = rocksdb::Options(db_options, descriptors[i].options);
        // Fresh tables are rewritten by the next compaction: the quick compression for them.
        table_options_[i].bottommost_compression = rocksdb::kDisableCompressionOption;
    }

    if (!in_memory_) {
        const WalCheck wal = check_wal(
            *file_system_,
            {.folder = folder_,
             .durability = options.durability,
             .read_only = options.read_only,
             .oldest_needed_log = [&] { return oldest_needed_log(db_options, descriptors); }});
        if (wal.outcome == WalCheck::Outcome::kRefused) {
            return open_error(
                fmt::format("The data folder {} cannot be opened: {}", folder_, wal.why));
        }
    }
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* db = nullptr;
    const rocksdb::Status opened =
        options.read_only
            ? rocksdb::DB::OpenForReadOnly(db_options, folder_, descriptors, &handles, &db)
            : rocksdb::DB::Open(db_options, folder_, descriptors, &handles, &db);
    if (!opened.ok()) {
        return open_error(
            fmt::format("The data folder {} cannot be opened: {}", folder_, explain(opened)));
    }
    db_.reset(db);
    std::copy(handles.begin(), handles.end(), families_.begin());
    listener_->on_files_changed([this] { iterators_.clear(); });
    return {};
}

uint64_t Database::oldest_needed_log(
    rocksdb::DBOptions db_options,
    const std::vector<rocksdb::ColumnFamilyDescriptor>& descriptors) const {
    OldestLogProbe probe;
    db_options.wal_filter = &probe;
    db_options.listeners.clear();
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* db = nullptr;
    rocksdb::DB::OpenForReadOnly(db_options, folder_, descriptors, &handles, &db)
        .PermitUncheckedError();
    for (rocksdb::ColumnFamilyHandle* handle : handles) delete handle;
    delete db;
    return probe.oldest();
}

/// The format key stands in `meta` and `index` from the first write on: every snapshot then has a
/// sequence number above 0, without which compaction loses ingested keys.
Status Database::check_format(const StoreOptions& options) {
    TRY(const std::optional<std::string> value, get({}, Family::kMeta, format_key()));
    if (value) {
        const std::optional<uint32_t> version = decode_format(*value);
        if (!version || *version == 0) {
            return open_error(
                fmt::format("The data folder {} is damaged: its format version is unreadable. {}",
                            folder_, "Restore it from a backup."));
        }
        if (*version > kFormatVersion) {
            return open_error(fmt::format(
                "The data folder {} was written by a newer version of Orrery (format {}; "
                "this one reads up to {}). Use that version, or another folder.",
                folder_, *version, kFormatVersion));
        }
        return {};
    }
    if (options.read_only)
        return open_error(fmt::format("There is no finished store in the folder {}.", folder_));
    rocksdb::WriteBatch batch;
    const std::string key = format_key();
    const std::string version = encode_format(kFormatVersion);
    rocksdb::Status written = batch.PutLogData(encode_group_number(first_group_number_++));
    if (written.ok()) written = batch.Put(family(Family::kMeta), key, version);
    if (written.ok()) written = batch.Put(family(Family::kIndex), key, version);
    rocksdb::WriteOptions write_options;
    write_options.sync = true;
    if (written.ok()) written = db_->Write(write_options, &batch);
    // Ingestion must never meet a memtable of `index`. Flush both families, so that this log
    // becomes obsolete.
    if (written.ok()) written = db_->Flush({}, {family(Family::kMeta), family(Family::kIndex)});
    if (!written.ok()) {
        return open_error(
            fmt::format("The data folder {} cannot be set up: {}", folder_, explain(written)));
    }
    return {};
}

Result<std::optional<std::string>> Database::get(const rocksdb::ReadOptions& options, Family family,
                                                 std::string_view key, bool* missed) const {
    rocksdb::PinnableSlice value;
    const rocksdb::Status status = db_->Get(options, this->family(family), slice(key), &value);
    if (status.ok() && value.empty() && missed != nullptr && !is_known(options, family, key)) {
        *missed = true;
        return std::optional<std::string>();
    }
    if (status.ok()) return std::optional<std::string>(std::string(value.data(), value.size()));
    if (status.IsNotFound()) return std::optional<std::string>();
    if (status.IsIncomplete() && missed != nullptr) {
        *missed = true;
        return std::optional<std::string>();
    }
    return errors::internal(explain(status));
}

/// A read from memory returns an empty value when a file that may have the key is not open yet.
/// Only this second question tells whether the value is really empty.
bool Database::is_known(const rocksdb::ReadOptions& options, Family family,
                        std::string_view key) const {
    std::string value;
    bool found = false;
    return db_->KeyMayExist(options, this->family(family), slice(key), &value, &found) && found;
}

/// If the count of finished ingests before the snapshot equals the count of begun ones after it, no
/// ingest ran in between.
const rocksdb::Snapshot* Database::take_snapshot(IndexFiles& files) const {
    const uint64_t done = ingests_done_;
    const rocksdb::Snapshot* const snapshot = db_->GetSnapshot();
    const uint64_t table = last_table_;
    if (done == ingests_begun_) files = {done, table};
    return snapshot;
}

std::string Database::explain(const rocksdb::Status& status) const {
    std::string text = status.ToString();
    if (status.IsNoSpace() || text.find("No space left") != std::string::npos) {
        return fmt::format(
            "the disk that holds {} is full ({}). Free some space and start the server again.",
            folder_, text);
    }
    if (status.IsCorruption()) {
        return fmt::format(
            "a file is damaged ({}). Run `orrery check --data {}` to see the extent, then restore "
            "the folder from a backup.",
            text, folder_);
    }
    if (text.find("ermission denied") != std::string::npos) {
        return fmt::format(
            "no right to use a file in {} ({}). Give this user the right and start again.", folder_,
            text);
    }
    if (status.IsIOError()) {
        return fmt::format(
            "the disk that holds {} reports an error ({}). Check it, then start the server again.",
            folder_, text);
    }
    return text;
}

rocksdb::Status Database::verify_files() const {
    std::vector<rocksdb::LiveFileMetaData> files;
    db_->GetLiveFilesMetaData(&files);
    for (const rocksdb::LiveFileMetaData& file : files) {
        rocksdb::SstFileReader reader(index_table_options());
        rocksdb::Status status = reader.Open(file.db_path + file.name);
        if (status.ok()) status = reader.VerifyChecksum();
        if (!status.ok())
            return rocksdb::Status::Corruption(file.db_path + file.name, status.ToString());
    }
    return rocksdb::Status::OK();
}

void Database::on_background_error(std::function<void(const rocksdb::Status&)> callback) {
    listener_->set(std::move(callback));
}

void Database::on_view_released(std::function<void()> callback) {
    const std::lock_guard lock(release_mutex_);
    release_callback_ = std::move(callback);
}

void Database::view_released() {
    if (!wake_on_release.load(std::memory_order_relaxed)) return;
    const std::lock_guard lock(release_mutex_);
    if (release_callback_) release_callback_();
}

rocksdb::Status Database::close() {
    rocksdb::Status closed;
    if (db_ != nullptr) {
        listener_->set(nullptr);
        listener_->on_files_changed(nullptr);
        iterators_.clear();
        rocksdb::CancelAllBackgroundWork(db_.get(), true);
        for (rocksdb::ColumnFamilyHandle*& handle : families_) {
            if (handle != nullptr) db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
            handle = nullptr;
        }
        closed = db_->Close();
        db_.reset();
    }
    if (lock_ != nullptr) file_system_->UnlockFile(lock_, {}, nullptr).PermitUncheckedError();
    lock_ = nullptr;
    return closed;
}

}  // namespace orrery::storage::detail
