// What a recorder leaves for the next start: docs/formats/recording.md.
#include <algorithm>
#include <set>

#include "base/crc32.h"
#include "base/errors.h"
#include "lab/packed.h"
#include "lab/recorder.h"

namespace orrery::lab {
namespace {

constexpr std::string_view kMagic = "ORRLABRC";
constexpr uint32_t kVersion = 2;
constexpr size_t kHeadBytes = 8 + 4 + 4;
/// Of a container's sampled requests; the newest stay.
constexpr size_t kTraceBytesMax = 2 << 20;
constexpr int64_t kDownKeptSeconds = 32 * 86'400;
constexpr size_t kDownMax = 1000;

Status damaged(const char* what) {
    return Status(errors::bad_request(std::string("the recording ") + what));
}

}  // namespace

/// The fields of everything that is kept, in the order of the format.
struct Packed {
    template <typename A, typename T>
    using Ref = typename A::template Ref<T>;

    template <typename A>
    static void fields(A& a, Ref<A, SizeHistogram> v) {
        a(v.buckets_)(v.count_)(v.max_);
    }
    template <typename A>
    static void fields(A& a, Ref<A, HeavyHitters::Extra> v) {
        a(v.writes)(v.bytes);
    }
    template <typename A>
    static void fields(A& a, Ref<A, HeavyHitters> v) {
        a(v.total_)(v.extra_total_)(v.missed_max_);
        a(v.weights_)(v.errors_)(v.extras_)(v.hashes_)(v.keys_);
        if constexpr (A::kReads) {
            const size_t n = v.weights_.size();
            if (n > v.capacity_ || v.errors_.size() != n || v.extras_.size() != n ||
                v.hashes_.size() != n || v.keys_.size() != n)
                return a.refuse();
            for (size_t i = 0; i < n; ++i) {
                if (v.find(v.hashes_[i]) != HeavyHitters::kNone) return a.refuse();
                v.put_slot(v.hashes_[i], static_cast<HeavyHitters::Place>(i));
            }
        }
    }
    template <typename A>
    static void fields(A& a, Ref<A, QueryShape> v) {
        a(v.text)(v.returns_items)(v.aggregates)(v.equality_paths)(v.filter_paths);
        a(v.order_paths)(v.projected_paths)(v.scan_functions);
    }
    template <typename A>
    static void fields(A& a, Ref<A, query::IndexUse> v) {
        a(v.utilized)(v.potential)(v.utilized_composite)(v.potential_composite);
    }
    template <typename A>
    static void fields(A& a, Ref<A, Insight::Shape> v) {
        a(v.shape)(v.example)(v.index_use)(v.runs)(v.pages)(v.units)(v.retrieved)(v.output);
        a(v.output_bytes)(v.ranges)(v.ranges_max)(v.keyed_runs)(v.small_page_runs)(v.small_pages);
        a(v.result_bytes);
    }
    template <typename A>
    static void fields(A& a, Ref<A, Insight::Hour> v) {
        a(v.units)(v.peak_units)(v.peak_range_units)(v.requests)(v.throttled);
    }
    template <typename A>
    static void fields(A& a, Ref<A, Insight::Operation> v) {
        a(v.requests)(v.failed)(v.throttled)(v.units);
    }
    template <typename A>
    static void fields(A& a, Ref<A, TypeUse> v) {
        a(v.name)(v.samples)(v.with_key);
    }
    template <typename A>
    static void fields(A& a, Ref<A, ItemSamples::Path> v) {
        a(v.samples)(v.pairs)(v.changes)(v.bytes)(v.item_bytes)(v.blob_max)(v.time_like)(v.scalars);
        a(v.objects)(v.is_array)(v.lengths)(v.rises)(v.falls)(v.distinct)(v.scalars_when_full);
        a(v.examples);
    }
    template <typename A>
    static void fields(A& a, Ref<A, ItemSamples::Known> v) {
        a(v.docref_hash)(v.key)(v.id)(v.first_seconds)(v.last_seconds)(v.first_bytes)(v.bytes);
        a(v.versions)(v.changed_share_sum)(v.members)(v.lengths)(v.changed);
    }
    template <typename A>
    static void fields(A& a, Ref<A, ItemSamples> v) {
        a(v.count_)(v.updates_)(v.bytes_)(v.random_ids_)(v.sizes_)(v.paths_)(v.types_);
        a(v.type_property_);
        if constexpr (A::kReads) {
            std::vector<ItemSamples::Known> known;
            a(known);
            for (auto& one : known)
                v.versions_[one.docref_hash % ItemSamples::kVersionsMax] = std::move(one);
            if (v.paths_.size() > ItemSamples::kPathsMax) a.refuse();
        } else {
            std::vector<ItemSamples::Known> known;
            for (const auto& one : v.versions_)
                if (one.docref_hash != 0) known.push_back(one);
            a(known);
        }
    }
    template <typename A>
    static void fields(A& a, Ref<A, Bursts> v) {
        a(v.bursts)(v.queries)(v.example_key);
    }
    template <typename A>
    static void fields(A& a, Ref<A, Correlated> v) {
        a(v.groups)(v.several_keys)(v.example_keys);
    }
    template <typename A>
    static void fields(A& a, Ref<A, TracedRequest> v) {
        auto operation = static_cast<uint8_t>(v.operation);
        a(v.wall_ms)(operation)(v.key)(v.id)(v.body)(v.query)(v.parameters);
        if constexpr (A::kReads) {
            if (operation >= static_cast<uint8_t>(engine::OperationClass::kCount)) a.refuse();
            v.operation = static_cast<engine::OperationClass>(operation);
        }
    }
    template <typename A>
    static void fields(A& a, Ref<A, Insight> v) {
        a(v.since_seconds_)(v.last_seconds_)(v.operations_);
        if constexpr (A::kReads) {
            a(v.hours_);
        } else {
            // Seconds that are still open have had their effect when they are read again.
            auto hours = v.hours_;
            for (const auto& [second, use] : v.seconds_) {
                Insight::Hour& hour = hours[second / 3600];
                hour.peak_units = std::max(hour.peak_units, use.units);
                for (const auto& [range, units] : use.by_range)
                    hour.peak_range_units = std::max(hour.peak_range_units, units);
            }
            a(hours);
        }
        a(v.shapes_)(v.items_)(v.item_writes_)(v.read_ages_)(v.bursts_)(v.correlated_);
        if constexpr (A::kReads) {
            a(v.trace_);
            for (size_t i = 0; i < v.shapes_.size(); ++i)
                v.shape_of_normalized_[v.shapes_[i].shape.text] = i;
            if (v.hours_.size() > Insight::kHoursMax + 1 ||
                v.shapes_.size() > Insight::kShapesMax || v.trace_.size() > Insight::kTraceMax)
                a.refuse();
        } else {
            std::deque<TracedRequest> newest;
            size_t bytes = 0;
            for (auto it = v.trace_.rbegin(); it != v.trace_.rend(); ++it) {
                bytes += it->key.size() + it->id.size() + it->body.size() + it->query.size() +
                         it->parameters.size() + 16;
                if (bytes > kTraceBytesMax) break;
                newest.push_front(*it);
            }
            a(newest);
        }
    }
    template <typename A>
    static void fields(A& a, Ref<A, MinuteUse> v) {
        a(v.charge_units)(v.peak_units)(v.requests)(v.throttled)(v.bytes);
    }
    template <typename A>
    static void fields(A& a, Ref<A, FeedUse> v) {
        a(v.consumer)(v.read)(v.used)(v.ru);
    }

