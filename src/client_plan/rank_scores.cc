#include "client_plan/rank_scores.h"

#include <fmt/format.h>

#include <cmath>
#include <span>

#include "base/encoding.h"
#include "base/errors.h"
#include "query/parse/printer.h"

namespace orrery::client_plan {

using namespace query;

namespace {

using ast::Expr;
using ast::ExprKind;

/// Clients replace these by figures of the whole container.
constexpr std::string_view kHybridPlaceholder = "documentdb-formattablehybridsearchquery-";

bool is_full_text(const Expr& score) {
    return equals_ignore_case(score.name, "FULLTEXTSCORE");
}

/// The words that a FullTextScore looks for: its arguments behind the path, or the elements of the
/// one array.
std::span<const Expr* const> words(const Expr& score) {
    const auto rest = score.args.subspan(1);
    return rest.size() == 1 && rest[0]->kind == ExprKind::kArray ? rest[0]->args : rest;
}

std::string texts(std::span<const Expr* const> expressions) {
    std::vector<std::string> out;
    for (const Expr* e : expressions) out.push_back(to_text(*e));
    return fmt::format("{}", fmt::join(out, ", "));
}

/// `number` counts the scores of texts.
std::string score_text(const Expr& score, size_t number) {
    if (!is_full_text(score)) return fmt::format("_VectorScore({})", texts(score.args));
    return fmt::format(
        "_FullTextScore({0}, [{1}], {{{2}totaldocumentcount}}, {{{2}totalwordcount-{3}}}, "
        "{{{2}hitcountsarray-{3}}})",
        to_text(*score.args[0]), texts(words(score)), kHybridPlaceholder, number);
}

std::string figures_text(const Expr& score) {
    const std::string path = to_text(*score.args[0]);
    std::vector<std::string> hits;
    for (const Expr* word : words(score))
        hits.push_back(fmt::format("COUNTIF(FullTextContains({}, {}))", path, to_text(*word)));
    return fmt::format(R"({{"totalWordCount": SUM(_FullTextWordCount({})), "hitCounts": [{}]}})",
                       path, fmt::join(hits, ", "));
}

RankScore ranked(const Expr& score, size_t number, double weight) {
    RankScore out;
    const bool full_text = is_full_text(score);
    out.text = score_text(score, number);
    out.descending = weight >= 0;
    std::string_view missing = full_text ? "-1" : "-1.79769e+308";
    if (!out.descending) {
        out.written = ast::Direction::kAscending;
        missing = "1.79769e+308";
    } else if (full_text) {
        out.written = ast::Direction::kDescending;
    }
    out.defaulted = fmt::format("({} ?? {})", out.text, missing);
    return out;
}

}  // namespace

Result<RankScores> rank_scores(const ast::Query& query) {
    if (query.order_by.size() > 1)
        return errors::not_supported("ORDER BY RANK with several keys",
                                     "Fuse the scores: ORDER BY RANK RRF(score, score).");
    if (query.order_by[0].direction == ast::Direction::kAscending)
        return errors::not_supported("ASC after ORDER BY RANK",
                                     "Leave it out: the best rows come first.");
    const Expr& rank = *query.order_by[0].expr;
    std::vector<const Expr*> parts = {&rank};
    std::span<const Expr* const> weights;
    if (equals_ignore_case(rank.name, "RRF")) {
        parts.assign(rank.args.begin(), rank.args.end());
        if (parts.back()->kind == ExprKind::kArray) {
            weights = parts.back()->args;
            parts.pop_back();
        }
    }
    RankScores out;
    std::vector<std::string> figures;
    for (size_t i = 0; i < parts.size(); ++i) {
        const double weight = weights.empty() ? 1 : weights[i]->value.as_double();
        if (!weights.empty()) out.weights.push_back(std::abs(weight));
        out.scores.push_back(ranked(*parts[i], figures.size(), weight));
        if (is_full_text(*parts[i])) figures.push_back(figures_text(*parts[i]));
    }
    out.figures = fmt::format("[{}]", fmt::join(figures, ", "));
    out.needs_figures = !figures.empty();
    return out;
}

}  // namespace orrery::client_plan
