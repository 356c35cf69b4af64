#include "storage/detail/term_columns.h"

#include <algorithm>

#include "base/bytes.h"

namespace orrery::storage {

size_t TermColumn::lower_bound(std::string_view term) const {
    size_t low = 0;
    size_t high = size();
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (this->term(middle) < term) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

size_t TermColumn::find_offset(size_t offset, size_t from) const {
    const auto begin = offsets_.begin() + static_cast<ptrdiff_t>(from);
    const auto above = std::upper_bound(begin, offsets_.end(), offset);
    return static_cast<size_t>(above - offsets_.begin()) - 1;
}

size_t TermColumn::memory() const {
    return sizeof(*this) + bytes_.capacity() +
           (offsets_.capacity() + counts_.capacity()) * sizeof(uint32_t);
}

void TermColumn::append(std::string_view term, uint64_t count, bool partial) {
    CHECK(bytes_.size() + term.size() < UINT32_MAX && count < (1U << 31));
    bytes_.append(term);
    any_partial_ |= partial;
    offsets_.push_back(static_cast<uint32_t>(bytes_.size()));
    counts_.push_back(static_cast<uint32_t>(count) << 1 | (partial ? 1U : 0U));
}

void TermColumn::shrink() {
    bytes_.shrink_to_fit();
    offsets_.shrink_to_fit();
    counts_.shrink_to_fit();
}

namespace detail {
namespace {

/// Number of paths whose walks are noted; when it is exceeded, all are forgotten.
constexpr size_t kWalkedMax = 4096;

void delete_counted(const rocksdb::Slice& /*key*/, void* value) {
    delete static_cast<TermColumns::Counted*>(value);
}

}  // namespace

TermColumns::TermColumns(std::shared_ptr<rocksdb::Cache> cache)
    : cache_(std::move(cache)), id_(cache_->NewId()) {}

std::string TermColumns::cache_key(std::string_view path) const {
    std::string key = "orrery.column";
    append_u64_be(key, id_);
    return key.append(path);
}

std::optional<TermColumns::Counted> TermColumns::look_up(std::string_view path) {
    rocksdb::Cache::Handle* const handle = cache_->Lookup(cache_key(path));
    if (handle == nullptr) return std::nullopt;
    Counted found = *static_cast<const Counted*>(cache_->Value(handle));
    cache_->Release(handle);
    return found;
}

std::shared_ptr<const TermColumn> TermColumns::find(std::string_view path, uint64_t table) {
    std::optional<Counted> found = look_up(path);
    if (!found || found->table != table) return nullptr;
    const std::lock_guard lock(mutex_);
    known_[std::string(path)].used = true;
    return std::move(found->column);
}

void TermColumns::insert(std::string_view path, Counted counted) {
    const size_t charge = counted.column->memory();
    {
        const std::lock_guard lock(mutex_);
        known_[std::string(path)].used = true;
    }
    auto* const value = new Counted(std::move(counted));
    cache_
        ->Insert(cache_key(path), value, charge, &delete_counted, nullptr,
                 rocksdb::Cache::Priority::HIGH)
        .PermitUncheckedError();
}

void TermColumns::note_walk(std::string_view path, uint64_t entries) {
    const std::lock_guard lock(mutex_);
    if (walked_.size() >= kWalkedMax) walked_.clear();
    walked_[std::string(path)] += static_cast<int64_t>(entries);
}

/// Under the lock. The entries that were read, if they are as many as `cost`; else null.
int64_t* TermColumns::walked_enough(std::string_view path, uint64_t cost) {
    const auto found = walked_.find(std::string(path));
    const bool enough = found != walked_.end() && found->second >= static_cast<int64_t>(cost);
    return enough ? &found->second : nullptr;
}

bool TermColumns::is_worthwhile(std::string_view path, uint64_t cost) {
    const std::lock_guard lock(mutex_);
    return walked_enough(path, cost) != nullptr;
}

bool TermColumns::claim(std::string_view path, uint64_t cost) {
    const std::lock_guard lock(mutex_);
    int64_t* const walked = walked_enough(path, cost);
    if (walked == nullptr) return false;
    *walked = 0;
    return true;
}

void TermColumns::refuse(std::string_view path, uint64_t cost) {
    constexpr int64_t kPatience = 100;
    const std::lock_guard lock(mutex_);
    walked_[std::string(path)] = -kPatience * static_cast<int64_t>(cost);
}

size_t TermColumns::column_bytes_max() const {
    // The cache has four shards, and blocks need room in each.
    return cache_->GetCapacity() / 8;
}

void TermColumns::forget(const std::string& path) {
    known_.erase(path);
    cache_->Erase(cache_key(path));
}

void TermColumns::apply(const Run& run) {
    std::vector<std::string> paths;
    {
        const std::lock_guard lock(mutex_);
        for (auto it = known_.begin(); it != known_.end();) {
            if (!it->second.used) {
                cache_->Erase(cache_key(it->first));
                it = known_.erase(it);
                continue;
            }
            it->second.used = false;
            paths.push_back(it->first);
            ++it;
        }
    }
    for (const std::string& path : paths) {
        const std::optional<Counted> before = look_up(path);
        std::optional<std::vector<TermCounts::Change>> changes;
        // Its maker has already seen the table.
        if (before && before->table >= run.table()) continue;
        if (before && before->table + 1 == run.table())
            changes = count_changes({&run}, path, {}, {}, before->docref_bytes);
        if (!changes) {
            const std::lock_guard lock(mutex_);
            forget(path);
            continue;
        }
        Counted after{run.table(), before->docref_bytes, before->column};
        if (!changes->empty()) {
            TermCounts merged{before->column, 0, before->column->size(), std::move(*changes)};
            auto column = std::make_shared<TermColumn>();
            merged.each([&](std::string_view term, uint64_t count, bool partial) {
                column->append(term, count, partial);
            });
            column->shrink();
            after.column = std::move(column);
        }
        insert(path, std::move(after));
        const std::lock_guard lock(mutex_);
        if (const auto found = known_.find(path); found != known_.end()) found->second.used = false;
    }
}

std::optional<std::vector<TermCounts::Change>> count_changes(const std::vector<const Run*>& runs,
                                                             std::string_view path,
                                                             std::string_view begin,
                                                             std::string_view end,
                                                             size_t docref_bytes) {
    struct Part {
        const Run* run;
        size_t at;
        size_t end;
        size_t age;
    };
    std::vector<Part> parts;
    const std::string from = std::string(path).append(begin);
    const std::string to = end.empty() ? prefix_successor(path) : std::string(path).append(end);
    for (size_t i = 0; i < runs.size(); ++i) {
        const size_t first = runs[i]->lower_bound(from);
        const size_t last = runs[i]->lower_bound(to, first);
        if (first == last) continue;
        if (runs[i]->is_vague()) return std::nullopt;
        parts.push_back({runs[i], first, last, i});
    }
    // The smallest key is on top; among equal keys the one of the oldest run.
    const auto later = [](const Part& a, const Part& b) {
        const int order = a.run->key(a.at).compare(b.run->key(b.at));
        return order != 0 ? order > 0 : a.age > b.age;
    };
    std::make_heap(parts.begin(), parts.end(), later);
    const auto pop = [&] {
        std::pop_heap(parts.begin(), parts.end(), later);
        if (++parts.back().at == parts.back().end) {
            parts.pop_back();
        } else {
            std::push_heap(parts.begin(), parts.end(), later);
        }
    };
    std::vector<TermCounts::Change> out;
    while (!parts.empty()) {
        const Part& oldest = parts.front();
        const std::string_view key = oldest.run->key(oldest.at);
        // Only runs that may repeat add an existing entry or remove a missing one.
        const bool was = !oldest.run->born(oldest.at);
        Run::Change change = oldest.run->change(oldest.at);
        bool partial = change == Run::Change::kAddPartial;
        for (pop(); !parts.empty() && parts.front().run->key(parts.front().at) == key; pop()) {
            change = parts.front().run->change(parts.front().at);
            partial |= change == Run::Change::kAddPartial;
        }
        const int64_t net = (change != Run::Change::kRemove ? 1 : 0) - (was ? 1 : 0);
        if (net == 0 && !partial) continue;
        const std::string_view term =
            key.substr(path.size(), key.size() - path.size() - docref_bytes);
        if (out.empty() || out.back().term != term) out.push_back({std::string(term), 0, false});
        out.back().count += net;
        out.back().partial |= partial;
    }
    return out;
}

}  // namespace detail
}  // namespace orrery::storage
