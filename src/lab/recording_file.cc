#include "lab/recording_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "base/errors.h"
#include "base/log.h"
#include "base/system.h"

namespace orrery::lab {
namespace {

namespace fs = std::filesystem;

/// Larger than any that is written.
constexpr uintmax_t kFileBytesMax = 2 * Recorder::kPackedBytesMax;

/// Empty on success, else what went wrong.
std::string write_file(const std::string& path, std::string_view bytes) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0) return errno_text(errno);
    std::string problem;
    while (!bytes.empty() && problem.empty()) {
        const ssize_t written = ::write(file, bytes.data(), bytes.size());
        if (written >= 0)
            bytes.remove_prefix(static_cast<size_t>(written));
        else if (errno != EINTR)
            problem = errno_text(errno);
    }
    if (problem.empty() && ::fsync(file) != 0) problem = errno_text(errno);
    if (::close(file) != 0 && problem.empty()) problem = errno_text(errno);
    return problem;
}

/// The new file takes the place of the old one when it is whole and on disk.
std::string replace_file(const std::string& folder, std::string_view bytes) {
    const std::string path = folder + "/recording";
    const std::string fresh = path + ".new";
    std::error_code error;
    fs::create_directories(folder, error);
    std::string problem = error ? error.message() : write_file(fresh, bytes);
    if (problem.empty()) fs::rename(fresh, path, error);
    if (problem.empty() && error) problem = error.message();
    if (!problem.empty()) fs::remove(fresh, error);
    return problem;
}

}  // namespace

void keep_recording(Recorder& recorder, const catalog::Catalog& catalog,
                    const std::string& folder) {
    const std::string path = folder + "/recording";
    std::error_code error;
    if (const uintmax_t size = fs::file_size(path, error); !error) {
        Status status(errors::bad_request("the recording is too large"));
        if (size <= kFileBytesMax) {
            std::ifstream file(path, std::ios::binary);
            const std::string bytes(std::istreambuf_iterator<char>(file), {});
            std::set<uint64_t> known;
            for (const auto& container : catalog.all_containers())
                known.insert(container->rid.whole());
            status = recorder.unpack(bytes, [&](uint64_t id) { return known.contains(id); });
        }
        if (!status.ok())
            log::warning("The Design Lab begins anew, " + path +
                         " is of no use: " + status.error().message + ".");
    }
    recorder.keep_with([folder, failed = false](const std::string& bytes) mutable {
        const std::string problem = replace_file(folder, bytes);
        if (!problem.empty() && !failed)
            log::warning("What the Design Lab recorded could not be written to " + folder + ": " +
                         problem + ". It goes on in memory and tries again.");
        failed = !problem.empty();
    });
}

}  // namespace orrery::lab
