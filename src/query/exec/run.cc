#include "query/exec/run.h"

#include <algorithm>
#include <utility>

#include "json/order.h"
#include "query/bind/nodes.h"

namespace orrery::query {

using json::Value;

/// As many keys and accumulators each as the level has, one group's behind the other's.
struct LevelRun::Groups {
    HashedPositions positions;  // by the keys
    std::vector<Value> keys;
    std::vector<Accumulator> accumulators;

    size_t size() const { return positions.size(); }
};

struct LevelRun::Blocking {
    Blocking(EvalContext& context, json::Arena* own) : keeper(context, own) {}
    json::Arena arena;
    Keeper keeper;
    ValueSet seen;  // DISTINCT
    Groups groups;
    std::vector<Value> row_keys;           // of the row at hand
    std::vector<Accumulator> row_results;  // of a group that is this row alone
    std::vector<SortedRow> rows;
    uint64_t sequence = 0;
    uint64_t whole_groups = 0;  // that were emitted as they came
};

/// Continues with source `index` for every row of its subquery.
class LevelRun::SourceSink final : public ValueSink {
public:
    SourceSink(LevelRun& run, size_t index) : run_(run), index_(index) {}
    bool row(const Value& value) override { return run_.bind(index_, value); }

private:
    LevelRun& run_;
    size_t index_;
};

LevelRun::LevelRun(const Level& level, EvalContext& context, ValueSink& sink, Scope scope)
    : level_(level), context_(context), sink_(sink) {
    if (!level.sources.empty() && level.sources[0].query != nullptr)
        child_ = std::make_unique<LevelRun>(*level.sources[0].query, context,
                                            static_cast<ValueSink&>(*this), scope);
    if (level.grouped || level.distinct || !level.order_by.empty()) {
        blocking_ = std::make_unique<Blocking>(context, nullptr);
        if (scope == Scope::kAcrossItems) blocking_->keeper.reset(&blocking_->arena, 0);
    }
    if (level.has_window()) {
        skip_ = count(level.offset, 0);
        remaining_ = std::min(count(level.limit, UINT64_MAX), count(level.top, UINT64_MAX));
    }
}

LevelRun::~LevelRun() = default;

RowWindow LevelRun::take_window() {
    return {std::exchange(skip_, 0), std::exchange(remaining_, UINT64_MAX)};
}

uint64_t LevelRun::count(const BoundCount& c, uint64_t otherwise) const {
    switch (c.kind) {
        case BoundCount::Kind::kNone:
            return otherwise;
        case BoundCount::Kind::kConstant:
            return c.value;
        case BoundCount::Kind::kParameter:  // checked when the parameters were bound
            return static_cast<uint64_t>(context_.parameters[c.parameter].as_double());
    }
    return otherwise;
}

bool LevelRun::feed(const Known& known) {
    if (remaining_ == 0) return false;
    fed_ = known;
    return next_source(0);
}

bool LevelRun::row(const Value& value) {
    return bind(0, value);
}

bool LevelRun::next_source(size_t index) {
    if (index == level_.sources.size()) return matched();
    const BoundSource& source = level_.sources[index];
    if (source.query == nullptr) return bind(index, source.node->eval(context_));
    if (index == 0) return child_->feed();
    SourceSink sink(*this, index);
    return run_subquery(*source.query, context_, sink);
}

bool LevelRun::bind(size_t index, const Value& value) {
    const BoundSource& source = level_.sources[index];
    const auto go_on = [&](const Value& v) {
        if (source.slot != kNoSlot) context_.slots[source.slot] = v;
        return next_source(index + 1);
    };
    if (!source.iterate) return value.is_undefined() || go_on(value);
    if (!value.is_array()) return true;
    for (const Value& element : value.elements()) {
        if (!context_.charge()) return false;
        if (!go_on(element)) return false;
    }
    return true;
}

bool LevelRun::matched() {
    joined_ += fed_.weight;
    if (level_.where != nullptr && !fed_.where_holds &&
        level_.where->test(context_) != Truth::kTrue)
        return !context_.failed();
    if (!context_.charge()) return false;
    ++tuples_;
    passed_ += fed_.weight;
    if (level_.grouped) return fed_.whole_groups ? emit_whole_group() : gather();
    const Value value = level_.value->eval(context_);
    if (value.is_undefined()) return !context_.failed();
    projected_ += fed_.weight;
    return deliver(value);
}

/// A projected row, before DISTINCT and ORDER BY.
bool LevelRun::deliver(const Value& value) {
    if (blocking_ == nullptr) return emit(value);
    if (level_.distinct) {
        if (blocking_->seen.contains(value)) return true;
        if (!blocking_->keeper.charge(sizeof(Value) + 48)) return false;
        const Value kept = blocking_->keeper.keep(value);
        if (context_.failed()) return false;
        blocking_->seen.insert(kept);
    }
    // One row of aggregates has no order.
    if (!level_.order_by.empty() && !level_.grouped) return sort_row(value);
    return emit(value);
}

bool LevelRun::emit(const Value& value) {
    if (skip_ > 0) {
        ++offered_;
        --skip_;
        return true;
    }
    if (remaining_ == 0) return false;
    ++offered_;
    ++emitted_;
    --remaining_;
    return sink_.row(value) && remaining_ > 0 && !context_.failed();
}

// --- grouping -----------------------------------------------------------------------------------

namespace {

size_t group_bytes(const Level& level) {
    constexpr size_t kPositionBytes = 64;
    return kPositionBytes + level.group_keys.size() * sizeof(Value) +
           level.aggregates.size() * sizeof(Accumulator);
}

}  // namespace

/// The number of the row's group, made if it is not there; nullopt: memory is used up.
std::optional<size_t> LevelRun::group_of_row() {
    Blocking& b = *blocking_;
    Groups& groups = b.groups;
    const size_t key_count = level_.group_keys.size();
    if (key_count == 0 && groups.size() > 0) return 0;
    std::vector<Value>& keys = b.row_keys;
    keys.clear();
    uint64_t hash = 0;
    for (const Node* key : level_.group_keys) {
        keys.push_back(key->eval(context_));
        const uint64_t next = hash_value(keys.back());
        hash = keys.size() == 1 ? next : keyed_hash_of_both(hash, next);
    }
    const uint32_t found = groups.positions.find(hash, [&](uint32_t at) {
        return std::equal(keys.begin(), keys.end(), &groups.keys[at * key_count], json::same_value);
    });
    if (found != HashedPositions::kNone) return found;
    if (!b.keeper.charge(group_bytes(level_))) return std::nullopt;
    for (const Value& key : keys) groups.keys.push_back(b.keeper.keep(key));
    if (context_.failed()) return std::nullopt;
    for (const BoundAggregate& aggregate : level_.aggregates)
        groups.accumulators.emplace_back(aggregate.kind);
    groups.positions.add(hash);
    return groups.size() - 1;
}

bool LevelRun::gather() {
    const std::optional<size_t> group = group_of_row();
    if (!group) return false;
    const size_t count = level_.aggregates.size();
    for (size_t i = 0; i < count; ++i)
        blocking_->groups.accumulators[*group * count + i].add(
            level_.aggregates[i].argument->eval(context_), blocking_->keeper, fed_.weight);
    return !context_.failed();
}

bool LevelRun::emit_groups() {
    Groups& groups = blocking_->groups;
    const size_t key_count = level_.group_keys.size();
    // Aggregates without GROUP BY make one row, also over nothing.
    if (key_count == 0 && groups.size() == 0 && !group_of_row()) return false;
    for (size_t group = 0; group < groups.size(); ++group) {
        uint32_t slot = level_.group_slot;
        for (size_t i = 0; i < key_count; ++i)
            context_.slots[slot++] = groups.keys[group * key_count + i];
        const size_t count = level_.aggregates.size();
        for (size_t i = 0; i < count; ++i)
            context_.slots[slot++] = groups.accumulators[group * count + i].result(context_);
        const Value value = level_.value->eval(context_);
        if (context_.failed()) return false;
        projected_ += value.is_undefined() ? 0 : 1;
        if (!value.is_undefined() && !deliver(value)) return false;
        if (blocking_->keeper.copies()) context_.end_row();
    }
    return true;
}

RowCounts LevelRun::counts() const {
    RowCounts out{.joined = joined_,
                  .passed = passed_,
                  .groups = 0,
                  .projected = projected_,
                  .distinct = 0,
                  .sorted = 0,
                  .offered = offered_,
                  .emitted = emitted_};
    if (blocking_ == nullptr) return out;
    out.groups = blocking_->groups.size() + blocking_->whole_groups;
    out.distinct = blocking_->seen.size();
    out.sorted = blocking_->sequence;
    return out;
}

size_t LevelRun::retained_bytes() const {
    return (blocking_ == nullptr ? 0 : blocking_->keeper.bytes()) +
           (child_ == nullptr ? 0 : child_->retained_bytes());
}

/// The row is all of its group: nothing has to be found again or added up.
bool LevelRun::emit_whole_group() {
    Blocking& b = *blocking_;
    // The receiver of the rows holds about as much.
    if (!b.keeper.charge(group_bytes(level_))) return false;
    ++b.whole_groups;
    uint32_t slot = level_.group_slot;
    for (const Node* key : level_.group_keys) context_.slots[slot++] = key->eval(context_);
    b.row_results.clear();
    for (const BoundAggregate& aggregate : level_.aggregates) {
        Accumulator& result = b.row_results.emplace_back(aggregate.kind);
        result.add(aggregate.argument->eval(context_), b.keeper, fed_.weight);
    }
    for (const Accumulator& result : b.row_results)
        context_.slots[slot++] = result.result(context_);
    const Value value = level_.value->eval(context_);
    if (context_.failed()) return false;
    projected_ += value.is_undefined() ? 0 : 1;
    return value.is_undefined() || deliver(value);
}

// --- ordering -----------------------------------------------------------------------------------

bool LevelRun::before(const SortedRow& a, const SortedRow& b) const {
    for (size_t i = 0; i < level_.order_by.size(); ++i) {
        const int sign = json::compare(a.keys[i], b.keys[i]);
        if (sign != 0) return level_.order_by[i].descending ? sign > 0 : sign < 0;
    }
    // The order in which equal rows arrive depends on the plan; the result must not.
    if (level_.distinct)
        if (const int sign = json::compare(a.value, b.value); sign != 0)
            return level_.order_by[0].descending ? sign > 0 : sign < 0;
    // Ties follow the first key's direction, so that DESC is the exact reverse of ASC.
    return level_.order_by[0].descending ? a.sequence > b.sequence : a.sequence < b.sequence;
}

bool LevelRun::sort_row(const Value& value) {
    Blocking& b = *blocking_;
    SortedRow row;
    row.keys.reserve(level_.order_by.size());
    for (const BoundOrderKey& key : level_.order_by)
        row.keys.push_back(b.keeper.keep(key.node->eval(context_)));
    if (!b.keeper.charge(sizeof(SortedRow) + row.keys.size() * sizeof(Value))) return false;
    row.value = b.keeper.keep(value);
    row.sequence = b.sequence++;
    if (context_.failed()) return false;
    b.rows.push_back(std::move(row));
    constexpr uint64_t kPruneMin = 1024;
    if (remaining_ <= kPruneMin && skip_ <= kPruneMin &&
        b.rows.size() >= 4 * std::max(kPruneMin, skip_ + remaining_))
        prune();
    return !context_.failed();
}

/// Drops the rows that a small TOP or LIMIT cannot reach, and their memory.
void LevelRun::prune() {
    Blocking& b = *blocking_;
    const auto keep = static_cast<ptrdiff_t>(skip_ + remaining_);
    std::nth_element(b.rows.begin(), b.rows.begin() + keep, b.rows.end(),
                     [this](const SortedRow& x, const SortedRow& y) { return before(x, y); });
    b.rows.resize(static_cast<size_t>(keep));
    if (!b.keeper.copies() || level_.distinct) return;
    json::Arena old = std::move(b.arena);
    b.arena = json::Arena();
    b.keeper.reset(&b.arena, b.rows.size() * sizeof(SortedRow));
    for (SortedRow& row : b.rows) {
        for (Value& key : row.keys) key = b.keeper.keep(key);
        row.value = b.keeper.keep(row.value);
    }
}

bool LevelRun::emit_sorted() {
    Blocking& b = *blocking_;
    std::sort(b.rows.begin(), b.rows.end(),
              [this](const SortedRow& x, const SortedRow& y) { return before(x, y); });
    for (const SortedRow& row : b.rows) {
        delivered_ = &row;
        if (!emit(row.value)) return false;
    }
    return true;
}

std::span<const Value> LevelRun::row_keys() const {
    if (delivered_ != nullptr) return delivered_->keys;
    if (!level_.grouped) return {};
    return {context_.slots + level_.group_slot, level_.group_keys.size()};
}

bool LevelRun::finish() {
    if (child_ != nullptr && !child_->finish() && context_.failed()) return false;
    if (context_.failed()) return false;
    if (remaining_ == 0) return false;
    if (level_.grouped) return emit_groups();
    if (!level_.order_by.empty()) return emit_sorted();
    return true;
}

// --- subqueries in expressions ------------------------------------------------------------------

bool run_subquery(const Level& level, EvalContext& context, ValueSink& sink) {
    if (!context.charge()) return false;
    LevelRun run(level, context, sink, LevelRun::Scope::kWithinItem);
    // A level that stopped because its consumer had enough must not deliver more rows.
    return run.feed() && run.finish();
}

namespace {

class FirstSink final : public ValueSink {
public:
    explicit FirstSink(bool only_one) : only_one_(only_one) {}
    bool row(const Value& value) override {
        if (++count == 1) first = value;
        return count < (only_one_ ? 2 : 1);
    }
    Value first;
    size_t count = 0;

private:
    bool only_one_;
};

class ListSink final : public ValueSink {
public:
    explicit ListSink(EvalContext& context) : context_(context) {}
    bool row(const Value& value) override {
        if (!context_.may_allocate((rows.size() + 1) * sizeof(Value))) return false;
        bytes += bounded_size(value, limits::kValueBytesMax - bytes);
        if (bytes > limits::kValueBytesMax || !context_.charge()) return false;
        rows.push_back(value);
        return true;
    }
    std::vector<Value> rows;
    size_t bytes = 0;

private:
    EvalContext& context_;
};

class AllSink final : public ValueSink {
public:
    bool row(const Value& value) override {
        all = truth_of(value) == Truth::kTrue;
        last = value;
        return all || !stop_at_false;
    }
    bool all = true;
    bool stop_at_false = true;
    Value last;
};

}  // namespace

Value SubqueryNode::eval(EvalContext& context) const {
    switch (kind_) {
        case ast::ExprKind::kSubquery: {
            FirstSink sink(true);
            run_subquery(*query_, context, sink);
            if (sink.count > 1)
                return context.fail(errors::bad_request(
                    "The cardinality of a scalar subquery result set cannot be greater than one."));
            return sink.first;
        }
        case ast::ExprKind::kExists:
        case ast::ExprKind::kFirst: {
            FirstSink sink(false);
            run_subquery(*query_, context, sink);
            return kind_ == ast::ExprKind::kFirst ? sink.first : Value::boolean(sink.count > 0);
        }
        case ast::ExprKind::kAll:
        case ast::ExprKind::kLast: {
            AllSink sink;
            sink.stop_at_false = kind_ == ast::ExprKind::kAll;
            run_subquery(*query_, context, sink);
            return kind_ == ast::ExprKind::kAll ? Value::boolean(sink.all) : sink.last;
        }
        default: {
            ListSink sink(context);
            run_subquery(*query_, context, sink);
            if (sink.bytes > limits::kValueBytesMax)
                return context.fail(errors::bad_request("The array of a subquery is too large."));
            if (!context.may_allocate(sink.rows.size() * sizeof(Value))) return {};
            return Value::array(context.arena->copy(std::span<const Value>(sink.rows)));
        }
    }
}

}  // namespace orrery::query
