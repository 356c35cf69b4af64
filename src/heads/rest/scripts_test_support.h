// What tests of scripts share: a container and how a script comes into it.
#pragma once

#include <string>
#include <string_view>

#include "heads/rest/rest_test_support.h"
#include "json/write.h"

namespace orrery::rest::testing_support {

inline const std::string kContainer = "/dbs/d/colls/c";

inline std::string json_text(std::string_view text) {
    std::string out;
    json::write_string(out, text);
    return out;
}

class ScriptContainerTest : public OneContainerTest {
protected:
    using OneContainerTest::OneContainerTest;

    /// `kind`: sprocs, triggers or udfs; `more`: further members of the resource, each after a
    /// comma.
    Reply create(const std::string& kind, const std::string& id, std::string_view body,
                 const std::string& more = "") {
        return server_.send("POST", kContainer + "/" + kind, {},
                            R"({"id":")" + id + R"(","body":)" + json_text(body) + more + "}");
    }
};

}  // namespace orrery::rest::testing_support
