#include "catalog/definition_record.h"

#include <fmt/format.h>

#include "base/errors.h"
#include "catalog/detail/record_io.h"

namespace orrery::catalog {
namespace {

using detail::Either;
using detail::Reader;
using detail::Writer;

constexpr uint8_t kDefinitionVersion = 1;
constexpr uint8_t kPolicyVersion = 1;

Error damaged(std::string_view why) {
    return errors::internal(fmt::format(
        "The stored definition of a container {}. Run `orrery check` on the data folder.", why));
}

/// A policy with its paths as texts.
struct PolicyRecord {
    struct Member {
        std::string path;
        bool descending = false;
    };
    struct Spatial {
        std::string path;
        index::SpatialGrid grid;
    };
    index::IndexingMode mode = index::IndexingMode::kConsistent;
    bool automatic = true;
    std::vector<std::string> included;
    std::vector<std::string> excluded;
    std::vector<std::vector<Member>> composites;
    std::vector<Spatial> spatials;
};

/// What a materialized view is made of.
struct SourceRecord {
    std::string id;
    std::string rid;
    std::string select;
};

PolicyRecord record_of(const index::IndexingPolicy& policy) {
    PolicyRecord out;
    out.mode = policy.mode;
    out.automatic = policy.automatic;
    for (const index::IndexPath& path : policy.included) out.included.push_back(path.text);
    for (const index::IndexPath& path : policy.excluded) out.excluded.push_back(path.text);
    for (const index::CompositeIndex& composite : policy.composites) {
        out.composites.emplace_back();
        for (const index::CompositeIndex::Member& member : composite.members)
            out.composites.back().push_back({member.text, member.descending});
    }
    for (const index::SpatialIndex& spatial : policy.spatials)
        out.spatials.push_back({spatial.path.text, spatial.grid});
    return out;
}

Result<index::IndexingPolicy> policy_of(const PolicyRecord& record) {
    index::IndexingPolicy out;
    if (record.mode > index::IndexingMode::kNone) return damaged("has an unknown indexing mode");
    out.mode = record.mode;
    out.automatic = record.automatic;
    for (const std::string& text : record.included) {
        TRY(index::IndexPath path, index::parse_index_path(text));
        out.included.push_back(std::move(path));
    }
    for (const std::string& text : record.excluded) {
        TRY(index::IndexPath path, index::parse_index_path(text));
        out.excluded.push_back(std::move(path));
    }
    for (const std::vector<PolicyRecord::Member>& members : record.composites) {
        index::CompositeIndex composite;
        for (const PolicyRecord::Member& member : members) {
            TRY(std::vector<index::PathStep> steps, index::parse_path_text(member.path));
            composite.members.push_back({std::move(steps), member.descending, member.path});
        }
        out.composites.push_back(std::move(composite));
    }
    for (const PolicyRecord::Spatial& spatial : record.spatials) {
        TRY(index::IndexPath path, index::parse_index_path(spatial.path));
        out.spatials.push_back({std::move(path), spatial.grid});
    }
    return index::complete_policy(std::move(out));
}

void fields(auto& v, Either<std::vector<std::string>> auto& texts) {
    v.list(texts, [&](auto& text) { v.bytes(text); });
}
void fields(auto& v, Either<std::vector<index::ComputedProperty>> auto& list) {
    v.list(list, [&](auto& one) {
        v.bytes(one.name);
        v.bytes(one.query);
    });
}
void fields(auto& v, Either<index::PlaneBox> auto& box) {
    v.real(box.xmin);
    v.real(box.ymin);
    v.real(box.xmax);
    v.real(box.ymax);
}
void fields(auto& v, Either<UniqueKeyPolicy> auto& policy) {
    v.list(policy.keys, [&](auto& key) {
        v.count(key.number);
        fields(v, key.paths);
    });
    v.count(policy.next_number);
}
void fields(auto& v, Either<SourceRecord> auto& source) {
    v.bytes(source.id);
    v.bytes(source.rid);
    v.bytes(source.select);
}
void fields(auto& v, Either<ExpiryDefinition> auto& expiry) {
    v.bytes(expiry.path);
    v.number(expiry.seconds);
}
/// Fields of something that may be missing.
template <typename T>
void maybe(auto& v, T& field) {
    bool there = field.has_value();
    v.flag(there);
    if (!there) return;
    if constexpr (!std::is_const_v<T>)
        if (!field) field.emplace();
    fields(v, *field);
}
void fields(auto& v, Either<PolicyRecord> auto& r) {
    v.choice(r.mode);
    v.flag(r.automatic);
    fields(v, r.included);
    fields(v, r.excluded);
    v.list(r.composites, [&](auto& members) {
        v.list(members, [&](auto& member) {
            v.bytes(member.path);
            v.flag(member.descending);
        });
    });
    v.list(r.spatials, [&](auto& spatial) {
        v.bytes(spatial.path);
        v.byte(spatial.grid.types);
        maybe(v, spatial.grid.box);
    });
}
void fields(auto& v, Either<partition::PartitionKeyDefinition> auto& key) {
    v.choice(key.kind);
    v.small(key.version);
    v.flag(key.version_given);
    v.flag(key.system_key);
    fields(v, key.paths);
}
void fields(auto& v, Either<ClientEncryptionPolicy> auto& policy) {
    v.byte(policy.version);
    v.list(policy.paths, [&](auto& path) {
        v.bytes(path.path);
        v.bytes(path.key_id);
        v.flag(path.deterministic);
    });
}

/// A definition with what is not kept as it is beside it.
template <typename Definition, typename Policy, typename Source>
struct Parts {
    Definition& definition;
    Policy& policy;
    Source& source;
};

void all_fields(auto& v, auto parts) {
    auto& d = parts.definition;
    v.choice(d.dialect);
    v.byte(d.schema.version);
    v.bytes(d.schema.bytes);
    fields(v, d.key);
    fields(v, parts.policy);
    maybe(v, d.unique_keys);
    v.bytes(d.conflict_path);
    v.optional(d.default_ttl);
    v.optional(d.feed_retention_minutes);
    v.choice(d.space);
    maybe(v, d.computed);
    fields(v, d.encryption);
    maybe(v, parts.source);
    v.list(d.index_names, [&](auto& name) {
        v.bytes(name.name);
        v.choice(name.kind);
        v.bytes(name.index);
    });
    maybe(v, d.expiry);
}

/// Enumerations that were read: their values are known.
bool known_choices(const ContainerDefinition& definition) {
    for (const IndexName& name : definition.index_names)
        if (name.kind > IndexName::Kind::kUniqueKey) return false;
    return definition.dialect <= json::Dialect::kTable &&
           definition.key.kind <= partition::KeyKind::kMultiHash &&
           definition.space <= index::GeometrySpace::kPlane;
}

std::vector<std::string> sorted_path_texts(const index::IndexingPolicy& policy) {
    std::vector<std::string> out;
    for (const auto& path : policy.sorted) out.push_back(index::path_text(path));
    return out;
}

Result<index::IndexingPolicy> with_sorted(index::IndexingPolicy policy,
                                          const std::vector<std::string>& texts) {
    std::vector<std::vector<index::PathStep>> paths;
    for (const std::string& text : texts) {
        TRY(auto path, index::parse_path_text(text));
        paths.push_back(std::move(path));
    }
    if (paths.empty()) return policy;
    return index::with_sorted_paths(std::move(policy), paths);
}

}  // namespace

std::string encode_definition(const ContainerDefinition& definition) {
    const PolicyRecord policy = record_of(definition.indexing);
    std::optional<SourceRecord> source;
    if (const auto& view = definition.materialized_view)
        source = {view->source_id, view->source_rid, view->select};
    Writer out(kDefinitionVersion);
    all_fields(
        out,
        Parts<const ContainerDefinition, const PolicyRecord, const std::optional<SourceRecord>>{
            definition, policy, source});
    return out.take();
}

Result<ContainerDefinition> decode_definition(std::string_view bytes) {
    ContainerDefinition out;
    PolicyRecord policy;
    std::optional<SourceRecord> source;
    Reader in(bytes);
    if (in.version() > kDefinitionVersion)
        return damaged("was written by a newer version of this server");
    all_fields(in, Parts<ContainerDefinition, PolicyRecord, std::optional<SourceRecord>>{
                       out, policy, source});
    if (!in.complete() || !known_choices(out)) return damaged("is damaged");
    TRY(auto key,
        partition::make_partition_key_definition(out.key.kind, out.key.version, out.key.paths));
    out.key.member_paths = std::move(key.member_paths);
    TRY(out.indexing, policy_of(policy));
    if (source) {
        TRY(out.materialized_view,
            make_materialized_view(std::move(source->id), std::move(source->rid),
                                   std::move(source->select)));
    }
    return out;
}

std::string encode_policy(const index::IndexingPolicy& policy) {
    std::vector<index::ComputedProperty> computed;
    if (policy.computed != nullptr)
        for (const auto& definition : policy.computed->definitions())
            computed.push_back(definition);
    const PolicyRecord record = record_of(policy);
    Writer out(kPolicyVersion);
    fields(out, record);
    fields(out, std::as_const(computed));
    return out.take();
}

Result<StoredPolicy> decode_policy(std::string_view bytes) {
    StoredPolicy out;
    PolicyRecord record;
    Reader in(bytes);
    if (in.version() > kPolicyVersion)
        return damaged("was written by a newer version of this server");
    fields(in, record);
    fields(in, out.computed);
    if (!in.complete()) return damaged("is damaged");
    TRY(out.policy, policy_of(record));
    return out;
}

records::IndexState index_state(const partition::ContainerSettings& settings) {
    records::IndexState state;
    state.change = settings.index_change;
    state.sorted = sorted_path_texts(settings.indexing);
    for (const auto& policy : settings.previous)
        state.previous.push_back({encode_policy(*policy), sorted_path_texts(*policy)});
    return state;
}

Status apply_index_state(const records::IndexState& state, partition::ContainerSettings& settings,
                         const index::ComputedCompiler& compiler) {
    settings.index_change = state.change;
    auto present = with_sorted(std::move(settings.indexing), state.sorted);
    if (!present.ok()) return std::move(present).take_status();
    settings.indexing = std::move(present).value();
    settings.previous.clear();
    for (const records::IndexState::Policy& previous : state.previous) {
        TRY(StoredPolicy stored,
            state.as_json ? policy_of_json(previous.policy) : decode_policy(previous.policy));
        TRY(auto computed, compile_computed(stored.computed, compiler));
        TRY(index::IndexingPolicy policy,
            index::with_computed_properties(
                index::with_dialect(std::move(stored.policy), settings.dialect()),
                std::move(computed)));
        TRY(policy, with_sorted(std::move(policy), previous.sorted));
        settings.previous.push_back(
            std::make_shared<const index::IndexingPolicy>(std::move(policy)));
    }
    return {};
}

}  // namespace orrery::catalog
