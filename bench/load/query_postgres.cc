// Queries against PostgreSQL, prepared, over its own protocol.
#include <fmt/format.h>
#include <libpq-fe.h>

#include <stdexcept>
#include <vector>

#include "load/query_session.h"

namespace orrery::bench {
namespace {

class PostgresSession final : public Session {
public:
    explicit PostgresSession(const Target& target)
        : connection_(PQconnectdb(target.conninfo.c_str())) {
        if (PQstatus(connection_) != CONNECTION_OK)
            throw std::runtime_error(PQerrorMessage(connection_));
    }
    ~PostgresSession() override { PQfinish(connection_); }

    void begin(const QueryLine& line, const QueryValues& values, bool within_key) override {
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
        outcome_ = {};
        if (PQsendQueryPrepared(connection_, "q", static_cast<int>(parameters.size()),
                                parameters.data(), nullptr, nullptr, 0) != 1)
            throw std::runtime_error(PQerrorMessage(connection_));
    }

    std::optional<Outcome> proceed() override {
        if (PQconsumeInput(connection_) != 1) throw std::runtime_error(PQerrorMessage(connection_));
        while (PQisBusy(connection_) == 0) {
            PGresult* const next = PQgetResult(connection_);
            if (next == nullptr) return std::move(outcome_);
            const Result result = take(next);
            outcome_.rows = static_cast<uint64_t>(PQntuples(result.get()));
            if (outcome_.rows == 1 && PQnfields(result.get()) == 1)
                outcome_.first = leading_digits(PQgetvalue(result.get(), 0, 0));
        }
        return std::nullopt;
    }

    int fd() const override { return PQsocket(connection_); }
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
    Outcome outcome_;  ///< of the query under way
};

}  // namespace

std::unique_ptr<Session> open_postgres(const Target& target) {
    return std::make_unique<PostgresSession>(target);
}

void load_postgres(const Target& target) {
    PostgresSession session(target);
    for (const std::string& sql : postgres_tables()) session.exec(sql);
    session.copy(target.items);
    for (const std::string& sql : postgres_indexes()) session.exec(sql);
}

}  // namespace orrery::bench
