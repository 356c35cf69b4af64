#include <js/Array.h>
#include <js/CharacterEncoding.h>
#include <js/JSON.h>
#include <js/String.h>

#include <algorithm>
#include <cmath>

#include "json/parse.h"
#include "json/write.h"
#include "script/detail/runtime_impl.h"

namespace orrery::script::detail {
namespace {

bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool append_utf16(const char16_t* text, uint32_t length, void* data) {
    static_cast<std::u16string*>(data)->append(text, length);
    return true;
}

/// Member by member: quicker than by way of the text, which would be written, copied and parsed.
bool object_to_js(JSContext* cx, const json::Value& value, JS::MutableHandleValue out) {
    JS::RootedObject object(cx, JS_NewPlainObject(cx));
    if (object == nullptr) return false;
    JS::RootedString name(cx);
    JS::RootedId id(cx);
    JS::RootedValue member(cx);
    for (const json::Member& one : value.members()) {
        name = is_ascii(one.name) ? JS_AtomizeStringN(cx, one.name.data(), one.name.size())
                                  : from_utf8(cx, one.name);
        if (name == nullptr || !JS_StringToId(cx, name, &id) || !to_js(cx, one.value, &member) ||
            !JS_DefinePropertyById(cx, object, id, member, JSPROP_ENUMERATE))
            return false;
    }
    out.setObject(*object);
    return true;
}

/// JSON.stringify, but "null" for what has no text.
bool stringify(JSContext* cx, JS::HandleValue value, std::string& out) {
    std::u16string wide;
    JS::RootedValue copy(cx, value);
    if (!JS_Stringify(cx, &copy, nullptr, JS::NullHandleValue, append_utf16, &wide)) return false;
    JS::RootedString string(cx, JS_NewUCStringCopyN(cx, wide.data(), wide.size()));
    return string != nullptr && to_utf8(cx, string, out);
}

}  // namespace

bool to_utf8(JSContext* cx, JS::HandleString string, std::string& out) {
    JSLinearString* linear = JS_EnsureLinearString(cx, string);
    if (linear == nullptr) return false;
    out.resize(JS::GetDeflatedUTF8StringLength(linear));
    out.resize(JS::DeflateStringToUTF8Buffer(linear, mozilla::Span<char>(out.data(), out.size())));
    return true;
}

JSString* from_utf8(JSContext* cx, std::string_view text) {
    if (is_ascii(text)) return JS_NewStringCopyN(cx, text.data(), text.size());
    return JS_NewStringCopyUTF8N(cx, JS::UTF8Chars(text.data(), text.size()));
}

bool to_js(JSContext* cx, const json::Value& value, JS::MutableHandleValue out) {
    switch (value.type()) {
        case json::Type::kUndefined:
            out.setUndefined();
            return true;
        case json::Type::kNull:
            out.setNull();
            return true;
        case json::Type::kBool:
            out.setBoolean(value.as_bool());
            return true;
        case json::Type::kNumber:
            out.setNumber(value.as_double());
            return true;
        case json::Type::kString: {
            JSString* string = from_utf8(cx, value.as_string());
            if (string == nullptr) return false;
            out.setString(string);
            return true;
        }
        case json::Type::kArray: {
            JS::RootedValueVector elements(cx);
            if (!elements.resize(value.elements().size())) return false;
            for (size_t i = 0; i < value.elements().size(); ++i)
                if (!to_js(cx, value.elements()[i], elements[i])) return false;
            JSObject* array = JS::NewArrayObject(cx, elements);
            if (array == nullptr) return false;
            out.setObject(*array);
            return true;
        }
        case json::Type::kObject:
            return object_to_js(cx, value, out);
        case json::Type::kExtended:
            break;  // scripts are of the dialect nosql
    }
    out.setUndefined();
    return true;
}

bool from_js(JSContext* cx, JS::HandleValue value, json::Arena& arena, json::Value& out) {
    out = json::Value();
    if (value.isNull()) {
        out = json::Value::null();
    } else if (value.isBoolean()) {
        out = json::Value::boolean(value.toBoolean());
    } else if (value.isInt32()) {
        out = json::Value::integer(value.toInt32());
    } else if (value.isDouble()) {
        if (std::isfinite(value.toDouble())) out = json::Value::number(value.toDouble());
    } else if (value.isString()) {
        JSLinearString* linear = JS_EnsureLinearString(cx, value.toString());
        if (linear == nullptr) return false;
        const size_t bytes = JS::GetDeflatedUTF8StringLength(linear);
        char* text = arena.allocate(std::max<size_t>(bytes, 1), 1);
        const size_t written = JS::DeflateStringToUTF8Buffer(linear, {text, bytes});
        out = json::Value::string({text, written});
    } else if (value.isObject() && !JS::IsCallable(&value.toObject())) {
        std::string text;
        if (!stringify(cx, value, text)) return false;
        json::ParseOptions options;
        options.refuse_duplicate_names = false;
        auto parsed = json::parse(text, arena, options);
        if (!parsed.ok()) {
            JS_ReportErrorUTF8(cx, "the result cannot be expressed as JSON: %s",
                               parsed.error().message.c_str());
            return false;
        }
        out = *parsed;
    }
    return true;
}

}  // namespace orrery::script::detail
