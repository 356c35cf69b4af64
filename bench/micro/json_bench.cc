// What reading a stored item costs: whole, and only the members that a filter looks at.

#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "json/item.h"
#include "json/parse.h"
#include "json/select.h"

namespace orrery::json {
namespace {

/// Items of about 1 KB with 30 members whose lengths differ from item to item.
std::vector<std::string> make_items() {
    std::mt19937 random(1);
    const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
    std::vector<std::string> items;
    for (int k = 0; k < 512; ++k) {
        std::string text = R"({"id":"0f8fad5b-d9cb-469f-a165-)" + std::to_string(below(1000000)) +
                           R"(","pk":"tenant-)" + std::to_string(below(1000)) + '"';
        for (int i = 0; i < 11; ++i)
            text += R"(,"field_number_)" + std::to_string(i) + R"(":")" +
                    std::string(10 + below(30), 'x') + '"';
        for (int i = 0; i < 6; ++i)
            text +=
                R"(,"amount)" + std::to_string(i) + "\":" + std::to_string(below(1u << below(24)));
        for (int i = 0; i < 4; ++i)
            text += R"(,"price)" + std::to_string(i) + "\":" + std::to_string(below(1000) / 7.0);
        text +=
            R"(,"active":true,"deleted":false,"address":{"street":"Main street 12","city":"Zürich","geo":[47.3,8.5]})"
            R"(,"tags":["a","bb","ccc"],"lines":[{"sku":"a-1","n":2},{"sku":"a-2","n":1}])"
            R"(,"country":"CH","note":"hello world"})";
        items.push_back(std::move(text));
    }
    return items;
}

const std::vector<std::string>& items() {
    static const std::vector<std::string> all = make_items();
    return all;
}

void parse_whole(benchmark::State& state) {
    Arena arena;
    size_t i = 0;
    for (auto _ : state) {
        arena.clear();
        benchmark::DoNotOptimize(parse(items()[i++ % items().size()], arena));
    }
}
BENCHMARK(parse_whole);

void select_members(benchmark::State& state, const std::vector<MemberPath>& paths) {
    const Selection selection(paths);
    Arena arena;
    size_t i = 0;
    for (auto _ : state) {
        arena.clear();
        benchmark::DoNotOptimize(parse_selected(items()[i++ % items().size()], selection, arena));
    }
}
BENCHMARK_CAPTURE(select_members, two_late, {{"amount3"}, {"country"}});
BENCHMARK_CAPTURE(select_members, two_early, {{"pk"}, {"field_number_1"}});
BENCHMARK_CAPTURE(select_members, one_absent, {{"amount3"}, {"absent"}});
BENCHMARK_CAPTURE(select_members, nested, {{"address", "city"}, {"country"}});
BENCHMARK_CAPTURE(select_members, array, {{"lines"}});
BENCHMARK_CAPTURE(select_members, five, {{"id"}, {"amount3"}, {"price2"}, {"active"}, {"country"}});
BENCHMARK_CAPTURE(select_members, everything, {MemberPath{}});

}  // namespace
}  // namespace orrery::json

BENCHMARK_MAIN();