    /// A pair without its first container.
    struct Followed {
        uint8_t first = 0;
        uint64_t second_container = 0;
        uint8_t second = 0;
        uint64_t count = 0;
        int64_t units = 0;
    };
    template <typename A>
    static void fields(A& a, Ref<A, Followed> v) {
        a(v.first)(v.second_container)(v.second)(v.count)(v.units);
    }

    /// Everything about one container.
    static std::string container(const Recorder& of, uint64_t container);
    static Status container(Recorder& into, uint64_t container, std::string_view bytes,
                            int64_t gap);
    static void take(UseSeries& into, UseSeries& from) {
        into.partitions_ = std::move(from.partitions_);
    }
};

template <typename T>
requires(std::is_class_v<T> &&
         !requires(const T& list) { list.begin(); }) void PackWriter::put(const T& value) {
    Packed::fields(*this, value);
}
template <typename T>
requires(std::is_class_v<T> &&
         !requires(const T& list) { list.begin(); }) void PackReader::get(T& value) {
    Packed::fields(*this, value);
}

std::string Packed::container(const Recorder& of, uint64_t container) {
    PackWriter a;
    const auto insight = of.insights_.find(container);
    a(insight != of.insights_.end());
    if (insight != of.insights_.end()) a(insight->second);
    static const std::map<int64_t, HeavyHitters> kNoHours;
    const auto keys = of.keys_.find(container);
    const auto& hours = keys == of.keys_.end() ? kNoHours : keys->second.hours;
    a(hours.size());
    for (const auto& [hour, sketch] : hours) a(hour)(sketch);
    std::map<uint32_t, const UseSeries::Partition*> ranges;
    for (const auto& [id, partition] : of.series_.partitions_)
        if (id.container == container) ranges[id.range] = partition.get();
    a(ranges.size());
    for (const auto& [range, partition] : ranges)
        a(range)(partition->last_second)(partition->minutes);
    std::vector<Followed> pairs;
    for (const auto& [key, use] : of.pairs_)
        if (key.first_container == container)
            pairs.push_back({static_cast<uint8_t>(key.first), key.second_container,
                             static_cast<uint8_t>(key.second), use.first, use.second});
    a(pairs);
    const auto feeds = of.feeds_.find(container);
    a(feeds == of.feeds_.end() ? std::map<std::string, FeedUse>() : feeds->second);
    return a.take();
}

Status Packed::container(Recorder& into, uint64_t container, std::string_view bytes, int64_t gap) {
    PackReader a(bytes);
    bool has_insight = false;
    a(has_insight);
    if (has_insight) {
        Insight& insight = into.insights_.try_emplace(container, 0).first->second;
        a(insight);
        insight.since_seconds_ += gap;
    }
    size_t count = 0;
    a(count);
    for (; count > 0 && a.ok(); --count) {
        int64_t hour = 0;
        HeavyHitters sketch(Recorder::kKeysPerHour);
        a(hour)(sketch);
        auto& keys = into.keys_[container];
        keys.last_second = std::max(keys.last_second, hour * 3600);
        keys.hours.insert_or_assign(hour, std::move(sketch));
    }
    a(count);
    for (; count > 0 && a.ok(); --count) {
        uint32_t range = 0;
        a(range);
        auto& partition = into.series_.partition_of({container, range});
        a(partition.last_second)(partition.minutes);
    }
    std::vector<Followed> pairs;
    std::map<std::string, FeedUse> feeds;
    a(pairs)(feeds);
    if (!a.ok() || !a.at_end()) return damaged("of a container cannot be read");
    constexpr auto kOperations = static_cast<uint8_t>(engine::OperationClass::kCount);
    for (const auto& pair : pairs) {
        if (pair.first >= kOperations || pair.second >= kOperations)
            return damaged("names an operation that does not exist");
        into.pairs_[{container, static_cast<engine::OperationClass>(pair.first),
                     pair.second_container, static_cast<engine::OperationClass>(pair.second)}] = {
            pair.count, pair.units};
    }
    if (!feeds.empty()) into.feeds_[container] = std::move(feeds);
    return {};
}

std::vector<uint64_t> Recorder::containers_by_use() const {
    std::map<uint64_t, int64_t> last;
    for (const auto& [id, insight] : insights_) last[id] = insight.last_seconds();
    for (const auto& [id, keys] : keys_) last[id] = std::max(last[id], keys.last_second);
    for (const auto& id : series_.partitions()) last.try_emplace(id.container, 0);
    for (const auto& [key, use] : pairs_) last.try_emplace(key.first_container, 0);
    for (const auto& [id, feeds] : feeds_) last.try_emplace(id, 0);
    std::vector<uint64_t> out;
    for (const auto& [id, second] : last) out.push_back(id);
    std::stable_sort(out.begin(), out.end(),
                     [&](uint64_t a, uint64_t b) { return last[a] > last[b]; });
    return out;
}

std::string Recorder::pack(size_t bytes_max) const {
    PackWriter a;
    std::vector<uint64_t> containers;
    {
        const std::lock_guard lock(state_mutex_);
        drain();
        containers = containers_by_use();
        a(clock_.wall_seconds())(started_seconds_)(down_);
    }
    std::string body = a.take();
    for (const uint64_t container : containers) {
        std::string section;
        {
            const std::lock_guard lock(state_mutex_);
            section = Packed::container(*this, container);
        }
        if (body.size() + section.size() > bytes_max) continue;
        append_varint(body, container);
        append_bytes(body, section);
    }
    std::string out(kMagic);
    append_u32_le(out, kVersion);
    append_u32_le(out, crc32(body));
    return out += body;
}

Status Recorder::unpack(std::string_view bytes, const std::function<bool(uint64_t)>& known) {
    if (bytes.size() < kHeadBytes || bytes.substr(0, kMagic.size()) != kMagic)
        return damaged("is no recording");
    if (const uint32_t version = load_u32_le(bytes.data() + 8); version != kVersion)
        return Status(errors::bad_request("the recording has version " + std::to_string(version) +
                                          ", this server reads " + std::to_string(kVersion)));
    const std::string_view body = bytes.substr(kHeadBytes);
    if (load_u32_le(bytes.data() + 12) != crc32(body))
        return damaged("does not match its checksum");

    // Read into a separate recorder first, so that a damaged recording leaves nothing behind.
    Recorder read(clock_, limits_);
    int64_t saved = 0;
    PackReader head(body);
    head(saved)(read.started_seconds_)(read.down_);
    const int64_t now = clock_.wall_seconds();
    const int64_t gap = std::max<int64_t>(0, now - saved);
    while (head.ok() && !head.at_end()) {
        uint64_t container = 0;
        std::string section;
        head(container)(section);
        if (!head.ok() || !known(container)) continue;
        TRY_STATUS(Packed::container(read, container, section, gap));
    }
    if (!head.ok() || saved < read.started_seconds_) return damaged("cannot be read");

    const std::lock_guard lock(state_mutex_);
    started_seconds_ = read.started_seconds_ + gap;
    down_ = std::move(read.down_);
    down_.emplace_back(saved, now);
    std::erase_if(down_, [&](const auto& time) { return time.second < now - kDownKeptSeconds; });
    if (down_.size() > kDownMax) down_.erase(down_.begin(), down_.end() - kDownMax);
    Packed::take(series_, read.series_);
    keys_ = std::move(read.keys_);
    insights_ = std::move(read.insights_);
    pairs_ = std::move(read.pairs_);
    last_insight_ = nullptr;
    last_sketch_ = nullptr;
    last_pair_ = nullptr;
    feeds_ = std::move(read.feeds_);
    return {};
}

}  // namespace orrery::lab
