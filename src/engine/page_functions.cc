#include "engine/page_functions.h"

#include "base/errors.h"

namespace orrery::engine {
namespace {

thread_local PageFunctions* current = nullptr;

class Host final : public query::UdfHost {
public:
    Result<json::Value> call(std::string_view name, std::span<const json::Value> arguments,
                             json::Arena& arena) override {
        CHECK(current != nullptr);
        return current->call(name, arguments, arena);
    }
};

}  // namespace

PageFunctions::PageFunctions(const catalog::Catalog& catalog,
                             const catalog::ContainerRid& container, const script::Limits& limits)
    : catalog_(catalog),
      container_(container),
      functions_(script::Functions::create(limits)),
      outer_(current) {
    current = this;
}

PageFunctions::~PageFunctions() {
    current = outer_;
}

query::UdfHost& PageFunctions::host() {
    static Host instance;
    return instance;
}

Result<size_t> PageFunctions::number_of(std::string_view name) {
    for (const Known& known : known_)
        if (known.name == name) return known.number;
    const auto found = catalog_.find_script(container_, catalog::ChildType::kUdf, name);
    if (found == nullptr || found->id != name)
        return errors::bad_request("The user-defined function 'udf." + std::string(name) +
                                   "' does not exist in this container.");
    TRY(const size_t number, functions_->add(name, found->body));
    known_.push_back({std::string(name), number});
    return number;
}

Result<json::Value> PageFunctions::call(std::string_view name,
                                        std::span<const json::Value> arguments,
                                        json::Arena& arena) {
    TRY(const size_t number, number_of(name));
    ++calls_;
    return functions_->call(number, arguments, arena);
}

}  // namespace orrery::engine
