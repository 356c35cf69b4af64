#include "storage/detail/info_log.h"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <string>

#include "base/log.h"

namespace orrery::storage::detail {
namespace {

constexpr size_t kMaxLineBytes = 1024;

class InfoLog : public rocksdb::Logger {
public:
    InfoLog() : Logger(rocksdb::InfoLogLevel::WARN_LEVEL) {}

    using Logger::Logv;
    void Logv(const char* format, va_list arguments) override {
        Logv(rocksdb::InfoLogLevel::INFO_LEVEL, format, arguments);
    }

    void Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
        if (level < GetInfoLogLevel()) return;
        std::array<char, kMaxLineBytes> text{};
        std::vsnprintf(text.data(), text.size(), format, arguments);
        // Errors that matter to the operator are reported where they happen, with advice.
        const std::string line = std::string("rocksdb: ") + text.data();
        if (level >= rocksdb::InfoLogLevel::ERROR_LEVEL) {
            log::warning(line);
        } else {
            log::debug(line);
        }
    }

    /// Every option with its value: of no use here.
    void LogHeader(const char*, va_list) override {}
};

}  // namespace

std::shared_ptr<rocksdb::Logger> make_info_log() {
    return std::make_shared<InfoLog>();
}

}  // namespace orrery::storage::detail
