#include "query/query.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <mutex>
#include <unordered_map>

#include "base/errors.h"
#include "base/keyed_hash.h"
#include "json/write.h"
#include "query/bind/evaluation.h"
#include "query/exec/run.h"
#include "query/limits.h"
#include "query/parse/diagnostics.h"
#include "query/parse/number.h"

namespace orrery::query {

using json::Value;

namespace {

/// Compiled queries by text and definitions, least recently used out first. Internally locked.
class Cache {
public:
    std::shared_ptr<const CompiledQuery> find(std::string_view key) {
        const std::lock_guard lock(mutex_);
        const auto found = by_key_.find(key);
        if (found == by_key_.end()) return nullptr;
        entries_.splice(entries_.begin(), entries_, found->second);
        return found->second->query;
    }

    void insert(std::string_view key, std::shared_ptr<const CompiledQuery> query) {
        const std::lock_guard lock(mutex_);
        if (key.size() > limits::kCacheTextBytesMax / 16) return;
        if (by_key_.contains(key)) return;
        key_bytes_ += key.size();
        entries_.push_front({std::string(key), std::move(query)});
        by_key_.emplace(entries_.front().key, entries_.begin());
        while (entries_.size() > limits::kCacheEntries || key_bytes_ > limits::kCacheTextBytesMax) {
            key_bytes_ -= entries_.back().key.size();
            by_key_.erase(entries_.back().key);
            entries_.pop_back();
        }
    }

private:
    struct Entry {
        std::string key;
        std::shared_ptr<const CompiledQuery> query;
    };
    using Entries = std::list<Entry>;
    std::mutex mutex_;
    Entries entries_;  // guarded by mutex_
    // Guarded by mutex_; the keys are in entries_.
    std::unordered_map<std::string_view, Entries::iterator, KeyedHash> by_key_;
    size_t key_bytes_ = 0;  // guarded by mutex_
};

Cache& cache() {
    static Cache instance;
    return instance;
}

const Clock& system_clock() {
    static const SystemClock instance;
    return instance;
}

/// A number that JSON cannot express is no row.
bool is_expressible(const Value& v) {
    return !v.is_number() || std::isfinite(v.as_double());
}

class RowsSink final : public ValueSink {
public:
    bool row(const Value& value) override {
        if (!is_expressible(value)) return true;
        if (take == nullptr) {
            rows->push_back(value);
            return true;
        }
        status = (*take)(value);
        return status.ok();
    }
    std::vector<Value>* rows = nullptr;
    const QueryRun::RowTaker* take = nullptr;  ///< instead of `rows`
    Status status;                             ///< of `take`
};

/// Parameters that stand for a number of rows, with the words that such a literal would get.
Status check_counts(const CompiledQuery& query, const std::vector<Value>& values) {
    struct Count {
        const BoundCount& bound;
        const ast::Expr* syntax;
        const CountClause& clause;
    };
    const Level& level = query.root();
    const ast::Query& syntax = query.syntax();
    Diagnostics diagnostics(query.text());
    for (const Count& count : {Count{level.top, syntax.top, kTopClause},
                               Count{level.offset, syntax.offset, kOffsetClause},
                               Count{level.limit, syntax.limit, kLimitClause}}) {
        if (count.bound.kind != BoundCount::Kind::kParameter) continue;
        const Value& v = values[count.bound.parameter];
        const auto n = exact_int64(v);
        if (n && *n >= 0 && static_cast<uint64_t>(*n) <= limits::kCountMax) continue;
        diagnostics.add_bad_count(
            count.clause, count.syntax->range,
            v.is_number() && v.as_double() > static_cast<double>(limits::kCountMax),
            fmt::format("The value of the parameter '{}' is used as a TOP, OFFSET or LIMIT count "
                        "and must be an integer from 0 to {}.",
                        query.parameters()[count.bound.parameter], limits::kCountMax));
    }
    return diagnostics.empty() ? Status() : Status(diagnostics.to_error());
}

}  // namespace

Result<std::shared_ptr<const CompiledQuery>> compile(std::string_view text,
                                                     const index::ComputedPropertiesPtr& computed,
                                                     index::GeometrySpace space) {
    std::string with_definitions;
    std::string_view key = text;
    const bool plane = space == index::GeometrySpace::kPlane;
    if (computed != nullptr || plane) {
        // Begins with a bracket, as no query does that compiles.
        with_definitions = (plane ? "[[" : "") + (computed != nullptr ? computed->json() : "") +
                           '\n' + std::string(text);
        key = with_definitions;
    }
    if (auto found = cache().find(key)) return found;
    TRY(auto syntax, parse_query(text));
    TRY(auto query, compile_syntax(std::move(syntax), computed, space));
    cache().insert(key, query);
    return query;
}

Result<std::shared_ptr<const CompiledQuery>> compile_condition(std::string_view text,
                                                               index::GeometrySpace space) {
    TRY(auto syntax, parse_condition(text));
    if (syntax->query->sources.size() > 1)
        return errors::bad_request("A patch condition is of the form FROM c WHERE <expression>.");
    TRY(auto query, compile_syntax(std::move(syntax), nullptr, space));
    TRY_STATUS(query->check_runnable());
    return query;
}

namespace {

Status given_twice(std::string_view name) {
    return Status(errors::bad_request(
        fmt::format("The parameter '{}' is given twice, with different values.", name)));
}

bool is_same(const Value& a, const Value& b) {
    return json::to_text(a) == json::to_text(b);
}

Status check_entry(const Value& entry) {
    const Value name = entry.member("name");
    if (!name.is_string())
        return Status(
            errors::bad_request("Every entry of a query's 'parameters' must be an object with "
                                "a string 'name'."));
    if (!name.as_string().starts_with('@'))
        return Status(errors::bad_request(
            fmt::format("The name of the parameter '{0}' must begin with '@': write '@{0}' in the "
                        "query's 'parameters'.",
                        name.as_string())));
    for (const json::Member& member : entry.members())
        if (member.name != "name" && member.name != "value" && !member.value.is_null())
            return Status(errors::bad_request(
                fmt::format("The parameter '{}' has no member '{}'. It has 'name' and 'value'.",
                            name.as_string(), member.name)));
    return {};
}

/// The values of a request's list, each to the place of its parameter, and which places got one. A
/// name that comes twice must have one value, whether the query uses it or not. An entry without a
/// value, which is what JavaScript writes for an undefined one, has the value undefined.
Status take_given(const CompiledQuery& query, std::span<const Value> list,
                  std::vector<Value>& values, std::vector<bool>& given) {
    std::vector<json::Member> unused;
    for (const Value& entry : list) {
        TRY_STATUS(check_entry(entry));
        const Value name = entry.member("name");
        const Value value = entry.member("value");
        const auto place = query.find_parameter(name.as_string());
        if (!place) {
            unused.push_back({name.as_string(), value});
            continue;
        }
        if (given[*place] && !is_same(values[*place], value)) return given_twice(name.as_string());
        values[*place] = value;
        given[*place] = true;
    }
    std::sort(unused.begin(), unused.end(),
              [](const json::Member& a, const json::Member& b) { return a.name < b.name; });
    for (size_t i = 1; i < unused.size(); ++i)
        if (unused[i].name == unused[i - 1].name && !is_same(unused[i].value, unused[i - 1].value))
            return given_twice(unused[i].name);
    return {};
}

}  // namespace

Result<Parameters> Parameters::bind(const CompiledQuery& query, const Value& list,
                                    const Environment& environment) {
    Parameters bound;
    bound.environment_ = environment;
    if (bound.environment_.clock == nullptr) bound.environment_.clock = &system_clock();
    bound.start_us_ = bound.environment_.clock->wall_us();
    bound.values_.resize(query.parameters().size());
    std::vector<bool> given(bound.values_.size());
    if (!list.is_undefined() && !list.is_null()) {
        if (!list.is_array())
            return errors::bad_request("The 'parameters' of a query must be an array.");
        TRY_STATUS(take_given(query, list.elements(), bound.values_, given));
    }
    for (size_t i = 0; i < given.size(); ++i)
        if (!given[i])
            return errors::bad_request(
                fmt::format("The query uses the parameter '{}', which is not in its 'parameters'.",
                            query.parameters()[i]));
    if (!query.geometry_parameters().empty()) bound.geometries_.resize(bound.values_.size());
    for (const uint32_t i : query.geometry_parameters())
        if (auto geometry = index::Geometry::parse(bound.values_[i], nullptr, query.space()))
            bound.geometries_[i] = std::make_shared<const index::Geometry>(std::move(*geometry));
    TRY_STATUS(check_counts(query, bound.values_));
    return bound;
}

Status run_item(const CompiledQuery& query, const Parameters& parameters, const Value& item,
                json::Arena& arena, std::vector<Value>& rows) {
    DCHECK(query.is_streaming());
    Evaluation evaluation(query, parameters);
    evaluation.begin(item, arena);
    RowsSink sink;
    sink.rows = &rows;
    LevelRun run(query.root(), evaluation.context, sink, LevelRun::Scope::kWithinItem);
    run.feed();
    return evaluation.context.take_status();
}

Result<bool> matches(const CompiledQuery& query, const Parameters& parameters, const Value& item,
                     json::Arena& arena) {
    const Level& level = query.root();
    if (level.where == nullptr) return true;
    DCHECK(level.sources.size() == 1 && level.sources[0].query == nullptr);
    Evaluation evaluation(query, parameters);
    evaluation.begin(item, arena);
    EvalContext& context = evaluation.context;
    const Value source = level.sources[0].node->eval(context);
    context.slots[level.sources[0].slot] = source;
    const bool matched = !source.is_undefined() && level.where->test(context) == Truth::kTrue;
    TRY_STATUS(context.take_status());
    return matched;
}

struct QueryRun::State {
    State(const CompiledQuery& q, const Parameters& parameters)
        : query(q),
          evaluation(q, parameters),
          run(q.root(), evaluation.context, sink, LevelRun::Scope::kAcrossItems) {}
    Status finish(json::Arena& arena, json::Arena& row_arena);

