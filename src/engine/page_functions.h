#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"
#include "query/udf.h"
#include "script/script.h"

namespace orrery::engine {

/// The user-defined functions of a container while one page of a query runs on this thread. Made
/// and destroyed on it, as a local variable.
class PageFunctions {
public:
    PageFunctions(const catalog::Catalog& catalog, const catalog::ContainerRid& container,
                  const script::Limits& limits);
    ~PageFunctions();
    PageFunctions(const PageFunctions&) = delete;
    PageFunctions& operator=(const PageFunctions&) = delete;

    /// Calls the functions of the page that runs on the calling thread: one object for all queries,
    /// so that a pass may go on in another page and on another thread.
    static query::UdfHost& host();

    Result<json::Value> call(std::string_view name, std::span<const json::Value> arguments,
                             json::Arena& arena);
    uint64_t calls() const { return calls_; }

private:
    struct Known {
        std::string name;
        size_t number = 0;
    };
    Result<size_t> number_of(std::string_view name);

    const catalog::Catalog& catalog_;
    const catalog::ContainerRid container_;
    const std::unique_ptr<script::Functions> functions_;
    PageFunctions* const outer_;
    std::vector<Known> known_;
    uint64_t calls_ = 0;
};

}  // namespace orrery::engine
