#include "heads/rest/query_reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>

#include "base/encoding.h"
#include "base/errors.h"
#include "json/write.h"

namespace orrery::rest {
namespace {

using query::PageAnswer;

std::string quoted(std::string_view text) {
    return json::to_text(json::Value::string(text));
}

template <typename List, typename Text>
std::string array_of(const List& list, const Text& text) {
    std::string out = "[";
    for (const auto& entry : list) {
        if (out.size() > 1) out += ',';
        out += text(entry);
    }
    return out + "]";
}

std::string specs(const std::vector<std::string>& paths) {
    return array_of(paths, [](const std::string& path) { return quoted(path); });
}

std::string query_metrics(const engine::QueryAnswer& answer) {
    const PageAnswer& page = answer.page;
    const auto ms = [](int64_t us) { return static_cast<double>(us) / 1000.0; };
    const int64_t run_us = std::max<int64_t>(
        0, answer.elapsed_us - answer.compile_us - page.plan_us - page.index_us - page.load_us);
    const double ratio = page.retrieved_items == 0 ? 1.0
                                                   : static_cast<double>(page.matched_items) /
                                                         static_cast<double>(page.retrieved_items);
    return fmt::format(
        "totalExecutionTimeInMs={:.2f};queryCompileTimeInMs={:.2f};queryLogicalPlanBuildTimeInMs=0."
        "00;"
        "queryPhysicalPlanBuildTimeInMs={:.2f};queryOptimizationTimeInMs=0.00;VMExecutionTimeInMs={"
        ":.2f};"
        "indexLookupTimeInMs={:.2f};instructionCount=0;documentLoadTimeInMs={:.2f};"
        "systemFunctionExecuteTimeInMs=0.00;userFunctionExecuteTimeInMs=0.00;"
        "retrievedDocumentCount={};"
        "retrievedDocumentSize={};outputDocumentCount={};outputDocumentSize={};writeOutputTimeInMs="
        "0.00;"
        "indexUtilizationRatio={:.2f}",
        ms(answer.elapsed_us), ms(answer.compile_us), ms(page.plan_us), ms(run_us),
        ms(page.index_us), ms(page.load_us), page.retrieved_items, page.retrieved_bytes,
        page.row_count, page.output_bytes, ratio);
}

/// The flat form, which Java, Python and Go read.
std::string index_metrics(const query::IndexUse& use) {
    const auto single = [](const std::string& path) {
        return fmt::format(R"({{"FilterExpression":"","IndexSpec":{},"FilterPreciseSet":true,)"
                           R"("IndexPreciseSet":true,"IndexImpactScore":"High"}})",
                           quoted(path));
    };
    const auto composite = [](const std::vector<std::string>& paths) {
        return fmt::format(
            R"({{"IndexSpecs":{},"IndexPreciseSet":false,"IndexImpactScore":"High"}})",
            specs(paths));
    };
    return fmt::format(R"({{"UtilizedSingleIndexes":{},"PotentialSingleIndexes":{},)"
                       R"("UtilizedCompositeIndexes":{},"PotentialCompositeIndexes":{}}})",
                       array_of(use.utilized, single), array_of(use.potential, single),
                       array_of(use.utilized_composite, composite),
                       array_of(use.potential_composite, composite));
}

/// The nested form, which JavaScript and .NET read.
std::string index_metrics_v2(const query::IndexUse& use) {
    const auto single = [](const std::string& path) {
        return R"({"IndexSpec":)" + quoted(path) + "}";
    };
    const auto composite = [](const std::vector<std::string>& paths) {
        return R"({"IndexSpecs":)" + specs(paths) + "}";
    };
    return fmt::format(R"({{"UtilizedIndexes":{{"SingleIndexes":{},"CompositeIndexes":{}}},)"
                       R"("PotentialIndexes":{{"SingleIndexes":{},"CompositeIndexes":{}}}}})",
                       array_of(use.utilized, single), array_of(use.utilized_composite, composite),
                       array_of(use.potential, single),
                       array_of(use.potential_composite, composite));
}

/// A clause of the query. What is not known is left out.
std::string operator_text(const query::OperatorReport& report) {
    std::string out = R"({"operator":)" + quoted(report.name);
    if (!report.detail.empty()) out += R"(,"on":)" + quoted(report.detail);
    if (report.in) out += fmt::format(R"(,"in":{})", *report.in);
    if (report.out) out += fmt::format(R"(,"out":{})", *report.out);
    return out + "}";
}

/// Ranges that a plan tells of: common clients take 16 KB of headers.
constexpr size_t kRangesToldMax = 20;

template <typename List>
auto told_of(const List& list) {
    return std::span(list).first(std::min(list.size(), kRangesToldMax));
}

/// The plan as it was carried out: how items were found in each range, then the clauses that their
/// rows went through, with what each met.
std::string explanation(const engine::QueryAnswer& answer) {
    const PageAnswer& page = answer.page;
    const auto range = [&](size_t partition) {
        return quoted(partition < answer.range_ids.size() ? answer.range_ids[partition] : "");
    };
    const auto access = [&](const query::AccessReport& report) {
        return fmt::format(
            R"({{"range":{},"access":{},"on":{},"candidates":{},"loaded":{},"matched":{}}})",
            range(report.partition), quoted(report.access), quoted(report.detail),
            report.candidates, report.loaded, report.matched);
    };
    const auto work = [&](const query::PartitionWork& counted) {
        return fmt::format(
            R"({{"range":{},"seeks":{},"loadedItems":{},"indexEntries":{},"joinTuples":{}}})",
            range(counted.partition), counted.seeks, counted.loaded_items, counted.index_entries,
            counted.join_tuples);
    };
    const size_t left_out = page.accesses.size() - told_of(page.accesses).size();
    return fmt::format(
        R"({{"steps":{}{},"operators":{},"charged":{},"rows":{},"requestCharge":{},"compileUs":{},)"
        R"("planUs":{},"indexUs":{},"loadUs":{},"totalUs":{}}})",
        array_of(told_of(page.accesses), access),
        left_out == 0 ? "" : fmt::format(R"(,"stepsLeftOut":{})", left_out),
        array_of(page.operators, operator_text), array_of(told_of(page.work), work), page.row_count,
        meter::ru_text(answer.charge), answer.compile_us, page.plan_us, page.index_us, page.load_us,
        answer.elapsed_us);
}

}  // namespace

Status add_query_reports(const CallPtr& call, const engine::QueryAnswer& answer) {
    const auto asks = [&](HeaderName name) { return call->headers.boolean(name); };
    net::HttpResponse& response = call->response();
    TRY(const bool metrics, asks(HeaderName::kPopulateQueryMetrics));
    if (metrics) response.add_header("x-ms-documentdb-query-metrics", query_metrics(answer));
    TRY(const bool flat, asks(HeaderName::kPopulateIndexMetrics));
    TRY(const bool nested, asks(HeaderName::kPopulateIndexMetricsV2));
    if (answer.page.row_count > 0 && (flat || nested)) {
        const query::IndexUse& use = answer.page.index_use;
        response.add_header(
            "x-ms-cosmos-index-utilization",
            nested ? percent_encode(index_metrics_v2(use)) : base64_encode(index_metrics(use)));
    }
    if (answer.page.rids_fall)
        response.add_header("x-ms-cosmos-query-execution-info",
                            fmt::format(R"({{"reverseRidEnabled":false,"reverseIndexScan":{}}})",
                                        *answer.page.rids_fall));
    TRY(const bool explain, asks(HeaderName::kExplain));
    if (explain) response.add_header("x-orrery-explain", percent_encode(explanation(answer)));
    return {};
}

Result<size_t> token_limit(const RequestHeaders& headers) {
    const std::string_view text = headers[HeaderName::kContinuationLimitKb];
    constexpr size_t kDefaultKb = 12;
    if (text.empty()) return kDefaultKb << 10;
    uint32_t kilobytes = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), kilobytes);
    if (error != std::errc() || end != text.data() + text.size() || kilobytes == 0)
        return bad_header("x-ms-documentdb-responsecontinuationtokenlimitinkb", text,
                          "a positive integer");
    return static_cast<size_t>(std::min<uint32_t>(kilobytes, 1024)) << 10;
}

}  // namespace orrery::rest
