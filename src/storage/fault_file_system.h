#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// A file system below a store that fails on command, for tests of any module. Internally locked.
namespace orrery::storage {

class FaultFileSystem {
public:
    enum class Base : uint8_t { kMemory, kDisk };
    /// What a power cut does to bytes that were written and not synced. Names of files are durable
    /// at once (RocksDB syncs folders where it matters).
    enum class Loss : uint8_t {
        kEverything,   ///< gone
        kKeepPrefix,   ///< a random part from the front stays
        kTornSectors,  ///< the length stays, random 512-byte sectors are zero
    };

    explicit FaultFileSystem(Base base = Base::kMemory);
    ~FaultFileSystem();
    FaultFileSystem(const FaultFileSystem&) = delete;
    FaultFileSystem& operator=(const FaultFileSystem&) = delete;

    /// For StoreOptions::file_system; the folder must not be empty.
    std::shared_ptr<void> file_system() const;

    /// From now on every change of a file fails. Reads go on.
    void cut_power();
    /// After the store is destroyed: takes away what was not synced and lets writes through again.
    void restore_power(Loss loss, uint64_t seed);

    /// After `bytes` more have been written, writes fail as on a full disk. The last one is cut
    /// short.
    void set_free_bytes(uint64_t bytes);
    void unlimited_space();
    /// Every write or sync fails with an input/output error while set.
    void fail_writes(bool fail);
    /// While set, no new table file is created: its creator waits.
    void hold_tables(bool hold);

    // Straight to the files below, for tests that damage them.
    std::string read(const std::string& path) const;
    void write(const std::string& path, const std::string& content);
    /// Full paths of the files in a folder whose names end with `suffix`, in name order.
    std::vector<std::string> files(const std::string& folder, const std::string& suffix) const;

private:
    class Wrapper;
    std::shared_ptr<Wrapper> wrapper_;
};

}  // namespace orrery::storage
