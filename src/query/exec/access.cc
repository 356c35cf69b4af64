#include "query/exec/access.h"

#include <algorithm>

#include "query/plan/cost.h"

namespace orrery::query {

Result<SegmentFacts> SegmentFacts::find(const PageScope& page, const Producer& producer,
                                        const IndexPlan& index, const Segment& segment) {
    SegmentFacts facts(page, producer, index, segment);
    if (!page.use_index || segment.settings().indexing.mode == index::IndexingMode::kNone) {
        facts.index_complete = false;
    } else {
        TRY(const bool unindexed, segment.source->partition->holds_unindexed(segment.view()));
        facts.index_complete = !unindexed;
    }
    return facts;
}

Status SegmentFacts::count() {
    if (count_) return {};
    const partition::Partition& partition = *segment.source->partition;
    TRY(count_, page.full_epk ? partition.logical_totals(segment.view(), *page.full_epk)
                              : partition.totals(segment.view()));
    return {};
}

Result<uint64_t> SegmentFacts::items() {
    TRY_STATUS(count());
    return static_cast<uint64_t>(std::max<int64_t>(0, count_->items));
}

Result<uint64_t> SegmentFacts::bytes() {
    TRY_STATUS(count());
    return static_cast<uint64_t>(std::max<int64_t>(0, count_->bytes));
}

namespace {

/// Inside one key only the entries of single values are one run; between the values of a range lie
/// those of all other keys.
bool is_narrow(const Condition& condition, const Segment& segment) {
    if (!segment.one_key || condition.within_key) return true;
    if (condition.kind != Condition::Kind::kTerms)
        return std::all_of(condition.parts.begin(), condition.parts.end(),
                           [&](const Condition& part) { return is_narrow(part, segment); });
    return condition.tests.empty() &&
           std::all_of(condition.ranges.begin(), condition.ranges.end(),
                       [](const index::TermRange& range) { return range.single; });
}

/// A page that leaves in term order has a term in its position, and positions travel in headers.
bool has_short_terms(const Condition& condition) {
    constexpr size_t kMembersMax = 2;
    return condition.composite == nullptr || condition.composite->members.size() <= kMembersMax;
}

/// One choice: conditions are counted by and by until one of them is known to be short, or reading
/// every item is known to be better.
class Choice {
public:
    Choice(SegmentFacts& facts, const AccessWish& wish)
        : facts_(facts), wish_(wish), filter_(facts.index.filter) {
        conditions_ = filter_.conditions(
            [&](const Condition& condition) { return is_narrow(condition, facts.segment); },
            enforces_all_);
        single_ = static_cast<size_t>(
            std::count_if(conditions_.begin(), conditions_.end(),
                          [](const Condition* one) { return one->is_single_term(); }));
    }

    Result<Access> run();

private:
    Status open_probes();
    Result<bool> count(Access& access);
    Result<Access> meet() const;
    bool leaves_by_terms(const Condition& driver) const;
    Result<bool> is_worth(const Condition& driver);
    Status join_others(std::vector<DocrefStreamPtr>& streams, Access& access);
    ConditionProbe& best() { return probes_[best_]; }

