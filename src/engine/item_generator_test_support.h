#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>

namespace orrery::engine::testing_support {

/// Random items, and containers for them. Few paths and small domains, so that filters meet values,
/// values meet each other, and every kind of value meets every kind of condition.
class ItemGenerator {
public:
    explicit ItemGenerator(uint64_t seed) : engine_(seed) {}

    uint64_t below(uint64_t n) { return engine_() % n; }
    bool chance(uint64_t percent) { return below(100) < percent; }
    std::string one_of(std::initializer_list<const char*> list) {
        return *(list.begin() + below(list.size()));
    }

    std::string partition_key() {
        return one_of({R"("p1")", R"("p2")", R"("p3")", R"("p4")", "7"});
    }

    std::string item(uint64_t number, bool with_ttl) {
        std::string out = R"({"id":"i)" + std::to_string(number) + R"(","pk":)" + partition_key();
        const auto member = [&](const char* name, uint64_t percent, const std::string& value) {
            if (chance(percent)) out += std::string(",\"") + name + "\":" + value;
        };
        member("a", 85, value(2));
        member("b", 90, chance(85) ? std::to_string(below(6)) : value(1));
        member("n", 80, small_number());
        member("s", 85, chance(90) ? string() : value(1));
        member("arr", 70, array(2));
        member("o", 70, object(2));
        member("ü", 40, value(1));
        member("q\\\"t", 20, value(0));
        member("g", 45, chance(90) ? geometry() : value(1));
        if (with_ttl) member("ttl", 50, one_of({"1", "5", "20", "-1", "100"}));
        return out + "}";
    }

    /// A partition key definition; a query within "pk" stays within a key or a prefix.
    std::string key_definition() {
        return one_of({R"({"paths":["/pk"],"kind":"Hash","version":2})",
                       R"({"paths":["/pk"],"kind":"Hash","version":2})",
                       R"({"paths":["/pk"],"kind":"Hash","version":1})",
                       R"({"paths":["/pk","/id"],"kind":"MultiHash","version":2})"});
    }

    /// An indexing policy as JSON; empty: the default one. `composites`: it has composite indexes.
    /// `complete`: it leaves no path out.
    std::string policy(bool& composites, bool& complete) {
        composites = false;
        complete = false;
        switch (below(10)) {
            case 8:
                complete = true;
                return R"({"spatialIndexes":[{"path":"/g/*"},{"path":"/arr/*","types":["Point"]}]})";
            case 9:
                return R"({"includedPaths":[{"path":"/b/?"},{"path":"/o/p/?"}],"excludedPaths":[{"path":"/*"}],)"
                       R"("spatialIndexes":[{"path":"/g/?","types":["Point","Polygon"]}]})";
            case 0:
                return R"({"indexingMode":"none","automatic":false})";
            case 1:
                return R"({"includedPaths":[{"path":"/a/?"},{"path":"/o/*"},{"path":"/b/?"},{"path":"/arr/[]/?"}],"excludedPaths":[{"path":"/*"}]})";
            case 2:
                return R"({"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/a/*"},{"path":"/s/?"},{"path":"/o/q/*"}]})";
            case 3:
                return R"({"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/arr/*"},{"path":"/\"ü\"/?"}]})";
            case 4:
            case 5:
                composites = true;
                complete = true;
                return R"({"includedPaths":[{"path":"/*"},{"path":"/b/?"}],"compositeIndexes":[)"
                       R"([{"path":"/b","order":"ascending"},{"path":"/a","order":"descending"}],)"
                       R"([{"path":"/s","order":"ascending"},{"path":"/b","order":"ascending"}],)"
                       R"([{"path":"/pk","order":"ascending"},{"path":"/a","order":"ascending"}]]})";
            default:
                complete = true;
                return "";
        }
    }

protected:
    std::string small_number() {
        if (chance(4)) return one_of({"null", R"("z")", "true"});
        return one_of({"0", "1", "2", "3", "-1", "0.5", "2.5", "-2", "1.0", "4"});
    }
    std::string number() {
        return one_of({"0", "-0", "1", "1.0", "2", "3", "-1", "1.5", "-2.5", "1e2",
                       "9007199254740991", "9007199254740992", "9007199254740993",
                       "-9007199254740993", "9223372036854775807", "1e300", "0.1"});
    }
    std::string string() {
        if (chance(10)) {
            // Longer than what the index holds of a string; equal up to there, or not.
            std::string text(chance(70) ? 256 : 250 + below(12), 'k');
            text += one_of({"", "a", "b", "é", "ab"});
            return '"' + text + '"';
        }
        return one_of({R"("")", R"("a")", R"("ab")", R"("abc")", R"("abd")", R"("ABC")", R"("b")",
                       R"("x%y")", R"("x_y")", R"("é")", R"("éa")", R"("😀")", R"("z\nq")",
                       R"("q\"t")", R"("7")", R"("true")"});
    }
    std::string scalar() {
        switch (below(8)) {
            case 0:
                return "null";
            case 1:
                return one_of({"true", "false"});
            case 2:
            case 3:
            case 4:
                return number();
            default:
                return string();
        }
    }
    std::string value(int depth) {
        if (depth > 0 && chance(20)) return chance(50) ? array(depth - 1) : object(depth - 1);
        return scalar();
    }
    std::string array(int depth) {
        std::string out = "[";
        for (uint64_t n = below(4); n > 0; --n) {
            if (out.size() > 1) out += ',';
            if (chance(40)) {
                out += R"({"k":)" + std::to_string(below(3)) + R"(,"v":)" + scalar() + "}";
            } else if (chance(8)) {
                out += geometry();
            } else {
                out += value(depth);
            }
        }
        return out + "]";
    }
    /// About a few places, so that they meet, also in sides along meridians and the equator; some
    /// are not valid.
    std::string geometry() {
        const std::string at = one_of({"10", "10.001", "10.5", "-179.999", "0"});
        const std::string up = one_of({"48", "48.001", "48.2", "0", "89.9"});
        const std::string point = "[" + at + "," + up + "]";
        switch (below(8)) {
            case 0:
                return R"({"type":"LineString","coordinates":[)" + point + "," +
                       one_of({"[10.2,48.1]", "[10,47]", "[0,-1]"}) + "]}";
            case 1:
            case 2: {
                const std::string side = one_of({"0.0005", "0.1", "1"});
                const std::string east = std::to_string(std::stod(at) + std::stod(side));
                const std::string north =
                    std::to_string(std::min(90.0, std::stod(up) + std::stod(side)));
                return R"({"type":"Polygon","coordinates":[[)" + point + ",[" + east + "," + up +
                       "],[" + east + "," + north + "],[" + at + "," + north + "]," + point + "]]}";
            }
            case 3:
                return one_of({R"({"type":"Point","coordinates":[10,91]})", R"({"type":"Point"})",
                               R"({"type":"Circle","coordinates":[1,2]})"});
            default:
                return R"({"type":"Point","coordinates":)" + point + "}";
        }
    }
    std::string object(int depth) {
        std::string out = R"({"p":)" + (chance(70) ? std::to_string(below(4)) : value(depth));
        if (chance(60)) out += R"(,"q":{"r":)" + value(0) + "}";
        if (chance(50)) out += R"(,"l":)" + array(depth > 0 ? depth - 1 : 0);
        return out + "}";
    }

private:
    std::mt19937_64 engine_;
};

}  // namespace orrery::engine::testing_support
