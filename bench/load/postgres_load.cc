// The same workloads against PostgreSQL: JSONB, primary key, GIN index, prepared statements,
// non-blocking connections from one thread.
//   postgres_load --conninfo "host=… dbname=…" --items N [--zipfian true] setup | load N | run
//   WORKLOAD
#include <fmt/format.h>
#include <libpq-fe.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "load/report.h"
#include "load/workload.h"

namespace {

using namespace orrery::bench;

struct Options {
    std::string conninfo;
    size_t connections = 64;
    double seconds = 5;
    uint64_t operations_max = 0;
    bool quiet = false;
    std::vector<int> pids;
    WorkloadOptions workload;
    std::vector<std::string> words;
};

Options read(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        if (!name.starts_with("--")) {
            options.words.push_back(name);
            continue;
        }
        if (i + 1 >= argc) throw std::invalid_argument(name + " needs a value");
        const std::string value = argv[++i];
        if (name == "--conninfo")
            options.conninfo = value;
        else if (name == "--connections")
            options.connections = std::stoul(value);
        else if (name == "--seconds")
            options.seconds = std::stod(value);
        else if (name == "--items")
            options.workload.item_count = std::stoull(value);
        else if (name == "--first")
            options.workload.first_created = std::stoull(value);
        else if (name == "--zipfian")
            options.workload.zipfian = value == "true";
        else if (name == "--pid")
            options.pids.push_back(std::stoi(value));
        else
            throw std::invalid_argument("unknown option " + name);
    }
    return options;
}

PGconn* open_connection(const Options& options) {
    PGconn* connection = PQconnectdb(options.conninfo.c_str());
    if (PQstatus(connection) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(connection));
    return connection;
}

void run_sql(PGconn* connection, const char* sql) {
    PGresult* result = PQexec(connection, sql);
    const auto status = PQresultStatus(result);
    PQclear(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        throw std::runtime_error(PQerrorMessage(connection));
}

void setup(const Options& options) {
    PGconn* connection = open_connection(options);
    run_sql(connection, "DROP TABLE IF EXISTS items");
    run_sql(connection,
            "CREATE TABLE items (pk text, id text, doc jsonb NOT NULL, PRIMARY KEY (pk, id))");
    run_sql(connection, "CREATE INDEX items_doc ON items USING gin (doc)");
    PQfinish(connection);
}

void prepare(PGconn* connection, const char* name, const char* sql) {
    PGresult* result = PQprepare(connection, name, sql, 0, nullptr);
    const auto status = PQresultStatus(result);
    PQclear(result);
    if (status != PGRES_COMMAND_OK) throw std::runtime_error(PQerrorMessage(connection));
}

class Driver {
public:
    explicit Driver(const Options& options) : options_(options), workload_(options.workload) {
        for (size_t i = 0; i < options.connections; ++i) {
            PGconn* connection = open_connection(options);
            prepare(connection, "read", "SELECT doc FROM items WHERE pk = $1 AND id = $2");
            prepare(connection, "create",
                    "INSERT INTO items (pk, id, doc) VALUES ($1, $2, $3::jsonb)");
            prepare(connection, "upsert",
                    "INSERT INTO items (pk, id, doc) VALUES ($1, $2, $3::jsonb) "
                    "ON CONFLICT (pk, id) DO UPDATE SET doc = excluded.doc");
            prepare(connection, "feed", "SELECT doc FROM items ORDER BY pk, id LIMIT 100");
            PQsetnonblocking(connection, 1);
            slots_.push_back({connection, 0});
        }
    }
    ~Driver() {
        for (auto& slot : slots_) PQfinish(slot.connection);
    }

    uint64_t run(Report& report) {
        const int epoll = epoll_create1(EPOLL_CLOEXEC);
        for (size_t i = 0; i < slots_.size(); ++i) {
            epoll_event event{};
            event.events = EPOLLIN;
            event.data.u64 = i;
            epoll_ctl(epoll, EPOLL_CTL_ADD, PQsocket(slots_[i].connection), &event);
            begin(slots_[i]);
        }
        const int64_t until = now_us() + static_cast<int64_t>(options_.seconds * 1e6);
        while (busy_ > 0) {
            epoll_event events[128];
            const int ready = epoll_wait(epoll, events, 128, 1000);
            for (int i = 0; i < ready; ++i) advance(slots_[events[i].data.u64], report, until);
        }
        ::close(epoll);
        return errors_;
    }

private:
    struct Slot {
        PGconn* connection;
        int64_t began_us;
    };

    void begin(Slot& slot) {
        if (options_.operations_max > 0 && begun_ >= options_.operations_max) return;
        ++begun_;
        ++busy_;
        const auto step = workload_.next();
        const std::string id = item_id(step.key);
        const std::string doc = step.operation == Operation::kCreate ? item_json(step.key, 0)
                                : step.operation == Operation::kUpsert
                                    ? item_json(step.key, ++version_)
                                    : std::string();
        const char* values[] = {id.c_str(), id.c_str(), doc.c_str()};
        slot.began_us = now_us();
        const char* name = step.operation == Operation::kRead     ? "read"
                           : step.operation == Operation::kCreate ? "create"
                           : step.operation == Operation::kUpsert ? "upsert"
                                                                  : "feed";
        const int count = step.operation == Operation::kRead   ? 2
                          : step.operation == Operation::kFeed ? 0
                                                               : 3;
        if (PQsendQueryPrepared(slot.connection, name, count, values, nullptr, nullptr, 0) != 1)
            throw std::runtime_error(PQerrorMessage(slot.connection));
        while (PQflush(slot.connection) == 1) {
        }
    }

    void advance(Slot& slot, Report& report, int64_t until) {
        if (PQconsumeInput(slot.connection) != 1)
            throw std::runtime_error(PQerrorMessage(slot.connection));
        while (PQisBusy(slot.connection) == 0) {
            PGresult* result = PQgetResult(slot.connection);
            if (result == nullptr) {
                --busy_;
                const int64_t now = now_us();
                report.add(now - slot.began_us, true);
                if (options_.operations_max > 0 || now < until) begin(slot);
                return;
            }
            const auto status = PQresultStatus(result);
            if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && errors_++ == 0)
                fmt::print(stderr, "first failure: {}\n", PQresultErrorMessage(result));
            PQclear(result);
        }
    }

    const Options& options_;
    Workload workload_;
    std::vector<Slot> slots_;
    uint64_t begun_ = 0;
    uint64_t busy_ = 0;
    uint64_t errors_ = 0;
    uint64_t version_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    try {
        Options options = read(argc, argv);
        const auto& words = options.words;
        if (words.size() == 1 && words[0] == "setup") {
            setup(options);
            return 0;
        }
        if (words.size() != 2 || (words[0] != "load" && words[0] != "run"))
            throw std::invalid_argument("expected: setup | load N | run WORKLOAD");
        if (words[0] == "load") {
            options.operations_max = std::stoull(words[1]);
            options.quiet = true;
            options.workload.name = "create";
        } else {
            options.workload.name = words[1];
        }
        Driver driver(options);
        Report report("postgresql", options.workload.name, options.pids);
        report.note(fmt::format("\"items\":{}", options.workload.item_count));
        const uint64_t errors = driver.run(report);
        if (!options.quiet) report.print();
        return errors == 0 ? 0 : 1;
    } catch (const std::exception& error) {
        fmt::print(stderr, "postgres_load: {}\n", error.what());
        return 1;
    }
}
