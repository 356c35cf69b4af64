// The Design Lab under /_orrery/lab/… and /_orrery/containers/{database}/{container}/lab/….
#include "lab/lab.h"

#include <array>
#include <charconv>

#include "base/errors.h"
#include "heads/rest/handlers.h"
#include "heads/rest/own_endpoints.h"
#include "json/parse.h"
#include "lab/described.h"
#include "lab/rules/cost.h"
#include "lab/rules/relations.h"

namespace orrery::rest {
namespace {

/// The parameter `thresholds` is a JSON object.
Result<lab::Thresholds> thresholds_of(const Call& call) {
    const auto text = target_parameter(call.request().target, "thresholds");
    if (!text) return lab::Thresholds{};
    json::Arena arena;
    TRY(const auto value, json::parse(*text, arena));
    return lab::read_thresholds(value);
}

void reply_text(const CallPtr& call, std::string body, std::string_view type) {
    auto& response = call->response();
    response.status = 200;
    response.add_header("Content-Type", type);
    response.body = std::move(body);
    net::HttpExchange::send(std::move(call->exchange));
}

Status reply_report(const CallPtr& call, const lab::Report& report) {
    const auto format = target_parameter(call->request().target, "format").value_or("json");
    if (format == "md") {
        reply_text(call, lab::report_markdown(report), "text/markdown; charset=utf-8");
    } else if (format == "html") {
        reply_text(call, lab::report_html(report), "text/html; charset=utf-8");
    } else if (format == "json") {
        const bool whole =
            target_parameter(call->request().target, "observations").value_or("false") == "true";
        reply(call, Answer{}, lab::report_json(report, whole));
    } else {
        return Status(
            errors::bad_request("The parameter 'format' must be 'json', 'md' or 'html'."));
    }
    return {};
}

Status account_report(const CallPtr& call) {
    TRY(const auto limits, thresholds_of(*call));
    TRY(const auto report, call->lab->report(nullptr, limits));
    return reply_report(call, report);
}

Status account_judge(const CallPtr& call) {
    TRY(const auto limits, thresholds_of(*call));
    TRY(const auto body, parse_body(*call));
    TRY(const auto report, call->lab->judge(body->value, limits));
    return reply_report(call, report);
}

Status account_cost(const CallPtr& call) {
    TRY(const auto body, parse_body(*call));
    TRY(const auto input, lab::read_cost_input(body->value));
    reply(call, Answer{}, lab::cost_json(lab::compare_costs(input)));
    return {};
}

Status container_report(const CallPtr& call) {
    TRY(const auto container, named_container(*call));
    TRY(const auto limits, thresholds_of(*call));
    TRY(const auto report, call->lab->report(container.get(), limits));
    return reply_report(call, report);
}

Status container_observation(const CallPtr& call) {
    TRY(const auto container, named_container(*call));
    TRY(const auto observation, call->lab->observe(*container));
    reply(call, Answer{}, lab::observation_json(observation));
    return {};
}

Status container_cost(const CallPtr& call) {
    TRY(const auto container, named_container(*call));
    TRY(const auto observation, call->lab->observe(*container));
    const auto input = lab::measured_cost_input(observation);
    lab::JsonText out;
    out.begin_object().member("measured", input.ok());
    if (input.ok())
        out.name("costs").raw(lab::cost_json(lab::compare_costs(*input)));
    else
        out.member("why", input.error().message);
    out.end_object();
    reply(call, Answer{}, out.take());
    return {};
}

Status container_relations(const CallPtr& call) {
    TRY(const auto container, named_container(*call));
    TRY(const auto observation, call->lab->observe(*container));
    const auto samples = observation.item_use ? observation.item_use->samples : 0;
    reply(call, Answer{},
          "{\"samples\":" + std::to_string(samples) +
              ",\"relations\":" + lab::relations_json(lab::relations_of(observation)) + "}");
    return {};
}

/// A consumer of the change feed tells how much of what it read it could use.
Status container_feed_use(const CallPtr& call) {
    TRY(const auto container, named_container(*call));
    TRY(const auto body, parse_body(*call));
    const json::Value consumer = body->value.member("consumer");
    const json::Value read = body->value.member("read");
    const json::Value used = body->value.member("used");
    const json::Value charge = body->value.member("requestCharge");
    if (!consumer.is_string() || consumer.as_string().empty() ||
        consumer.as_string().size() > 255 || !read.is_number() || !used.is_number() ||
        read.as_double() < 0 || read.as_double() > 1e12 || used.as_double() < 0 ||
        used.as_double() > read.as_double())
        return Status(errors::bad_request(
            R"(The body must be {"consumer":"name","read":changes,"used":of them,"requestCharge":RU}.)"));
    call->lab->recorder().note_feed_use(container->rid.whole(), std::string(consumer.as_string()),
                                        static_cast<int64_t>(read.as_double()),
                                        static_cast<int64_t>(used.as_double()),
                                        charge.is_number() ? std::max(0.0, charge.as_double()) : 0);
    reply(call, Answer{}, "{}");
    return {};
}

Status account_demos(const CallPtr& call) {
    lab::JsonText out;
    out.begin_array();
    for (const auto& demo : lab::demos()) {
        out.begin_object()
            .member("name", demo.name)
            .member("title", demo.title)
            .member("text", demo.text);
        out.member("throughput", demo.throughput).name("candidates").begin_array();
        for (const auto& candidate : demo.candidates) {
            out.begin_array();
            for (const auto& path : candidate) out.value(path);
            out.end_array();
        }
        out.end_array().end_object();
    }
    out.end_array();
    reply(call, Answer{}, out.take());
    return {};
}

Result<double> scale_of(const json::Value& scale, std::string_view name, double fallback,
                        double min, double max) {
    const json::Value value = scale.member(name);
    if (value.is_undefined()) return fallback;
    if (!value.is_number() || value.as_double() < min || value.as_double() > max)
        return errors::bad_request("'scale." + std::string(name) + "' must be a number from " +
                                   std::to_string(static_cast<int64_t>(min)) + " to " +
                                   std::to_string(static_cast<int64_t>(max)) + ".");
    return value.as_double();
}

Status account_what_if(const CallPtr& call) {
    TRY(const auto body, parse_body(*call));
    lab::WhatIfJobs::Request request;
    TRY(request.workload, call->lab->workload(body->value));
    const json::Value scale = body->value.member("scale");
    TRY(request.scale.data, scale_of(scale, "data", 1, 0.001, lab::Scale::kDataMax));
    TRY(request.scale.traffic, scale_of(scale, "traffic", 1, 0.001, lab::Scale::kTrafficMax));
    TRY(const double throughput, scale_of(scale, "throughput", 400, 400, 1'000'000));
    request.scale.throughput = static_cast<int64_t>(throughput) / 100 * 100;
    if (const json::Value candidates = body->value.member("candidates");
        !candidates.is_undefined()) {
        const auto wrong = [] {
            return Status(
                errors::bad_request(R"('candidates' must be like [["/a"],["/a","/b"]].)"));
        };
        if (!candidates.is_array()) return wrong();
        for (const auto& candidate : candidates.elements()) {
            if (!candidate.is_array() || candidate.elements().empty() ||
                candidate.elements().size() > 3)
                return wrong();
            std::vector<std::string> paths;
            for (const auto& path : candidate.elements()) {
                if (!path.is_string() || path.as_string().size() < 2 || path.as_string()[0] != '/')
                    return wrong();
                paths.emplace_back(path.as_string());
            }
            request.candidates.push_back(std::move(paths));
        }
    }
    TRY(const uint64_t id, call->lab->what_if().start(std::move(request)));
    Answer answer;
    answer.status = 202;
    reply(call, answer, "{\"id\":" + std::to_string(id) + "}");
    return {};
}

Result<uint64_t> run_of(const Call& call) {
    const auto text = target_parameter(call.request().target, "id");
    uint64_t id = 0;
    if (text) std::from_chars(text->data(), text->data() + text->size(), id);
    if (id == 0)
        return errors::bad_request("The parameter 'id' must be the number of a what-if run.");
    return id;
}

Status account_what_if_state(const CallPtr& call) {
    TRY(const uint64_t id, run_of(*call));
    TRY(auto state, call->lab->what_if().json(id));
    reply(call, Answer{}, std::move(state));
    return {};
}

Status account_what_if_cancel(const CallPtr& call) {
    TRY(const uint64_t id, run_of(*call));
    TRY_STATUS(call->lab->what_if().cancel(id));
    reply(call, Answer{}, "{}");
    return {};
}

Status container_candidates(const CallPtr& call) {
    TRY(const auto container, named_container(*call));
    const auto workload = call->lab->recorded(*container);
    lab::JsonText out;
    out.begin_object().member("recorded", workload.ok()).name("candidates");
    if (workload.ok())
        out.raw(lab::candidates_json(
            lab::propose_candidates(*workload, lab::WhatIfJobs::kCandidatesMax)));
    else
        out.begin_array().end_array().member("why", workload.error().message);
    out.end_object();
    reply(call, Answer{}, out.take());
    return {};
}

struct LabEndpoint {
    std::string_view method;
    bool of_container;
    std::string_view name;
    Status (*answer)(const CallPtr& call);
};
constexpr std::array<LabEndpoint, 13> kEndpoints = {{
    {"GET", false, "report", account_report},
    {"POST", false, "judge", account_judge},
    {"POST", false, "cost", account_cost},
    {"GET", false, "demos", account_demos},
    {"POST", false, "what-if", account_what_if},
    {"GET", false, "what-if", account_what_if_state},
    {"DELETE", false, "what-if", account_what_if_cancel},
    {"GET", true, "candidates", container_candidates},
    {"GET", true, "report", container_report},
    {"GET", true, "observation", container_observation},
    {"GET", true, "cost", container_cost},
    {"GET", true, "relations", container_relations},
    {"POST", true, "feed-use", container_feed_use},
}};

}  // namespace

void handle_lab(const CallPtr& call) {
    const auto& ids = call->route.ids;
    const bool of_container = ids[0] == "containers";
    const size_t at = of_container ? 4 : 1;
    const std::string_view method =
        is_read(*call) ? std::string_view("GET") : call->request().method;
    bool known = false;
    if (call->lab != nullptr && ids.size() == at + 1)
        for (const LabEndpoint& endpoint : kEndpoints) {
            if (endpoint.of_container != of_container || endpoint.name != ids[at]) continue;
            known = true;
            if (endpoint.method != method) continue;
            return on_worker(call, [call, answer = endpoint.answer] { return answer(call); });
        }
    reply_no_endpoint(call, known);
}

}  // namespace orrery::rest
