#include "query/exec/condition_probe.h"

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "base/find_bytes.h"
#include "index/terms.h"

namespace orrery::query {

TermTester::Verdict TermTester::test(std::string_view term) {
    const std::string& needle = condition_.needle;
    if (!needle.empty() && find_bytes(term, needle, 0) == std::string_view::npos)
        return Verdict::kNo;
    arena_.clear();
    const auto value = index::decode_term(term, arena_);
    if (!value || value->is_array() || value->is_object()) return Verdict::kAskItem;
    return tester_->passes(*value, arena_) ? Verdict::kYes : Verdict::kNo;
}

TestedPostings::TestedPostings(const IndexReader& reader, const Condition& condition,
                               std::string_view from_term, std::string_view from_docref)
    : reader_(reader),
      condition_(condition),
      path_(condition.entries_hash(reader.path_key)),
      from_term_(from_term),
      from_docref_(from_docref) {
    if (!condition.tests.empty()) tester_.emplace(reader.producer, condition);
}

bool TestedPostings::open_range() {
    while (range_ < condition_.ranges.size()) {
        const index::TermRange& range = condition_.ranges[range_++];
        if (!from_term_.empty() && range.end <= from_term_) continue;
        postings_.emplace(reader_.scope, path_, range);
        if (!from_term_.empty() && range.begin <= from_term_)
            postings_->seek(from_term_, from_docref_);
        return true;
    }
    return false;
}

namespace {

/// Whether every entry of the term has it as its whole value.
bool is_whole(std::string_view term) {
    constexpr double kExactMax = 9007199254740992;  // beyond, integers share a term
    json::Arena arena;
    const auto value = index::decode_term(term, arena);
    if (!value || !value->is_scalar()) return false;
    return !value->is_number() || std::abs(value->as_double()) < kExactMax;
}

}  // namespace

/// Behind an entry whose value fails; behind all entries of the value, if they are many.
void TestedPostings::leave_failed() {
    constexpr uint64_t kStepsBeforeSearch = 8;
    if (++failed_ == kStepsBeforeSearch && is_whole(tested_)) {
        postings_->next_term();
    } else {
        postings_->next();
    }
}

bool TestedPostings::next() {
    if (postings_ && postings_->valid()) postings_->next();
    while (true) {
        if (!postings_ || !postings_->valid()) {
            if (postings_ && !postings_->status().ok()) return false;
            if (!open_range()) return false;
            continue;
        }
        if (++steps_ > steps_max_) return false;
        // A term that is not the whole value says nothing about a test.
        if (!tester_ || postings_->partial()) return true;
        if (tested_.empty() || postings_->term() != tested_) {
            tested_.assign(postings_->term());
            verdict_ = tester_->test(tested_);
            ++tested_terms_;
            failed_ = 0;
        }
        if (verdict_ != TermTester::Verdict::kNo) return true;
        leave_failed();
    }
}

ConditionProbe::ConditionProbe(const IndexReader& reader, const Condition& condition,
                               std::string_view from)
    : reader_(reader), condition_(condition) {
    // Between several values lies what is below in each of them.
    if (condition.is_single_term()) from_.assign(from);
    parts_.reserve(condition.parts.size());
    for (const Condition& part : condition.parts) parts_.emplace_back(reader, part, from);
}

Status ConditionProbe::count_to(uint64_t cap) {
    if (known_ || given_up_ || count_ >= cap) return {};
    if (condition_.kind != Condition::Kind::kTerms) return count_parts(cap);
    return condition_.is_single_term() ? count_term(cap) : count_tested(cap);
}

Status ConditionProbe::count_tested(uint64_t cap) {
    constexpr uint64_t kRoomAtFirst = 16;
    if (entries_ == nullptr) {
        entries_ = std::make_unique<TestedPostings>(reader_, condition_, std::string_view(),
                                                    std::string_view());
        read_.reserve(std::min<uint64_t>(cap, kRoomAtFirst));
    }
    if (!condition_.tests.empty()) entries_->stop_after(steps_max_);
    while (count_ < cap) {
        if (!entries_->next()) {
            given_up_ = entries_->stopped();
            known_ = !given_up_;
            return entries_->status();
        }
        ++count_;
        read_.push_back({*storage::Docref::from_bytes(entries_->docref()), entries_->certain()});
    }
    return {};
}

Status ConditionProbe::count_parts(uint64_t cap) {
    const bool all = condition_.kind == Condition::Kind::kAll;
    uint64_t count = all ? cap : 0;
    uint64_t spent = steps();
    for (ConditionProbe& part : parts_) {
        if (!all && count >= cap) break;
        spent -= part.steps();
        part.limit_steps(steps_max_ - std::min(steps_max_, spent));
        TRY_STATUS(part.count_to(all ? count : cap - count));
        spent += part.steps();
        given_up_ |= part.has_given_up();
        if (given_up_) return {};
        count = all ? std::min(count, part.count()) : count + part.count();
    }
    count_ = std::min(count, cap);
    known_ = count_ < cap;
    return {};
}

uint64_t ConditionProbe::steps() const {
    uint64_t sum = entries_ != nullptr && !condition_.tests.empty() ? entries_->steps() : 0;
    for (const ConditionProbe& part : parts_) sum += part.steps();
    return sum;
}

uint64_t ConditionProbe::tested_terms() const {
    uint64_t sum = entries_ != nullptr ? entries_->tested_terms() : 0;
    for (const ConditionProbe& part : parts_) sum += part.tested_terms();
    return sum;
}

void ConditionProbe::open_term() {
    if (term_ != nullptr) return;
    term_ = index::stream_term(reader_.scope, condition_.entries_hash(reader_.path_key),
                               condition_.ranges[0]);
    if (!from_.empty()) term_->seek(from_);
    total_ = term_->left();
}

Status ConditionProbe::count_term(uint64_t cap) {
    open_term();
    if (total_) {
        count_ = std::min(*total_, cap);
        known_ = *total_ < cap;
        return {};
    }
    for (; count_ < cap; ++count_, term_->next()) {
        known_ = !term_->valid();
        if (known_) return term_->status();
        read_.push_back({*storage::Docref::from_bytes(term_->docref()), term_->certain()});
    }
    return {};
}

uint64_t ConditionProbe::extrapolated() const {
    if (total_) return *total_;
    if (known_ || read_.empty()) return count_;
    const auto hash_of = [](std::string_view docref, uint64_t otherwise) {
        return docref.size() < 8 ? otherwise : load_u64_be(docref.data());
    };
    const auto begin =
        static_cast<double>(std::max(hash_of(reader_.scope.docref_begin, 0), hash_of(from_, 0)));
    const auto end = static_cast<double>(hash_of(reader_.scope.docref_end, UINT64_MAX));
    const auto last = static_cast<double>(hash_of(read_.back().docref.bytes(), 0));
    constexpr double kMost = 1e12;
    // Inside one key all hashes are equal, so they give no estimate.
    if (end - begin < kMost) return static_cast<uint64_t>(kMost);
    const double part = (last - begin) / (end - begin);
    return static_cast<uint64_t>(
        std::min(kMost, static_cast<double>(count_) / std::max(part, 1e-9)));
}

Result<DocrefStreamPtr> ConditionProbe::take_stream(uint64_t list_max) {
    if (condition_.is_single_term()) {
        open_term();
        if (read_.empty()) return std::move(term_);
        return index::stream_after(std::move(read_), std::move(term_));
    }
    if (condition_.kind != Condition::Kind::kTerms) return stream_of_parts(list_max);
    TRY_STATUS(count_to(list_max + 1));
    if (!known_) return DocrefStreamPtr();
    return index::stream_list(std::move(read_));
}

Result<DocrefStreamPtr> ConditionProbe::stream_of_parts(uint64_t list_max) {
    const bool all = condition_.kind == Condition::Kind::kAll;
    std::vector<DocrefStreamPtr> streams;
    uint64_t spent = steps();
    for (ConditionProbe& part : parts_) {
        spent -= part.steps();
        part.limit_steps(steps_max_ - std::min(steps_max_, spent));
        TRY(auto stream, part.take_stream(list_max));
        spent += part.steps();
        if (stream == nullptr && !all) return DocrefStreamPtr();
        // Without one part of an AND the set is larger; the item decides.
        if (stream != nullptr) streams.push_back(std::move(stream));
    }
    if (streams.empty()) return DocrefStreamPtr();
    if (all) {
        const bool complete = streams.size() == parts_.size();
        return index::intersection(std::move(streams), complete);
    }
    return index::union_of(std::move(streams));
}

Result<DocrefStreamPtr> short_intersection(const IndexReader& reader,
                                           const std::vector<const Condition*>& conditions,
                                           uint64_t steps_max, uint64_t& found) {
    constexpr uint64_t kSearchSteps = 8;
    std::vector<DocrefStreamPtr> streams;
    for (const Condition* condition : conditions)
        streams.push_back(index::stream_term(reader.scope, condition->entries_hash(reader.path_key),
                                             condition->ranges[0]));
    std::vector<ListedDocref> list;
    std::string target;
    size_t agreed = 0;  // streams that stand at `target`, from `at` back
    size_t at = 0;
    uint64_t steps = 0;
    while (streams[at]->valid()) {
        if (agreed == streams.size()) {
            bool certain = true;
            for (const auto& stream : streams) certain &= stream->certain();
            list.push_back({*storage::Docref::from_bytes(target), certain});
            streams[at]->next();
            ++steps;
            agreed = 0;
            continue;
        }
        if (agreed > 0 && streams[at]->docref() < target) {
            streams[at]->seek(target);
            steps += kSearchSteps;
            if (steps > steps_max) return DocrefStreamPtr();
            continue;
        }
        if (agreed == 0 || streams[at]->docref() != target) {
            target.assign(streams[at]->docref());
            agreed = 0;
        }
        ++agreed;
        if (agreed < streams.size()) at = (at + 1) % streams.size();
    }
    for (const auto& stream : streams) TRY_STATUS(stream->status());
    found = list.size();
    return index::stream_list(std::move(list));
}

Result<DocrefStreamPtr> open_stream(const IndexReader& reader, const Condition& condition,
                                    uint64_t list_max) {
    return ConditionProbe(reader, condition, {}).take_stream(list_max);
}

}  // namespace orrery::query
