#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/task.h"
#include "engine/account.h"
#include "engine/observer.h"
#include "engine/requests.h"

namespace orrery::engine {

class Door;

/// How far a client has read one physical partition; no answer may show it less.
struct SeenPosition {
    std::string_view range_id;
    storage::Lsn lsn = 0;
};
/// A client's positions as one text in the head's own form, which is taken apart when it is needed.
struct SeenPositions {
    std::string_view text;
    /// Takes the next position from the text; nothing: there are no more.
    Result<std::optional<SeenPosition>> (*next)(std::string_view& text) = nullptr;
};

/// Where one operation of a bulk request went, for its record.
struct OperationPlace {
    uint32_t range = RequestRecord::kNoRange;
    std::string_view partition_key;  ///< as the client sent it
    meter::Charge charge;
};

/// The result of a statement.
struct Outcome {
    meter::Charge charge;
    Touched touched;         ///< the partition that served it; without a range id: none
    bool throttled = false;  ///< refused for want of throughput: the charge is told, nobody pays it

    // Borrowed from the answer, while the completion runs.

    /// Of a statement that several partitions served; empty: `touched` names the one.
    std::span<const RangeCharge> range_charges;
    std::span<const partition::OperationResult> operations;  ///< outcomes of point operations
    /// One per operation where they may have gone to several keys; empty otherwise.
    std::span<const OperationPlace> places;
    const QueryAnswer* query = nullptr;
    const json::Value* query_parameters = nullptr;
    uint32_t page_size = 0;
    bool continued = false;  ///< not the first page of a query
};

/// What only the head knows of a statement, for its record.
struct WireFacts {
    uint16_t status = 0;      ///< how it ended, as engine/outcome.h has it; 0: as the door knows
    int64_t duration_us = 0;  ///< as the client was told; 0: it was not
    uint64_t request_bytes = 0;
    uint64_t response_bytes = 0;
    uint64_t connection = 0;         ///< tells connections apart; 0: unknown
    std::string_view correlation;    ///< what the client says belongs together
    std::string_view partition_key;  ///< as the client wrote it
    std::string_view item_id;        ///< of the item that the request names
    std::string_view item_body;      ///< of a write that names its item in the body
    /// A tool's own work: charged like everything else, and no part of what the application does.
    bool housekeeping = false;
};

/// One statement of a client on its way through the door: what it brings along and what it has come
/// to. Heads derive from it. It is used by one thread at a time and moves between threads with the
/// work; it is recorded once.
class Statement {
public:
    explicit Statement(const Door& door);
    virtual ~Statement();
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;

    /// Runs the task where the statement's connection is served, at once when called there. Any
    /// thread. For threads that should not spend time on building answers.
    virtual void run_on_loop(std::unique_ptr<Task> task) = 0;
    /// True once nobody waits for the answer. Any thread.
    virtual bool cancelled() const = 0;

    // What the head fills in before the first operation.
    void set_traffic(const meter::Traffic& traffic) { terms_.traffic = traffic; }
    SeenPositions seen;
    std::unique_ptr<meter::Bill> bill;  ///< the charge is to be explained
    OperationClass operation = OperationClass::kMetadata;
    /// Reads are to be at this level, which may only be weaker than the account's.
    Status ask_for_level(ConsistencyLevel level, std::string_view as_written);

    /// Reads cost twice.
    bool reads_strongly() const { return terms_.strong; }
    const catalog::ContainerPtr& container() const { return container_; }
    const Outcome& outcome() const { return outcome_; }
    /// Microseconds since the statement came.
    int64_t age_us() const;

    /// The container that the statement is about; null: none.
    void use(catalog::ContainerPtr container) { container_ = std::move(container); }
    /// The answer names the container's first range: a session starts there.
    void touch_container();
    /// The head refuses the statement itself, or nothing was done: what that costs.
    void refuse(const Error& error);
    /// The client has what a metadata operation found.
    void set_not_modified();
    /// The charge term by term, as JSON, at most so long. Precondition: there is a bill.
    std::string explanation(size_t bytes_max);
    /// Records the statement, once. Before the answer is sent, and before the completion of an
    /// operation returns; the door does it otherwise, without the wire's facts.
    void finish(const WireFacts& facts);

private:
    friend class Session;
    /// One operation has ended so.
    void take(const partition::OperationResult& result, meter::Charge charge, Touched touched);
    /// A run of scripts has; one that cost nothing has done nothing.
    void take_run(const Status& status, meter::Charge charge, Touched touched);
    /// A page that several partitions may have served.
    template <typename Page>
    void take_page(const Page& page) {
        outcome_.charge = page.charge;
        outcome_.touched = page.touched;
        outcome_.range_charges = page.range_charges;
    }
    /// Prices the operations again, line by line, if an explanation was asked for.
    void itemise(const std::vector<partition::OperationResult>& results);
    void fail(const Error& error);
    /// An operation's completion has returned: what the outcome borrows goes.
    void end_operation();

    const Door& door_;
    const int64_t started_us_;
    RequestTerms terms_;
    /// Number of the physical partition that had no throughput left.
    std::atomic<uint32_t> refused_by_{RequestRecord::kNoRange};
    catalog::ContainerPtr container_;  ///< of the statement's operations, once resolved
    Outcome outcome_;
    enum class Ending : uint8_t { kDone, kNotModified, kFailed };
    Ending ending_ = Ending::kDone;
    Code failed_with_ = Code::kInternal;        ///< kFailed only
    bool is_metadata_ = false;                  ///< counted as a metadata request
    std::optional<meter::Charge> plain_price_;  ///< of metadata, at every level
    bool recorded_ = false;
};
using StatementPtr = std::shared_ptr<Statement>;

}  // namespace orrery::engine