    SegmentFacts& facts_;
    const AccessWish& wish_;
    const Filter& filter_;
    bool enforces_all_ = true;
    std::vector<const Condition*> conditions_;
    size_t single_ = 0;  ///< conditions that are one value
    std::vector<ConditionProbe> probes_;
    size_t best_ = 0;
};

Status Choice::open_probes() {
    const Segment& segment = facts_.segment;
    // A page that goes on in docref order has shown those before.
    const std::string_view from =
        segment.resume_term.empty() ? std::string_view(segment.resume_docref) : std::string_view();
    probes_.reserve(conditions_.size());
    for (const Condition* condition : conditions_)
        probes_.emplace_back(facts_.reader, *condition, from);
    if (!cost::are_many_walks(conditions_[0]->walks())) return {};
    TRY(const uint64_t items, facts_.items());
    probes_[0].limit_steps(cost::walk_steps_max(items));
    return {};
}

/// Items that have all of several single values, if there are at least two of those and it does not
/// take long; else a scan.
Result<Access> Choice::meet() const {
    Access access;
    std::vector<const Condition*> single;
    for (const Condition* condition : conditions_)
        if (condition->is_single_term()) single.push_back(condition);
    TRY(access.stream,
        short_intersection(facts_.reader, single, cost::kIntersectionSteps, access.estimate));
    if (access.stream == nullptr) return access;
    access.kind = Access::Kind::kStream;
    access.counted = true;
    access.exact = single.size() == conditions_.size() && enforces_all_ && filter_.is_exact();
    for (size_t i = 0; facts_.page.explain && i < single.size(); ++i)
        access.detail += (i == 0 ? "" : " and ") + condition_text(*single[i]);
    return access;
}

/// Counts until the shortest condition is known. True: `access` is the answer already.
Result<bool> Choice::count(Access& access) {
    uint64_t cap_max = wish_.count_cap;
    uint64_t worthwhile = UINT64_MAX;
    bool may_meet = single_ > 1;
    for (uint64_t cap = std::min(may_meet ? cost::kFirstCapToMeet : cost::kFirstCap, cap_max);;
         cap = std::min(cap * cost::kCapGrowth, cap_max)) {
        for (size_t i = 0; i < probes_.size(); ++i) {
            // With so few candidates, other conditions are not looked up.
            if (best().is_known() && best().count() <= cost::kFetchedAtOnce) break;
            TRY_STATUS(probes_[i].count_to(cap));
            if (probes_[i].count() < best().count()) best_ = i;
        }
        if (best().has_given_up()) return true;
        if (best().is_known() || cap >= cap_max) break;
        if (may_meet) {
            // Where several values meet is found faster than how many items have each.
            may_meet = false;
            TRY(access, meet());
            if (access.kind != Access::Kind::kScan) return true;
        }
        // The items of one value, clearly few enough: how many exactly does not matter.
        if (wish_.terms_allowed && conditions_.size() == 1 && single_ == 1 &&
            cap >= cost::kSampleMin && best().extrapolated() < worthwhile / 2)
            break;
        if (worthwhile != UINT64_MAX) continue;
        TRY(const uint64_t items, facts_.items());
        worthwhile = cost::entries_worth_fetching(items);
        cap_max = std::min(wish_.count_cap, worthwhile);
    }
    return !best().is_known() && (best().count() >= worthwhile || wish_.only_counted);
}

bool Choice::leaves_by_terms(const Condition& driver) const {
    return driver.kind == Condition::Kind::kTerms && !driver.is_single_term() &&
           wish_.terms_allowed && driver.is_member_path() && has_short_terms(driver) &&
           (!probes_[best_].is_known() || conditions_[0]->walks() > 0);
}

Result<bool> Choice::is_worth(const Condition& driver) {
    if (conditions_[0]->walks() == 0 || driver.kind == Condition::Kind::kTerms) return true;
    TRY(const uint64_t items, facts_.items());
    return cost::is_union_worth({.steps = best().steps(),
                                 .matches = best().count(),
                                 .known = best().is_known(),
                                 .walks = driver.walks(),
                                 .rows = wish_.rows,
                                 .page_rows = wish_.page_rows},
                                items);
}

/// Conditions in which an item is looked up faster than it is fetched.
Status Choice::join_others(std::vector<DocrefStreamPtr>& streams, Access& access) {
    for (size_t i = 0; i < conditions_.size(); ++i) {
        if (i == best_) continue;
        const Condition& other = *conditions_[i];
        ConditionProbe& probe = probes_[i];
        const bool cheap =
            other.is_single_term() ||
            (probe.is_known() && cost::is_short_beside(probe.count(), best().count()));
        DocrefStreamPtr more;
        if (cheap && best().count() > cost::kFetchedAtOnce) {
            TRY(const uint64_t items, facts_.items());
            if (cost::is_rare(probe.count(), items)) {
                TRY(more, probe.take_stream(cost::kListMax));
            }
        }
        if (more == nullptr) {
            enforces_all_ = false;
            continue;
        }
        if (facts_.page.explain) access.detail += " and " + condition_text(other);
        streams.push_back(std::move(more));
    }
    return {};
}

Result<Access> Choice::run() {
    Access access;
    if (conditions_.empty()) return access;
    TRY_STATUS(open_probes());
    TRY(const bool decided, count(access));
    if (decided) return access;
    const Condition& driver = *conditions_[best_];
    access.estimate = best().count();
    access.counted = best().is_known();
    if (facts_.page.explain) access.detail = condition_text(driver);
    if (leaves_by_terms(driver)) {
        access.kind = Access::Kind::kTerms;
        access.terms = &driver;
        access.exact = conditions_.size() == 1 && enforces_all_ && filter_.is_exact();
        return access;
    }
    // Once, however many pages there are.
    const bool first_page = !facts_.segment.resumed;
    Access scan;
    TRY(const bool worth, is_worth(driver));
    if (!worth) {
        if (best().is_known() && first_page) scan.tested_terms = best().tested_terms();
        return scan;
    }
    std::vector<DocrefStreamPtr> streams(1);
    TRY(streams[0], best().take_stream(cost::kListMax));
    if (streams[0] == nullptr) return scan;
    if (first_page) access.tested_terms = best().tested_terms();
    TRY_STATUS(join_others(streams, access));
    access.kind = Access::Kind::kStream;
    access.stream = index::intersection(std::move(streams));
    access.exact = enforces_all_ && filter_.is_exact();
    return access;
}

}  // namespace

Result<Access> choose_access(SegmentFacts& facts, const AccessWish& wish) {
    Access access;
    if (facts.index_complete && facts.index.filter.is_served()) {
        TRY(access, Choice(facts, wish).run());
    }
    if (facts.page.explain && access.kind == Access::Kind::kScan)
        access.detail = facts.segment.one_key ? "every item of the key" : "every item";
    return access;
}

}  // namespace orrery::query
