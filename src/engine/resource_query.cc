#include "engine/resource_query.h"

#include "json/parse.h"
#include "json/patch.h"
#include "json/write.h"
#include "query/query.h"

namespace orrery::engine {

Result<std::vector<std::string>> query_resources(std::string_view text,
                                                 const json::Value& parameters,
                                                 const std::vector<QueriedResource>& resources) {
    TRY(const auto compiled, query::compile(text));
    TRY_STATUS(compiled->check_runnable());
    TRY(const auto bound, query::Parameters::bind(*compiled, parameters));
    query::QueryRun query(*compiled, bound);
    std::vector<std::string> texts;
    json::Arena arena;
    std::vector<json::Value> rows;
    const auto take = [&] {
        for (const auto& row : rows) texts.push_back(json::to_text(row));
        rows.clear();
    };
    for (const auto& resource : resources) {
        const auto forms =
            resource.forms.empty() ? std::vector<std::string>{resource.json} : resource.forms;
        for (const auto& form : forms) {
            TRY(const auto value, json::parse(form, arena));
            TRY(const bool matches, query::matches(*compiled, bound, value, arena));
            if (!matches) continue;
            TRY_STATUS(query.feed(value, arena, rows));
            take();
            break;
        }
    }
    TRY_STATUS(query.finish(arena, rows));
    take();
    return texts;
}

Result<std::shared_ptr<const partition::PatchProgram>> read_patch(std::string_view body,
                                                                  index::GeometrySpace space) {
    auto program = std::make_shared<partition::PatchProgram>();
    TRY(const auto value, json::parse(body, program->arena));
    TRY(program->patch, json::parse_patch(value, program->arena));
    if (!program->patch.condition.empty()) {
        TRY(const auto compiled, query::compile_condition(program->patch.condition, space));
        TRY(auto parameters, query::Parameters::bind(*compiled, json::Value()));
        program->condition = [compiled, parameters](const json::Value& item) -> Result<bool> {
            json::Arena arena;
            return query::matches(*compiled, parameters, item, arena);
        };
    }
    return std::shared_ptr<const partition::PatchProgram>(std::move(program));
}

}  // namespace orrery::engine
