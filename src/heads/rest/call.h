#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "engine/session.h"
#include "heads/rest/answers.h"
#include "heads/rest/request_headers.h"
#include "heads/rest/route.h"
#include "json/value.h"
#include "lab/lab.h"
#include "lab/pages.h"
#include "net/http.h"

namespace orrery::rest {

/// A request body as JSON.
struct ParsedBody {
    json::Arena arena;
    json::Value value;
};

/// One request on its way through the head. Used by one thread at a time; moves between threads
/// with the work.
struct Call final : engine::Statement {
    Call(const engine::Door& the_door, std::unique_ptr<net::HttpExchange> the_exchange)
        : Statement(the_door),
          door(the_door),
          session(the_door),
          exchange(std::move(the_exchange)),
          headers(exchange->request) {}

    const engine::Door& door;
    engine::Session session;
    lab::Pages* pages = nullptr;  ///< may be null
    lab::Lab* lab = nullptr;      ///< may be null
    std::unique_ptr<net::HttpExchange> exchange;
    const RequestHeaders headers;
    Route route;
    std::string activity_id;
    std::unique_ptr<ParsedBody> body;      ///< of a query, whose parameters borrow from it
    std::optional<engine::RowTexts> rows;  ///< of a query

    const net::HttpRequest& request() const { return exchange->request; }
    net::HttpResponse& response() const { return exchange->response; }

    void run_on_loop(std::unique_ptr<Task> task) override {
        exchange->run_on_loop(std::move(task));
    }
    bool cancelled() const override { return exchange->cancelled(); }
};
using CallPtr = std::shared_ptr<Call>;

/// What an answer carries besides its body and what the statement has come to.
struct Answer {
    int status = 200;
    std::string etag;  ///< without quotes; empty: none
    std::string continuation;
    std::optional<uint64_t> item_count;
    std::string_view content_type = "application/json";
};

/// Reads priority, throughput bucket, consistency and the wish for an explanation into the call.
Status read_terms(Call& call);

/// Sends the answer; the call is over. `body` is JSON text, or empty.
void reply(const CallPtr& call, const Answer& answer, std::string body);
/// The same with the body that the response already has.
void reply_prepared(const CallPtr& call, const Answer& answer);

/// Refuses the call: sends an error body.
void reply_error(const CallPtr& call, const Error& error);
/// The same for an error that an operation of the session has ended with.
void reply_failure(const CallPtr& call, const Error& error);
void reply_failure(const CallPtr& call, const ErrorAnswer& error);

/// What comes before and behind the elements in {"_rid":"…","<array_name>":[…],"_count":n}.
std::string feed_front(std::string_view parent_rid, std::string_view array_name);
std::string feed_back(size_t count);
/// The whole.
std::string feed_body(std::string_view parent_rid, std::string_view array_name,
                      const std::vector<std::string>& resources);

}  // namespace orrery::rest