    const CompiledQuery& query;
    Evaluation evaluation;
    RowsSink sink;
    LevelRun run;
    bool done = false;
    bool finished = false;
};

QueryRun::QueryRun(const CompiledQuery& query, const Parameters& parameters)
    : state_(std::make_unique<State>(query, parameters)) {
    state_->done = !query.reads_items();
}

QueryRun::~QueryRun() = default;

bool QueryRun::is_done() const {
    return state_->done;
}

uint64_t QueryRun::tuples() const {
    return state_->run.tuples();
}

std::span<const Value> QueryRun::row_keys() const {
    return state_->run.row_keys();
}

RowCounts QueryRun::counts() const {
    return state_->run.counts();
}

RowWindow QueryRun::window() const {
    return state_->run.window();
}

RowWindow QueryRun::take_window() {
    return state_->run.take_window();
}

Status QueryRun::feed(const Value& item, json::Arena& arena, std::vector<Value>& rows) {
    return feed_equal(item, {}, arena, rows);
}

Status QueryRun::feed_equal(const Value& item, const LevelRun::Known& known, json::Arena& arena,
                            std::vector<Value>& rows) {
    if (state_->done || known.weight == 0) return {};
    state_->evaluation.begin(item, arena);
    state_->sink.rows = &rows;
    if (!state_->run.feed(known)) state_->done = true;
    return state_->evaluation.context.take_status();
}

void QueryRun::watch(const std::function<bool()>* cancelled) {
    state_->evaluation.context.cancelled = cancelled;
}

size_t QueryRun::retained_bytes() const {
    return state_->run.retained_bytes();
}

Status QueryRun::finish(json::Arena& arena, std::vector<Value>& rows) {
    state_->sink.rows = &rows;
    return state_->finish(arena, arena);
}

Status QueryRun::finish(const RowTaker& take) {
    json::Arena arena;
    json::Arena row_arena;
    state_->sink.take = &take;
    state_->evaluation.context.rows_are_taken = true;
    TRY_STATUS(state_->finish(arena, row_arena));
    return std::move(state_->sink.status);
}

Status QueryRun::State::finish(json::Arena& arena, json::Arena& row_arena) {
    if (finished) return {};
    finished = true;
    evaluation.begin({}, arena);
    bool more = true;
    if (!query.reads_items()) more = run.feed();
    evaluation.context.arena = &row_arena;
    if (&arena != &row_arena) evaluation.context.begin_item();
    if (more || query.reads_items()) run.finish();
    return evaluation.context.take_status();
}

}  // namespace orrery::query
