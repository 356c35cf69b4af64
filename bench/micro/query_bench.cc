// What a query costs before it reads anything: texts that were never seen, and texts that were.
// Those of the query benchmark, and one with most clauses.

#include <benchmark/benchmark.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "json/parse.h"
#include "load/query_lines.h"
#include "query/parse/parser.h"
#include "query/plan/filter_analysis.h"
#include "query/query.h"

namespace orrery::query {
namespace {

std::vector<std::string> texts() {
    std::vector<std::string> out = {
        "SELECT TOP 20 c.id, c.customer.name AS name, c.total FROM c WHERE c.customer.id = @p0 AND "
        "c.status IN ('paid', 'sent') AND c.total >= @p1 AND STARTSWITH(c.sku, 'A-') ORDER BY "
        "c.total DESC"};
    for (const bench::QueryLine& line : bench::query_lines()) out.push_back(line.text);
    return out;
}

constexpr const char* kParameters =
    R"([{"name":"@p0","value":17},{"name":"@p1","value":4},{"name":"@pk","value":"tenant000001"}])";

template <typename T>
T must(Result<T> result) {
    if (!result.ok()) throw std::runtime_error(result.error().message);
    return std::move(result).value();
}

/// An index of everything that numbers and strings are looked up in.
IndexFacts default_policy() {
    return {.is_indexed = [](const IndexPathSteps&) { return true; },
            .posts_undefined = [](const IndexPathSteps&) { return false; },
            .spatial = [](const IndexPathSteps&) { return nullptr; }};
}

void plan(const CompiledQuery& compiled, const json::Value& list, const IndexFacts& facts) {
    const Parameters parameters = must(Parameters::bind(compiled, list));
    benchmark::DoNotOptimize(analyze_filter(compiled, parameters, facts));
}

void new_text(benchmark::State& state) {
    const auto all = texts();
    json::Arena arena;
    const json::Value list = must(json::parse(kParameters, arena));
    const IndexFacts facts = default_policy();
    size_t next = 0;
    for (auto _ : state) {
        const std::string& text = all[next++ % all.size()];
        plan(*must(compile_syntax(must(parse_query(text)))), list, facts);
    }
}
BENCHMARK(new_text);

void seen_text(benchmark::State& state) {
    const auto all = texts();
    json::Arena arena;
    const json::Value list = must(json::parse(kParameters, arena));
    const IndexFacts facts = default_policy();
    size_t next = 0;
    for (auto _ : state) plan(*must(compile(all[next++ % all.size()])), list, facts);
}
BENCHMARK(seen_text);

}  // namespace
}  // namespace orrery::query

BENCHMARK_MAIN();
