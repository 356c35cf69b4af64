#include "engine/account.h"

#include <array>

#include "base/encoding.h"
#include "base/errors.h"

namespace orrery::engine {
namespace {

constexpr size_t kKeyBytesMin = 16;

/// In the order of ConsistencyLevel.
constexpr std::array<std::string_view, 5> kLevels = {"Strong", "BoundedStaleness", "Session",
                                                     "ConsistentPrefix", "Eventual"};

std::string derived_key(const HmacKey& primary, std::string_view purpose) {
    // Two signatures make the 64 bytes that account keys have.
    const auto first = primary.sign(std::string(purpose) + "/1");
    const auto second = primary.sign(std::string(purpose) + "/2");
    std::string bytes(first.data(), first.size());
    bytes.append(second.data(), second.size());
    return base64_encode(bytes);
}

}  // namespace

std::string_view consistency_name(ConsistencyLevel level) {
    return kLevels[static_cast<size_t>(level)];
}

std::optional<ConsistencyLevel> parse_consistency(std::string_view name) {
    for (size_t i = 0; i < kLevels.size(); ++i)
        if (equals_ignore_case(name, kLevels[i])) return static_cast<ConsistencyLevel>(i);
    return std::nullopt;
}

Result<Account> Account::create(const AccountKeyTexts& keys, const AccountSettings& settings) {
    const auto primary_bytes = base64_decode(keys.primary);
    if (!primary_bytes || primary_bytes->size() < kKeyBytesMin)
        return errors::bad_request(
            "The account key must be base64 of at least 16 bytes, for example the output of "
            "'openssl rand -base64 64 | tr -d \"\\n\"'.");
    const HmacKey primary(*primary_bytes);
    Account account;
    account.settings_ = settings;
    const auto add = [&](const std::string& given, std::string_view purpose,
                         bool read_only) -> Status {
        const std::string text = given.empty() ? derived_key(primary, purpose) : given;
        const auto bytes = base64_decode(text);
        if (!bytes || bytes->size() < kKeyBytesMin)
            return Status(errors::bad_request("The " + std::string(purpose) +
                                              " must be base64 of at least 16 bytes."));
        account.keys_.push_back({text, HmacKey(*bytes), read_only});
        return {};
    };
    TRY_STATUS(add(keys.primary, "primary key", false));
    TRY_STATUS(add(keys.secondary, "secondary key", false));
    TRY_STATUS(add(keys.primary_read_only, "primary read-only key", true));
    TRY_STATUS(add(keys.secondary_read_only, "secondary read-only key", true));
    return account;
}

}  // namespace orrery::engine
