#include "lab/what_if/workload.h"

#include <fmt/format.h>

#include <map>

#include "base/errors.h"
#include "json/document.h"
#include "json/parse.h"
#include "json/write.h"
#include "lab/rules/rule.h"
#include "query/parse/parser.h"

namespace orrery::lab {
namespace {

using Kind = WorkloadOperation::Kind;
using engine::OperationClass;

constexpr size_t kSlices = 64;

std::string id_of(const json::Value& item) {
    const json::Value id = item.member("id");
    return id.is_string() ? std::string(id.as_string()) : std::string();
}

json::Value at(const json::Value& item, std::string_view path) {
    json::Value value = item;
    size_t from = 0;
    while (from < path.size() && !value.is_undefined()) {
        const size_t end = std::min(path.find('/', from + 1), path.size());
        value = value.member(path.substr(from + 1, end - from - 1));
        from = end;
    }
    return value;
}

std::string key_text(const json::Value& item, const std::vector<std::string>& paths) {
    std::string out = "[";
    for (const auto& path : paths) {
        if (out.size() > 1) out += ',';
        const json::Value value = at(item, path);
        out += value.is_undefined() ? "{}" : json::to_text(value, json::NumberForm::kCanonical);
    }
    return out + "]";
}

/// The header's spelling may differ from ours.
std::string canonical_key(std::string_view header) {
    json::Arena arena;
    const auto parsed = json::parse(header, arena);
    if (!parsed.ok() || !parsed->is_array()) return std::string(header);
    std::string out = "[";
    for (const auto& value : parsed->elements()) {
        if (out.size() > 1) out += ',';
        out += json::to_text(value, json::NumberForm::kCanonical);
    }
    return out + "]";
}

Error wrong(size_t index, std::string_view what) {
    return errors::bad_request(fmt::format("The operation {} of the workload {}.", index, what));
}

/// Finds items by id, and by key where it is given.
class ItemIndex {
public:
    explicit ItemIndex(const std::vector<std::string>& key_paths) : key_paths_(key_paths) {}
    void add(const json::Value& item, size_t index) {
        by_id_.emplace(id_of(item), index);
        by_key_.emplace(key_text(item, key_paths_) + "\n" + id_of(item), index);
    }
    std::optional<size_t> find(const std::string& key, const std::string& id) const {
        if (!key.empty() && !key_paths_.empty()) {
            const auto found = by_key_.find(key + "\n" + id);
            return found == by_key_.end() ? std::nullopt : std::optional(found->second);
        }
        const auto found = by_id_.find(id);
        return found == by_id_.end() ? std::nullopt : std::optional(found->second);
    }

private:
    const std::vector<std::string> key_paths_;
    std::map<std::string, size_t> by_id_;
    std::map<std::string, size_t> by_key_;
};

std::optional<Kind> kind_of(std::string_view name) {
    for (const Kind kind :
         {Kind::kRead, Kind::kCreate, Kind::kReplace, Kind::kUpsert, Kind::kDelete, Kind::kQuery})
        if (operation_kind_name(kind) == name) return kind;
    return std::nullopt;
}

}  // namespace

std::string_view operation_kind_name(Kind kind) {
    switch (kind) {
        case Kind::kRead:
            return "read";
        case Kind::kCreate:
            return "create";
        case Kind::kReplace:
            return "replace";
        case Kind::kUpsert:
            return "upsert";
        case Kind::kDelete:
            return "delete";
        case Kind::kQuery:
            return "query";
    }
    return "read";
}

double Workload::item_bytes() const {
    double sum = 0;
    for (const auto& item : items) sum += static_cast<double>(item.size());
    return sum;
}

double Workload::scale_of_items() const {
    const double own = item_bytes();
    return bytes_total > own && own > 0 ? bytes_total / own : 1;
}

Result<std::string> with_key_condition(std::string_view text,
                                       const std::vector<std::string>& key_paths,
                                       const json::Value& key) {
    TRY(const auto syntax, query::parse_query(text));
    const auto& query = *syntax->query;
    if (query.sources.empty()) return std::string(text);
    const auto& source = query.sources[0];
    std::string_view alias = source.alias;
    if (alias.empty() && source.collection != nullptr) alias = source.collection->name;
    if (alias.empty() || source.iterate) return std::string(text);
    std::string condition;
    for (size_t i = 0; i < key_paths.size() && i < key.elements().size(); ++i) {
        const json::Value value = key.elements()[i];
        if (!condition.empty()) condition += " AND ";
        const std::string path = query_path(alias, key_paths[i]);
        // `{}` in a key is a value that the item lacks.
        condition += value.is_object() ? "NOT IS_DEFINED(" + path + ")"
                                       : path + " = " + json::to_text(value);
    }
    if (condition.empty()) return std::string(text);
    std::string out(text);
    if (query.where != nullptr) {
        out.insert(query.where->range.end, ") AND " + condition);
        out.insert(query.where->range.start, "(");
    } else {
        out.insert(query.sources.back().range.end, " WHERE " + condition);
    }
    return out;
}

Result<Workload> read_workload(const json::Value& value) {
    if (!value.is_object())
        return errors::bad_request(
            "A workload must be a JSON object with 'items' and 'operations'.");
    Workload out;
    out.name = "uploaded";
    if (const auto name = value.member("name"); name.is_string()) out.name = name.as_string();
    if (const auto paths = value.member("keyPaths"); !paths.is_undefined()) {
        if (!paths.is_array())
            return errors::bad_request("'keyPaths' of the workload must be an array of paths.");
        for (const auto& path : paths.elements()) {
            if (!path.is_string() || !path.as_string().starts_with("/"))
                return errors::bad_request(
                    "'keyPaths' of the workload must be an array of paths like \"/a\".");
            out.key_paths.emplace_back(path.as_string());
        }
    }
    if (const auto policy = value.member("indexingPolicy"); policy.is_object())
        out.indexing_policy = json::to_text(policy);
    if (const auto rate = value.member("operationsPerSecond"); !rate.is_undefined()) {
        if (!rate.is_number() || rate.as_double() <= 0 || rate.as_double() > 10'000'000)
            return errors::bad_request(
                "'operationsPerSecond' of the workload must be a number above 0.");
        out.operations_per_second = rate.as_double();
    }
    if (const auto total = value.member("itemsTotalBytes"); total.is_number())
        out.bytes_total = total.as_double();
    const json::Value items = value.member("items");
    if (!items.is_array() || items.elements().empty())
        return errors::bad_request("A workload needs 'items', an array of at least one.");
    if (items.elements().size() > Workload::kItemsMax)
        return errors::bad_request(
            fmt::format("A workload may have {} items; send a sample, and what it stands for as "
                        "'itemsTotalBytes'.",
                        Workload::kItemsMax));
    ItemIndex index(out.key_paths);
    size_t bytes = 0;
    for (const auto& item : items.elements()) {
        if (id_of(item).empty())
            return errors::bad_request(
                fmt::format("The item {} of the workload has no id.", out.items.size()));
        index.add(item, out.items.size());
        out.items.push_back(json::to_text(item));
        bytes += out.items.back().size();
    }
    out.loaded = out.items.size();
    if (bytes > Workload::kItemBytesMax)
        return errors::bad_request(
            "The items of the workload are larger than 48 MB together; send a sample.");
    const json::Value operations = value.member("operations");
    if (!operations.is_array() || operations.elements().empty())
        return errors::bad_request("A workload needs 'operations', an array of at least one.");
    size_t number = 0;
    for (const auto& one : operations.elements()) {
        const size_t place = number++;
        const auto kind =
            one.member("op").is_string() ? kind_of(one.member("op").as_string()) : std::nullopt;
        if (!kind)
            return wrong(place, "has no 'op' of read, create, replace, upsert, delete, query");
        WorkloadOperation operation;
        operation.kind = *kind;
        const json::Value key = one.member("key");
        if (*kind == Kind::kQuery) {
            if (!one.member("query").is_string()) return wrong(place, "has no 'query' text");
            operation.query = one.member("query").as_string();
            if (key.is_array()) {
                TRY(operation.query, with_key_condition(operation.query, out.key_paths, key));
            }
            if (one.member("parameters").is_array())
                operation.parameters = json::to_text(one.member("parameters"));
        } else if (const json::Value body = one.member("item"); body.is_object()) {
            if (id_of(body).empty()) return wrong(place, "has an item without id");
            operation.item = out.items.size();
            if (*kind != Kind::kCreate)
                if (const auto found = index.find(
                        out.key_paths.empty() ? "" : key_text(body, out.key_paths), id_of(body)))
                    operation.item = *found;
            if (operation.item == out.items.size()) {
                if (out.items.size() >= Workload::kItemsMax * 2)
                    return wrong(place, "is one item too many");
                out.items.push_back(json::to_text(body));
            }
        } else {
            if (!one.member("id").is_string())
                return wrong(place, "names no 'id' and has no 'item'");
            const auto found =
                index.find(key.is_array() ? canonical_key(json::to_text(key)) : std::string(),
                           std::string(one.member("id").as_string()));
            if (!found) return wrong(place, "names an item that is not among 'items'");
            operation.item = *found;
        }
        const json::Value times = one.member("times");
        const double repeat = times.is_number() ? times.as_double() : 1;
        if (repeat < 1 || repeat > static_cast<double>(Workload::kOperationsMax))
            return wrong(place, "has 'times' outside 1 to 20,000");
        for (int i = 0; i < static_cast<int>(repeat); ++i) out.operations.push_back(operation);
        if (out.operations.size() > Workload::kOperationsMax)
            return errors::bad_request(
                fmt::format("A workload may have {} operations.", Workload::kOperationsMax));
    }
    return out;
}

Result<Workload> recorded_workload(const engine::Engine& engine, const Recorder& recorder,
                                   const catalog::Container& container) {
    const auto trace = recorder.trace(container.rid.whole());
    if (trace.empty())
        return errors::bad_request(
            "No requests to the container '" + container.id +
            "' have been recorded yet; send some, upload a workload, or take a demo.");
    Workload out;
    out.name = container.id;
    out.key_paths = container.settings->key.paths;
    out.indexing_policy = container.settings->indexing.json;
    TRY(const auto totals, engine.totals(container));
    out.bytes_total = static_cast<double>(totals.bytes);
    ItemIndex index(out.key_paths);
    size_t bytes = 0;
    const auto slices = partition::even_ranges(container.settings->key, kSlices);
    const bool all = totals.items <= static_cast<int64_t>(Workload::kItemsMax);
    for (const auto& slice : slices) {
        engine::FeedRequest request;
        request.range = slice;
        request.items_max = 1000;
        request.terms.exempt = true;
        const size_t enough =
            all ? Workload::kItemsMax : out.items.size() + Workload::kItemsMax / kSlices;
        do {
            TRY(const auto page, engine.read_feed(container, request));
            for (const auto& item : page.items) {
                if (out.items.size() >= enough || bytes > Workload::kItemBytesMax) break;
                TRY(const auto document, json::decode_document(*item.document));
                json::Arena arena;
                TRY(const auto parsed, document.value(arena));
                index.add(parsed, out.items.size());
                out.items.push_back(document.text());
                bytes += document.text_bytes();
            }
            request.continuation = page.continuation;
        } while (!request.continuation.empty() && out.items.size() < enough &&
                 bytes <= Workload::kItemBytesMax);
    }
    if (out.items.empty())
        return errors::bad_request("The container '" + container.id + "' holds no items to copy.");
    out.loaded = out.items.size();
    size_t left_out = 0;
    for (const auto& traced : trace) {
        WorkloadOperation operation;
        if (traced.operation == OperationClass::kQuery) {
            operation.kind = Kind::kQuery;
            operation.query = traced.query;
            operation.parameters = traced.parameters;
            if (!traced.key.empty()) {
                json::Arena arena;
                TRY(const auto key, json::parse(traced.key, arena));
                if (key.is_array()) {
                    auto text = with_key_condition(traced.query, out.key_paths, key);
                    if (text.ok()) operation.query = std::move(text).value();
                }
            }
            out.operations.push_back(std::move(operation));
            continue;
        }
        switch (traced.operation) {
            case OperationClass::kRead:
                operation.kind = Kind::kRead;
                break;
            case OperationClass::kCreate:
                operation.kind = Kind::kCreate;
                break;
            case OperationClass::kReplace:
            case OperationClass::kPatch:
                operation.kind = Kind::kReplace;
                break;
            case OperationClass::kUpsert:
                operation.kind = Kind::kUpsert;
                break;
            default:
                ++left_out;
                continue;
        }
        std::string id = traced.id;
        if (id.empty() && !traced.body.empty()) {
            json::Arena arena;
            if (const auto parsed = json::parse(traced.body, arena); parsed.ok())
                id = id_of(*parsed);
        }
        const auto found = index.find(canonical_key(traced.key), id);
        if (found) {
            operation.item = *found;
        } else if (!traced.body.empty()) {
            operation.item = out.items.size();
            out.items.push_back(traced.body);
        } else {
            ++left_out;  // it names an item that is not in the copy
            continue;
        }
        out.operations.push_back(std::move(operation));
    }
    if (out.operations.empty())
        return errors::bad_request(
            "None of the recorded requests names an item that is still in the container '" +
            container.id + "'.");
    // How many came a second while the sample was taken: from the counters, since the sample is
    // thinned.
    const auto seconds =
        static_cast<double>(std::max<int64_t>(1000, trace.back().wall_ms - trace.front().wall_ms)) /
        1000;
    double requests = 0;
    const int64_t from = trace.front().wall_ms / 60'000;
    for (const auto& range : container.ranges->ranges)
        for (const auto& minute : recorder.minutes({container.rid.whole(), range.number}, from,
                                                   trace.back().wall_ms / 60'000 + 1))
            requests += minute.requests;
    out.operations_per_second =
        std::max(1.0, std::max(requests, static_cast<double>(trace.size())) / seconds);
    out.note = fmt::format(
        "{} of {} items copied, {} recorded requests replayed{}.", out.items.size(), totals.items,
        out.operations.size(),
        left_out > 0
            ? fmt::format(", {} left out (feeds, deletes, items not in the copy)", left_out)
            : "");
    return out;
}

}  // namespace orrery::lab
