// The clauses of the query behind the accesses, with the rows that went through them, for people.
#include <algorithm>

#include "query/exec/page.h"

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

/// What the clauses of one query met in one page.
class Reporter {
public:
    Reporter(const CompiledQuery& query, bool by_row, Page& page)
        : query_(query),
          root_(query.root()),
          by_row_(by_row),
          page_(page),
          flow_(page.flow),
          out_(page.answer.operators) {}
    void note_sources();
    void note_rest();

private:
    std::string written(ast::Range range) const;
    void note_groups();
    void note_window();
    std::optional<uint64_t> once_finished(uint64_t rows) const {
        return flow_.finished ? std::optional(rows) : std::nullopt;
    }

    const CompiledQuery& query_;
    const Level& root_;
    const bool by_row_;  ///< rows leave as items come
    Page& page_;
    const Flow& flow_;
    std::vector<OperatorReport>& out_;
};

/// A part of the query's text, cut to what a report has room for.
std::string Reporter::written(ast::Range range) const {
    const std::string_view text = query_.text();
    if (range.start >= range.end || range.end > text.size()) return {};
    std::string_view part = text.substr(range.start, range.end - range.start);
    if (part.size() <= kTextBytesMax) return std::string(part);
    size_t end = kTextBytesMax;
    while (end > 0 && is_inside_character(part[end])) --end;
    return std::string(part.substr(0, end)) + "…";
}

/// FROM and WHERE. Conditions that an index has are tested before the item is joined with anything,
/// whatever access found it; the rest is tested on what the sources gave together.
void Reporter::note_sources() {
    const ast::Query& q = query_.syntax();
    std::optional<uint64_t> items = 0;  // nullopt: the index alone knows
    uint64_t matched = 0;
    for (const AccessReport& access : page_.answer.accesses) {
        if (access.access == "index only") items.reset();
        if (items) *items += access.loaded;
        matched += access.matched;
    }
    // Of the items that were read because they may lack the key, some have it.
    const bool ordered = by_row_ && !root_.order_by.empty();
    if (ordered) items = flow_.tested;
    const bool subquery = !root_.sources.empty() && root_.sources[0].query != nullptr;
    const bool join = root_.sources.size() > 1;
    const std::string where = q.where == nullptr ? std::string() : written(q.where->range);
    if (!subquery && !join) {
        if (root_.where != nullptr) out_.push_back({"filter", where, items, matched});
        return;
    }
    const bool served = page_.plan.indexes[0].filter.is_served();
    // Rows in order are made of items that the page does not show, too: those are not counted.
    std::optional<uint64_t> left = items;
    if (served) left = ordered ? std::nullopt : std::optional(page_.answer.retrieved_items);
    if (served) out_.push_back({"filter", where, items, left});
    if (subquery) {
        OperatorReport& one = out_.emplace_back();
        one.name = "subquery";
        one.detail = q.sources[0].alias;
        one.in = left;
        if (!join) one.out = flow_.counts.joined;
        left = one.out;
    }
    if (join) {
        OperatorReport& one = out_.emplace_back();
        one.name = "join";
        for (size_t i = 1; i < q.sources.size(); ++i)
            one.detail += (i == 1 ? "" : ", ") + written(q.sources[i].range);
        one.in = left;
        one.out = flow_.counts.joined;
    }
    if (root_.where != nullptr)
        out_.push_back({"filter", where, flow_.counts.joined, flow_.counts.passed});
}

/// Everything behind WHERE.
void Reporter::note_rest() {
    const ast::Query& q = query_.syntax();
    const RowCounts& counts = flow_.counts;
    std::string order = written(q.order_by_range);
    if (flow_.sorted_in) out_.push_back({"sort", order, flow_.sorted_in, flow_.sorted_out});
    if (flow_.merged) out_.push_back({"merge", order, std::nullopt, flow_.merged_out});
    if (root_.grouped) note_groups();
    if (!query_.returns_whole_item())
        out_.push_back({"project", "", once_finished(flow_.to_project), counts.projected});
    if (root_.distinct) out_.push_back({"distinct", "", counts.projected, counts.distinct});
    if (!by_row_ && !root_.order_by.empty() && !root_.grouped)
        out_.push_back({"sort", std::move(order), counts.sorted, once_finished(counts.offered)});
    if (root_.has_window()) note_window();
}

void Reporter::note_groups() {
    OperatorReport& one = out_.emplace_back();
    one.name = root_.group_keys.empty() ? "aggregate" : "group";
    for (const ast::Expr* key : query_.syntax().group_by)
        one.detail += (one.detail.empty() ? "" : ", ") + written(key->range);
    for (const BoundAggregate& aggregate : root_.aggregates)
        if (root_.group_keys.empty())
            one.detail += (one.detail.empty() ? "" : ", ") + std::string(name_of(aggregate.kind));
    one.in = flow_.counts.passed;
    one.out = once_finished(flow_.counts.groups);
}

void Reporter::note_window() {
    const ast::Query& q = query_.syntax();
    OperatorReport& one = out_.emplace_back();
    one.name = "limit";
    for (const ast::Range range : {q.top_range, q.offset_limit_range})
        if (const std::string text = written(range); !text.empty())
            one.detail += (one.detail.empty() ? "" : " ") + text;
    one.in = flow_.counts.offered;
    one.out = flow_.counts.emitted;
    if (!by_row_) return;
    one.out = page_.window.emitted() - page_.resume.emitted;
    one.in = *one.out + page_.window.skipped() - page_.resume.skipped;
}

}  // namespace

void note_operators(const CompiledQuery& query, bool by_row, Page& page) {
    Reporter reporter(query, by_row, page);
    reporter.note_sources();
    reporter.note_rest();
    if (page.flow.known) return;
    for (OperatorReport& one : page.answer.operators) one.in = one.out = std::nullopt;
}

}  // namespace orrery::query
