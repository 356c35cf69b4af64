#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "partition/step_transaction.h"
#include "script/script.h"

namespace orrery::engine {

/// What a request with scripts has used so far, over all attempts to run it. The budget pays the
/// dearest attempt once; repeated attempts are the server's cost.
class ScriptBudget {
public:
    ScriptBudget(const Engine& engine, const RequestTerms& terms)
        : engine_(engine), terms_(terms) {}
    /// A new attempt begins.
    void restart(const catalog::PartitionRange& range) {
        range_ = &range;
        charge_ = {};
        called_ = false;
    }
    void add(meter::Charge charge);
    /// The first call of a run is always accepted, so that an admitted request makes progress.
    bool accepts() {
        const bool first = !called_;
        called_ = true;
        return first || engine_.admit(*range_, terms_).ok();
    }
    meter::Charge charge() const { return charge_; }

private:
    const Engine& engine_;
    const RequestTerms terms_;
    const catalog::PartitionRange* range_ = nullptr;
    bool called_ = false;
    meter::Charge charge_;
    meter::Charge settled_;
};

/// A script's container: one logical partition of it, over one view and inside one transaction.
/// Lives on the script's thread for one attempt.
class ScriptCollection final : public script::Collection {
public:
    struct Scope {
        const Engine& engine;
        const Engine::Routed& routed;
        const catalog::PartitionRange& range;
        std::string_view epk;
        partition::StepTransaction& steps;
        ScriptBudget& budget;
        meter::Bill* bill = nullptr;
    };  // borrowed, outlive this
    explicit ScriptCollection(const Scope& scope) : scope_(scope) {}

    std::optional<std::string> call(std::string_view operation,
                                    std::string_view arguments) override;

    /// An operation as part of the transaction, priced.
    partition::OperationResult run(partition::ItemOperation operation);

private:
    Result<std::string> answer_to(std::string_view operation, const json::Value& request);
    Result<std::string> write(partition::OperationKind kind, const json::Value& request);
    Result<std::string> read(const json::Value& request);
    Result<std::string> feed(const json::Value& request);
    Result<std::string> query(const json::Value& request);
    Result<std::string> evaluate(const json::Value& request) const;
    Result<std::string> target_id(const json::Value& request);
    std::string options_text(int status, std::string_view more = {}) const;

    const Scope scope_;
};

}  // namespace orrery::engine
