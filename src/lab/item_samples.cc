#include "lab/item_samples.h"

#include <algorithm>
#include <bit>
#include <cctype>

#include "base/hash.h"
#include "json/parse.h"
#include "json/write.h"

namespace orrery::lab {
namespace {

constexpr SipKey kValueHash{0x6c61627661, 0x6c756573};
constexpr size_t kNodesMax = 3000;
constexpr int kDepthMax = 6;
constexpr size_t kExamples = 3;
constexpr size_t kTypesMax = 50;
constexpr std::array<std::string_view, 7> kTypeNames = {
    "type", "kind", "entityType", "docType", "_type", "discriminator", "$type"};

size_t scalar_bytes(const json::Value& value) {
    if (value.is_string()) return value.as_string().size() + 2;
    if (value.is_number()) return value.number_text().empty() ? 8 : value.number_text().size();
    return 4;
}

json::Value at(const json::Value& item, std::string_view path) {
    json::Value value = item;
    size_t from = 0;
    while (from < path.size() && !value.is_undefined()) {
        const size_t end = std::min(path.find('/', from + 1), path.size());
        value = value.member(path.substr(from + 1, end - from - 1));
        from = end;
    }
    return value;
}

}  // namespace

void SizeHistogram::add(uint64_t value) {
    ++buckets_[std::min<size_t>(kBuckets - 1, static_cast<size_t>(std::bit_width(value)))];
    ++count_;
    max_ = std::max(max_, value);
}

int64_t SizeHistogram::quantile(double share) const {
    if (count_ == 0) return 0;
    const auto wanted = static_cast<uint64_t>(share * static_cast<double>(count_ - 1)) + 1;
    uint64_t seen = 0;
    for (size_t i = 0; i < kBuckets; ++i) {
        seen += buckets_[i];
        if (seen >= wanted)
            return static_cast<int64_t>(std::min<uint64_t>(max_, (uint64_t{1} << i) - 1));
    }
    return max();
}

uint64_t SizeHistogram::at_most(uint64_t value) const {
    uint64_t sum = 0;
    for (size_t i = 0; i < kBuckets && (uint64_t{1} << i) - 1 <= value; ++i) sum += buckets_[i];
    return sum;
}

bool is_random_id(std::string_view id) {
    const auto is_hex = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; };
    if (id.size() == 36 && id[8] == '-' && id[13] == '-' && id[18] == '-' && id[23] == '-')
        return std::all_of(id.begin(), id.end(), [&](char c) { return c == '-' || is_hex(c); });
    if (id.size() < 16 || id.size() > 64) return false;
    size_t digits = 0;
    size_t letters = 0;
    size_t changes = 0;
    bool was_digit = false;
    for (const char c : id) {
        const bool digit = c >= '0' && c <= '9';
        if (!digit && std::isalpha(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
        digits += digit ? 1 : 0;
        letters += digit ? 0 : 1;
        changes += digit != was_digit ? 1 : 0;
        was_digit = digit;
    }
    return digits >= 3 && letters >= 3 && changes >= 4;
}

bool is_time_like(const json::Value& value) {
    if (value.is_number()) {
        const double number = value.as_double();
        return (number > 1.0e9 && number < 2.6e9) || (number > 1.0e12 && number < 2.6e12);
    }
    if (!value.is_string()) return false;
    const std::string_view text = value.as_string();
    const auto digit = [&](size_t i) { return text[i] >= '0' && text[i] <= '9'; };
    return text.size() >= 10 && text.size() <= 40 && digit(0) && digit(1) && digit(2) && digit(3) &&
           text[4] == '-' && digit(5) && digit(6) && text[7] == '-' && digit(8) && digit(9);
}

bool is_base64_like(std::string_view text) {
    if (text.size() < 1024) return false;
    const std::string_view head = text.substr(0, 4096);
    size_t upper = 0;
    size_t lower = 0;
    size_t digit = 0;
    for (const char c : head) {
        if (c >= 'A' && c <= 'Z')
            ++upper;
        else if (c >= 'a' && c <= 'z')
            ++lower;
        else if (c >= '0' && c <= '9')
            ++digit;
        else if (c != '+' && c != '/' && c != '=' && c != '-' && c != '_' && c != '\r' && c != '\n')
            return head.substr(0, 5) == "data:" && head.find(";base64,") != std::string_view::npos;
    }
    return upper > 0 && lower > 0 && digit > 0;
}

bool is_id_name(std::string_view path) {
    const std::string_view name = path.substr(path.rfind('/') + 1);
    if (name == "id" || name == "ID") return true;
    for (const std::string_view ending : {"Id", "ID", "_id", "-id", "Guid", "guid", "Uuid", "uuid"})
        if (name.ends_with(ending)) return true;
    return false;
}

struct ItemSamples::Walk {
    size_t nodes = 0;
    std::map<std::string, uint64_t> lengths;
    std::map<std::string, std::unordered_set<uint64_t>> pairs;  // different scalars by path
    std::map<std::string, uint64_t> bytes;
};

/// Returns about the bytes of the value's text.
uint64_t ItemSamples::walk(const json::Value& value, std::string& path, int depth, Walk& walk) {
    if (++walk.nodes > kNodesMax) return value.is_scalar() ? scalar_bytes(value) : 2;
    const bool known = paths_.contains(path);
    const bool room = known || paths_.size() < kPathsMax;
    Path* use = path.empty() || !room ? nullptr : &paths_[path];
    const size_t length = path.size();
    uint64_t bytes = 2;
    if (value.is_object()) {
        for (const auto& member : value.members()) {
            bytes += member.name.size() + 4;
            if (path.empty() && (member.name.starts_with("_") && member.name != "_type")) continue;
            if (depth >= kDepthMax) continue;
            path += '/';
            path += member.name;
            bytes += this->walk(member.value, path, depth + 1, walk);
            path.resize(length);
        }
    } else if (value.is_array()) {
        walk.lengths[path] = std::max<uint64_t>(walk.lengths[path], value.elements().size());
        path += "/[]";
        size_t seen = 0;
        for (const auto& element : value.elements()) {
            // The rest of a long array is taken to be like its beginning.
            if (walk.nodes > kNodesMax && seen > 0) {
                bytes += bytes / seen * (value.elements().size() - seen);
                break;
            }
            if (use != nullptr && element.is_object()) ++use->objects;
            bytes += this->walk(element, path, depth + 1, walk) + 1;
            ++seen;
        }
        path.resize(length);
    } else {
        bytes = scalar_bytes(value);
        if (use != nullptr) {
            const std::string text = value.is_string() && value.as_string().size() > 256
                                         ? std::string(value.as_string().substr(0, 256))
                                         : json::to_text(value);
            const uint64_t hash = siphash(kValueHash, text);
            walk.pairs[path].insert(hash);
            if (use->scalars_when_full == 0) {
                use->distinct.insert(hash);
                if (use->distinct.size() == kDistinctMax) use->scalars_when_full = use->scalars + 1;
            }
            if (use->examples.size() < kExamples && text.size() <= 60 &&
                std::find(use->examples.begin(), use->examples.end(), text) == use->examples.end())
                use->examples.push_back(text);
            ++use->scalars;
            if (is_time_like(value)) ++use->time_like;
            if (value.is_string() && is_base64_like(value.as_string()))
                use->blob_max = std::max<uint64_t>(use->blob_max, value.as_string().size());
        }
    }
    if (use != nullptr) walk.bytes[path] += bytes;
    return bytes;
}

void ItemSamples::add(const Version& version, const std::vector<std::string>& key_paths) {
    json::Arena arena;
    const auto parsed = json::parse(version.text, arena);
    if (!parsed.ok() || !parsed->is_object()) return;
    ++count_;
    if (version.update) ++updates_;
    bytes_ += version.text.size();
    sizes_.add(version.text.size());
    const json::Value id = parsed->member("id");
    if (id.is_string() && is_random_id(id.as_string())) ++random_ids_;
    Walk walk;
    std::string path;
    this->walk(*parsed, path, 0, walk);
    for (const auto& [where, bytes] : walk.bytes) {
        Path& use = paths_[where];
        ++use.samples;
        use.bytes += bytes;
        use.item_bytes += version.text.size();
        if (const auto found = walk.pairs.find(where); found != walk.pairs.end())
            use.pairs += found->second.size();
        if (const auto found = walk.lengths.find(where); found != walk.lengths.end()) {
            use.is_array = true;
            use.lengths.add(found->second);
        }
    }
    for (const auto name : kTypeNames) {
        if (!type_property_.empty() && type_property_ != name) continue;
        const json::Value type = parsed->member(name);
        if (!type.is_string() || type.as_string().size() > 60) continue;
        type_property_ = name;
        const std::string text(type.as_string());
        if (types_.size() < kTypesMax || types_.contains(text)) {
            TypeUse& use = types_[text];
            use.name = text;
            ++use.samples;
            bool has_key = true;
            for (const auto& key : key_paths) has_key = has_key && !at(*parsed, key).is_undefined();
            if (has_key) ++use.with_key;
        }
        break;
    }
    if (version.docref_hash == 0) return;
    Known& known = versions_[version.docref_hash % kVersionsMax];
    std::map<std::string, std::pair<uint64_t, uint64_t>> members;
    for (const auto& member : parsed->members()) {
        const std::string text = json::to_text(member.value);
        members["/" + std::string(member.name)] = {siphash(kValueHash, text),
                                                   text.size() + member.name.size() + 4};
    }
    if (known.docref_hash == version.docref_hash) {
        ++known.versions;
        uint64_t changed = 0;
        for (const auto& [name, now] : members) {
            const auto before = known.members.find(name);
            if (before != known.members.end() && before->second.first == now.first) continue;
            changed += now.second;
            ++known.changed[name];
            if (const auto use = paths_.find(name); use != paths_.end()) ++use->second.changes;
        }
        known.changed_share_sum +=
            version.text.empty()
                ? 0
                : static_cast<double>(changed) / static_cast<double>(version.text.size());
        for (const auto& [where, now] : walk.lengths) {
            const auto before = known.lengths.find(where);
            const auto use = paths_.find(where);
            if (before == known.lengths.end() || use == paths_.end() || before->second == now)
                continue;
            ++(now > before->second ? use->second.rises : use->second.falls);
        }
    } else {
        known = Known{};
        known.docref_hash = version.docref_hash;
        known.key = version.key;
        known.id = version.id.empty() && id.is_string() ? id.as_string() : version.id;
        known.first_seconds = version.wall_seconds;
        known.first_bytes = version.text.size();
        known.versions = 1;
    }
    known.last_seconds = version.wall_seconds;
    known.bytes = version.text.size();
    known.members = std::move(members);
    known.lengths = std::move(walk.lengths);
}

ItemUse ItemSamples::use() const {
    ItemUse out;
    out.samples = static_cast<int64_t>(count_);
    if (count_ == 0) return out;
    out.mean_bytes = static_cast<double>(bytes_) / static_cast<double>(count_);
    out.max_bytes = sizes_.max();
    out.updates = static_cast<int64_t>(updates_);
    uint64_t before = 0;
    for (int step = 0; step <= 11; ++step) {
        const uint64_t up_to = sizes_.at_most((uint64_t{1024} << step) - 1);
        out.size_histogram.push_back(static_cast<int64_t>(up_to - before));
        before = up_to;
    }
    out.random_ids = static_cast<double>(random_ids_) / static_cast<double>(count_);
    out.type_property = type_property_;
    for (const auto& [name, type] : types_) out.types.push_back(type);
    for (const Known& known : versions_) {
        const auto seconds = static_cast<double>(known.last_seconds - known.first_seconds);
        // An item that grows within minutes is being built; that is not growth.
        if (known.versions < 3 || seconds < 3600 || known.bytes <= known.first_bytes) continue;
        const double per_day =
            static_cast<double>(known.bytes - known.first_bytes) / seconds * 86'400;
        if (per_day > out.growth_bytes_per_day) {
            out.growth_bytes_per_day = per_day;
            out.growth_item_bytes = static_cast<int64_t>(known.bytes);
        }
    }
    return out;
}

std::vector<PathUse> ItemSamples::paths() const {
    std::vector<PathUse> out;
    for (const auto& [name, path] : paths_) {
        if (path.samples == 0) continue;
        PathUse use;
        use.path = name;
        use.samples = static_cast<int64_t>(path.samples);
        // Two terms for each different scalar; on average over all items, those without it
        // included.
        use.terms =
            count_ == 0 ? 0 : 2.0 * static_cast<double>(path.pairs) / static_cast<double>(count_);
        use.changes = static_cast<int64_t>(path.changes);
        // Beyond what is kept: as if the share of new values stayed the same.
        const double more =
            path.scalars_when_full == 0
                ? 1
                : static_cast<double>(path.scalars) / static_cast<double>(path.scalars_when_full);
        use.distinct = static_cast<int64_t>(static_cast<double>(path.distinct.size()) * more);
        use.mean_bytes = static_cast<double>(path.bytes) / static_cast<double>(path.samples);
        use.blob_bytes_max = static_cast<int64_t>(path.blob_max);
        use.time_like = path.scalars > 0 && path.time_like * 10 >= path.scalars * 9;
        use.examples = path.examples;
        if (path.is_array) {
            ArrayUse array;
            array.samples = static_cast<int64_t>(path.lengths.count());
            array.p50 = path.lengths.quantile(0.5);
            array.p99 = path.lengths.quantile(0.99);
            array.max = path.lengths.max();
            array.size_share = path.item_bytes == 0
                                   ? 0
                                   : std::min(1.0, static_cast<double>(path.bytes) /
                                                       static_cast<double>(path.item_bytes));
            array.rises = static_cast<int64_t>(path.rises);
            array.falls = static_cast<int64_t>(path.falls);
            array.of_objects = path.objects > 0;
            use.array = array;
        }
        out.push_back(std::move(use));
    }
    return out;
}

void ItemSamples::describe_item(HotItem& item) const {
    for (const Known& known : versions_) {
        if (known.docref_hash == 0 || known.id != item.id || known.key != item.key) continue;
        item.bytes = static_cast<int64_t>(known.bytes);
        if (known.versions > 1) {
            item.changed_share =
                std::min(1.0, known.changed_share_sum / static_cast<double>(known.versions - 1));
            for (const auto& [name, times] : known.changed) item.changed_paths.push_back(name);
        }
        return;
    }
}

}  // namespace orrery::lab
