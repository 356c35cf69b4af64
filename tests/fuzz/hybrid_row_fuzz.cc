// .NET sends its batches as binary streams with lengths of their own. Whatever is read must lie
// inside the body, and what is refused says why.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/check.h"
#include "base/crc32.h"
#include "base/encoding.h"
#include "base/errors.h"
#include "heads/rest/hybrid_row.h"
#include "heads/rest/hybrid_row_test_support.h"

using namespace orrery;                                     // NOLINT
using namespace orrery::rest::hybrid_row;                   // NOLINT
using namespace orrery::rest::hybrid_row::testing_support;  // NOLINT

namespace {

constexpr size_t kOperationsMax = 8;

void check(std::string_view body) {
    const auto read = read_operations(body, kOperationsMax);
    if (!read.ok()) {
        CHECK(errors::is_bad_request(read.error().code) && !read.error().message.empty());
        return;
    }
    CHECK(read->size() <= kOperationsMax);
    for (const auto& operation : *read) {
        for (const auto& text : {operation.partition_key, operation.id, operation.if_match,
                                 operation.if_none_match, operation.indexing_directive})
            CHECK(!text || is_valid_utf8(*text));
        for (const auto& bytes : {operation.resource_body, operation.binary_id,
                                  operation.effective_partition_key, operation.id})
            CHECK(!bytes || bytes->empty() ||
                  (bytes->data() >= body.data() &&
                   bytes->data() + bytes->size() <= body.data() + body.size()));
    }
    // Written again, it reads the same.
    const std::string again = request(*read);
    const auto second = read_operations(again, kOperationsMax);
    CHECK(second.ok() && request(*second) == again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    check(input);
    // As a record with the right length and checksum, which a fuzzer does not guess.
    check(segment() + record(std::string(input)));
    check(segment() + record(from_hex("81 7054e17f") + std::string(input)));
    return 0;
}
