#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

/// Request Units as exact integers, from counted work (docs/request-units.md). Never from a clock.
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

/// Which table prices sizes: the present one, or the one of old spreadsheets.
enum class ChargeProfile : uint8_t { kCurrent, kClassic };

/// RU with two decimals, rounded half up: "5.71". The only place that rounds.
std::string ru_text(Charge charge);
double ru_value(Charge charge);

Charge from_quanta(int64_t quanta);

/// A charge term by term. The lines' amounts add up to the charge.
class Bill {
public:
    struct Line {
        std::string_view term;  ///< a constant
        std::string scope;      ///< which operation or range; empty: the request
        uint64_t count = 0;     ///< how many bytes, terms, items …
        int64_t units = 0;
    };
    void add(std::string_view term, uint64_t count, int64_t units);
    /// Lines that follow belong to it.
    void set_scope(std::string scope) { scope_ = std::move(scope); }
    const std::vector<Line>& lines() const { return lines_; }
    Charge total() const;
    /// {"requestCharge":5.71,"units":…,"profile":"current","terms":[{"term":…,"count":…,"units":…,
    /// "requestUnits":…}]}, at most `bytes_max` long: lines of different scopes are added up, and
    /// at last the smallest ones, rather than left out.
    std::string json(ChargeProfile profile, size_t bytes_max) const;

private:
    std::vector<Line> lines_;
    std::string scope_;
};

/// How a price is computed: which table applies, and which bill itemises it.
struct Pricing {
    ChargeProfile profile = ChargeProfile::kCurrent;
    Bill* bill = nullptr;  ///< null: nobody asks
};

/// R(b), W(b) in quanta, in the current profile.
int64_t read_quanta(uint64_t item_bytes);
int64_t write_quanta(uint64_t item_bytes);

Charge point_read(uint64_t item_bytes, const Pricing& pricing = {});
Charge create(uint64_t item_bytes, uint64_t terms, const Pricing& pricing = {});
Charge replace(uint64_t old_bytes, uint64_t new_bytes, uint64_t terms_removed, uint64_t terms_added,
               const Pricing& pricing = {});
Charge patch(uint64_t old_bytes, uint64_t new_bytes, uint64_t terms_removed, uint64_t terms_added,
             uint32_t operations, const Pricing& pricing = {});
Charge remove(uint64_t item_bytes, uint64_t terms, const Pricing& pricing = {});

/// Read feed and change feed: add point_read() of each item, then this: the least that a page
/// costs, given what its items cost.
Charge feed_page(Charge items, const Pricing& pricing = {});

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
Charge query_partition(const QueryWork& work, const Pricing& pricing = {});
Charge query_bytes(uint64_t loaded_bytes, uint64_t returned_bytes, const Pricing& pricing = {});

/// Terms that a change of the indexing policy adds to items or takes from them.
Charge index_change(uint64_t terms, const Pricing& pricing = {});

/// Stored procedure and trigger without the operations inside them.
Charge stored_procedure_run(const Pricing& pricing = {});
Charge trigger_run(const Pricing& pricing = {});
/// A read, query or feed under Strong or Bounded Staleness costs twice. Never for writes.
Charge strong_read(Charge read, const Pricing& pricing = {});

Charge metadata_read();
Charge metadata_write();
Charge script_write();
/// A request that failed; zero for what is not charged. What a rate limit costs is told and not
/// deducted from a budget.
Charge failure(Code code, const Pricing& pricing = {});
/// A read whose caller has the current version already.
Charge not_modified(const Pricing& pricing = {});

}  // namespace orrery::meter
