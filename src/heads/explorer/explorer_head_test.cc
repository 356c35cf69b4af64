#include "heads/explorer/explorer_head.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace orrery::explorer {
namespace {

struct Sent {
    net::HttpResponse response;
    bool has(std::string_view line) const {
        return response.head.find(std::string(line) + "\r\n") != std::string::npos;
    }
};

class FakeExchange final : public net::HttpExchange {
public:
    explicit FakeExchange(Sent& sent) : sent_(sent) {}
    bool cancelled() const override { return false; }

protected:
    void do_send(std::unique_ptr<net::HttpExchange> self) override {
        sent_.response = std::move(self->response);
    }

private:
    Sent& sent_;
};

constexpr Asset kFiles[] = {
    {"/index.html", "text/html; charset=utf-8", "\"i1\"", false, "<html>plain", "", ""},
    {"/assets/app-1.js", "text/javascript; charset=utf-8", "\"a1\"", true, "plain", "gzipped",
     "brotlied"},
};

Sent ask(std::string_view target, std::vector<net::HttpHeader> headers = {},
         std::string_view method = "GET", std::span<const Asset> files = kFiles) {
    Sent sent;
    auto exchange = std::make_unique<FakeExchange>(sent);
    exchange->request.method = method;
    exchange->request.target = target;
    exchange->request.headers = std::move(headers);
    ExplorerHead(files).handle(std::move(exchange));
    return sent;
}

TEST(ExplorerHead, OwnsItsFolderButNotTheCertificate) {
    EXPECT_TRUE(ExplorerHead::serves("/_explorer"));
    EXPECT_TRUE(ExplorerHead::serves("/_explorer/"));
    EXPECT_TRUE(ExplorerHead::serves("/_explorer?x=1"));
    EXPECT_TRUE(ExplorerHead::serves("/_explorer/../dbs"));
    EXPECT_FALSE(ExplorerHead::serves("/_explorer/emulator.pem"));
    EXPECT_FALSE(ExplorerHead::serves("/_explorer/emulator.pem?x"));
    EXPECT_FALSE(ExplorerHead::serves("/_explorers"));
    EXPECT_FALSE(ExplorerHead::serves("/"));
    EXPECT_FALSE(ExplorerHead::serves("/dbs/_explorer"));
}

TEST(ExplorerHead, ThePageIsCheckedEachTimeAndFilesAreKeptForEver) {
    const Sent page = ask("/_explorer/");
    EXPECT_EQ(page.response.status, 200);
    EXPECT_EQ(page.response.body, "<html>plain");
    EXPECT_TRUE(page.has("Cache-Control: no-cache"));
    EXPECT_TRUE(page.has("ETag: \"i1\""));
    EXPECT_TRUE(page.has("Content-Type: text/html; charset=utf-8"));
    EXPECT_NE(
        page.response.head.find("Content-Security-Policy: default-src 'none'; script-src 'self';"),
        std::string::npos);
    EXPECT_TRUE(page.has("X-Content-Type-Options: nosniff"));
    EXPECT_EQ(ask("/_explorer/index.html?polled").response.body, "<html>plain");

    const Sent file = ask("/_explorer/assets/app-1.js");
    EXPECT_TRUE(file.has("Cache-Control: public, max-age=31536000, immutable"));
    EXPECT_TRUE(file.has("Vary: Accept-Encoding"));
    EXPECT_EQ(file.response.head.find("Content-Encoding"), std::string::npos);
}

TEST(ExplorerHead, CompressesAsTheClientAllows) {
    const auto body = [](std::string_view accept) {
        return ask("/_explorer/assets/app-1.js", {{"Accept-Encoding", accept}}).response.body;
    };
    EXPECT_EQ(body("gzip, deflate, br"), "brotlied");
    EXPECT_EQ(body("gzip"), "gzipped");
    EXPECT_EQ(body("GZIP;q=0.5"), "gzipped");
    EXPECT_EQ(body("br;q=0, gzip"), "gzipped");
    EXPECT_EQ(body("br;q=0.0,gzip;q=0"), "plain");
    EXPECT_EQ(body("identity"), "plain");
    EXPECT_EQ(body(""), "plain");
    EXPECT_EQ(body("brx, xgzip"), "plain");
    EXPECT_TRUE(
        ask("/_explorer/assets/app-1.js", {{"accept-encoding", "br"}}).has("Content-Encoding: br"));
    // A file without a compressed form goes out as it is.
    EXPECT_EQ(ask("/_explorer/", {{"Accept-Encoding", "br"}}).response.body, "<html>plain");
}

TEST(ExplorerHead, AnswersNotModified) {
    for (const std::string_view tag : {"\"i1\"", "W/\"i1\"", "\"x\", \"i1\"", "*"}) {
        const Sent sent = ask("/_explorer/", {{"If-None-Match", tag}});
        EXPECT_EQ(sent.response.status, 304) << tag;
        EXPECT_EQ(sent.response.body, "");
    }
    EXPECT_EQ(ask("/_explorer/", {{"If-None-Match", "\"i2\""}}).response.status, 200);
}

TEST(ExplorerHead, RefusesWhatItDoesNotHave) {
    EXPECT_EQ(ask("/_explorer").response.status, 308);
    EXPECT_TRUE(ask("/_explorer").has("Location: /_explorer/"));
    EXPECT_EQ(ask("/_explorer/none.js").response.status, 404);
    EXPECT_EQ(ask("/_explorer/../dbs").response.status, 404);
    EXPECT_EQ(ask("/_explorer//index.html").response.status, 404);
    EXPECT_EQ(ask("/_explorer/", {}, "POST").response.status, 405);
    EXPECT_TRUE(ask("/_explorer/", {}, "POST").has("Allow: GET, HEAD"));
    EXPECT_EQ(ask("/_explorer/", {}, "HEAD").response.status, 200);
}

TEST(ExplorerHead, SaysWhenTheBinaryHasNoApplication) {
    const Sent sent = ask("/_explorer/", {}, "GET", {});
    EXPECT_EQ(sent.response.status, 200);
    EXPECT_NE(sent.response.body.find("built without the Data Explorer"), std::string::npos);
    EXPECT_EQ(ask("/_explorer/assets/app-1.js", {}, "GET", {}).response.status, 404);
}

/// Holds for the built application as well as for none.
TEST(ExplorerHead, BuiltInFilesAreWellFormed) {
    bool index = built_in_assets().empty();
    for (const Asset& asset : built_in_assets()) {
        EXPECT_TRUE(asset.path.starts_with('/'));
        EXPECT_TRUE(asset.etag.starts_with('"') && asset.etag.ends_with('"'));
        EXPECT_FALSE(asset.type.empty()) << asset.path;
        EXPECT_FALSE(asset.plain.empty()) << asset.path;
        EXPECT_LT(asset.gzip.size(), asset.plain.size()) << asset.path;
        EXPECT_LT(asset.brotli.size(), asset.plain.size()) << asset.path;
        EXPECT_TRUE(asset.gzip.empty() || asset.gzip.starts_with("\x1f\x8b")) << asset.path;
        if (asset.path == "/index.html") {
            index = true;
            EXPECT_NE(asset.plain.find("<!doctype html>"), std::string_view::npos);
        }
    }
    EXPECT_TRUE(index);
}

}  // namespace
}  // namespace orrery::explorer
