#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/errors.h"
#include "base/status.h"
#include "json/value.h"
#include "json/write.h"

/// Structures that are JSON objects, too. Each has one function `describe(visitor, value)` beside
/// it that names its members; reading and writing both follow it, so that they cannot disagree.
namespace orrery::lab {

/// Writes JSON text piece by piece and puts commas where they belong.
class JsonText {
public:
    JsonText& begin_object() { return open('{'); }
    JsonText& end_object() { return close('}'); }
    JsonText& begin_array() { return open('['); }
    JsonText& end_array() { return close(']'); }
    JsonText& name(std::string_view text) {
        separate();
        json::write_string(out_, text);
        out_ += ':';
        fresh_ = true;
        return *this;
    }
    JsonText& value(std::string_view text) {
        separate();
        json::write_string(out_, text);
        return *this;
    }
    JsonText& value(const char* text) { return value(std::string_view(text)); }
    JsonText& value(const std::string& text) { return value(std::string_view(text)); }
    JsonText& value(bool flag) { return raw(flag ? "true" : "false"); }
    template <std::integral T>
    JsonText& value(T number) {
        separate();
        json::write_number(out_, static_cast<int64_t>(number));
        return *this;
    }
    JsonText& value(double number) {
        separate();
        json::write_number(out_, number);
        return *this;
    }
    /// JSON text as it is.
    JsonText& raw(std::string_view text) {
        separate();
        out_ += text;
        return *this;
    }
    template <typename T>
    JsonText& member(std::string_view of, const T& with) {
        return name(of).value(with);
    }
    const std::string& text() const { return out_; }
    std::string take() { return std::move(out_); }

private:
    JsonText& open(char c) {
        separate();
        out_ += c;
        fresh_ = true;
        return *this;
    }
    JsonText& close(char c) {
        out_ += c;
        fresh_ = false;
        return *this;
    }
    void separate() {
        if (!fresh_) out_ += ',';
        fresh_ = false;
    }
    std::string out_;
    bool fresh_ = true;
};

class DescribedWriter {
public:
    explicit DescribedWriter(JsonText& out) : out_(out) {}

    template <typename T>
    void field(std::string_view name, T& member) {
        if constexpr (requires { member.has_value(); }) {
            if (!member) return;
            out_.name(name);
            write(*member);
        } else {
            out_.name(name);
            write(member);
        }
    }
    template <typename T>
    void write(T& value) {
        if constexpr (std::is_same_v<T, std::string> || std::is_arithmetic_v<T>) {
            out_.value(value);
        } else if constexpr (requires { value.push_back(value.front()); }) {
            out_.begin_array();
            for (auto& one : value) write(one);
            out_.end_array();
        } else {
            out_.begin_object();
            describe(*this, value);
            out_.end_object();
        }
    }

private:
    JsonText& out_;
};

class DescribedReader {
public:
    explicit DescribedReader(const json::Value& object, std::string path)
        : object_(object), path_(std::move(path)) {}

    template <typename T>
    void field(std::string_view name, T& member) {
        if (!status_.ok()) return;
        names_.push_back(name);
        const json::Value found = object_.member(name);
        if (found.is_undefined() || found.is_null()) return;
        const std::string path = path_ + "/" + std::string(name);
        if constexpr (requires { member.has_value(); }) {
            member.emplace();
            status_ = read(found, *member, path);
        } else {
            status_ = read(found, member, path);
        }
    }

    template <typename T>
    static Status read(const json::Value& from, T& value, const std::string& path) {
        if constexpr (std::is_same_v<T, std::string>) {
            if (!from.is_string()) return wrong(path, "a string");
            value = std::string(from.as_string());
        } else if constexpr (std::is_same_v<T, bool>) {
            if (!from.is_bool()) return wrong(path, "true or false");
            value = from.as_bool();
        } else if constexpr (std::is_arithmetic_v<T>) {
            if (!from.is_number()) return wrong(path, "a number");
            const double number = from.as_double();
            if constexpr (std::is_integral_v<T>) {
                if (!(number >= -9e15 && number <= 9e15)) return wrong(path, "a whole number");
                if (std::is_unsigned_v<T> && number < 0)
                    return wrong(path, "a number that is not negative");
            }
            value = static_cast<T>(number);
        } else if constexpr (requires { value.push_back(value.front()); }) {
            if (!from.is_array()) return wrong(path, "an array");
            value.clear();
            size_t index = 0;
            for (const auto& element : from.elements()) {
                typename T::value_type one{};
                TRY_STATUS(read(element, one, path + "/" + std::to_string(index++)));
                value.push_back(std::move(one));
            }
        } else {
            if (!from.is_object()) return wrong(path, "an object");
            DescribedReader reader(from, path);
            describe(reader, value);
            return reader.finish();
        }
        return {};
    }

private:
    /// An unknown member is an error and must not be ignored.
    Status finish() {
        if (!status_.ok()) return std::move(status_);
        for (const auto& member : object_.members())
            if (std::find(names_.begin(), names_.end(), member.name) == names_.end())
                return Status(errors::bad_request(
                    "There is no member '" + std::string(member.name) + "' at '" + path_ + "/'."));
        return {};
    }
    static Status wrong(const std::string& path, std::string_view wanted) {
        return Status(errors::bad_request("The value at '" + path + "' must be " +
                                          std::string(wanted) + "."));
    }
    const json::Value& object_;
    std::string path_;
    std::vector<std::string_view> names_;
    Status status_;
};

template <typename T>
std::string described_json(const T& value) {
    JsonText out;
    DescribedWriter writer(out);
    // Writers only read; one description serves both directions.
    writer.write(const_cast<T&>(value));
    return out.take();
}
/// A bad request naming the member that is wrong. Members that are missing keep their defaults.
template <typename T>
Result<T> read_described(const json::Value& from) {
    T value{};
    TRY_STATUS(DescribedReader::read(from, value, std::string()));
    return value;
}

}  // namespace orrery::lab
