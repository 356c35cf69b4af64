#include "storage/fault_file_system.h"

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <random>

#include "base/check.h"

namespace orrery::storage {
namespace {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr size_t kSectorBytes = 512;

/// The switches, and what of each file is safe from a power cut.
struct FaultState {
    struct File {
        uint64_t written = 0;
        uint64_t synced = 0;
    };

    std::mutex mutex;
    bool power_off = false;
    bool failing = false;
    bool holding_tables = false;
    std::condition_variable tables_released;
    bool limited = false;
    uint64_t free_bytes = 0;
    std::map<std::string, std::shared_ptr<File>> files;

    IOStatus check() {
        const std::lock_guard lock(mutex);
        return check_locked();
    }
    IOStatus check_locked() const {
        if (power_off) return IOStatus::IOError("the power is off");
        if (failing) return IOStatus::IOError("Input/output error");
        return IOStatus::OK();
    }
};

class FaultFile final : public rocksdb::FSWritableFileOwnerWrapper {
public:
    FaultFile(std::unique_ptr<rocksdb::FSWritableFile> file, std::shared_ptr<FaultState> state,
              std::shared_ptr<FaultState::File> record)
        : FSWritableFileOwnerWrapper(std::move(file)),
          state_(std::move(state)),
          record_(std::move(record)) {}

    using FSWritableFileOwnerWrapper::Append;
    using FSWritableFileOwnerWrapper::PositionedAppend;

    IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                    IODebugContext* debug) override {
        const std::lock_guard lock(state_->mutex);
        IOStatus status = state_->check_locked();
        if (!status.ok()) return status;
        rocksdb::Slice fitting = data;
        if (state_->limited && data.size() > state_->free_bytes) {
            fitting = rocksdb::Slice(data.data(), state_->free_bytes);
            status = IOStatus::NoSpace("No space left on device");
        }
        if (state_->limited) state_->free_bytes -= fitting.size();
        if (!fitting.empty()) {
            IOStatus appended = FSWritableFileOwnerWrapper::Append(fitting, options, debug);
            if (!appended.ok()) return appended;
            record_->written += fitting.size();
        }
        return status;
    }
    IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                    const rocksdb::DataVerificationInfo&, IODebugContext* debug) override {
        return Append(data, options, debug);
    }
    IOStatus Truncate(uint64_t size, const IOOptions& options, IODebugContext* debug) override {
        const std::lock_guard lock(state_->mutex);
        IOStatus status = state_->check_locked();
        if (!status.ok()) return status;
        record_->written = std::min(record_->written, size);
        record_->synced = std::min(record_->synced, size);
        return FSWritableFileOwnerWrapper::Truncate(size, options, debug);
    }
    IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
        const std::lock_guard lock(state_->mutex);
        IOStatus status = state_->check_locked();
        if (status.ok()) status = FSWritableFileOwnerWrapper::Sync(options, debug);
        if (status.ok()) record_->synced = record_->written;
        return status;
    }
    IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
        return Sync(options, debug);
    }
    IOStatus RangeSync(uint64_t, uint64_t, const IOOptions&, IODebugContext*) override {
        return IOStatus::OK();
    }
    bool IsSyncThreadSafe() const override { return true; }

private:
    const std::shared_ptr<FaultState> state_;
    const std::shared_ptr<FaultState::File> record_;
};

}  // namespace

class FaultFileSystem::Wrapper final : public rocksdb::FileSystemWrapper {
public:
    explicit Wrapper(const std::shared_ptr<rocksdb::FileSystem>& base)
        : FileSystemWrapper(base), state_(std::make_shared<FaultState>()) {}

    const char* Name() const override { return "orrery.faults"; }
    FaultState& state() { return *state_; }

    IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                             std::unique_ptr<rocksdb::FSWritableFile>* result,
                             IODebugContext* debug) override {
        if (path.ends_with(".sst")) {
            std::unique_lock lock(state_->mutex);
            state_->tables_released.wait(lock, [this] { return !state_->holding_tables; });
        }
        IOStatus status = state_->check();
        if (!status.ok()) return status;
        std::unique_ptr<rocksdb::FSWritableFile> file;
        status = target()->NewWritableFile(path, options, &file, debug);
        if (status.ok()) *result = wrap(path, std::move(file), 0);
        return status;
    }
    IOStatus ReopenWritableFile(const std::string& path, const FileOptions& options,
                                std::unique_ptr<rocksdb::FSWritableFile>* result,
                                IODebugContext* debug) override {
        IOStatus status = state_->check();
        if (!status.ok()) return status;
        uint64_t size = 0;
        target()->GetFileSize(path, {}, &size, debug).PermitUncheckedError();
        std::unique_ptr<rocksdb::FSWritableFile> file;
        status = target()->ReopenWritableFile(path, options, &file, debug);
        if (status.ok()) *result = wrap(path, std::move(file), size);
        return status;
    }
    IOStatus ReuseWritableFile(const std::string&, const std::string&, const FileOptions&,
                               std::unique_ptr<rocksdb::FSWritableFile>*,
                               IODebugContext*) override {
        return IOStatus::NotSupported("ReuseWritableFile");
    }
    IOStatus NewRandomRWFile(const std::string&, const FileOptions&,
                             std::unique_ptr<rocksdb::FSRandomRWFile>*, IODebugContext*) override {
        return IOStatus::NotSupported("NewRandomRWFile");
    }
    IOStatus DeleteFile(const std::string& path, const IOOptions& options,
                        IODebugContext* debug) override {
        IOStatus status = state_->check();
        if (status.ok()) status = target()->DeleteFile(path, options, debug);
        if (status.ok()) {
            const std::lock_guard lock(state_->mutex);
            state_->files.erase(path);
        }
        return status;
    }
    IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                        IODebugContext* debug) override {
        IOStatus status = state_->check();
        if (status.ok()) status = target()->RenameFile(from, to, options, debug);
        if (status.ok()) {
            const std::lock_guard lock(state_->mutex);
            auto node = state_->files.extract(from);
            state_->files.erase(to);
            if (!node.empty()) state_->files[to] = node.mapped();
        }
        return status;
    }
    IOStatus LinkFile(const std::string& from, const std::string& to, const IOOptions& options,
                      IODebugContext* debug) override {
        IOStatus status = state_->check();
        if (status.ok()) status = target()->LinkFile(from, to, options, debug);
        if (status.ok()) {
            const std::lock_guard lock(state_->mutex);
            const auto it = state_->files.find(from);
            if (it != state_->files.end()) state_->files[to] = it->second;
        }
        return status;
    }
    IOStatus CreateDir(const std::string& path, const IOOptions& options,
                       IODebugContext* debug) override {
        const IOStatus status = state_->check();
        return status.ok() ? target()->CreateDir(path, options, debug) : status;
    }
    IOStatus CreateDirIfMissing(const std::string& path, const IOOptions& options,
                                IODebugContext* debug) override {
        const IOStatus status = state_->check();
        return status.ok() ? target()->CreateDirIfMissing(path, options, debug) : status;
    }

private:
    std::unique_ptr<rocksdb::FSWritableFile> wrap(const std::string& path,
                                                  std::unique_ptr<rocksdb::FSWritableFile> file,
                                                  uint64_t size) {
        const std::lock_guard lock(state_->mutex);
        std::shared_ptr<FaultState::File>& record = state_->files[path];
        // A file opened anew from the start was synced as far as the test cares; one reopened keeps
        // what was not synced.
        if (record == nullptr || size == 0) {
            record = std::make_shared<FaultState::File>(FaultState::File{size, size});
        }
        return std::make_unique<FaultFile>(std::move(file), state_, record);
    }

    const std::shared_ptr<FaultState> state_;
};

