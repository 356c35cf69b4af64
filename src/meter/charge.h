#pragma once

#include <compare>
#include <cstdint>
#include <string>

/// Request Units as exact integers, from counted work (service-model §3.2). Never a clock.
namespace orrery::meter {

/// A charge in u = 1/21,000,000 RU.
struct Charge {
    int64_t units = 0;

    friend Charge operator+(Charge a, Charge b) { return {a.units + b.units}; }
    Charge& operator+=(Charge b) {
        units += b.units;
        return *this;
    }
    friend auto operator<=>(const Charge&, const Charge&) = default;
};
inline constexpr int64_t kUnitsPerRu = 21'000'000;
inline constexpr int64_t kUnitsPerQuantum = 1'000'000;

/// RU with two decimals, rounded half up: "5.71". The only place that rounds.
std::string ru_text(Charge charge);
double ru_value(Charge charge);

Charge from_quanta(int64_t quanta);

/// R(b), W(b) in quanta.
int64_t read_quanta(uint64_t item_bytes);
int64_t write_quanta(uint64_t item_bytes);

Charge point_read(uint64_t item_bytes);
Charge create(uint64_t item_bytes, uint64_t terms);
Charge replace(uint64_t old_bytes, uint64_t new_bytes, uint64_t terms_removed,
               uint64_t terms_added);
Charge patch(uint64_t old_bytes, uint64_t new_bytes, uint64_t terms_removed, uint64_t terms_added,
             uint32_t operations);
Charge remove(uint64_t item_bytes, uint64_t terms);

/// Read feed and change feed: max(21, sum of R) quanta; add R(b) of each item, then feed_page().
Charge feed_page(int64_t read_quanta_sum);

/// One physical partition's part of one page of a query.
struct QueryWork {
    uint64_t seeks = 0;
    uint64_t loaded_items = 0;
    uint64_t loaded_bytes = 0;
    uint64_t returned_bytes = 0;
    uint64_t index_entries = 0;
    uint64_t join_tuples = 0;
    uint64_t udf_calls = 0;
};
/// Everything but the byte terms, which are divided once per page.
Charge query_partition(const QueryWork& work);
Charge query_bytes(uint64_t loaded_bytes, uint64_t returned_bytes);

/// Stored procedure and trigger without the operations inside them.
Charge stored_procedure_run();
Charge trigger_run();
/// A read, query or feed under Strong or Bounded Staleness costs twice. Never for writes.
Charge strong_read(Charge read);

Charge metadata_read();
Charge metadata_write();
Charge script_write();
/// By HTTP status: 304, 400, 404, 409, 412, 413, 429, 449 …; zero for what is not charged.
/// 429 is reported but not deducted from a budget.
Charge failure(int http_status, int sub_status);

}  // namespace orrery::meter
