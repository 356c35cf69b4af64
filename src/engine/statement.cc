#include "engine/statement.h"

#include "base/errors.h"
#include "engine/door.h"
#include "engine/engine.h"

namespace orrery::engine {

Statement::Statement(const Door& door) : door_(door), started_us_(door.clock().monotonic_us()) {
    terms_.traffic.priority = door.settings().default_priority;
    terms_.strong = costs_twice(door.settings().consistency);
    terms_.refused_by = &refused_by_;
}

Statement::~Statement() {
    // A metadata operation has no completion after which the door could see to it.
    if (is_metadata_ || plain_price_) finish({});
}

Status Statement::ask_for_level(ConsistencyLevel level, std::string_view as_written) {
    const ConsistencyLevel strongest = door_.settings().consistency;
    if (level < strongest)
        return Status(errors::bad_request("The consistency level '" + std::string(as_written) +
                                          "' is stronger than the account's level '" +
                                          std::string(consistency_name(strongest)) +
                                          "'; a request may only ask for a weaker one."));
    terms_.strong = costs_twice(level);
    return {};
}

int64_t Statement::age_us() const {
    return door_.clock().monotonic_us() - started_us_;
}

void Statement::touch_container() {
    const auto& range = container_->ranges->ranges.front();
    outcome_.touched = {range.id, range.partition->lsn()};
}

void Statement::set_not_modified() {
    ending_ = Ending::kNotModified;
    outcome_.charge = plain_price_.value_or(outcome_.charge);
}

std::string Statement::explanation(size_t bytes_max) {
    // What nobody itemised costs one thing, and so does an error that came after some work had been
    // priced.
    if (bill->lines().empty() || bill->total() != outcome_.charge) {
        *bill = meter::Bill();
        const bool writes = outcome_.charge >= meter::metadata_write();
        const std::string_view term = ending_ == Ending::kNotModified ? "notModified"
                                      : ending_ == Ending::kFailed    ? "failure"
                                      : !is_metadata_                 ? "request"
                                      : writes                        ? "metadataWrite"
                                                                      : "metadataRead";
        bill->add(term, 1, outcome_.charge.units);
    }
    return bill->json(door_.settings().charges, bytes_max);
}

void Statement::refuse(const Error& error) {
    outcome_ = {};
    outcome_.charge = meter::failure(error.code);
    fail(error);
}

void Statement::fail(const Error& error) {
    ending_ = Ending::kFailed;
    failed_with_ = error.code;
    outcome_.throttled = errors::is_rate_limit(error.code);
}

void Statement::take(const partition::OperationResult& result, meter::Charge charge,
                     Touched touched) {
    if (bill) (void)door_.engine_.price(result, terms_, bill.get());
    outcome_.charge = charge;
    outcome_.touched = std::move(touched);
    outcome_.operations = {&result, 1};
    if (!result.status.ok()) fail(result.status.error());
}

void Statement::take_run(const Status& status, meter::Charge charge, Touched touched) {
    if (!status.ok() && charge.units == 0) return refuse(status.error());
    outcome_.charge = charge;
    outcome_.touched = std::move(touched);
    if (!status.ok()) fail(status.error());
}

void Statement::itemise(const std::vector<partition::OperationResult>& results) {
    if (bill == nullptr) return;
    for (size_t i = 0; i < results.size(); ++i) {
        bill->set_scope("operation " + std::to_string(i));
        (void)door_.engine_.price(results[i], terms_, bill.get());
    }
}

void Statement::end_operation() {
    finish({});
    outcome_.range_charges = {};
    outcome_.operations = {};
    outcome_.places = {};
    outcome_.query = nullptr;
    outcome_.query_parameters = nullptr;
}

}  // namespace orrery::engine
