// The partition key header is the first client text that decides where a request goes. Whatever
// parses must print, parse again and hash to the same key.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/encoding.h"
#include "base/errors.h"
#include "json/parse.h"
#include "partition/partition_key.h"

using namespace orrery;             // NOLINT
using namespace orrery::partition;  // NOLINT

namespace {

PartitionKeyDefinition make(KeyKind kind, int version, size_t paths) {
    PartitionKeyDefinition key;
    key.kind = kind;
    key.version = version;
    key.paths.resize(paths, "/p");
    key.member_paths.resize(paths, {"p"});
    return key;
}

void fuzz_header(std::string_view input) {
    json::Arena arena;
    auto components = parse_partition_key_header(input, arena);
    if (!components.ok()) {
        CHECK(errors::is_bad_request(components.error().code));
        return;
    }
    const std::string text = partition_key_json(*components);
    json::Arena again_arena;
    auto again = parse_partition_key_header(text, again_arena);
    CHECK(again.ok());
    CHECK(again->size() == components->size());
    for (const auto& key : {make(KeyKind::kHash, 1, 1), make(KeyKind::kHash, 2, 1),
                            make(KeyKind::kMultiHash, 2, 3)}) {
        auto epk = effective_partition_key(key, *components);
        if (!epk.ok()) continue;
        auto second = effective_partition_key(key, *again);
        CHECK(second.ok());
        CHECK(*second == *epk);
        CHECK(EpkRange().contains(*epk));
        CHECK(range_of_key(*epk).contains(*epk));
        CHECK(docref_prefix(key, *epk).size() % 8 == 0);
    }
}

void fuzz_definition(std::string_view input) {
    json::Arena arena;
    auto value = json::parse(input, arena);
    if (!value.ok()) return;
    auto definition = parse_partition_key_definition(*value);
    if (!definition.ok()) {
        CHECK(errors::is_bad_request(definition.error().code));
        return;
    }
    const std::string text = partition_key_definition_json(*definition);
    auto again_value = json::parse(text, arena);
    CHECK(again_value.ok());
    auto again = parse_partition_key_definition(*again_value);
    CHECK(again.ok());
    CHECK(partition_key_definition_json(*again) == text);
    CHECK(again->member_paths == definition->member_paths);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    fuzz_header(input);
    fuzz_definition(input);
    return 0;
}