namespace {

std::string read_whole(rocksdb::FileSystem& fs, const std::string& path) {
    uint64_t size = 0;
    if (!fs.GetFileSize(path, {}, &size, nullptr).ok()) return {};
    std::unique_ptr<rocksdb::FSSequentialFile> file;
    CHECK(fs.NewSequentialFile(path, {}, &file, nullptr).ok());
    std::string content(size, '\0');
    rocksdb::Slice got;
    CHECK(file->Read(size, {}, &got, content.data(), nullptr).ok());
    return got.ToString();
}

void write_whole(rocksdb::FileSystem& fs, const std::string& path, const std::string& content) {
    // A new file, so that other names of the old one keep their content.
    fs.DeleteFile(path, {}, nullptr).PermitUncheckedError();
    std::unique_ptr<rocksdb::FSWritableFile> file;
    CHECK(fs.NewWritableFile(path, {}, &file, nullptr).ok());
    CHECK(file->Append(content, {}, nullptr).ok());
    CHECK(file->Sync({}, nullptr).ok());
    CHECK(file->Close({}, nullptr).ok());
}

}  // namespace

FaultFileSystem::FaultFileSystem(Base base) {
    std::shared_ptr<rocksdb::FileSystem> below = rocksdb::FileSystem::Default();
    if (base == Base::kMemory) {
        const std::unique_ptr<rocksdb::Env> memory(rocksdb::NewMemEnv(rocksdb::Env::Default()));
        below = memory->GetFileSystem();
    }
    wrapper_ = std::make_shared<Wrapper>(below);
}

FaultFileSystem::~FaultFileSystem() = default;

std::shared_ptr<void> FaultFileSystem::file_system() const {
    return std::static_pointer_cast<rocksdb::FileSystem>(wrapper_);
}

void FaultFileSystem::cut_power() {
    const std::lock_guard lock(wrapper_->state().mutex);
    wrapper_->state().power_off = true;
}

void FaultFileSystem::restore_power(Loss loss, uint64_t seed) {
    std::mt19937_64 random(seed);
    const std::lock_guard lock(wrapper_->state().mutex);
    for (const auto& [path, file] : wrapper_->state().files) {
        if (file->synced >= file->written) continue;
        std::string content = read_whole(*wrapper_->target(), path);
        const size_t synced = std::min<size_t>(file->synced, content.size());
        const size_t extra = content.size() - synced;
        switch (loss) {
            case Loss::kEverything:
                content.resize(synced);
                break;
            case Loss::kKeepPrefix:
                content.resize(synced + random() % (extra + 1));
                break;
            case Loss::kTornSectors:
                for (size_t at = synced; at < content.size();
                     at = (at / kSectorBytes + 1) * kSectorBytes) {
                    const size_t end =
                        std::min(content.size(), (at / kSectorBytes + 1) * kSectorBytes);
                    if (random() % 2 == 0)
                        std::fill(content.begin() + static_cast<ptrdiff_t>(at),
                                  content.begin() + static_cast<ptrdiff_t>(end), '\0');
                }
                break;
        }
        write_whole(*wrapper_->target(), path, content);
    }
    wrapper_->state().files.clear();
    wrapper_->state().power_off = false;
}

void FaultFileSystem::set_free_bytes(uint64_t bytes) {
    const std::lock_guard lock(wrapper_->state().mutex);
    wrapper_->state().limited = true;
    wrapper_->state().free_bytes = bytes;
}

void FaultFileSystem::unlimited_space() {
    const std::lock_guard lock(wrapper_->state().mutex);
    wrapper_->state().limited = false;
}

void FaultFileSystem::fail_writes(bool fail) {
    const std::lock_guard lock(wrapper_->state().mutex);
    wrapper_->state().failing = fail;
}

void FaultFileSystem::hold_tables(bool hold) {
    const std::lock_guard lock(wrapper_->state().mutex);
    wrapper_->state().holding_tables = hold;
    wrapper_->state().tables_released.notify_all();
}

std::string FaultFileSystem::read(const std::string& path) const {
    return read_whole(*wrapper_->target(), path);
}

void FaultFileSystem::write(const std::string& path, const std::string& content) {
    write_whole(*wrapper_->target(), path, content);
}

std::vector<std::string> FaultFileSystem::files(const std::string& folder,
                                                const std::string& suffix) const {
    std::vector<std::string> names;
    wrapper_->target()->GetChildren(folder, {}, &names, nullptr).PermitUncheckedError();
    std::vector<std::string> paths;
    for (const std::string& name : names) {
        if (name.ends_with(suffix)) paths.push_back(folder + "/" + name);
    }
    std::sort(paths.begin(), paths.end());
    return paths;
}

}  // namespace orrery::storage
