#include "catalog/client_encryption.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "base/encoding.h"
#include "base/errors.h"
#include "catalog/names.h"
#include "json/write.h"

namespace orrery::catalog {
namespace {

constexpr std::string_view kAlgorithm = "AEAD_AES_256_CBC_HMAC_SHA256";
constexpr size_t kWrappedKeyBytesMax = 64 << 10;

Error bad_policy(std::string_view what) {
    return errors::bad_request(
        fmt::format("The container's property 'clientEncryptionPolicy' is invalid: {}.", what));
}

Error bad_key(std::string_view what) {
    return errors::bad_request(fmt::format("The client encryption key is invalid: {}.", what));
}

std::string quoted(std::string_view text) {
    std::string out;
    json::write_string(out, text);
    return out;
}

/// A member that nobody knows; empty: none.
std::string_view unknown_member(const json::Value& object,
                                std::initializer_list<std::string_view> known) {
    for (const json::Member& member : object.members())
        if (!is_absent(member.value) && !member.name.starts_with('_') &&
            std::find(known.begin(), known.end(), member.name) == known.end())
            return member.name;
    return {};
}

/// The name of a property at the top of an item; nullopt for any other path.
std::optional<std::string> top_level_name(std::string_view path) {
    const auto names = parse_member_path(path, "The encrypted path");
    if (!names.ok() || names->size() != 1) return std::nullopt;
    return names->front();
}

struct IncludedPath {
    std::string name;
    std::string key_id;
    bool deterministic = false;
    std::string json;
};

Result<IncludedPath> read_path(const json::Value& entry, size_t index) {
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
    IncludedPath out;
    const std::string_view path = entry.member("path").as_string();
    const auto name = top_level_name(path);
    if (!name)
        return bad_policy(fmt::format(
            "{}.path is '{}'; only properties at the top of an item can be encrypted, such as "
            "'/name'",
            where, excerpt(path)));
    out.name = *name;
    out.key_id = entry.member("clientEncryptionKeyId").as_string();
    const std::string_view type = entry.member("encryptionType").as_string();
    out.deterministic = type == "Deterministic";
    if (!out.deterministic && type != "Randomized")
        return bad_policy(
            fmt::format("{}.encryptionType must be 'Deterministic' or 'Randomized'", where));
    if (entry.member("encryptionAlgorithm").as_string() != kAlgorithm)
        return bad_policy(fmt::format("{}.encryptionAlgorithm must be '{}'", where, kAlgorithm));
    out.json = fmt::format(
        R"({{"path":{},"clientEncryptionKeyId":{},"encryptionType":"{}","encryptionAlgorithm":"{}"}})",
        quoted(path), quoted(out.key_id), type, kAlgorithm);
    return out;
}

/// Ids and partition keys are compared by the server, so equal values must look equal.
Status check_identifying(const IncludedPath& path, int64_t version,
                         const partition::PartitionKeyDefinition& key) {
    const bool is_key = std::any_of(key.member_paths.begin(), key.member_paths.end(),
                                    [&](const auto& names) { return names.front() == path.name; });
    if (path.name != "id" && !is_key) return {};
    if (version < 2)
        return Status(bad_policy(
            fmt::format("'/{}' is the id or part of the partition key, which can be encrypted with "
                        "policyFormatVersion 2 only",
                        path.name)));
    if (!path.deterministic)
        return Status(bad_policy(
            fmt::format("'/{}' is the id or part of the partition key; its encryptionType must be "
                        "'Deterministic'",
                        path.name)));
    return {};
}

}  // namespace

Result<EncryptionPolicy> read_encryption_policy(const json::Value& policy,
                                                const partition::PartitionKeyDefinition& key) {
    EncryptionPolicy out;
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
    std::vector<std::string> names;
    out.json = R"({"includedPaths":[)";
    for (size_t i = 0; i < paths.elements().size(); ++i) {
        TRY(IncludedPath path, read_path(paths.elements()[i], i));
        if (std::find(names.begin(), names.end(), path.name) != names.end())
            return bad_policy(fmt::format("'/{}' appears twice", excerpt(path.name)));
        TRY_STATUS(check_identifying(path, version, key));
        if (i > 0) out.json += ',';
        out.json += path.json;
        names.push_back(std::move(path.name));
        if (std::find(out.key_ids.begin(), out.key_ids.end(), path.key_id) == out.key_ids.end())
            out.key_ids.push_back(std::move(path.key_id));
    }
    out.json += fmt::format(R"(],"policyFormatVersion":{}}})", version);
    return out;
}

Result<std::string> read_encryption_key(const json::Value& body) {
    if (const auto name = unknown_member(
            body, {"id", "encryptionAlgorithm", "wrappedDataEncryptionKey", "keyWrapMetadata"});
        !name.empty())
        return bad_key(fmt::format("it has no member '{}'", excerpt(name)));
    const json::Value algorithm = body.member("encryptionAlgorithm");
    if (!algorithm.is_string() || algorithm.as_string() != kAlgorithm)
        return bad_key(fmt::format("'encryptionAlgorithm' must be '{}'", kAlgorithm));
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
    std::string out = fmt::format(
        R"("encryptionAlgorithm":"{}","wrappedDataEncryptionKey":{},"keyWrapMetadata":{{)",
        kAlgorithm, quoted(wrapped.as_string()));
    for (const std::string_view name : {"type", "name", "value", "algorithm"}) {
        const json::Value value = metadata.member(name);
        // Clients of before the algorithm was part of it leave it out.
        if (name == "algorithm" && is_absent(value)) continue;
        if (!value.is_string())
            return bad_key(fmt::format("'keyWrapMetadata.{}' must be a string", name));
        if (out.back() != '{') out += ',';
        out += fmt::format("\"{}\":{}", name, quoted(value.as_string()));
    }
    return out + '}';
}

}  // namespace orrery::catalog
