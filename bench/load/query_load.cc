// Queries against Orrery and PostgreSQL, the same lines with the same values.
//   query_load --port P --key K --items N load | run            (Orrery)
//   query_load --conninfo "host=…" --items N load | run         (PostgreSQL)
//   query_load lines                                            (names, one per line)
// Options: --connections 8  --seconds 5  --pid SERVER  --only PART-OF-A-NAME  --line NAME
// --scope container|key
// `run` prints one JSON line per query line and scope. A tenth of the time, at least half a second,
// goes before the measurement, so that what a system keeps in memory is there.
#include <fmt/format.h>
#include <libpq-fe.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "load/http_client.h"
#include "load/query_lines.h"
#include "load/report.h"

namespace orrery::bench {
namespace {

struct Options {
    uint16_t port = 0;
    std::string key;
    std::string conninfo;
    uint64_t items = 1'000'000;
    size_t connections = 8;
    double seconds = 5;
    std::vector<int> pids;
    std::string only;
    std::string line;
    std::string scope;
    std::string word;
    bool postgres() const { return !conninfo.empty(); }
};

Options read(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        if (!name.starts_with("--")) {
            options.word = name;
            continue;
        }
        if (i + 1 >= argc) throw std::invalid_argument(name + " needs a value");
        const std::string value = argv[++i];
        if (name == "--port")
            options.port = static_cast<uint16_t>(std::stoi(value));
        else if (name == "--key")
            options.key = value;
        else if (name == "--conninfo")
            options.conninfo = value;
        else if (name == "--items")
            options.items = std::stoull(value);
        else if (name == "--connections")
            options.connections = std::stoul(value);
        else if (name == "--seconds")
            options.seconds = std::stod(value);
        else if (name == "--pid")
            options.pids.push_back(std::stoi(value));
        else if (name == "--only")
            options.only = value;
        else if (name == "--line")
            options.line = value;
        else if (name == "--scope")
            options.scope = value;
        else
            throw std::invalid_argument("unknown option " + name);
    }
    return options;
}

/// What one execution gave.
struct Outcome {
    uint64_t rows = 0;
    std::string first;  ///< the first row, if it is a number
};

std::string leading_digits(std::string_view text) {
    return std::string(text.substr(0, std::min(text.find_first_not_of("0123456789"), text.size())));
}

/// One connection to one of the systems. Owned by one thread.
class Session {
public:
    virtual ~Session() = default;
    virtual Outcome run(const QueryLine& line, const QueryValues& values, bool within_key) = 0;
    virtual int server_pid() const { return 0; }
};

// --- Orrery
// ---------------------------------------------------------------------------------------

constexpr const char* kContainer = "dbs/bench/colls/queries";
constexpr const char* kDocs = "dbs/bench/colls/queries/docs";

class OrrerySession final : public Session {
public:
    explicit OrrerySession(const Options& options) : client_(options.port, options.key) {}

    Outcome run(const QueryLine& line, const QueryValues& values, bool within_key) override {
        const std::string& text = within_key && !line.key_text.empty() ? line.key_text : line.text;
        std::string body = fmt::format(R"({{"query":"{}","parameters":[)", text);
        for (size_t i = 0; i < values.json.size(); ++i)
            body += fmt::format(R"({{"name":"@p{}","value":{}}},)", i, values.json[i]);
        body += fmt::format(R"({{"name":"@pk","value":"{}"}}]}})", values.tenant);
        std::string headers =
            "content-type: application/query+json\r\nx-ms-documentdb-isquery: "
            "True\r\nx-ms-max-item-count: -1\r\n";
        headers += within_key ? "x-ms-documentdb-partitionkey: [\"" + values.tenant + "\"]\r\n"
                              : std::string("x-ms-documentdb-query-enablecrosspartition: True\r\n");
        Outcome outcome;
        for (std::string continuation;;) {
            const HttpAnswer answer = client_.post(
                "docs", kContainer, kDocs,
                continuation.empty() ? headers
                                     : headers + "x-ms-continuation: " + continuation + "\r\n",
                body);
            if (answer.status != 200)
                throw std::runtime_error(
                    fmt::format("HTTP {}: {}", answer.status, answer.body.substr(0, 500)));
            outcome.rows += parse_number(answer.item_count);
            if (outcome.first.empty()) outcome.first = first_number(answer.body);
            continuation = answer.continuation;
            if (continuation.empty()) return outcome;
        }
    }

private:
    /// The only row of `…"Documents":[5],…`.
    static std::string first_number(std::string_view body) {
        const size_t at = body.find("\"Documents\":[");
        if (at == std::string_view::npos) return "";
        return leading_digits(body.substr(at + 13));
    }

