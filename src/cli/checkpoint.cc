#include "cli/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/errors.h"
#include "base/system.h"
#include "json/parse.h"
#include "json/write.h"

namespace orrery::cli {

std::string Checkpoint::text(const std::string& name) const {
    const auto found = values.find(name);
    return found == values.end() ? std::string() : found->second;
}

uint64_t Checkpoint::number(const std::string& name) const {
    const std::string found = text(name);
    uint64_t value = 0;
    std::from_chars(found.data(), found.data() + found.size(), value);
    return value;
}

Result<std::string> read_text_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    if (!file)
        return errors::bad_request(
            fmt::format("'{}' cannot be read: {}.", path, errno_text(errno)));
    return text.str();
}

Status replace_text_file(const std::string& path, std::string_view text) {
    const std::string beside = path + ".new";
    const auto failed = [&](const char* step) {
        const int reason = errno;
        ::unlink(beside.c_str());
        return Status(errors::bad_request(fmt::format("'{}' cannot be written: {} failed ({}).",
                                                      path, step, errno_text(reason))));
    };
    const int fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return failed("open");
    while (!text.empty()) {
        const ssize_t n = ::write(fd, text.data(), text.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            ::close(fd);
            return failed("write");
        }
        text.remove_prefix(static_cast<size_t>(n));
    }
    const bool synced = ::fdatasync(fd) == 0;
    if (::close(fd) != 0 || !synced) return failed("write");
    if (::rename(beside.c_str(), path.c_str()) != 0) return failed("rename");
    return {};
}

Result<std::optional<Checkpoint>> load_checkpoint(const std::string& path) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) return std::optional<Checkpoint>();
    TRY(const std::string text, read_text_file(path));
    json::Arena arena;
    const auto parsed = json::parse(text, arena);
    if (!parsed.ok() || !parsed->is_object())
        return errors::bad_request(fmt::format(
            "The checkpoint '{}' is damaged. Delete it and start again from the beginning.", path));
    Checkpoint out;
    for (const json::Member& member : parsed->members())
        if (member.value.is_string())
            out.values[std::string(member.name)] = member.value.as_string();
    return std::optional<Checkpoint>(std::move(out));
}

Status save_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
    std::string text = "{";
    for (const auto& [name, value] : checkpoint.values) {
        if (text.size() > 1) text += ",\n ";
        json::write_string(text, name);
        text += ": ";
        json::write_string(text, value);
    }
    return replace_text_file(path, text + "}\n");
}

void remove_checkpoint(const std::string& path) {
    ::unlink(path.c_str());
}

}  // namespace orrery::cli
