#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "cli/http_connection.h"
#include "json/value.h"

namespace orrery::cli {

/// A resource of the protocol: what a request names and what its signature covers.
struct Resource {
    std::string type;  ///< "docs"; empty for the account
    std::string link;  ///< what is signed, not encoded
    std::string path;  ///< percent-encoded, with a leading slash
};
Resource account_resource();
Resource database_feed();
Resource database_resource(std::string_view database);
Resource container_feed(std::string_view database);
Resource container_resource(std::string_view database, std::string_view container);
Resource item_feed(std::string_view database, std::string_view container);
Resource item_resource(std::string_view database, std::string_view container, std::string_view id);
Resource range_feed(std::string_view database, std::string_view container);
/// Orrery's own endpoints: segments after /_orrery/, and a query string that is sent as it is.
Resource own_resource(const std::vector<std::string>& segments, std::string_view query = {});

/// "shop/orders"
struct ContainerName {
    std::string database;
    std::string container;
    std::string text() const { return database + "/" + container; }
};
Result<ContainerName> parse_container_name(std::string_view text);

/// Counts over all connections of one command.
struct Traffic {
    std::atomic<uint64_t> requests{0};   ///< answered
    std::atomic<uint64_t> throttled{0};  ///< answers 429
    std::atomic<uint64_t> retried{0};    ///< sent again for any reason
    std::atomic<uint64_t> charge_hundredths{0};

    double charge() const { return static_cast<double>(charge_hundredths.load()) / 100; }
};

struct RetryLimits {
    /// How long a request is tried again (429, 449, 503, lost connections) before its error counts.
    int64_t patience_ms = 30'000;
};

/// Signs requests, sends them over one connection and tries again what may be tried again. Owned by
/// one thread.
class AccountClient {
public:
    /// What several clients share. `traffic` outlives them.
    struct Shared {
        ConnectionSettings settings;
        std::shared_ptr<const TlsTrust> trust;
        RetryLimits retries;
        Traffic* traffic = nullptr;
    };
    static Result<Shared> share(const ConnectionSettings& settings, RetryLimits retries,
                                Traffic* traffic);

    explicit AccountClient(Shared shared);

    struct Request {
        std::string_view method = "GET";
        Resource resource;
        Headers headers = {};
        std::string_view body = {};
    };
    /// The final answer, whatever its status; an error only when there is none. `lost_before`: set
    /// when an earlier attempt was sent without an answer, so that it may have been carried out.
    Result<HttpAnswer> send(const Request& request, bool* lost_before = nullptr);
    /// The same without any attempt after the first.
    Result<HttpAnswer> send_once(const Request& request);
    /// send(), with statuses from 400 on as errors that say what to do.
    Result<HttpAnswer> call(const Request& request);

    const Endpoint& endpoint() const { return shared_.settings.endpoint; }

private:
    Headers signed_headers(const Request& request);

    const Shared shared_;
    const SystemClock clock_;
    HttpConnection connection_;
    bool reached_ = false;  ///< an answer has come; a server that never gave one is not waited for
};

/// The error that an answer from 400 on stands for: the server's own words, and what to do.
Error answer_error(const HttpAnswer& answer);
/// The text for a person inside the protocol's error body; the body itself if it has another form.
std::string error_text(std::string_view body);

/// Where a query is wrong, when the server says so; positions are UTF-16 units of the query's text.
struct QueryProblem {
    std::optional<size_t> start;
    std::optional<size_t> end;
    std::string code;
    std::string message;
    std::string hint;  ///< what to do about it; may be empty
};
std::vector<QueryProblem> query_problems(std::string_view error_body);

/// What writes need to know of a container.
struct ContainerInfo {
    ContainerName name;
    std::string rid;
    std::vector<std::vector<std::string>> key_paths;
    bool system_key = false;  ///< legacy container without a key: the header is []
    std::string definition;   ///< as the server gives it
    int64_t item_count = -1;  ///< -1: not told
};
Result<ContainerInfo> read_container(AccountClient& client, const ContainerName& name);

struct NewContainer {
    ContainerName name;
    std::vector<std::string> key_paths;  ///< several: a hierarchical key
    int64_t throughput = 0;              ///< RU/s; 0: the server's default
};
struct Created {
    bool database = false;
    bool container = false;
};
/// Creates the container and its database, as far as they are missing; says what was.
Result<Created> create_missing(AccountClient& client, const NewContainer& wanted);

/// {"a","b"} of /a/b; names in double quotes may hold slashes.
std::vector<std::string> parse_key_path(std::string_view path);
/// The partition key header of an item: a JSON array in ASCII.
std::string partition_key_header(const ContainerInfo& container, const json::Value& item);

struct KeyRange {
    std::string id;
    std::string min;  ///< EPK, hex
    std::string max;
};
Result<std::vector<KeyRange>> read_ranges(AccountClient& client, const ContainerName& name);

}  // namespace orrery::cli
