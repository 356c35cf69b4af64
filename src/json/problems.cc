#include "json/problems.h"

#include "json/write.h"

namespace orrery::json {

std::string problems_text(std::span<const QueryProblem> problems) {
    std::string out = "{\"errors\":[";
    for (const QueryProblem& problem : problems) {
        if (out.back() == '}') out += ',';
        out += "{\"severity\":\"Error\"";
        if (problem.place)
            out += ",\"location\":{\"start\":" + std::to_string(problem.place->start) +
                   ",\"end\":" + std::to_string(problem.place->end) + "}";
        if (!problem.code.empty()) {
            const bool numeric = problem.code.front() >= '0' && problem.code.front() <= '9';
            out += numeric ? ",\"code\":" + problem.code : ",\"code\":\"" + problem.code + "\"";
        }
        out += ",\"message\":";
        write_string(out, problem.message);
        if (!problem.hint.empty()) {
            out += ",\"hint\":";
            write_string(out, problem.hint);
        }
        out += '}';
    }
    out += "]}";
    return out;
}

std::string error_text(const Error& error) {
    return error.details.problems.empty() ? error.message : problems_text(error.details.problems);
}

}  // namespace orrery::json
