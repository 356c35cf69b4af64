// For tests: what a crash would leave of a data folder.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>

namespace orrery {

/// Copies the folder of an open store whose commits are all synced. Background work may add and
/// remove files meanwhile, which no moment of a crash would show: the copy is made again until the
/// folder was the same before and after it. `to` is emptied first.
inline void copy_as_after_a_crash(const std::filesystem::path& from,
                                  const std::filesystem::path& to) {
    namespace fs = std::filesystem;
    using Files = std::map<std::string, std::pair<uintmax_t, fs::file_time_type>>;
    const auto files = [&] {
        Files out;
        for (const auto& entry : fs::recursive_directory_iterator(from)) {
            if (!entry.is_regular_file()) continue;
            out[entry.path().string()] = {entry.file_size(), entry.last_write_time()};
        }
        return out;
    };
    while (true) {
        try {
            const Files before = files();
            fs::remove_all(to);
            fs::copy(from, to, fs::copy_options::recursive);
            if (files() == before) return;
        } catch (const fs::filesystem_error& error) {
            // A file was removed between the listing and its copy.
            if (error.code() != std::errc::no_such_file_or_directory) throw;
        }
    }
}

}  // namespace orrery
