#include "base/keyed_hash.h"

#include "base/random.h"

namespace orrery {
namespace {

template <typename T>
T drawn() {
    T out;
    random_bytes(reinterpret_cast<char*>(&out), sizeof out);
    return out;
}

}  // namespace

SipKey process_hash_key() {
    static const SipKey key = drawn<SipKey>();
    return key;
}

namespace detail {

const HashFactors& hash_factors() {
    static const HashFactors factors = drawn<HashFactors>();
    return factors;
}

uint64_t hash_long(std::string_view bytes, uint64_t domain) {
    const SipKey key = process_hash_key();
    return siphash_1_3({key.k0 ^ domain, key.k1}, bytes);
}

}  // namespace detail
}  // namespace orrery
