#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "client_plan/client_plan.h"
#include "json/order.h"
#include "json/parse.h"
#include "json/write.h"
#include "query/parse/number.h"

// Does what the SDKs do with a plan: sends the rewritten text to every range, merges the answers,
// and must get what the whole query gives over all items.
namespace orrery::client_plan {

using namespace query;

namespace {

using json::Value;

/// One aggregate of one group, put together from the ranges' parts.
class Merged {
public:
    explicit Merged(AggregateKind kind) : kind_(kind) {}

    void add(const Value& part, json::Arena& arena) {
        const Value item = part.member("item");
        switch (kind_) {
            case AggregateKind::kCount:
            case AggregateKind::kCountIf:
            case AggregateKind::kSum:
                add_number(item);
                break;
            case AggregateKind::kAverage:
                add_number(item.member("sum"));
                count_ += item.member("count").as_double();
                break;
            case AggregateKind::kMin:
                add_extreme(part.member("item2"), "min", -1);
                break;
            case AggregateKind::kMax:
                add_extreme(part.member("item2"), "max", 1);
                break;
            case AggregateKind::kMakeList:
            case AggregateKind::kMakeSet:
                for (const Value& v : item.elements())
                    if (kind_ == AggregateKind::kMakeList || !contains(v))
                        list_.push_back(json::copy_value(v, arena));
                break;
        }
    }

    Value result(json::Arena& arena) {
        if (kind_ == AggregateKind::kMakeList || kind_ == AggregateKind::kMakeSet)
            return Value::array(arena.copy(std::span<const Value>(list_)));
        if (undefined_) return {};
        if (kind_ == AggregateKind::kMin || kind_ == AggregateKind::kMax) return extreme_;
        if (kind_ != AggregateKind::kAverage) return number_value(sum_);
        return count_ == 0 ? Value() : number_value(sum_ / count_);
    }

private:
    void add_number(const Value& v) {
        if (v.is_number()) {
            sum_ += v.as_double();
        } else {
            undefined_ = true;
        }
    }
    void add_extreme(const Value& part, std::string_view name, int sign) {
        if (part.member("count").as_double() == 0) return;
        const Value v = part.member(name);
        undefined_ = undefined_ || v.is_undefined();
        if (extreme_.is_undefined() || json::compare(v, extreme_) * sign > 0) extreme_ = v;
    }
    bool contains(const Value& v) const {
        return std::any_of(list_.begin(), list_.end(),
                           [&](const Value& other) { return same_value(v, other); });
    }

    const AggregateKind kind_;
    double sum_ = 0;
    double count_ = 0;
    bool undefined_ = false;
    Value extreme_;
    std::vector<Value> list_;
};

class Client {
public:
    explicit Client(const std::vector<std::string>& items) {
        for (const std::string& text : items) {
            auto value = json::parse(arena_.copy(text), arena_);
            CHECK(value.ok());
            items_.push_back(*value);
        }
    }

    std::vector<Value> run(std::string_view text, const std::vector<Value>& over) {
        auto query = compile(text);
        EXPECT_TRUE(query.ok()) << text;
        if (!query.ok()) return {};
        auto parameters = Parameters::bind(**query, Value());
        CHECK(parameters.ok());
        QueryRun run(**query, *parameters);
        std::vector<Value> rows;
        for (const Value& item : over) EXPECT_TRUE(run.feed(item, arena_, rows).ok()) << text;
        EXPECT_TRUE(run.finish(arena_, rows).ok()) << text;
        for (Value& row : rows) row = json::copy_value(row, arena_);
        return rows;
    }

    std::vector<Value> whole(std::string_view text) { return run(text, items_); }

