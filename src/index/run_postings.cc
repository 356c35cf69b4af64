// Walks over the run of one key.
#include <algorithm>

#include "base/errors.h"
#include "index/lookup.h"

namespace orrery::index {
namespace {

/// Of a thread's budget: entries that are passed for one step.
constexpr uint64_t kEntriesPerStep = 4;

}  // namespace

void Postings::open_run(const TermRange& range) {
    ++steps_;
    budget_ = storage::budget_of(*scope_.view);
    const storage::TermColumn& column = *run_->column();
    first_term_ = column.lower_bound(range.begin);
    last_term_ = range.end.empty() ? column.size() : column.lower_bound(range.end);
    last_term_ = std::max(first_term_, last_term_);
    term_at_ = forward_ ? first_term_ : last_term_ - 1;  // wraps below the first: see leave_term()
    if (first_term_ == last_term_) {
        valid_ = false;
        return;
    }
    entry_ = forward_ ? run_->first_entry(term_at_) : run_->first_entry(term_at_ + 1) - 1;
    arrive_in_run();
}

/// To the end of the next term in the walk's direction, which may be outside the range.
void Postings::leave_term() {
    if (forward_) {
        ++term_at_;
        entry_ = term_at_ < last_term_ ? run_->first_entry(term_at_) : 0;
        return;
    }
    // The first term has none below it: any number outside the range ends the walk.
    if (term_at_ == first_term_) {
        term_at_ = last_term_;
        return;
    }
    entry_ = run_->first_entry(term_at_) - 1;
    --term_at_;
}

/// Steps over docrefs outside the scope.
void Postings::arrive_in_run() {
    valid_ = false;
    while (term_at_ >= first_term_ && term_at_ < last_term_) {
        const size_t begin = run_->first_entry(term_at_);
        const size_t end = run_->first_entry(term_at_ + 1);
        docref_ = run_->docref(entry_);
        const bool before = docref_ < scope_.docref_begin;
        const bool after = !scope_.docref_end.empty() && docref_ >= scope_.docref_end;
        if (!before && !after) {
            term_ = run_->column()->term(term_at_);
            valid_ = true;
            return;
        }
        size_t to = forward_ ? end : begin;
        if (forward_ && before) to = run_->lower_bound(term_at_, scope_.docref_begin);
        if (!forward_ && after) to = run_->lower_bound(term_at_, scope_.docref_end);
        if (forward_ ? to < end : to > begin) {
            entry_ = forward_ ? to : to - 1;
        } else {
            leave_term();
        }
    }
}

void Postings::next_in_run() {
    if (budget_ != nullptr && steps_ % kEntriesPerStep == 0 && !budget_->spend(1)) {
        run_status_ = Status(errors::internal("The entries are beyond the budget."));
        valid_ = false;
        return;
    }
    const size_t last =
        forward_ ? run_->first_entry(term_at_ + 1) - 1 : run_->first_entry(term_at_);
    if (entry_ == last) {
        leave_term();
    } else {
        forward_ ? ++entry_ : --entry_;
    }
    arrive_in_run();
}

void Postings::seek_in_run(std::string_view term, std::string_view docref) {
    const storage::TermColumn& column = *run_->column();
    size_t found = column.lower_bound(term);
    const bool same = found < column.size() && column.term(found) == term;
    if (forward_) {
        // Never back.
        if (!valid_ || found < term_at_ || (found == term_at_ && !same)) return;
        size_t entry = same ? run_->lower_bound(found, docref) : 0;
        if (found == term_at_ && entry <= entry_) return;
        term_at_ = found;
        if (same && entry == run_->first_entry(found + 1)) {
            leave_term();
        } else if (found < last_term_) {
            entry_ = same ? entry : run_->first_entry(found);
        }
        arrive_in_run();
        return;
    }
    if (!valid_) return;
    // Entries at or below the position; the last of them is the one.
    size_t count = run_->first_entry(found);
    if (same) {
        count = run_->lower_bound(found, docref);
        if (count < run_->first_entry(found + 1) && run_->docref(count) == docref) ++count;
    }
    if (count == 0) {
        valid_ = false;
        return;
    }
    const size_t entry = count - 1;
    if (entry < run_->first_entry(found)) --found;
    if (found > term_at_ || (found == term_at_ && entry >= entry_)) return;
    term_at_ = found;
    entry_ = entry;
    arrive_in_run();
}

}  // namespace orrery::index
