#include "index/key_run.h"

#include <algorithm>

#include "base/check.h"
#include "index/terms.h"

namespace orrery::index {

size_t KeyRun::lower_bound(size_t i, std::string_view docref) const {
    size_t low = firsts_[i];
    size_t high = firsts_[i + 1];
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (this->docref(middle) < docref) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

size_t KeyRun::memory() const {
    return sizeof(*this) + column_->memory() + firsts_.capacity() * sizeof(uint32_t) +
           docrefs_.capacity() + partial_.capacity() / 8;
}

void KeyRunBuilder::add(const json::Value& value, const storage::Docref& docref) {
    DCHECK(docref.bytes().size() == KeyRun::kDocrefBytes);
    const size_t offset = terms_.size();
    const bool partial = append_term(terms_, value);
    CHECK(terms_.size() < UINT32_MAX);
    entries_.push_back({static_cast<uint32_t>(offset),
                        static_cast<uint32_t>(terms_.size() - offset),
                        static_cast<uint32_t>(docrefs_.size()), partial});
    docrefs_.push_back(docref);
    untold_ += partial || value.is_array() || value.is_object() ? 1 : 0;
}

KeyRunPtr KeyRunBuilder::finish() {
    const std::string_view bytes = terms_;
    const auto term = [&](const Entry& entry) { return bytes.substr(entry.offset, entry.bytes); };
    // Items came in docref order.
    std::sort(entries_.begin(), entries_.end(), [&](const Entry& a, const Entry& b) {
        const int order = term(a).compare(term(b));
        return order != 0 ? order < 0 : a.item < b.item;
    });
    auto run = std::make_shared<KeyRun>();
    auto column = std::make_shared<storage::TermColumn>();
    run->path_hash_ = path_hash_;
    run->untold_ = untold_;
    run->docrefs_.reserve(entries_.size() * KeyRun::kDocrefBytes);
    const bool any_partial = std::any_of(entries_.begin(), entries_.end(),
                                         [](const Entry& entry) { return entry.partial; });
    for (size_t i = 0; i < entries_.size();) {
        size_t end = i;
        bool partial = false;
        for (; end < entries_.size() && term(entries_[end]) == term(entries_[i]); ++end) {
            run->docrefs_ += docrefs_[entries_[end].item].bytes();
            if (any_partial) run->partial_.push_back(entries_[end].partial);
            partial |= entries_[end].partial;
        }
        run->firsts_.push_back(static_cast<uint32_t>(i));
        column->append(term(entries_[i]), end - i, partial);
        i = end;
    }
    run->firsts_.push_back(static_cast<uint32_t>(entries_.size()));
    run->firsts_.shrink_to_fit();
    column->shrink();
    run->column_ = std::move(column);
    return run;
}

}  // namespace orrery::index