    std::vector<Value> merged(std::string_view text, size_t range_count) {
        auto query = compile(text);
        EXPECT_TRUE(query.ok()) << text;
        if (!query.ok()) return {};
        auto parameters = Parameters::bind(**query, Value());
        auto plan = make_plan(**query, *parameters, {});
        EXPECT_TRUE(plan.ok()) << text;
        if (!plan.ok()) return {};
        std::string sent =
            plan->rewritten_query.empty() ? std::string(text) : plan->rewritten_query;
        if (const size_t at = sent.find(kOrderByFilter); at != std::string::npos)
            sent.replace(at, kOrderByFilter.size(), "true");
        std::vector<Value> rows;
        for (size_t range = 0; range < range_count; ++range) {
            std::vector<Value> held;
            for (size_t i = range; i < items_.size(); i += range_count) held.push_back(items_[i]);
            for (const Value& row : run(sent, held)) rows.push_back(row);
        }
        if (!plan->order_by_expressions.empty()) rows = sorted(*plan, std::move(rows));
        if (!plan->group_by_expressions.empty() || !plan->group_by_aliases.empty())
            rows = grouped(*plan, rows);
        else if (!plan->aggregates.empty())
            rows = aggregated(*plan, rows);
        if (plan->distinct != DistinctType::kNone) rows = distinct(*plan, rows);
        if (plan->dcount_alias) {
            const Value count = Value::integer(static_cast<int64_t>(rows.size()));
            rows = {plan->dcount_alias->empty() ? count : object({{*plan->dcount_alias, count}})};
        }
        cut(rows, plan->offset.value_or(0), plan->limit.value_or(UINT32_MAX));
        cut(rows, 0, plan->top.value_or(UINT32_MAX));
        return rows;
    }

private:
    static void cut(std::vector<Value>& rows, size_t skip, size_t take) {
        rows.erase(rows.begin(),
                   rows.begin() + static_cast<ptrdiff_t>(std::min(skip, rows.size())));
        if (rows.size() > take) rows.resize(take);
    }

    Value object(const std::vector<std::pair<std::string, Value>>& members) {
        std::vector<json::Member> out;
        for (const auto& [name, value] : members)
            if (!value.is_undefined()) out.push_back({arena_.copy(name), value});
        return Value::object(arena_.copy(std::span<const json::Member>(out)));
    }

    static std::vector<Value> sorted(const QueryPlan& plan, std::vector<Value> rows) {
        std::stable_sort(rows.begin(), rows.end(), [&](const Value& a, const Value& b) {
            const auto x = a.member("orderByItems").elements();
            const auto y = b.member("orderByItems").elements();
            for (size_t i = 0; i < plan.order_by_descending.size(); ++i) {
                const int order = json::compare(x[i].member("item"), y[i].member("item"));
                if (order != 0) return plan.order_by_descending[i] ? order > 0 : order < 0;
            }
            return false;
        });
        std::vector<Value> out;
        for (const Value& row : rows) {
            EXPECT_TRUE(row.member("_rid").is_string());
            out.push_back(row.member("payload"));
        }
        return out;
    }

    std::vector<Value> aggregated(const QueryPlan& plan, const std::vector<Value>& rows) {
        Merged merged(plan.aggregates[0]);
        for (const Value& row : rows) merged.add(row.elements()[0], arena_);
        const Value result = merged.result(arena_);
        return result.is_undefined() ? std::vector<Value>() : std::vector<Value>{result};
    }

    std::vector<Value> grouped(const QueryPlan& plan, const std::vector<Value>& rows) {
        struct Group {
            std::vector<Merged> aggregates;
            Value first;
        };
        std::vector<PlanAlias> columns = plan.group_by_aliases;
        for (const AggregateKind kind : plan.aggregates) columns.push_back({"", kind});
        std::map<std::string, Group> groups;
        for (const Value& row : rows) {
            const Value payload = row.member("payload");
            const auto [it, added] = groups.try_emplace(
                json::to_text(row.member("groupByItems"), json::NumberForm::kCanonical));
            Group& group = it->second;
            if (added) {
                group.first = payload;
                for (const PlanAlias& column : columns)
                    group.aggregates.emplace_back(column.aggregate.value_or(AggregateKind::kCount));
            }
            for (size_t i = 0; i < columns.size(); ++i)
                if (columns[i].aggregate)
                    group.aggregates[i].add(plan.aggregates.empty()
                                                ? payload.member(columns[i].name)
                                                : payload.elements()[0],
                                            arena_);
        }
        std::vector<Value> out;
        for (auto& [key, group] : groups) {
            Value row = group.first;
            if (!plan.aggregates.empty()) row = group.aggregates[0].result(arena_);
            if (!plan.group_by_aliases.empty()) {
                std::vector<std::pair<std::string, Value>> members;
                for (size_t i = 0; i < columns.size(); ++i)
                    members.emplace_back(columns[i].name,
                                         columns[i].aggregate
                                             ? group.aggregates[i].result(arena_)
                                             : group.first.member(columns[i].name));
                row = object(members);
            }
            if (!row.is_undefined()) out.push_back(row);
        }
        return out;
    }

