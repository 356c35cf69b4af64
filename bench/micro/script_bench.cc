// What a call of a user-defined function costs, and what a run of a stored procedure.

#include <benchmark/benchmark.h>

#include "json/parse.h"
#include "script/script.h"

namespace orrery::script {
namespace {

void call_function(benchmark::State& state, std::string_view text, std::string_view arguments) {
    Limits limits;
    limits.time_ms = 600'000;
    const auto functions = Functions::create(limits);
    const size_t function = functions->add("f", text).value();
    json::Arena values;
    const json::Value list = json::parse(arguments, values).value();
    json::Arena arena;
    for (auto _ : state) {
        arena.clear();
        benchmark::DoNotOptimize(functions->call(function, list.elements(), arena).value());
    }
}
BENCHMARK_CAPTURE(call_function, number, "function (x) { return x * 2; }", "[21]");
BENCHMARK_CAPTURE(call_function, three_numbers, "function (a, b, c) { return a + b * c; }",
                  "[1,2,3]");
BENCHMARK_CAPTURE(call_function, boolean, "function (x) { return x > 5; }", "[7]");
BENCHMARK_CAPTURE(call_function, short_text, "function (s) { return s.toUpperCase(); }",
                  "[\"warehouse\"]");
BENCHMARK_CAPTURE(call_function, object, "function (o) { return o.a + o.b.c; }",
                  R"([{"a":1,"b":{"c":2},"d":[1,2,3]}])");

void run_procedure(benchmark::State& state) {
    RunRequest request;
    request.name = "p";
    request.text = "function (x) { getContext().getResponse().setBody(x); }";
    request.arguments = "[1]";
    request.context = R"({"self":"s","alt":"a","operation":"Execute","values":{}})";
    for (auto _ : state) benchmark::DoNotOptimize(Runtime::of_this_thread().run(request, {}));
}
BENCHMARK(run_procedure);

}  // namespace
}  // namespace orrery::script

BENCHMARK_MAIN();
