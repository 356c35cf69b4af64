#include "heads/rest/bodies/encryption_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "base/encoding.h"
#include "base/errors.h"
#include "heads/rest/bodies/members.h"
#include "json/write.h"

namespace orrery::rest {
namespace {

using catalog::ClientEncryptionPolicy;
using catalog::excerpt;

constexpr size_t kWrappedKeyBytesMax = 64 << 10;

Error bad_policy(std::string_view what) {
    return catalog::bad_definition_member("clientEncryptionPolicy", what);
}

Error bad_key(std::string_view what) {
    return errors::bad_request(fmt::format("The client encryption key is invalid: {}.", what));
}

std::string quoted(std::string_view text) {
    std::string out;
    json::write_string(out, text);
    return out;
}

/// An unknown member; empty: none.
std::string_view unknown_member(const json::Value& object,
                                std::initializer_list<std::string_view> known) {
    for (const json::Member& member : object.members())
        if (!is_absent(member.value) && !member.name.starts_with('_') &&
            std::find(known.begin(), known.end(), member.name) == known.end())
            return member.name;
    return {};
}

Result<ClientEncryptionPolicy::Path> read_path(const json::Value& entry, size_t index) {
    const std::string where = fmt::format("includedPaths[{}]", index);
    if (!entry.is_object()) return bad_policy(where + " must be an object");
    constexpr std::array<std::string_view, 4> kMembers = {"path", "clientEncryptionKeyId",
                                                          "encryptionType", "encryptionAlgorithm"};
    for (const std::string_view name : kMembers)
        if (const json::Value value = entry.member(name);
            !value.is_string() || value.as_string().empty())
            return bad_policy(fmt::format("{}.{} must be a string", where, name));
    if (const auto name = unknown_member(
            entry, {"path", "clientEncryptionKeyId", "encryptionType", "encryptionAlgorithm"});
        !name.empty())
        return bad_policy(fmt::format("{} has no member '{}'", where, excerpt(name)));
    ClientEncryptionPolicy::Path out;
    out.path = entry.member("path").as_string();
    out.key_id = entry.member("clientEncryptionKeyId").as_string();
    const std::string_view type = entry.member("encryptionType").as_string();
    out.deterministic = type == "Deterministic";
    if (!out.deterministic && type != "Randomized")
        return bad_policy(
            fmt::format("{}.encryptionType must be 'Deterministic' or 'Randomized'", where));
    if (entry.member("encryptionAlgorithm").as_string() != kEncryptionAlgorithm)
        return bad_policy(
            fmt::format("{}.encryptionAlgorithm must be '{}'", where, kEncryptionAlgorithm));
    return out;
}

}  // namespace

Result<ClientEncryptionPolicy> read_encryption_policy(const json::Value& policy) {
    ClientEncryptionPolicy out;
    if (is_absent(policy)) return out;
    if (!policy.is_object()) return bad_policy("it must be an object");
    if (const auto name = unknown_member(policy, {"includedPaths", "policyFormatVersion"});
        !name.empty())
        return bad_policy(fmt::format("it has no member '{}'", excerpt(name)));
    const json::Value version_given = policy.member("policyFormatVersion");
    const auto version = is_absent(version_given) ? 1 : integral(version_given).value_or(0);
    if (version != 1 && version != 2) return bad_policy("policyFormatVersion must be 1 or 2");
    const json::Value paths = policy.member("includedPaths");
    if (is_absent(paths)) return out;
    if (!paths.is_array()) return bad_policy("includedPaths must be an array");
    if (paths.elements().empty()) return out;
    out.version = static_cast<uint8_t>(version);
    for (size_t i = 0; i < paths.elements().size(); ++i) {
        TRY(ClientEncryptionPolicy::Path path, read_path(paths.elements()[i], i));
        out.paths.push_back(std::move(path));
    }
    return out;
}

std::string encryption_policy_json(const ClientEncryptionPolicy& policy) {
    std::string out = R"({"includedPaths":[)";
    for (const ClientEncryptionPolicy::Path& path : policy.paths) {
        if (&path != &policy.paths.front()) out += ',';
        out += fmt::format(
            R"({{"path":{},"clientEncryptionKeyId":{},"encryptionType":"{}","encryptionAlgorithm":"{}"}})",
            quoted(path.path), quoted(path.key_id),
            path.deterministic ? "Deterministic" : "Randomized", kEncryptionAlgorithm);
    }
    return out + fmt::format(R"(],"policyFormatVersion":{}}})", policy.version);
}

Result<catalog::WrappedKey> read_wrapped_key(const json::Value& body) {
    if (const auto name = unknown_member(
            body, {"id", "encryptionAlgorithm", "wrappedDataEncryptionKey", "keyWrapMetadata"});
        !name.empty())
        return bad_key(fmt::format("it has no member '{}'", excerpt(name)));
    const json::Value algorithm = body.member("encryptionAlgorithm");
    if (!algorithm.is_string() || algorithm.as_string() != kEncryptionAlgorithm)
        return bad_key(fmt::format("'encryptionAlgorithm' must be '{}'", kEncryptionAlgorithm));
    const json::Value wrapped = body.member("wrappedDataEncryptionKey");
    const auto bytes =
        wrapped.is_string() ? base64_decode(wrapped.as_string()) : std::optional<std::string>();
    if (!bytes || bytes->empty() || bytes->size() > kWrappedKeyBytesMax)
        return bad_key("'wrappedDataEncryptionKey' must be the wrapped key in base64");
    const json::Value metadata = body.member("keyWrapMetadata");
    if (!metadata.is_object()) return bad_key("'keyWrapMetadata' must be an object");
    if (const auto name = unknown_member(metadata, {"type", "name", "value", "algorithm"});
        !name.empty())
        return bad_key(fmt::format("'keyWrapMetadata' has no member '{}'", excerpt(name)));
    const auto text = [&](std::string_view name, std::string& out) -> Status {
        const json::Value value = metadata.member(name);
        if (!value.is_string())
            return Status(bad_key(fmt::format("'keyWrapMetadata.{}' must be a string", name)));
        out = value.as_string();
        return {};
    };
    catalog::WrappedKey out;
    out.wrapped = wrapped.as_string();
    TRY_STATUS(text("type", out.metadata.type));
    TRY_STATUS(text("name", out.metadata.name));
    TRY_STATUS(text("value", out.metadata.value));
    // Older clients leave the algorithm out.
    if (!is_absent(metadata.member("algorithm")))
        TRY_STATUS(text("algorithm", out.metadata.algorithm.emplace()));
    return out;
}

}  // namespace orrery::rest
