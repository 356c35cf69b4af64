#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "catalog/resources.h"
#include "engine/engine.h"
#include "engine/observer.h"
#include "engine/principal.h"
#include "heads/rest/answers.h"
#include "heads/rest/request_headers.h"
#include "heads/rest/route.h"
#include "lab/lab.h"
#include "lab/pages.h"
#include "meter/charge.h"
#include "net/http.h"

namespace orrery::rest {

/// One request on its way through the head. Used by one thread at a time; moves between threads
/// with the work.
struct Call {
    Call(engine::Engine& the_engine, std::unique_ptr<net::HttpExchange> the_exchange)
        : engine(the_engine), exchange(std::move(the_exchange)), headers(exchange->request) {}

    engine::Engine& engine;
    lab::Recorder* recorder = nullptr;  ///< is told of the request when it is answered; may be null
    lab::Pages* pages = nullptr;        ///< may be null
    lab::Lab* lab = nullptr;            ///< may be null
    std::unique_ptr<net::HttpExchange> exchange;
    const RequestHeaders headers;
    Route route;
    engine::Principal principal;
    std::string activity_id;
    int64_t started_us = 0;
    engine::RequestTerms terms;  ///< what the headers say about admission and price
    /// Number of the physical partition that had no throughput left.
    std::atomic<uint32_t> refused_by{engine::RequestRecord::kNoRange};
    std::unique_ptr<meter::Bill> bill;  ///< the charge is to be explained
    catalog::ContainerPtr container;  ///< once resolved; adds the container's headers to the answer

    const net::HttpRequest& request() const { return exchange->request; }
    net::HttpResponse& response() const { return exchange->response; }
};
using CallPtr = std::shared_ptr<Call>;

/// Where one operation of a bulk request went, for its record.
struct OperationPlace {
    uint32_t range = engine::RequestRecord::kNoRange;
    std::string_view partition_key;  ///< as the client sent it
    meter::Charge charge;
};

/// What an answer carries besides its body.
struct Answer {
    int status = 200;
    meter::Charge charge;
    std::string etag;                        ///< without quotes; empty: none
    std::optional<engine::Touched> touched;  ///< partition served: session token and LSNs
    std::string continuation;
    std::optional<uint64_t> item_count;
    std::string_view content_type = "application/json";
    /// Of a request to several physical partitions. Empty: `touched` names the one.
    std::vector<engine::RangeCharge> range_charges;

    // For the record of the request; borrowed until it is answered.
    std::span<const partition::OperationResult> operations;  ///< outcomes of point operations
    /// One per operation where they may have gone to several keys; empty otherwise.
    std::span<const OperationPlace> places;
    const engine::QueryAnswer* query = nullptr;
    const json::Value* query_parameters = nullptr;
    uint32_t page_size = 0;
    bool continued = false;
};

/// Reads priority, throughput bucket, consistency and the wish for an explanation into the call.
Status read_terms(Call& call);
/// True for resources that the account's metadata budget pays for.
bool is_metadata(const Call& call);

/// Sends the answer; the call is over. `body` is JSON text, or empty.
void reply(const CallPtr& call, const Answer& answer, std::string body);
/// The same with the body that the response already has.
void reply_prepared(const CallPtr& call, const Answer& answer);

/// Sends an error body. `charge`: what the refusal costs; by default what meter says for its
/// code.
void reply_error(const CallPtr& call, const Error& error);
void reply_error(const CallPtr& call, const Error& error, const Answer& answer);
void reply_error(const CallPtr& call, const ErrorAnswer& error, const Answer& answer);

/// What comes before and behind the elements in {"_rid":"…","<array_name>":[…],"_count":n}.
std::string feed_front(std::string_view parent_rid, std::string_view array_name);
std::string feed_back(size_t count);
/// The whole.
std::string feed_body(std::string_view parent_rid, std::string_view array_name,
                      const std::vector<std::string>& resources);

}  // namespace orrery::rest
