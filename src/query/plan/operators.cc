// The clauses of the query behind the accesses, with the rows that went through them, for people.
#include <algorithm>

#include "query/exec/page_run.h"

namespace orrery::query {
namespace {

/// Reports travel in a header.
constexpr size_t kTextBytesMax = 160;

bool is_inside_character(char c) {
    return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

const char* name_of(AggregateKind kind) {
    switch (kind) {
        case AggregateKind::kCount:
            return "COUNT";
        case AggregateKind::kSum:
            return "SUM";
        case AggregateKind::kAverage:
            return "AVG";
        case AggregateKind::kMin:
            return "MIN";
        case AggregateKind::kMax:
            return "MAX";
        case AggregateKind::kCountIf:
            return "COUNTIF";
        case AggregateKind::kMakeList:
            return "MAKELIST";
        case AggregateKind::kMakeSet:
            return "MAKESET";
    }
    return "";
}

}  // namespace

/// A part of the query's text, cut to what a report has room for.
std::string PageRun::written(ast::Range range) const {
    const std::string_view text = request_.query.text();
    if (range.start >= range.end || range.end > text.size()) return {};
    std::string_view part = text.substr(range.start, range.end - range.start);
    if (part.size() <= kTextBytesMax) return std::string(part);
    size_t end = kTextBytesMax;
    while (end > 0 && is_inside_character(part[end])) --end;
    return std::string(part.substr(0, end)) + "…";
}

/// FROM and WHERE. Conditions that an index has are tested before the item is joined with anything,
/// whatever access found it; the rest is tested on what the sources gave together.
void PageRun::note_sources() {
    const Level& root = request_.query.root();
    const ast::Query& q = request_.query.syntax();
    auto& out = answer_.operators;
    std::optional<uint64_t> items = 0;  // nullopt: the index alone knows
    uint64_t matched = 0;
    for (const AccessReport& access : answer_.accesses) {
        if (access.access == "index only") items.reset();
        if (items) *items += access.loaded;
        matched += access.matched;
    }
    // Of the items that were read because they may lack the key, some have it.
    const bool ordered = window_ && !root.order_by.empty();
    if (ordered) items = flow_.tested;
    const bool subquery = !root.sources.empty() && root.sources[0].query != nullptr;
    const bool join = root.sources.size() > 1;
    const std::string where = q.where == nullptr ? std::string() : written(q.where->range);
    if (!subquery && !join) {
        if (root.where != nullptr) out.push_back({"filter", where, items, matched});
        return;
    }
    const bool served = filter_.is_served();
    // Rows in order are made of items that the page does not show, too: those are not counted.
    std::optional<uint64_t> left = items;
    if (served) left = ordered ? std::nullopt : std::optional(answer_.retrieved_items);
    if (served) out.push_back({"filter", where, items, left});
    if (subquery) {
        OperatorReport& one = out.emplace_back();
        one.name = "subquery";
        one.detail = q.sources[0].alias;
        one.in = left;
        if (!join) one.out = flow_.counts.joined;
        left = one.out;
    }
    if (join) {
        OperatorReport& one = out.emplace_back();
        one.name = "join";
        for (size_t i = 1; i < q.sources.size(); ++i)
            one.detail += (i == 1 ? "" : ", ") + written(q.sources[i].range);
        one.in = left;
        one.out = flow_.counts.joined;
    }
    if (root.where != nullptr)
        out.push_back({"filter", where, flow_.counts.joined, flow_.counts.passed});
}

/// Everything behind WHERE.
void PageRun::note_rest() {
    const Level& root = request_.query.root();
    const ast::Query& q = request_.query.syntax();
    auto& out = answer_.operators;
    const RowCounts& counts = flow_.counts;
    const auto once_finished = [&](uint64_t rows) {
        return flow_.finished ? std::optional(rows) : std::nullopt;
    };
    std::string order = written(q.order_by_range);
    if (flow_.sorted_in) out.push_back({"sort", order, flow_.sorted_in, flow_.sorted_out});
    if (flow_.merged) out.push_back({"merge", order, std::nullopt, flow_.merged_out});
    if (root.grouped) {
        OperatorReport& one = out.emplace_back();
        one.name = root.group_keys.empty() ? "aggregate" : "group";
        for (const ast::Expr* key : q.group_by)
            one.detail += (one.detail.empty() ? "" : ", ") + written(key->range);
        for (const BoundAggregate& aggregate : root.aggregates)
            if (root.group_keys.empty())
                one.detail +=
                    (one.detail.empty() ? "" : ", ") + std::string(name_of(aggregate.kind));
        one.in = counts.passed;
        one.out = once_finished(counts.groups);
    }
    if (!request_.query.returns_whole_item())
        out.push_back({"project", "", once_finished(flow_.to_project), counts.projected});
    if (root.distinct) out.push_back({"distinct", "", counts.projected, counts.distinct});
    if (!window_ && !root.order_by.empty() && !root.grouped)
        out.push_back({"sort", std::move(order), counts.sorted, once_finished(counts.offered)});
    if (!root.has_window()) return;
    OperatorReport& one = out.emplace_back();
    one.name = "limit";
    for (const ast::Range range : {q.top_range, q.offset_limit_range})
        if (const std::string text = written(range); !text.empty())
            one.detail += (one.detail.empty() ? "" : " ") + text;
    one.in = counts.offered;
    one.out = counts.emitted;
    if (!window_) return;
    one.out = window_->emitted() - resume_.emitted;
    one.in = *one.out + window_->skipped() - resume_.skipped;
}

void PageRun::note_operators() {
    note_sources();
    note_rest();
    if (flow_.known) return;
    for (OperatorReport& one : answer_.operators) one.in = one.out = std::nullopt;
}

}  // namespace orrery::query
