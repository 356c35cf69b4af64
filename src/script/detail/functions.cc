// User-defined functions. Queries call them for each item, so a call must be cheap.
#include <js/Exception.h>
#include <js/GCVector.h>

#include "base/errors.h"
#include "base/script_errors.h"
#include "script/detail/prelude.h"
#include "script/detail/runtime_impl.h"

namespace orrery::script {
namespace {

using detail::RuntimeImpl;

constexpr size_t kArgumentsMax = 64;

class FunctionsImpl final : public Functions {
public:
    explicit FunctionsImpl(const Limits& limits)
        : runtime_(detail::runtime_of_this_thread()),
          cx_(runtime_.context()),
          limits_(limits),
          before_(runtime_.begin_watch(limits)),
          functions_(cx_) {}

    ~FunctionsImpl() override {
        functions_.get().clear();
        runtime_.end_watch(before_);
    }

    Result<size_t> add(std::string_view name, std::string_view text) override {
        if (!runtime_.custody().enter()) return errors::script_timeout(limits_.time_ms);
        Result<size_t> added = load_function(name, text);
        if (!runtime_.custody().leave()) return errors::script_timeout(limits_.time_ms);
        return added;
    }

    Result<json::Value> call(size_t function, std::span<const json::Value> arguments,
                             json::Arena& arena) override {
        if (arguments.size() > kArgumentsMax)
            return errors::function_failed(names_[function],
                                           "a function takes at most 64 arguments");
        if (!runtime_.custody().enter()) return errors::script_timeout(limits_.time_ms);
        Result<json::Value> result = call_function(function, arguments, arena);
        if (!runtime_.custody().leave()) return errors::script_timeout(limits_.time_ms);
        return result;
    }

private:
    Result<size_t> load_function(std::string_view name, std::string_view text) {
        const detail::AllocationGuard guard;
        // A world for each: functions may use the same names.
        JS::RootedObject global(cx_, runtime_.new_global());
        if (global == nullptr) return failed(name);
        JSAutoRealm realm(cx_, global);
        Status status;
        JS::RootedValue function(cx_);
        if (!load(detail::kCommonPrelude, status, &function, "server")) return failed(name);
        JS::RootedValue ignored(cx_);
        if (!JS::Call(cx_, JS::UndefinedHandleValue, function, JS::HandleValueArray::empty(),
                      &ignored))
            return failed(name);
        if (!load(text, status, &function)) return status.ok() ? failed(name) : std::move(status);
        if (function.isUndefined() && !first_function(global, &function)) return failed(name);
        if (!function.isObject() || !JS::IsCallable(&function.toObject()))
            return errors::function_failed(name, "the script has no function");
        if (!functions_.get().append(function)) return errors::script_memory(limits_.memory_bytes);
        names_.emplace_back(name);
        return names_.size() - 1;
    }

    Result<json::Value> call_function(size_t function, std::span<const json::Value> arguments,
                                      json::Arena& arena) {
        const detail::AllocationGuard guard;
        JS::RootedValue callee(cx_, functions_.get()[function]);
        JSAutoRealm realm(cx_, &callee.toObject());
        JS::RootedValueVector values(cx_);
        if (!values.resize(arguments.size())) return failed(names_[function]);
        for (size_t i = 0; i < arguments.size(); ++i)
            if (!detail::to_js(cx_, arguments[i], values[i])) return failed(names_[function]);
        JS::RootedValue result(cx_);
        json::Value out;
        if (!JS::Call(cx_, JS::UndefinedHandleValue, callee, values, &result) ||
            !detail::from_js(cx_, result, arena, out))
            return failed(names_[function]);
        return out;
    }

    Status failed(std::string_view name) {
        Status ended = runtime_.ended_by(limits_);
        if (!ended.ok()) {
            JS_ClearPendingException(cx_);
            return ended;
        }
        return Status(errors::function_failed(name, runtime_.take_exception()));
    }

    bool load(std::string_view text, Status& status, JS::MutableHandleValue function,
              const char* file = "script") {
        const detail::Program* program = runtime_.program(text, status, file);
        return program != nullptr && runtime_.load(*program, function);
    }

    /// The first function that the text declares. Functions of the language itself are not
    /// enumerable.
    bool first_function(JS::HandleObject global, JS::MutableHandleValue function) {
        JS::Rooted<JS::IdVector> ids(cx_, JS::IdVector(cx_));
        if (!JS_Enumerate(cx_, global, &ids)) return false;
        for (size_t i = 0; i < ids.length(); ++i) {
            if (!JS_GetPropertyById(cx_, global, ids[i], function)) return false;
            if (function.isObject() && JS::IsCallable(&function.toObject())) return true;
        }
        function.setUndefined();
        return true;
    }

    RuntimeImpl& runtime_;
    JSContext* const cx_;
    const Limits limits_;
    const detail::Watch before_;
    JS::PersistentRooted<JS::GCVector<JS::Value, 8, js::SystemAllocPolicy>> functions_;
    std::vector<std::string> names_;
};

}  // namespace

std::unique_ptr<Functions> Functions::create(const Limits& limits) {
    return std::make_unique<FunctionsImpl>(limits);
}

}  // namespace orrery::script
