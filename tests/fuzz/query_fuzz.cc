#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "client_plan/client_plan.h"
#include "json/parse.h"
#include "json/write.h"
#include "query/key_ranges.h"
#include "query/limits.h"
#include "query/parse/parser.h"
#include "query/parse/printer.h"
#include "query/query.h"

// Any bytes as a query: it parses or is refused; what parses prints to a text that parses to the
// same tree; what compiles runs over a few items without crashing, and streaming and gathering give
// the same rows; it has a plan or a reason why not, and a rewritten text is never a syntax error.
namespace {

using namespace orrery;

const std::vector<std::string>& items() {
    static const std::vector<std::string> kItems = {
        R"({"id":"1","pk":"a","n":5,"f":1.5,"s":"Hello","z":null,"t":true,"l":[1,"x",null,[2],{"k":1}],)"
        R"("o":{"a":{"b":[1,2,3]}},"d":"2031-05-06T07:08:09.1234567Z","tags":["x","y","x"]})",
        R"({"id":"2","n":-0.0,"s":"é😀","l":[],"o":{},"tags":[]})",
        R"({"id":"3","n":9223372036854775807,"s":"","tags":"none"})",
    };
    return kItems;
}

void check_printing(const query::Syntax& syntax) {
    for (const auto form : {query::PrintForm::kOneLine, query::PrintForm::kLines}) {
        const std::string printed = query::to_text(*syntax.query, form);
        if (printed.size() > query::limits::kTextBytesMax) continue;
        auto again = query::parse_query(printed);
        CHECK(again.ok());
        CHECK(query::ast::same(*syntax.query, *(*again)->query));
    }
}

/// A value for every parameter; counts must be integers, so everything is one.
std::string parameter_list(const query::CompiledQuery& compiled) {
    std::string out = "[";
    for (const std::string_view name : compiled.parameters()) {
        if (out.size() > 1) out += ',';
        out += "{\"name\":";
        json::write_string(out, name);
        out += ",\"value\":1}";
    }
    return out + "]";
}

void run(const query::CompiledQuery& compiled) {
    json::Arena arena;
    auto list = json::parse(parameter_list(compiled), arena);
    CHECK(list.ok());
    auto parameters = query::Parameters::bind(compiled, *list);
    CHECK(parameters.ok());
    query::QueryRun gathering(compiled, *parameters);
    std::vector<json::Value> rows;
    for (const std::string& text : items()) {
        json::Arena item_arena;
        auto item = json::parse(text, item_arena);
        CHECK(item.ok());
        rows.clear();
        if (!gathering.feed(*item, item_arena, rows).ok()) return;
        for (const json::Value& row : rows) json::to_text(row, json::NumberForm::kCanonical);
        if (compiled.is_streaming()) {
            std::vector<json::Value> streamed;
            if (!query::run_item(compiled, *parameters, *item, item_arena, streamed).ok()) return;
            CHECK(streamed.size() == rows.size());
        }
    }
    rows.clear();
    if (!gathering.finish(arena, rows).ok()) return;
    for (const json::Value& row : rows) json::to_text(row, json::NumberForm::kCanonical);
    query::point_candidates(compiled, *parameters, {{"pk"}});
}

const std::vector<partition::PartitionKeyDefinition>& keys() {
    static const auto* made = [] {
        auto* out = new std::vector<partition::PartitionKeyDefinition>();
        for (const std::string_view text :
             {R"({"paths":["/pk"],"kind":"Hash"})",
              R"({"paths":["/o/a"],"kind":"Hash","version":2})",
              R"({"paths":["/pk","/n","/s"],"kind":"MultiHash","version":2})"}) {
            json::Arena arena;
            auto value = json::parse(text, arena);
            CHECK(value.ok());
            auto definition = partition::parse_partition_key_definition(*value);
            CHECK(definition.ok());
            out->push_back(std::move(*definition));
        }
        return out;
    }();
    return *made;
}

void plan(const query::CompiledQuery& compiled) {
    json::Arena arena;
    auto list = json::parse(parameter_list(compiled), arena);
    CHECK(list.ok());
    auto parameters = query::Parameters::bind(compiled, *list);
    CHECK(parameters.ok());
    for (const auto& definition : keys()) {
        const auto ranges = query::key_ranges(compiled, *parameters, definition);
        CHECK(!ranges.empty());
        for (size_t i = 0; i < ranges.size(); ++i) {
            CHECK(ranges[i].min < ranges[i].max || ranges[i].is_point());
            if (i > 0) CHECK(ranges[i - 1].max <= ranges[i].min);
        }
        client_plan::PlanScope scope;
        scope.one_key_by_filter = ranges.size() == 1 && ranges[0].is_point();
        const auto plan = client_plan::make_plan(compiled, *parameters, scope);
        if (!plan.ok()) continue;
        client_plan::required_features(*plan);
        std::string sent = plan->rewritten_query;
        if (sent.empty()) continue;
        if (const size_t at = sent.find(client_plan::kOrderByFilter); at != std::string::npos)
            sent.replace(at, client_plan::kOrderByFilter.size(), "true");
        const auto again = query::compile(sent);
        // Parts are repeated, so a limit may be passed; nothing else may go wrong.
        if (again.ok()) continue;
        for (const QueryProblem& problem : again.error().details.problems)
            CHECK(problem.code.empty());
    }
    client_plan::resume_identity(compiled);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    (void)query::parse_condition(text);
    auto syntax = query::parse_query(text);
    if (!syntax.ok()) return 0;
    check_printing(**syntax);
    auto compiled = query::compile_syntax(std::move(*syntax));
    if (!compiled.ok()) return 0;
    run(**compiled);
    plan(**compiled);
    return 0;
}
