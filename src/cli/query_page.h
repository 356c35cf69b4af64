#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/account_client.h"
#include "json/value.h"

namespace orrery::cli {

struct QueryText {
    std::string text;
    std::map<std::string, std::string>
        parameters;  ///< "@name" to JSON; only those the text mentions are sent
};

struct QueryOptions {
    int64_t page_items = 100;
    bool metrics = false;
    bool plan = false;                ///< Orrery's own: the plan as it was carried out
    bool charge_explanation = false;  ///< Orrery's own
};

/// A page of a query's answer. Rows borrow from the arena.
struct QueryPage {
    std::unique_ptr<json::Arena> arena;
    std::vector<json::Value> rows;
    std::string continuation;  ///< empty: the last page
    double charge = 0;
    int64_t elapsed_us = 0;
    std::string metrics;             ///< as sent: name=value;…
    std::string plan;                ///< JSON
    std::string charge_explanation;  ///< JSON
};

/// A query being read page by page. Owned by one thread.
class QueryCursor {
public:
    QueryCursor(AccountClient& client, ContainerName container, const QueryText& query,
                QueryOptions options);

    bool at_end() const { return at_end_; }
    /// The next page. A query that the gateway does not serve over several partitions is sent to
    /// the one partition there is; with several, the error says what to do. Errors of the query
    /// itself are in `problems`.
    Result<QueryPage> next(std::vector<QueryProblem>* problems = nullptr);

private:
    Result<HttpAnswer> request();

    AccountClient& client_;
    const ContainerName container_;
    const QueryOptions options_;
    std::string body_;
    std::string range_id_;  ///< the only range, once the gateway asked for one
    std::string continuation_;
    bool at_end_ = false;
};

}  // namespace orrery::cli
