#include "net/detail/identity_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/errors.h"
#include "base/system.h"

namespace orrery::net::detail {
namespace {

constexpr size_t kFileBytesMax = 256 * 1024;

Status file_error(std::string_view doing, const std::string& path, int code) {
    return Status(errors::internal("Cannot " + std::string(doing) + " '" + path +
                                   "': " + errno_text(code) + "."));
}

/// Closes on destruction.
struct File {
    int fd;
    ~File() {
        if (fd >= 0) ::close(fd);
    }
};

bool write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t count = ::write(fd, text.data(), text.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return false;
        text.remove_prefix(static_cast<size_t>(count));
    }
    return true;
}

}  // namespace

Status ensure_folder(const std::string& folder) {
    std::error_code error;
    if (std::filesystem::is_directory(folder, error)) return {};
    const auto parent = std::filesystem::path(folder).parent_path();
    if (!parent.empty()) std::filesystem::create_directories(parent, error);
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
        return file_error("create the folder", folder, errno);
    }
    return {};
}

Result<std::optional<std::string>> read_small_file(const std::string& path) {
    const File file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (file.fd < 0 && errno == ENOENT) return std::optional<std::string>();
    if (file.fd < 0) return file_error("read", path, errno);
    std::string text;
    char block[4096];
    for (;;) {
        const ssize_t count = ::read(file.fd, block, sizeof block);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return file_error("read", path, errno);
        if (count == 0) return std::optional<std::string>(std::move(text));
        text.append(block, static_cast<size_t>(count));
        if (text.size() > kFileBytesMax) return file_error("read", path, EFBIG);
    }
}

Status write_file_atomically(const std::string& path, std::string_view text, FileAccess access) {
    const std::string temporary = path + ".new";
    ::unlink(temporary.c_str());  // left by a crash
    const mode_t mode = access == FileAccess::kOwnerOnly ? 0600 : 0644;
    const File file{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)};
    if (file.fd < 0) return file_error("create", temporary, errno);
    if (!write_all(file.fd, text) || ::fsync(file.fd) != 0) {
        const int code = errno;
        ::unlink(temporary.c_str());
        return file_error("write", temporary, code);
    }
    if (::rename(temporary.c_str(), path.c_str()) != 0) return file_error("replace", path, errno);
    const std::string folder = std::filesystem::path(path).parent_path().string();
    const File directory{
        ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (directory.fd < 0 || ::fsync(directory.fd) != 0) return file_error("sync", folder, errno);
    return {};
}

Status remove_file(const std::string& path) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return file_error("delete", path, errno);
    return {};
}

void restrict_to_owner(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0 && (info.st_mode & 0077) != 0) {
        // Not our file, or a read-only mount: leave it as it is.
        [[maybe_unused]] const int ignored = ::chmod(path.c_str(), 0600);
    }
}

}  // namespace orrery::net::detail
