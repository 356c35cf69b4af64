// Queries against Orrery and PostgreSQL, the same lines with the same values.
//   query_load --port P --key K --items N load | run            (Orrery)
//   query_load --conninfo "host=…" --items N load | run         (PostgreSQL)
//   query_load lines                                            (names, one per line)
// Options: --connections 8  --seconds 5  --pid SERVER  --only PART-OF-A-NAME  --line NAME
// --scope container|key
// `run` prints one JSON line per query line and scope. A tenth of the time, at least half a second,
// goes before the measurement, so that what a system keeps in memory is there.
#include <fmt/format.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "load/query_lines.h"
#include "load/query_session.h"
#include "load/report.h"

namespace orrery::bench {
namespace {

struct Options : Target {
    double seconds = 5;
    std::vector<int> pids;
    std::string only;
    std::string line;
    std::string scope;
    std::string word;
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
    return options.postgres() ? open_postgres(options) : open_orrery(options);
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

/// Executions of one line.
struct Measured {
    std::vector<int64_t> latencies;  ///< ascending
    uint64_t rows = 0;
    uint64_t errors = 0;
    double seconds = 0;
};

/// Sessions of one thread, which waits for all of them at once: so it is woken for several answers,
/// and takes less from the processors that it shares with the server.
class Crew {
public:
    Crew(const Options& options, const QueryLine& line, bool within_key)
        : options_(options), line_(line), within_key_(within_key), epoll_(::epoll_create1(0)) {}
    ~Crew() { ::close(epoll_); }
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    void add(Session& session, uint64_t seed) { members_.push_back({&session, seed, {}, 0}); }

    /// Until the time has come; every query that has begun is waited for.
    void run(int64_t until, Measured& out) {
        for (Member& member : members_) {
            epoll_event event{};
            event.events = EPOLLIN;
            event.data.ptr = &member;
            if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, member.session->fd(), &event) != 0)
                throw std::runtime_error("cannot wait for a connection");
            begin(member);
        }
        std::array<epoll_event, 64> events{};
        for (size_t under_way = members_.size(); under_way > 0;) {
            const int ready =
                ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
            for (int i = 0; i < ready; ++i) {
                Member& member = *static_cast<Member*>(events[static_cast<size_t>(i)].data.ptr);
                const auto outcome = member.session->proceed();
                if (!outcome) continue;
                const int64_t now = now_us();
                out.rows += outcome->rows;
                out.latencies.push_back(now - member.began);
                if (now < until) {
                    begin(member);
                } else {
                    --under_way;
                }
            }
        }
    }

private:
    struct Member {
        Session* session;
        uint64_t seed;
        QueryValues values;
        int64_t began;
    };

    void begin(Member& member) {
        member.values = line_.draw(member.seed = mix(member.seed), options_.items);
        member.began = now_us();
        member.session->begin(line_, member.values, within_key_);
    }

    const Options& options_;
    const QueryLine& line_;
    const bool within_key_;
    const int epoll_;
    std::vector<Member> members_;
};

Measured measure(const Options& options, const QueryLine& line, bool within_key,
                 std::vector<std::unique_ptr<Session>>& sessions, double duration, uint64_t seeds) {
    constexpr size_t kThreads = 2;
    std::vector<Measured> parts(kThreads);
    const int64_t began = now_us();
    const int64_t until = began + static_cast<int64_t>(duration * 1e6);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            try {
                Crew crew(options, line, within_key);
                for (size_t i = t; i < sessions.size(); i += kThreads)
                    crew.add(*sessions[i], mix(i + seeds));
                crew.run(until, parts[t]);
            } catch (const std::exception& error) {
                ++parts[t].errors;
                fmt::print(stderr, "{}: {}\n", line.name, error.what());
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    Measured out;
    out.seconds = static_cast<double>(now_us() - began) / 1e6;
    for (const Measured& part : parts) {
        out.latencies.insert(out.latencies.end(), part.latencies.begin(), part.latencies.end());
        out.rows += part.rows;
        out.errors += part.errors;
    }
    std::sort(out.latencies.begin(), out.latencies.end());
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
