#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "load/query_lines.h"

/// The two systems that the query benchmark compares, behind one interface.
namespace orrery::bench {

/// How to reach one of the systems, and how much to load.
struct Target {
    uint16_t port = 0;  ///< Orrery's
    std::string key;
    std::string conninfo;  ///< PostgreSQL's; empty: the target is Orrery
    uint64_t items = 1'000'000;
    size_t connections = 8;  ///< while loading
    bool postgres() const { return !conninfo.empty(); }
};

/// What one execution gave.
struct Outcome {
    uint64_t rows = 0;
    std::string first;  ///< the first row, if it is a number
};

/// One connection to one of the systems, with one query under way at most. Owned by one thread.
class Session {
public:
    virtual ~Session() = default;
    /// Sends the query. What it is given must stay until the outcome is there.
    virtual void begin(const QueryLine& line, const QueryValues& values, bool within_key) = 0;
    /// Takes what has arrived, whenever fd() is readable; the outcome when it is complete.
    virtual std::optional<Outcome> proceed() = 0;
    virtual int fd() const = 0;
    virtual int server_pid() const { return 0; }

    /// Both, waiting.
    Outcome run(const QueryLine& line, const QueryValues& values, bool within_key);

protected:
    static std::string leading_digits(std::string_view text);
};

std::unique_ptr<Session> open_orrery(const Target& target);
std::unique_ptr<Session> open_postgres(const Target& target);
void load_orrery(const Target& target);
void load_postgres(const Target& target);

}  // namespace orrery::bench
