#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/document.h"
#include "partition/client_item.h"
#include "query/bind/evaluation.h"
#include "query/exec/run.h"
#include "query/page.h"
#include "query/plan/conditions.h"

namespace orrery::query {

/// An item as evaluation sees it. Owned by one thread, reused from item to item.
class LoadedItem {
public:
    /// `bytes` (a document) must outlive the use of value().
    Status load(const PageRequest& request, std::string_view bytes, const storage::Docref& docref);
    Status load(const PageRequest& request, const json::Document& document,
                const storage::Docref& docref);
    const json::Value& value() const { return value_; }
    json::Arena& arena() { return arena_; }
    const json::Document& document() const { return document_; }

private:
    json::Arena arena_;
    json::Value value_;
    json::Document document_;
    std::optional<partition::ItemWriter> writer_;
};

/// Items to rows, for queries that need nothing but one item for its rows. Splits the WHERE clause
/// in what the index could serve and the rest, so that the work is counted the same whatever the
/// plan was.
class RowMaker {
public:
    RowMaker(const PageRequest& request, const Filter& filter);

    /// The part of the WHERE clause that the index serves.
    Result<bool> passes_served(LoadedItem& item);
    /// The rows of an item that has passed; appended. They borrow from the item.
    struct Tuples {
        uint64_t joined = 0;  ///< what FROM made of the item
        uint64_t passed = 0;  ///< what the rest of WHERE let pass
    };
    Result<Tuples> rows(LoadedItem& item, std::vector<json::Value>& out);
    /// The value of an ORDER BY key.
    json::Value key(LoadedItem& item, size_t index);

private:
    void begin(LoadedItem& item);

    const PageRequest& request_;
    Evaluation evaluation_;
    Level level_;  ///< the query's, without ORDER BY and window (and WHERE, if split)
    bool split_;   ///< the item is the only source: WHERE is tested here
    std::vector<const Node*> served_;
    std::vector<const Node*> rest_;
    std::vector<const Condition*> conditions_;
};

/// Whether an item would be found under a condition.
bool condition_holds(const Condition& condition, const json::Value& item,
                     const std::function<bool(const ValueTest&)>& test);

}  // namespace orrery::query