    static std::vector<Value> distinct(const QueryPlan& plan, const std::vector<Value>& rows) {
        std::vector<Value> out;
        for (const Value& row : rows) {
            const bool known = plan.distinct == DistinctType::kInOrder
                                   ? !out.empty() && same_value(out.back(), row)
                                   : std::any_of(out.begin(), out.end(), [&](const Value& other) {
                                         return same_value(other, row);
                                     });
            if (!known) out.push_back(row);
        }
        return out;
    }

    json::Arena arena_;
    std::vector<Value> items_;
};

/// Items with every type of value, missing ones included, in `a`; few distinct ones in `k`.
std::vector<std::string> sample() {
    const std::array<std::string, 12> values = {"1",     "2",     "-3",         "2.5",
                                                "\"x\"", "\"y\"", "true",       "false",
                                                "null",  "[1,2]", R"({"z":1})", "7"};
    std::vector<std::string> out;
    for (int i = 0; i < 97; ++i) {
        const std::string n = std::to_string(i);
        std::string item = R"({"id":")" + n + R"(","_rid":"r)" + std::to_string(1000 + i) +
                           R"(","n":)" + std::to_string(i * 7 % 50) + R"(,"k":"k)" +
                           std::to_string(i % 5) + "\"";
        if (i % 13 != 0) item += ",\"a\":" + values[static_cast<size_t>(i) % values.size()];
        if (i % 3 == 0) item += ",\"some\":" + n;
        item += ",\"tags\":[\"t" + std::to_string(i % 4) + "\",\"u\"]}";
        out.push_back(item);
    }
    return out;
}

class PlanMerge : public ::testing::TestWithParam<const char*> {};

TEST_P(PlanMerge, GivesWhatTheWholeQueryGives) {
    const std::string text = GetParam();
    const bool ordered = text.find("ORDER BY") != std::string::npos;
    Client client(sample());
    const auto texts = [&](const std::vector<Value>& rows) {
        std::vector<std::string> out;
        for (Value row : rows) {
            // The sequence of a collected list depends on the ranges.
            std::string shown = json::to_text(row, json::NumberForm::kCanonical);
            if (text.find("MAKE") != std::string::npos) std::sort(shown.begin(), shown.end());
            out.push_back(shown);
        }
        if (!ordered) std::sort(out.begin(), out.end());
        return out;
    };
    const auto expected = texts(client.whole(text));
    for (const size_t ranges : {1U, 2U, 5U, 200U}) {
        EXPECT_EQ(texts(client.merged(text, ranges)), expected) << text << " over " << ranges;
    }
}

// Sorted queries end with the unique key `id` where equal keys would leave the order open.
INSTANTIATE_TEST_SUITE_P(
    Queries, PlanMerge,
    ::testing::Values(
        "SELECT * FROM c", "SELECT VALUE c.a FROM c", "SELECT DISTINCT c.k FROM c",
        "SELECT DISTINCT VALUE c.a FROM c", "SELECT DISTINCT VALUE c.missing FROM c",
        "SELECT c.id FROM c ORDER BY c.a, c.id", "SELECT c.id FROM c ORDER BY c.a DESC, c.id DESC",
        "SELECT VALUE c.a FROM c ORDER BY c.k, c.id", "SELECT * FROM c ORDER BY c.n, c.id",
        "SELECT TOP 7 c.id FROM c ORDER BY c.n DESC, c.id",
        "SELECT c.id FROM c ORDER BY c.n, c.id OFFSET 10 LIMIT 5",
        "SELECT TOP 3 c.id FROM c ORDER BY c.n, c.id OFFSET 10 LIMIT 5",
        "SELECT c.id FROM c ORDER BY c.n, c.id OFFSET 95 LIMIT 50",
        "SELECT t FROM c JOIN t IN c.tags ORDER BY c.n, c.id",
        "SELECT DISTINCT VALUE c.n FROM c ORDER BY c.n",
        "SELECT DISTINCT c.a FROM c WHERE IS_PRIMITIVE(c.a) ORDER BY c.a",
        "SELECT DISTINCT TOP 2 VALUE c.k FROM c ORDER BY c.k DESC",
        "SELECT DISTINCT VALUE c.k FROM c ORDER BY c.k OFFSET 1 LIMIT 2",
        "SELECT VALUE COUNT(1) FROM c", "SELECT VALUE COUNT(c.a) FROM c",
        "SELECT VALUE SUM(c.n) FROM c", "SELECT VALUE SUM(c.a) FROM c",
        "SELECT VALUE SUM(c.missing) FROM c", "SELECT VALUE AVG(c.n) FROM c",
        "SELECT VALUE AVG(c.a) FROM c", "SELECT VALUE AVG(c.missing) FROM c",
        "SELECT VALUE AVG(c.some) FROM c", "SELECT VALUE MIN(c.n) FROM c",
        "SELECT VALUE MIN(c.a) FROM c", "SELECT VALUE MAX(c.a) FROM c",
        "SELECT VALUE MAX(c.a) FROM c WHERE IS_PRIMITIVE(c.a)",
        "SELECT VALUE MIN(c.a) FROM c WHERE IS_PRIMITIVE(c.a)",
        "SELECT VALUE MAX(c.missing) FROM c", "SELECT VALUE MAX(c.some) FROM c",
        "SELECT VALUE COUNTIF(c.n > 20) FROM c", "SELECT VALUE MAKELIST(c.k) FROM c",
        "SELECT VALUE MAKESET(c.k) FROM c", "SELECT TOP 0 VALUE COUNT(1) FROM c",
        "SELECT VALUE COUNT(1) FROM c OFFSET 1 LIMIT 1",
        "SELECT COUNT(1), AVG(c.n) AS avg, MIN(c.a), MAX(c.some) AS most, SUM(c.missing) FROM c",
        "SELECT COUNT(1) AS n, 'x' AS label FROM c WHERE false",
        "SELECT AVG(c.n) AS v FROM c WHERE c.n > 1000",
        "SELECT c.k, COUNT(1) AS n, AVG(c.n) AS avg, MIN(c.n), MAX(c.a) FROM c GROUP BY c.k",
        "SELECT VALUE c.k FROM c GROUP BY c.k", "SELECT VALUE c.a FROM c GROUP BY c.a",
        "SELECT VALUE MAX(c.n) FROM c GROUP BY c.k", "SELECT VALUE AVG(c.a) FROM c GROUP BY c.k",
        "SELECT c.a, COUNT(1) AS n FROM c GROUP BY c.a",
        "SELECT c.k, c.a, SUM(c.n) AS s FROM c GROUP BY c.k, c.a",
        "SELECT VALUE {\"k\": c.k, \"n\": COUNT(1)} FROM c GROUP BY c.k",
        "SELECT DISTINCT COUNT(1) AS n FROM c GROUP BY c.k",
        "SELECT t, SUM(c.n) AS s FROM c JOIN t IN c.tags GROUP BY t",
        "SELECT UPPER(c.k) AS k, MAKESET(c.n % 3) AS s FROM c GROUP BY UPPER(c.k)",
        "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.a FROM c)",
        "SELECT COUNT(1) AS n FROM (SELECT DISTINCT c.k, c.a FROM c) AS d"));

TEST(ResumeIdentity, IgnoresTheFilterOfRewrittenOrderByOnly) {
    const auto identity = [](const std::string& text) {
        const auto query = compile(text);
        EXPECT_TRUE(query.ok()) << text;
        return query.ok() ? resume_identity(**query) : "";
    };
    const std::string head =
        "SELECT c._rid, [{\"item\": c.n}] AS orderByItems, c AS payload\nFROM c\nWHERE ";
    const std::string first = identity(head + "(true)\nORDER BY c.n");
    EXPECT_EQ(first, identity(head + "(( c.n >= 3 OR IS_STRING(c.n)))\nORDER BY c.n"));
    EXPECT_EQ(first, identity(head + "((c.x = 1) AND (c.n > 3))\nORDER BY c.n"));
    EXPECT_NE(first, identity(head + "(true)\nORDER BY c.n DESC"));
    EXPECT_NE(first, identity(head + "(true)\nORDER BY c.m"));
    EXPECT_NE(identity("SELECT * FROM c WHERE c.a = 1 ORDER BY c.n"),
              identity("SELECT * FROM c WHERE c.a = 2 ORDER BY c.n"));
    EXPECT_EQ(identity("SELECT  *  FROM c"), "SELECT  *  FROM c");
}

}  // namespace
}  // namespace orrery::client_plan
