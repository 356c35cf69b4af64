// One run of a procedure or trigger, from its world to its answer.
#include <js/CompilationAndEvaluation.h>
#include <js/Exception.h>
#include <js/Object.h>

#include "base/errors.h"
#include "base/random.h"
#include "base/script_errors.h"
#include "json/parse.h"
#include "json/write.h"
#include "script/detail/prelude.h"
#include "script/detail/runtime_impl.h"

namespace orrery::script::detail {

/// What the native side of one run needs to know.
struct RuntimeImpl::Run {
    const Limits& limits;
    Collection* collection = nullptr;
    int64_t accept_until_us = 0;
    std::string log;
    std::string abort_text;
};

namespace {

int64_t now_us() {
    return SystemClock().monotonic_us();
}

/// Cuts a text at a character's end.
void append_bounded(std::string& out, std::string_view text, size_t bytes_max) {
    size_t take = std::min(text.size(), bytes_max - std::min(bytes_max, out.size()));
    while (take > 0 && take < text.size() &&
           (static_cast<unsigned char>(text[take]) & 0xC0) == 0x80)
        --take;
    out.append(text.substr(0, take));
}

std::string_view kind_name(Kind kind) {
    switch (kind) {
        case Kind::kPreTrigger:
            return "pre";
        case Kind::kPostTrigger:
            return "post";
        case Kind::kProcedure:
            break;
    }
    return "procedure";
}

/// The context with what the head of the run adds to it.
std::string settings_of(const RunRequest& request) {
    std::string text = R"({"kind":")" + std::string(kind_name(request.kind)) + R"(","logging":)" +
                       (request.logging ? "true" : "false");
    const std::string_view context = request.context;
    if (context.size() > 2) {
        text += ',';
        text += context.substr(1);
    } else {
        text += '}';
    }
    return text;
}

Status failed_with(std::string_view description) {
    json::Arena arena;
    const auto told = json::parse(description, arena);
    if (!told.ok())
        return Status(errors::script_failed("an exception that cannot be shown", "", 0));
    const json::Value text = told->member("text");
    const json::Value stack = told->member("stack");
    const json::Value number = told->member("number");
    return Status(errors::script_failed(text.is_string() ? text.as_string() : "",
                                        stack.is_string() ? stack.as_string() : "",
                                        number.is_number() ? number.as_double() : 0));
}

}  // namespace

bool RuntimeImpl::native_call(JSContext* cx, unsigned argc, JS::Value* vp) {
    const JS::CallArgs args = JS::CallArgsFromVp(argc, vp);
    auto& self = *static_cast<RuntimeImpl*>(JS_GetContextPrivate(cx));
    args.rval().setUndefined();
    if (self.run_ == nullptr || args.length() != 2 || !args[0].isString() || !args[1].isString())
        return true;
    Run& run = *self.run_;
    std::string operation;
    std::string argument;
    JS::RootedString first(cx, args[0].toString());
    JS::RootedString second(cx, args[1].toString());
    if (!to_utf8(cx, first, operation) || !to_utf8(cx, second, argument)) return false;
    std::string answer;
    if (operation == "log") {
        if (!self.custody().leave()) return false;
        append_bounded(run.log, argument, run.limits.log_bytes);
        return self.custody().enter();
    }
    if (operation == "abort") {
        // This ends the run without an exception, so the script cannot catch it.
        run.abort_text = std::move(argument);
        self.watch_.ending = Ending::kAborted;
        return false;
    }
    if (operation == "guid") {
        answer = random_guid();
    } else {
        if (run.collection == nullptr || now_us() >= run.accept_until_us) return true;
        // This also ends the run without an exception: nobody waits for a run that was given up.
        if (!self.custody().leave()) return false;
        std::optional<std::string> answered;
        {
            const AllocationsUnguarded unguarded;
            answered = run.collection->call(operation, argument);
        }
        if (!self.custody().enter()) return false;
        if (!answered) return true;
        answer = std::move(*answered);
    }
    if (!self.may_go_on()) return false;
    JSString* string = from_utf8(cx, answer);
    if (string == nullptr) return false;
    args.rval().setString(string);
    return true;
}

bool RuntimeImpl::run_prelude(std::string_view text, JS::HandleValueArray arguments,
                              JS::MutableHandleValue result) {
    Status status;
    const Program* prelude = program(text, status, "server");
    CHECK(prelude != nullptr);
    JS::RootedValue function(cx_);
    return load(*prelude, &function) &&
           JS::Call(cx_, JS::UndefinedHandleValue, function, arguments, result);
}

bool RuntimeImpl::load_context(const RunRequest& request, JS::MutableHandleObject driver) {
    JS::RootedValue ignored(cx_);
    if (!run_prelude(kCommonPrelude, JS::HandleValueArray::empty(), &ignored)) return false;
    JSFunction* native = JS_NewFunction(cx_, native_call, 2, 0, "native");
    if (native == nullptr) return false;
    JS::RootedObject native_object(cx_, JS_GetFunctionObject(native));
    JS::RootedString settings(cx_, from_utf8(cx_, settings_of(request)));
    if (settings == nullptr) return false;
    JS::RootedValueArray<2> arguments(cx_);
    arguments[0].setObject(*native_object);
    arguments[1].setString(settings);
    JS::RootedValue made(cx_);
    if (!run_prelude(kContextPrelude, arguments, &made)) return false;
    driver.set(&made.toObject());
    return true;
}

/// False: an exception is pending, or the run was ended.
bool RuntimeImpl::carry_out(Run&, const RunRequest& request, JS::MutableHandleObject driver,
                            RunResult& result) {
    if (!load_context(request, driver)) return false;
    const Program* script = program(request.text, result.status);
    if (script == nullptr) return false;
    JS::RootedValueArray<2> arguments(cx_);
    if (!load(*script, arguments[0])) return false;
    JS::RootedString list(cx_,
                          from_utf8(cx_, request.arguments.empty() ? "[]" : request.arguments));
    if (list == nullptr) return false;
    arguments[1].setString(list);
    JS::RootedValue value(cx_);
    if (!JS_CallFunctionName(cx_, driver, "start", arguments, &value)) return false;
    for (;;) {
        while (jobs_->has_jobs())
            if (!jobs_->run_one(cx_)) return false;
        if (!JS_CallFunctionName(cx_, driver, "turn", JS::HandleValueArray::empty(), &value))
            return false;
        if (!value.toBoolean() && !jobs_->has_jobs()) break;
    }
    if (!JS_CallFunctionName(cx_, driver, "finish", JS::HandleValueArray::empty(), &value))
        return false;
    std::string text;
    if (value.isString()) {
        JS::RootedString string(cx_, value.toString());
        if (!to_utf8(cx_, string, text)) return false;
    }
    json::Arena arena;
    const auto answer = json::parse(text, arena);
    if (!answer.ok()) {
        result.status = Status(errors::script_failed(
            "the response cannot be expressed as JSON: " + answer.error().message, "", 0));
        return false;
    }
    const json::Value request_body = answer->member("request");
    const json::Value response_body = answer->member("response");
    if (request_body.is_string()) result.request_body = std::string(request_body.as_string());
    if (request_body.is_null()) result.request_body = "null";
    if (response_body.is_string()) result.response_body = std::string(response_body.as_string());
    return true;
}

Status RuntimeImpl::failure(Run& run, JS::HandleObject driver, const Limits& limits) {
    if (watch_.ending == Ending::kAborted) return failed_with(run.abort_text);
    if (Status status = ended_by(limits); !status.ok()) return status;
    JS::RootedValue thrown(cx_);
    if (!JS_GetPendingException(cx_, &thrown) || driver == nullptr)
        return Status(errors::script_failed(take_exception(), "", 0));
    JS_ClearPendingException(cx_);
    JS::RootedValueArray<1> arguments(cx_);
    arguments[0].set(thrown);
    JS::RootedValue value(cx_);
    std::string description;
    if (JS_CallFunctionName(cx_, driver, "describe", arguments, &value) && value.isString()) {
        JS::RootedString string(cx_, value.toString());
        if (to_utf8(cx_, string, description)) return failed_with(description);
    }
    JS_ClearPendingException(cx_);
    if (Status status = ended_by(limits); !status.ok()) return status;
    return failed_with(description);
}

void RuntimeImpl::tell_stuck(const StuckHandler& handler) const {
    Status status = Status(errors::script_timeout(watch_.time_ms));
    if (SystemClock().monotonic_us() < watch_.deadline_us)
        status = Status(errors::service_unavailable("The server is stopping."));
    handler(std::move(status), run_ != nullptr ? std::string_view(run_->log) : std::string_view());
}

RunResult RuntimeImpl::run(const RunRequest& request, const Limits& limits) {
    RunResult result;
    Run run{limits, request.collection, now_us() + limits.accept_ms * 1000, {}, {}};
    Run* const outer = run_;
    run_ = &run;
    const Watch before = begin_watch(limits);
    bool ours = custody().enter();
    if (ours) {
        const AllocationGuard guard;
        JS::RootedObject global(cx_, new_global());
        JSAutoRealm realm(cx_, global != nullptr ? global.get() : base_->get());
        JS::RootedObject driver(cx_);
        const bool fine = global != nullptr && carry_out(run, request, &driver, result);
        if (!fine && result.status.ok()) result.status = failure(run, driver, limits);
        JS_ClearPendingException(cx_);
        ours = custody().leave();
    }
    end_watch(before);
    run_ = outer;
    if (!ours) {
        RunResult given_up;
        given_up.status = Status(errors::script_timeout(limits.time_ms));
        return given_up;
    }
    if (result.status.ok() && result.response_body &&
        result.response_body->size() > limits.answer_bytes)
        result.status = Status(errors::script_answer_too_large(limits.answer_bytes));
    result.log = std::move(run.log);
    return result;
}

}  // namespace orrery::script::detail
