// Queries against Orrery, over HTTP.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "load/http_client.h"
#include "load/query_session.h"

namespace orrery::bench {
namespace {

constexpr const char* kContainer = "dbs/bench/colls/queries";
constexpr const char* kDocs = "dbs/bench/colls/queries/docs";

class OrrerySession final : public Session {
public:
    explicit OrrerySession(const Target& target) : client_(target.port, target.key) {}

    void begin(const QueryLine& line, const QueryValues& values, bool within_key) override {
        const std::string& text = within_key && !line.key_text.empty() ? line.key_text : line.text;
        body_ = R"({"query":")" + text + R"(","parameters":[)";
        for (size_t i = 0; i < values.json.size(); ++i) {
            body_.append(R"({"name":"@p)").append(std::to_string(i));
            body_.append(R"(","value":)").append(values.json[i]).append("},");
        }
        body_.append(R"({"name":"@pk","value":")").append(values.tenant).append("\"}]}");
        headers_ =
            "content-type: application/query+json\r\nx-ms-documentdb-isquery: "
            "True\r\nx-ms-max-item-count: -1\r\n";
        if (within_key)
            headers_.append("x-ms-documentdb-partitionkey: [\"")
                .append(values.tenant)
                .append("\"]\r\n");
        else
            headers_ += "x-ms-documentdb-query-enablecrosspartition: True\r\n";
        outcome_ = {};
        client_.send("docs", kContainer, kDocs, headers_, body_);
    }

    std::optional<Outcome> proceed() override {
        const auto answer = client_.receive();
        if (!answer) return std::nullopt;
        if (answer->status != 200)
            throw std::runtime_error(
                fmt::format("HTTP {}: {}", answer->status, answer->body.substr(0, 500)));
        outcome_.rows += parse_number(answer->item_count);
        if (outcome_.first.empty()) outcome_.first = first_number(answer->body);
        if (answer->continuation.empty()) return std::move(outcome_);
        const std::string more =
            headers_ + "x-ms-continuation: " + std::string(answer->continuation) + "\r\n";
        client_.send("docs", kContainer, kDocs, more, body_);
        return std::nullopt;
    }

    int fd() const override { return client_.fd(); }

private:
    /// The only row of `…"Documents":[5],…`.
    static std::string first_number(std::string_view body) {
        const size_t at = body.find("\"Documents\":[");
        if (at == std::string_view::npos) return "";
        return leading_digits(body.substr(at + 13));
    }

    HttpClient client_;
    std::string headers_;  ///< of the query under way
    std::string body_;
    Outcome outcome_;
};

void check_status(const HttpAnswer& answer, std::initializer_list<int> allowed) {
    if (std::find(allowed.begin(), allowed.end(), answer.status) == allowed.end())
        throw std::runtime_error(
            fmt::format("HTTP {}: {}", answer.status, answer.body.substr(0, 500)));
}

}  // namespace

std::unique_ptr<Session> open_orrery(const Target& target) {
    return std::make_unique<OrrerySession>(target);
}

/// Transactional batches of a hundred items of one tenant.
void load_orrery(const Target& target) {
    constexpr uint64_t kBatch = 100;
    {
        HttpClient client(target.port, target.key);
        const std::string json = "content-type: application/json\r\n";
        check_status(client.post("dbs", "", "dbs", json, R"({"id":"bench"})"), {201, 409});
        check_status(
            client.post("colls", "dbs/bench", "dbs/bench/colls", json, container_definition()),
            {201});
    }
    std::atomic<uint64_t> next{0};
    std::vector<std::thread> threads;
    std::atomic<bool> failed{false};
    for (size_t i = 0; i < target.connections; ++i) {
        threads.emplace_back([&] {
            try {
                HttpClient client(target.port, target.key);
                for (uint64_t first; !failed && (first = next.fetch_add(kBatch)) < target.items;) {
                    std::string body = "[";
                    for (uint64_t key = first; key < std::min(first + kBatch, target.items);
                         ++key) {
                        if (body.size() > 1) body += ',';
                        body += R"({"operationType":"Create","resourceBody":)" +
                                query_item(key, target.items) + "}";
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

}  // namespace orrery::bench