    HttpClient client_;
};

void check_status(const HttpAnswer& answer, std::initializer_list<int> allowed) {
    if (std::find(allowed.begin(), allowed.end(), answer.status) == allowed.end())
        throw std::runtime_error(
            fmt::format("HTTP {}: {}", answer.status, answer.body.substr(0, 500)));
}

/// Transactional batches of a hundred items of one tenant.
void load_orrery(const Options& options) {
    constexpr uint64_t kBatch = 100;
    {
        HttpClient client(options.port, options.key);
        const std::string json = "content-type: application/json\r\n";
        check_status(client.post("dbs", "", "dbs", json, R"({"id":"bench"})"), {201, 409});
        check_status(
            client.post("colls", "dbs/bench", "dbs/bench/colls", json, container_definition()),
            {201});
    }
    std::atomic<uint64_t> next{0};
    std::vector<std::thread> threads;
    std::atomic<bool> failed{false};
    for (size_t i = 0; i < options.connections; ++i) {
        threads.emplace_back([&] {
            try {
                HttpClient client(options.port, options.key);
                for (uint64_t first; !failed && (first = next.fetch_add(kBatch)) < options.items;) {
                    std::string body = "[";
                    for (uint64_t key = first; key < std::min(first + kBatch, options.items);
                         ++key) {
                        if (body.size() > 1) body += ',';
                        body += R"({"operationType":"Create","resourceBody":)" +
                                query_item(key, options.items) + "}";
                    }
                    body += "]";
                    const std::string headers =
                        "content-type: application/json\r\nx-ms-cosmos-is-batch-request: True\r\n"
                        "x-ms-cosmos-batch-atomic: True\r\nprefer: return=minimal\r\n"
                        "x-ms-documentdb-partitionkey: [\"" +
                        query_tenant(first) + "\"]\r\n";
                    check_status(client.post("docs", kContainer, kDocs, headers, body), {200});
                }
            } catch (const std::exception& error) {
                failed = true;
                fmt::print(stderr, "query_load: {}\n", error.what());
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    if (failed) throw std::runtime_error("loading failed");
}

// --- PostgreSQL
// -----------------------------------------------------------------------------------

class PostgresSession final : public Session {
public:
    explicit PostgresSession(const Options& options)
        : connection_(PQconnectdb(options.conninfo.c_str())) {
        if (PQstatus(connection_) != CONNECTION_OK)
            throw std::runtime_error(PQerrorMessage(connection_));
    }
    ~PostgresSession() override { PQfinish(connection_); }

    Outcome run(const QueryLine& line, const QueryValues& values, bool within_key) override {
        std::vector<const char*> parameters;
        for (const std::string& v : values.text) parameters.push_back(v.c_str());
        if (within_key) parameters.push_back(values.tenant.c_str());
        const std::string name = line.name + (within_key ? " k" : " c");
        if (prepared_ != name) {
            std::string sql = line.sql;
            const size_t at = sql.find("{key}");
            sql.replace(at, 5, within_key ? fmt::format(" AND pk = ${}", parameters.size()) : "");
            exec("DEALLOCATE ALL");
            take(PQprepare(connection_, "q", sql.c_str(), 0, nullptr));
            prepared_ = name;
        }
        const Result result =
            take(PQexecPrepared(connection_, "q", static_cast<int>(parameters.size()),
                                parameters.data(), nullptr, nullptr, 0));
        Outcome outcome;
        outcome.rows = static_cast<uint64_t>(PQntuples(result.get()));
        if (outcome.rows == 1 && PQnfields(result.get()) == 1)
            outcome.first = leading_digits(PQgetvalue(result.get(), 0, 0));
        return outcome;
    }
    int server_pid() const override { return PQbackendPID(connection_); }
    void exec(const std::string& sql) { take(PQexec(connection_, sql.c_str())); }

    void copy(uint64_t item_count) {
        take(PQexec(connection_, "COPY items (pk, id, doc) FROM STDIN"));
        std::string row;
        for (uint64_t key = 0; key < item_count; ++key) {
            row = query_tenant(key) + '\t' + query_item_id(key) + '\t' +
                  query_item(key, item_count) + '\n';
            if (PQputCopyData(connection_, row.data(), static_cast<int>(row.size())) != 1)
                throw std::runtime_error(PQerrorMessage(connection_));
        }
        PQputCopyEnd(connection_, nullptr);
        take(PQgetResult(connection_));
        while (PGresult* rest = PQgetResult(connection_)) PQclear(rest);
    }

private:
    struct Clear {
        void operator()(PGresult* result) const { PQclear(result); }
    };
    using Result = std::unique_ptr<PGresult, Clear>;
    Result take(PGresult* result) {
        Result owned(result);
        const auto status = PQresultStatus(result);
        if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && status != PGRES_COPY_IN)
            throw std::runtime_error(PQerrorMessage(connection_));
        return owned;
    }

    PGconn* connection_;
    std::string prepared_;
};

void load_postgres(const Options& options) {
    PostgresSession session(options);
    for (const std::string& sql : postgres_tables()) session.exec(sql);
    session.copy(options.items);
    for (const std::string& sql : postgres_indexes()) session.exec(sql);
}

// --- running
// --------------------------------------------------------------------------------------

/// User and system time of processes and of their children that ended.
double cpu_seconds(const std::vector<int>& pids) {
    double ticks = 0;
    for (const int pid : pids) {
        std::ifstream file(fmt::format("/proc/{}/stat", pid));
        std::string line;
        std::getline(file, line);
        if (line.empty()) continue;
        std::istringstream fields(line.substr(line.rfind(')') + 2));
        std::string field;
        for (int i = 3; i <= 17 && fields >> field; ++i)
            if (i >= 14) ticks += std::stod(field);
    }
    return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::unique_ptr<Session> open_session(const Options& options) {
    if (options.postgres()) return std::make_unique<PostgresSession>(options);
    return std::make_unique<OrrerySession>(options);
}

/// Rows and numbers of a few fixed executions: all systems must agree on them.
std::string check_text(Session& session, const Options& options, const QueryLine& line,
                       bool within_key) {
    std::string out;
    for (uint64_t i = 0; i < 3; ++i) {
        const QueryValues values = line.draw(mix(i + 1000), options.items);
        const Outcome outcome = session.run(line, values, within_key);
        out += fmt::format("{}{}:{}", i == 0 ? "" : " ", outcome.rows,
                           outcome.rows == 1 ? outcome.first : "");
    }
    return out;
}

/// Executions of one line by all sessions at once.
struct Measured {
    std::vector<int64_t> latencies;  ///< ascending
    uint64_t rows = 0;
    uint64_t errors = 0;
    double seconds = 0;
};

Measured measure(const Options& options, const QueryLine& line, bool within_key,
                 std::vector<std::unique_ptr<Session>>& sessions, double duration, uint64_t seeds) {
    std::vector<std::vector<int64_t>> latencies(sessions.size());
    std::atomic<uint64_t> rows{0};
    std::atomic<uint64_t> errors{0};
    const int64_t began = now_us();
    const int64_t until = began + static_cast<int64_t>(duration * 1e6);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < sessions.size(); ++i) {
        threads.emplace_back([&, i] {
            uint64_t seed = mix(i + seeds);
            try {
                do {
                    const QueryValues values = line.draw(seed = mix(seed), options.items);
                    const int64_t start = now_us();
                    rows += sessions[i]->run(line, values, within_key).rows;
                    latencies[i].push_back(now_us() - start);
                } while (now_us() < until);
            } catch (const std::exception& error) {
                if (errors++ == 0) fmt::print(stderr, "{}: {}\n", line.name, error.what());
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    Measured out;
    out.seconds = static_cast<double>(now_us() - began) / 1e6;
    for (const auto& some : latencies)
        out.latencies.insert(out.latencies.end(), some.begin(), some.end());
    std::sort(out.latencies.begin(), out.latencies.end());
    out.rows = rows;
    out.errors = errors;
    return out;
}

const char* scope_name(bool within_key) {
    return within_key ? "key" : "container";
}

void run_line(const Options& options, const QueryLine& line, bool within_key) {
    std::vector<std::unique_ptr<Session>> sessions;
    std::vector<int> pids = options.pids;
    for (size_t i = 0; i < options.connections; ++i) {
        sessions.push_back(open_session(options));
        if (const int pid = sessions.back()->server_pid(); pid > 0) pids.push_back(pid);
    }
    const std::string check = check_text(*sessions[0], options, line, within_key);
    measure(options, line, within_key, sessions, std::max(options.seconds / 10, 0.5), 1000);
    const double cpu_before = cpu_seconds(pids);
    const Measured measured = measure(options, line, within_key, sessions, options.seconds, 1);
    const double cpu = cpu_seconds(pids) - cpu_before;
    const std::vector<int64_t>& all = measured.latencies;
    const double seconds = measured.seconds;
    const auto rows = static_cast<double>(measured.rows);
    const auto count = static_cast<double>(std::max<size_t>(all.size(), 1));
    const auto percentile = [&](double p) {
        return all.empty() ? 0 : all[static_cast<size_t>(p * (count - 1))];
    };
    fmt::print(
        "{{\"system\":\"{}\",\"line\":\"{}\",\"scope\":\"{}\",\"queries\":{},\"errors\":{},\"per_"
        "second\":{:.1f},"
        "\"rows_per_second\":{:.0f},\"rows\":{:.1f},\"p50_us\":{},\"p99_us\":{},\"server_cpu_us\":{"
        ":.1f},"
        "\"check\":\"{}\"}}\n",
        options.postgres() ? "postgresql" : "orrery", line.name, scope_name(within_key), all.size(),
        measured.errors, count / seconds, rows / seconds, rows / count, percentile(0.5),
        percentile(0.99), cpu * 1e6 / count, check);
    std::fflush(stdout);
}

}  // namespace
}  // namespace orrery::bench

int main(int argc, char** argv) {
    using namespace orrery::bench;
    try {
        const Options options = read(argc, argv);
        if (options.word == "load") {
            options.postgres() ? load_postgres(options) : load_orrery(options);
            return 0;
        }
        if (options.word == "lines") {
            for (const QueryLine& line : query_lines()) fmt::print("{}\n", line.name);
            return 0;
        }
        if (options.word != "run") throw std::invalid_argument("expected: load | run | lines");
        for (const bool within_key : {false, true})
            for (const QueryLine& line : query_lines())
                if (line.name.find(options.only) != std::string::npos &&
                    (options.line.empty() || line.name == options.line) &&
                    (options.scope.empty() || options.scope == scope_name(within_key)))
                    run_line(options, line, within_key);
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "query_load: {}\n", error.what());
        return 1;
    }
}
