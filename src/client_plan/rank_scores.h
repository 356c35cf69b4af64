#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "query/parse/ast.h"

namespace orrery::client_plan {

namespace ast = query::ast;

/// A score of ORDER BY RANK and how rows are ranked by it. A negative weight turns the ranking
/// round.
struct RankScore {
    std::string text;
    std::string defaulted;  ///< rows without the score come last
    ast::Direction written = ast::Direction::kDefault;
    bool descending = true;
};

struct RankScores {
    std::vector<RankScore> scores;  ///< RRF has several
    std::vector<double> weights;    ///< of RRF, without signs; empty: all alike
    /// The list of figures, over all items, that scores of texts need. Their places in the scores
    /// are numbered alike.
    std::string figures;
    bool needs_figures = false;
};

/// Of a query with ORDER BY RANK that the binder accepted. A bad request for what no plan tells
/// clients.
Result<RankScores> rank_scores(const ast::Query& query);

}  // namespace orrery::client_plan
