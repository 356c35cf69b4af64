// The one-shot SHA-256 states are marked deprecated in favour of EVP contexts, whose set-up costs
// more than the whole signature of a request (docs/decisions.md, T2).
#define OPENSSL_SUPPRESS_DEPRECATED
#include "engine/hmac.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <cstring>

#include "base/encoding.h"

namespace orrery::engine {

struct HmacKey::States {
    SHA256_CTX inner;
    SHA256_CTX outer;
};

HmacKey::HmacKey(std::string_view key) {
    constexpr size_t kBlock = 64;
    unsigned char block[kBlock] = {};
    if (key.size() > kBlock) {
        SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), block);
    } else {
        std::memcpy(block, key.data(), key.size());
    }
    auto states = std::make_unique<States>();
    unsigned char pad[kBlock];
    for (size_t i = 0; i < kBlock; ++i) pad[i] = static_cast<unsigned char>(block[i] ^ 0x36);
    SHA256_Init(&states->inner);
    SHA256_Update(&states->inner, pad, kBlock);
    for (size_t i = 0; i < kBlock; ++i) pad[i] = static_cast<unsigned char>(block[i] ^ 0x5c);
    SHA256_Init(&states->outer);
    SHA256_Update(&states->outer, pad, kBlock);
    OPENSSL_cleanse(block, sizeof block);
    OPENSSL_cleanse(pad, sizeof pad);
    states_ = std::move(states);
}

HmacKey::~HmacKey() = default;
HmacKey::HmacKey(HmacKey&&) noexcept = default;
HmacKey& HmacKey::operator=(HmacKey&&) noexcept = default;

HmacKey::Signature HmacKey::sign(std::string_view text) const {
    unsigned char digest[SHA256_DIGEST_LENGTH];
    SHA256_CTX inner = states_->inner;
    SHA256_Update(&inner, text.data(), text.size());
    SHA256_Final(digest, &inner);
    SHA256_CTX outer = states_->outer;
    SHA256_Update(&outer, digest, sizeof digest);
    SHA256_Final(digest, &outer);
    Signature signature;
    std::memcpy(signature.data(), digest, signature.size());
    return signature;
}

std::string HmacKey::sign_text(std::string_view text) const {
    const Signature signature = sign(text);
    return base64_encode({signature.data(), signature.size()});
}

bool equal_constant_time(std::string_view a, std::string_view b) {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace orrery::engine
