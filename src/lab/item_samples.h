#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "json/value.h"
#include "lab/rules/observation.h"

namespace orrery::lab {

/// Counts in buckets that double; a quantile is at most twice too large.
class SizeHistogram {
public:
    static constexpr size_t kBuckets = 48;
    void add(uint64_t value);
    uint64_t count() const { return count_; }
    /// Upper bound of the bucket in which the quantile lies, the largest value seen at most.
    int64_t quantile(double share) const;
    int64_t max() const { return static_cast<int64_t>(max_); }
    /// How many were at most this large (whole buckets only).
    uint64_t at_most(uint64_t value) const;

private:
    friend struct Packed;
    std::array<uint32_t, kBuckets> buckets_{};
    uint64_t count_ = 0;
    uint64_t max_ = 0;
};

/// What samples of a container's items say about their make-up, in bounded space. Not thread-safe.
class ItemSamples {
public:
    static constexpr size_t kPathsMax = 300;
    static constexpr size_t kVersionsMax = 256;
    static constexpr size_t kDistinctMax = 500;

    /// One version of an item. `docref_hash` is the same for all of them.
    struct Version {
        uint64_t docref_hash = 0;
        int64_t wall_seconds = 0;
        std::string_view key;  ///< JSON array text
        std::string_view id;
        std::string_view text;  ///< the item
        bool update = false;    ///< it replaced an earlier version
    };
    void add(const Version& version, const std::vector<std::string>& key_paths);

    uint64_t count() const { return count_; }
    ItemUse use() const;
    /// Without what only queries and policies know.
    std::vector<PathUse> paths() const;
    /// Fills in size and changes of an item, if versions of it were sampled.
    void describe_item(HotItem& item) const;

private:
    friend struct Packed;
    struct Path {
        uint64_t samples = 0;
        uint64_t pairs = 0;  ///< different scalars, summed over the samples
        uint64_t changes = 0;
        uint64_t bytes = 0;
        uint64_t item_bytes = 0;  ///< of the items that have it
        uint64_t blob_max = 0;
        uint64_t time_like = 0;
        uint64_t scalars = 0;
        uint64_t objects = 0;  ///< array elements that are objects
        bool is_array = false;
        SizeHistogram lengths;
        uint64_t rises = 0;
        uint64_t falls = 0;
        std::unordered_set<uint64_t> distinct;
        uint64_t scalars_when_full = 0;  ///< 0: `distinct` has all
        std::vector<std::string> examples;
    };
    struct Known {
        uint64_t docref_hash = 0;
        std::string key;
        std::string id;
        int64_t first_seconds = 0;
        int64_t last_seconds = 0;
        uint64_t first_bytes = 0;
        uint64_t bytes = 0;
        uint64_t versions = 0;
        double changed_share_sum = 0;
        std::map<std::string, std::pair<uint64_t, uint64_t>> members;  ///< hash and size by name
        std::map<std::string, uint64_t> lengths;                       ///< of arrays, by path
        std::map<std::string, uint64_t> changed;                       ///< how often, by path
    };
    struct Walk;

    uint64_t walk(const json::Value& value, std::string& path, int depth, Walk& walk);

    uint64_t count_ = 0;
    uint64_t updates_ = 0;
    uint64_t bytes_ = 0;
    uint64_t random_ids_ = 0;
    SizeHistogram sizes_;
    std::map<std::string, Path> paths_;
    std::map<std::string, TypeUse> types_;
    std::string type_property_;
    std::array<Known, kVersionsMax> versions_;
};

/// Looks made by chance: a GUID, or a long text of mixed letters and digits.
bool is_random_id(std::string_view id);
/// A date and time as text or as seconds or milliseconds since 1970 of this half-century.
bool is_time_like(const json::Value& value);
bool is_base64_like(std::string_view text);
/// The last name of the path says that the value stands for a thing: id, userId, order_id,
/// deviceGuid.
bool is_id_name(std::string_view path);

}  // namespace orrery::lab
