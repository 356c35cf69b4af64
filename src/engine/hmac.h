#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace orrery::engine {

/// HMAC-SHA256 with one key, prepared once: a signature costs two short hashes. Immutable,
/// thread-safe.
class HmacKey {
public:
    explicit HmacKey(std::string_view key);
    ~HmacKey();
    HmacKey(HmacKey&&) noexcept;
    HmacKey& operator=(HmacKey&&) noexcept;

    using Signature = std::array<char, 32>;
    Signature sign(std::string_view text) const;
    std::string sign_text(std::string_view text) const;  ///< base64

private:
    struct States;
    std::unique_ptr<const States> states_;
};

/// Equal, in time that depends on the lengths only.
bool equal_constant_time(std::string_view a, std::string_view b);

}  // namespace orrery::engine
