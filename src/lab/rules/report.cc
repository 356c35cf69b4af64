#include "lab/rules/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/clock.h"
#include "lab/described.h"

namespace orrery::lab {
namespace {

/// Worst first, then by what they save.
std::vector<const Finding*> ranked(const ContainerReport& container) {
    std::vector<const Finding*> out;
    for (const auto& judgement : container.judgements)
        for (const auto& finding : judgement.findings) out.push_back(&finding);
    std::stable_sort(out.begin(), out.end(), [](const Finding* a, const Finding* b) {
        if (a->severity != b->severity) return a->severity > b->severity;
        return a->saved_month > b->saved_month;
    });
    return out;
}

std::string number(double value) {
    std::string out = value == static_cast<double>(static_cast<int64_t>(value))
                          ? fmt::format("{:.0f}", value)
                          : fmt::format("{:.2f}", value);
    const size_t point = std::min(out.find('.'), out.size());
    const size_t first = out.starts_with('-') ? 1 : 0;
    for (size_t at = point; at > first + 3; at -= 3) out.insert(at - 3, 1, ',');
    return out;
}

/// "largestKeyBytes" as people write it; a unit that follows is not said twice.
std::string words(std::string_view name, std::string_view unit) {
    std::string out;
    for (const char c : name) {
        if (c < 'A' || c > 'Z') {
            out += c;
            continue;
        }
        out += ' ';
        out += static_cast<char>(c - 'A' + 'a');
    }
    if (!unit.empty() && out.ends_with(fmt::format(" {}", unit)))
        out.resize(out.size() - unit.size() - 1);
    if (out == "ru" || out.ends_with(" ru")) out.replace(out.size() - 2, 2, "RU");
    if (!out.empty()) out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
    return out;
}

std::string amount(double value, std::string_view unit) {
    if (unit == "bytes") return size_text(value);
    if (unit == "share") return fmt::format("{:.0f} %", 100 * value);
    return unit.empty() ? number(value) : fmt::format("{} {}", number(value), unit);
}

std::string amount(const Fact& fact) {
    const bool share =
        fact.name.starts_with("share") || fact.name.find("Share") != std::string::npos;
    return amount(fact.value, fact.unit.empty() && share ? "share" : fact.unit);
}

std::string duration(double seconds) {
    constexpr std::array<std::pair<double, const char*>, 4> kUnits = {
        {{86'400, "days"}, {3600, "hours"}, {60, "minutes"}, {1, "seconds"}}};
    for (const auto& [length, name] : kUnits)
        if (seconds >= 2 * length) return fmt::format("{:.0f} {}", seconds / length, name);
    return "a second";
}

std::string saving_text(const Finding& finding) {
    std::string out;
    if (finding.saved_ru_month > 0)
        out = fmt::format("{} RU", number(static_cast<double>(finding.saved_ru_month)));
    if (finding.saved_month > 0)
        out = fmt::format("{}{}{}", out, out.empty() ? "" : ", ", dollars(finding.saved_month));
    if (out.empty()) return finding.saving_note;
    return finding.saving_note.empty() ? fmt::format("{} a month", out)
                                       : fmt::format("{} a month ({})", out, finding.saving_note);
}

std::string no_evidence_text(const ContainerReport& container) {
    std::string out;
    for (const auto& judgement : container.judgements)
        if (judgement.state() == Judgement::State::kNoEvidence)
            out += fmt::format("- {} {}: needs {}\n", judgement.rule, rule_of(judgement.rule).title,
                               judgement.why);
    return out;
}

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else if (c == '&')
            out += "&amp;";
        else if (c == '"')
            out += "&quot;";
        else
            out += c;
    }
    return out;
}

std::string bars_svg(const FindingChart& chart) {
    double top = 1e-9;
    for (const auto& series : chart.series)
        for (const double value : series.values) top = std::max(top, value);
    constexpr int kRow = 22;
    constexpr int kLabel = 200;
    std::string rows;
    int y = 0;
    for (size_t i = 0; i < chart.labels.size(); ++i) {
        rows +=
            fmt::format(R"(<text x="{}" y="{}" text-anchor="end">{}</text>)", kLabel - 8, y + 15,
                        escaped(chart.labels[i].size() > 30 ? chart.labels[i].substr(0, 29) + "…"
                                                            : chart.labels[i]));
        double x = kLabel;
        for (size_t s = 0; s < chart.series.size(); ++s) {
            const double value = i < chart.series[s].values.size() ? chart.series[s].values[i] : 0;
            const double width = value / top * 360;
            rows +=
                fmt::format(R"(<rect class="s{}" x="{:.1f}" y="{}" width="{:.1f}" height="14"/>)",
                            s % 4, x, y + 4, width);
            x += width;
        }
        const double value = chart.series.empty() || i >= chart.series[0].values.size()
                                 ? 0
                                 : chart.series[0].values[i];
        rows +=
            fmt::format(R"(<text x="{:.1f}" y="{}">{}</text>)", x + 6, y + 15,
                        chart.unit == "bytes" || chart.unit == "share" ? amount(value, chart.unit)
                                                                       : number(value));
        y += kRow;
    }
    return fmt::format(R"(<svg viewBox="0 0 680 {0}" role="img" aria-label="{1}">{2}</svg>)", y + 4,
                       escaped(chart.title), rows);
}

std::string lines_svg(const FindingChart& chart) {
    double top = 1e-9;
    for (const auto& series : chart.series)
        for (const double value : series.values) top = std::max(top, value);
    std::string body;
    for (size_t s = 0; s < chart.series.size(); ++s) {
        std::string points;
        const auto& values = chart.series[s].values;
        for (size_t i = 0; i < values.size(); ++i)
            points += fmt::format("{:.1f},{:.1f} ",
                                  values.size() < 2 ? 0
                                                    : 670.0 * static_cast<double>(i) /
                                                          static_cast<double>(values.size() - 1),
                                  170 - values[i] / top * 140);
        body += fmt::format(R"(<polyline class="l{}" points="{}"/>)", s % 4, points);
        // The legend: a stroke of the line's colour and its name.
        const int x = static_cast<int>(s) * 160;
        body += fmt::format(
            R"(<rect class="s{}" x="{}" y="205" width="16" height="3"/><text x="{}" y="211">{}</text>)",
            s % 4, x, x + 22, escaped(chart.series[s].name));
    }
    body += R"(<line class="axis" x1="0" y1="170" x2="670" y2="170"/>)";
    body += R"(<line class="axis" x1="0" y1="30" x2="670" y2="30"/>)";
    body += fmt::format(R"(<text x="0" y="22">{}</text>)", amount(top, chart.unit));
    if (!chart.labels.empty())
        body += fmt::format(
            R"(<text x="670" y="187" text-anchor="end">{}</text><text x="0" y="187">{}</text>)",
            escaped(chart.labels.back()), escaped(chart.labels.front()));
    return fmt::format(R"(<svg viewBox="0 0 680 218" role="img" aria-label="{}">{}</svg>)",
                       escaped(chart.title), body);
}

std::string heat_svg(const FindingChart& chart) {
    double top = 1e-9;
    for (const auto& series : chart.series)
        for (const double value : series.values) top = std::max(top, value);
    std::string body;
    int y = 0;
    for (const auto& series : chart.series) {
        body += fmt::format(R"(<text x="42" y="{}" text-anchor="end">{}</text>)", y + 13,
                            escaped(series.name));
        const double width = 620.0 / static_cast<double>(std::max<size_t>(1, series.values.size()));
        for (size_t i = 0; i < series.values.size(); ++i)
            body += fmt::format(
                R"(<rect class="s0" x="{:.1f}" y="{}" width="{:.2f}" height="16" opacity="{:.3f}"/>)",
                50 + width * static_cast<double>(i), y, width,
                0.04 + 0.96 * series.values[i] / top);
        y += 20;
    }
    return fmt::format(R"(<svg viewBox="0 0 680 {}" role="img" aria-label="{}">{}</svg>)", y,
                       escaped(chart.title), body);
}

std::string chart_svg(const FindingChart& chart) {
    if (chart.kind == "lines") return lines_svg(chart);
    if (chart.kind == "heat") return heat_svg(chart);
    return bars_svg(chart);
}

constexpr std::string_view kStyle = R"(
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--mut:#5b6572;--line:#d8dee4;--a:#2f6fed;--b:#9aa5b1}
@media(prefers-color-scheme:dark){:root{--bg:#14171b;--fg:#e6e9ed;--mut:#9aa5b1;--line:#2c333b;--a:#6ea0ff;--b:#5b6572}}
body{background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
article{border:1px solid var(--line);border-radius:8px;padding:1rem;margin:1rem 0}
h3{margin:0 0 .5rem;overflow-wrap:anywhere}pre{overflow:auto;border:1px solid var(--line);border-radius:6px;padding:.6rem;white-space:pre-wrap;overflow-wrap:anywhere}
.sev{display:inline-block;border:1px solid currentColor;border-radius:999px;padding:0 .6rem;font-size:.8rem;margin-right:.5rem}
.critical,.high{color:#c62f2f}.medium{color:#b26a00}.low,.info{color:var(--mut)}
@media(prefers-color-scheme:dark){.critical,.high{color:#ff8a80}.medium{color:#ffb454}}
svg{width:100%;max-width:680px;font:12px system-ui}svg text{fill:var(--mut)}.s0{fill:var(--a)}.s1{fill:var(--b)}.s2{fill:#7a5af8}.s3{fill:#12a150}
polyline{fill:none;stroke-width:2}.axis{stroke:var(--line)}.l0{stroke:var(--a)}.l1{stroke:var(--b)}.l2{stroke:#7a5af8}.l3{stroke:#12a150}
table{border-collapse:collapse}td{padding:.1rem 1rem .1rem 0}td:last-child{text-align:right;font-variant-numeric:tabular-nums}
)";

void finding_html(std::string& out, const Finding& finding) {
    out += fmt::format(R"(<article><h3><span class="sev {0}">{0}</span>{1}. {2}</h3><p>{3}</p>)",
                       severity_name(finding.severity), finding.rule, rule_of(finding.rule).title,
                       escaped(finding.summary));
    if (finding.chart)
        out += fmt::format("<p><b>{}</b></p>{}", escaped(finding.chart->title),
                           chart_svg(*finding.chart));
    out += "<table>";
    for (const auto& fact : finding.facts)
        out += fmt::format("<tr><td>{}</td><td>{}</td></tr>", escaped(words(fact.name, fact.unit)),
                           escaped(amount(fact)));
    out += fmt::format("</table><p><b>Change:</b> {}</p>", escaped(finding.change.text));
    for (const auto& code : {finding.change.json, finding.change.query})
        if (!code.empty()) out += fmt::format("<pre>{}</pre>", escaped(code));
    if (const auto saving = saving_text(finding); !saving.empty())
        out += fmt::format("<p><b>Saves:</b> {}</p>", escaped(saving));
    out += "</article>";
}

}  // namespace

std::optional<Severity> Report::worst() const {
    std::optional<Severity> out;
    for (const auto& container : containers)
        for (const auto* finding : ranked(container))
            if (!out || finding->severity > *out) out = finding->severity;
    return out;
}

MicroDollars Report::saved_month() const {
    MicroDollars sum = 0;
    for (const auto& container : containers)
        for (const auto* finding : ranked(container)) sum += finding->saved_month;
    return sum;
}

Report make_report(std::vector<Observation> observations, const Thresholds& limits,
                   int64_t now_seconds) {
    Report report;
    report.made_seconds = now_seconds;
    for (auto& observation : observations) {
        auto judgements = judge_all(observation, limits);
        report.containers.push_back({std::move(observation), std::move(judgements)});
    }
    return report;
}

std::string finding_json(const Finding& finding) {
    JsonText out;
    out.begin_object().member("rule", finding.rule).member("name", rule_of(finding.rule).name);
    out.member("title", rule_of(finding.rule).title)
        .member("severity", severity_name(finding.severity));
    out.member("summary", finding.summary).name("evidence").begin_array();
    for (const auto& fact : finding.facts)
        out.begin_object()
            .member("name", fact.name)
            .member("value", fact.value)
            .member("unit", fact.unit)
            .end_object();
    out.end_array();
    if (finding.chart) {
        out.name("chart")
            .begin_object()
            .member("kind", finding.chart->kind)
            .member("title", finding.chart->title);
        out.member("unit", finding.chart->unit).name("labels").begin_array();
        for (const auto& label : finding.chart->labels) out.value(label);
        out.end_array().name("series").begin_array();
        for (const auto& series : finding.chart->series) {
            out.begin_object().member("name", series.name).name("values").begin_array();
            for (const double value : series.values) out.value(value);
            out.end_array().end_object();
        }
        out.end_array().end_object();
    }
    out.name("change")
        .begin_object()
        .member("kind", finding.change.kind)
        .member("text", finding.change.text);
    if (!finding.change.json.empty()) out.name("json").raw(finding.change.json);
    if (!finding.change.query.empty()) out.member("query", finding.change.query);
    out.end_object().name("saving").begin_object().member("ruPerMonth", finding.saved_ru_month);
    out.member("microDollarsPerMonth", finding.saved_month).member("note", finding.saving_note);
    out.end_object().end_object();
    return out.take();
}

std::string report_json(const Report& report, bool with_observations) {
    JsonText out;
    out.begin_object().member("version", 1).member("madeSeconds", report.made_seconds);
    out.member("worst", report.worst() ? severity_name(*report.worst()) : std::string_view("none"));
    out.member("savedMicroDollarsPerMonth", report.saved_month()).name("containers").begin_array();
    for (const auto& container : report.containers) {
        out.begin_object().member("database", container.observation.database);
        out.member("container", container.observation.container);
        out.member("observedSeconds", container.observation.observed_seconds)
            .name("findings")
            .begin_array();
        for (const auto* finding : ranked(container)) out.raw(finding_json(*finding));
        out.end_array().name("quiet").begin_array();
        for (const auto& judgement : container.judgements)
            if (judgement.state() == Judgement::State::kQuiet) out.value(judgement.rule);
        out.end_array().name("noEvidence").begin_array();
        for (const auto& judgement : container.judgements)
            if (judgement.state() == Judgement::State::kNoEvidence)
                out.begin_object()
                    .member("rule", judgement.rule)
                    .member("name", rule_of(judgement.rule).name)
                    .member("title", rule_of(judgement.rule).title)
                    .member("needs", judgement.why)
                    .end_object();
        out.end_array();
        if (with_observations) out.name("observation").raw(observation_json(container.observation));
        out.end_object();
    }
    out.end_array().end_object();
    return out.take();
}

std::string report_markdown(const Report& report) {
    std::string out = "# Design report\n\n";
    for (const auto& container : report.containers) {
        const auto findings = ranked(container);
        out += fmt::format("## {} / {}\n\nObserved for {}; {} finding{}.\n\n",
                           container.observation.database, container.observation.container,
                           duration(container.observation.observed_seconds), findings.size(),
                           findings.size() == 1 ? "" : "s");
        for (const auto* finding : findings) {
            out += fmt::format("### {}. {} ({})\n\n{}\n\n", finding->rule,
                               rule_of(finding->rule).title, severity_name(finding->severity),
                               finding->summary);
            out += "| evidence | |\n|---|---:|\n";
            for (const auto& fact : finding->facts)
                out += fmt::format("| {} | {} |\n", words(fact.name, fact.unit), amount(fact));
            out += fmt::format("\n**Change.** {}\n", finding->change.text);
            if (!finding->change.json.empty())
                out += fmt::format("\n```json\n{}\n```\n", finding->change.json);
            if (!finding->change.query.empty())
                out += fmt::format("\n```sql\n{}\n```\n", finding->change.query);
            if (const auto saving = saving_text(*finding); !saving.empty())
                out += fmt::format("\n**Saves.** {}\n", saving);
            out += '\n';
        }
        if (const auto missing = no_evidence_text(container); !missing.empty())
            out += fmt::format(
                "<details><summary>Not judged for lack of evidence</summary>\n\n{}\n</details>\n\n",
                missing);
    }
    return out;
}

std::string report_html(const Report& report) {
    std::string out = fmt::format(
        R"(<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>Design report</title><style>{}</style></head><body><main><h1>Design report</h1><p>{}. Findings are worth {} a month.</p>)",
        kStyle, format_http_date(report.made_seconds), dollars(report.saved_month()));
    for (const auto& container : report.containers) {
        const auto findings = ranked(container);
        out += fmt::format("<h2>{} / {}</h2><p>Observed for {}.{}</p>",
                           escaped(container.observation.database),
                           escaped(container.observation.container),
                           duration(container.observation.observed_seconds),
                           findings.empty() ? " Nothing was found." : "");
        for (const auto* finding : findings) finding_html(out, *finding);
        std::string missing;
        for (const auto& judgement : container.judgements)
            if (judgement.state() == Judgement::State::kNoEvidence)
                missing += fmt::format("<li>{}. {}: needs {}</li>", judgement.rule,
                                       rule_of(judgement.rule).title, escaped(judgement.why));
        if (!missing.empty())
            out += fmt::format(
                "<details><summary>Not judged for lack of evidence</summary><ul>{}</ul></details>",
                missing);
    }
    return out + "</main></body></html>";
}

}  // namespace orrery::lab
