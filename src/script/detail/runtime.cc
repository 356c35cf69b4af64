#include <js/CompilationAndEvaluation.h>
#include <js/ContextOptions.h>
#include <js/Conversions.h>
#include <js/Exception.h>
#include <js/GCAPI.h>
#include <js/Initialization.h>
#include <js/Interrupt.h>
#include <js/Object.h>
#include <js/SourceText.h>
#include <js/Stack.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <vector>

#include "base/check.h"
#include "base/errors.h"
#include "base/script_errors.h"
#include "script/detail/runtime_impl.h"
#include "script/detail/watchdog.h"

namespace orrery::script::detail {
namespace {

constexpr size_t kStackBytes = 512 << 10;
constexpr uint32_t kHeapBytesMax = Limits().heap_bytes;
/// How much memory ended runs may leave before it is freed.
constexpr size_t kGarbageBytesMax = 32 << 20;
constexpr size_t kCachedTextBytesMax = 8 << 20;

constexpr JSClass kGlobalClass = {
    "global", JSCLASS_GLOBAL_FLAGS, &JS::DefaultGlobalClassOps, nullptr, nullptr, nullptr};

std::atomic<int> live_runtimes{0};

/// When every run ends.
struct CommonEnd {
    std::mutex mutex;
    std::vector<int64_t> wishes;            // guarded by mutex; one per EndRuns
    std::atomic<int64_t> at_us{INT64_MAX};  // the earliest of them
};
CommonEnd common_end;
void change_common_end(const std::function<void(std::vector<int64_t>&)>& change) {
    const std::lock_guard lock(common_end.mutex);
    change(common_end.wishes);
    const auto earliest = std::min_element(common_end.wishes.begin(), common_end.wishes.end());
    common_end.at_us = earliest == common_end.wishes.end() ? INT64_MAX : *earliest;
    Watchdog::instance().end_all_by(common_end.at_us);
}

/// SpiderMonkey from the first runtime on to the end of the process.
struct EngineLife {
    EngineLife() { CHECK(JS_Init()); }
    ~EngineLife() {
        // The engine's own threads would outlive what they use.
        if (live_runtimes == 0) JS_ShutDown();
    }
};
void initialise_engine() {
    static const EngineLife life;
}

const SystemClock& system_clock() {
    static const SystemClock instance;
    return instance;
}

/// Where the text has a mistake, and what it is. Clears the exception.
struct Mistake {
    std::string what;
    uint32_t line = 0;
    uint32_t column = 0;
};
Mistake take_mistake(JSContext* cx) {
    Mistake mistake;
    JS::RootedValue exception(cx);
    if (!JS_GetPendingException(cx, &exception))
        return {"the text is too long or too deeply nested", 1, 1};
    JS_ClearPendingException(cx);
    if (!exception.isObject()) return {"the text is too long or too deeply nested", 1, 1};
    JS::RootedObject object(cx, &exception.toObject());
    const JSErrorReport* report = JS_ErrorFromException(cx, object);
    if (report == nullptr) return {"the text cannot be compiled", 1, 1};
    mistake.what = report->message().c_str();
    mistake.line = report->lineno;
    mistake.column = report->column + 1;
    return mistake;
}

/// Where a text ends, for one that ends too early.
Mistake end_of(std::string_view text) {
    const auto breaks = std::count(text.begin(), text.end(), '\n');
    const size_t last = text.rfind('\n') + 1;  // 0 without any
    size_t column = 1;
    for (const char c : text.substr(last)) column += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    return {"the text ends too early", static_cast<uint32_t>(breaks + 1),
            static_cast<uint32_t>(column)};
}

/// " (line 3)" from the innermost frame of a script's own, "name@script:3:14"; empty if there is
/// none.
std::string place_in(std::string_view frames) {
    constexpr std::string_view kMark = "@script:";
    const size_t at = frames.find(kMark);
    if (at == std::string_view::npos) return {};
    frames.remove_prefix(at + kMark.size());
    return " (line " + std::string(frames.substr(0, frames.find(':'))) + ")";
}

}  // namespace

RuntimeImpl::RuntimeImpl() {
    initialise_engine();
    ++live_runtimes;
    prepare_guarded_thread();
    (void)Watchdog::instance();
    cx_ = JS_NewContext(kHeapBytesMax);
    CHECK(cx_ != nullptr);
    watched_.cx = cx_;
    JS_SetContextPrivate(cx_, this);
    JS_SetNativeStackQuota(cx_, kStackBytes);
    JS_SetGCParameter(cx_, JSGC_MAX_BYTES, kHeapBytesMax);
    JS::ContextOptionsRef(cx_).setWasm(false).setAsmJS(false).setSourcePragmas(false);
    CHECK(JS::InitSelfHostedCode(cx_));
    CHECK(JS_AddInterruptCallback(cx_, interrupted));
    jobs_ = JobQueue::install(cx_);
    base_ = std::make_unique<JS::PersistentRootedObject>(cx_, new_global());
    CHECK(base_->get() != nullptr);
    JSAutoRealm realm(cx_, *base_);
    memory_info_ =
        std::make_unique<JS::PersistentRootedObject>(cx_, js::gc::NewMemoryInfoObject(cx_));
    CHECK(memory_info_->get() != nullptr);
}

RuntimeImpl::~RuntimeImpl() {
    cached_.clear();
    cache_.clear();
    memory_info_.reset();
    base_.reset();
    jobs_->release();
    JS_DestroyContext(cx_);
    --live_runtimes;
}

RuntimeImpl& runtime_of_this_thread() {
    thread_local RuntimeImpl instance;
    return instance;
}

JSObject* RuntimeImpl::new_global() {
    JS::RealmOptions options;
    // All runs share one zone: their garbage is collected together, and the pages are used again.
    if (base_ == nullptr)
        options.creationOptions().setNewCompartmentAndZone();
    else
        options.creationOptions().setNewCompartmentInExistingZone(*base_);
    options.creationOptions()
        .setSharedMemoryAndAtomicsEnabled(false)
        .setDefineSharedArrayBufferConstructor(false)
        .setWeakRefsEnabled(JS::WeakRefSpecifier::EnabledWithoutCleanupSome);
    JS::RootedObject global(
        cx_, JS_NewGlobalObject(cx_, &kGlobalClass, nullptr, JS::DontFireOnNewGlobalHook, options));
    if (global == nullptr) return nullptr;
    // The language's classes are made when they are first used.
    JSAutoRealm realm(cx_, global);
    JS_FireOnNewGlobalObject(cx_, global);
    return global;
}

bool RuntimeImpl::interrupted(JSContext* cx) {
    return static_cast<RuntimeImpl*>(JS_GetContextPrivate(cx))->may_go_on();
}

size_t RuntimeImpl::memory_used() {
    JSAutoRealm realm(cx_, *base_);
    JS::RootedValue buffers(cx_);
    if (!JS_GetProperty(cx_, *memory_info_, "mallocBytes", &buffers)) {
        JS_ClearPendingException(cx_);
        return 0;
    }
    return JS_GetGCParameter(cx_, JSGC_BYTES) +
           (buffers.isNumber() ? static_cast<size_t>(buffers.toNumber()) : 0);
}

bool RuntimeImpl::may_go_on() {
    if (watch_.deadline_us == 0) return true;  // nothing is limited
    if (given_up()) return false;
    const int64_t now = system_clock().monotonic_us();
    if (watch_.ending == Ending::kNone && now >= watch_.deadline_us) watch_.ending = Ending::kTime;
    if (watch_.ending == Ending::kNone && now >= common_end.at_us)
        watch_.ending = Ending::kServerStops;
    if (watch_.ending == Ending::kNone && memory_used() > watch_.memory_bytes) {
        JS_GC(cx_);
        if (memory_used() > watch_.memory_bytes) watch_.ending = Ending::kMemory;
    }
    return watch_.ending == Ending::kNone;
}

Watch RuntimeImpl::begin_watch(const Limits& limits) {
    const Watch before = watch_;
    watch_.time_ms = limits.time_ms;
    watch_.deadline_us = system_clock().monotonic_us() + limits.time_ms * 1000;
    watch_.memory_bytes = limits.memory_bytes;
    // A function called by a procedure's query gets the limits of the procedure.
    if (before.deadline_us != 0)
        watch_.deadline_us = std::min(watch_.deadline_us, before.deadline_us);
    watch_.grace_us = limits.grace_ms * 1000;
    watch_.ending = Ending::kNone;
    watched_.deadline_us = watch_.deadline_us;
    watched_.grace_us = watch_.grace_us;
    Watchdog::instance().begin(watched_);
    return before;
}

void RuntimeImpl::end_watch(const Watch& before) {
    Watchdog::instance().end(watched_);
    watch_ = before;
    watched_.deadline_us = watch_.deadline_us;
    watched_.grace_us = watch_.grace_us;
    if (watch_.deadline_us == 0) {
        jobs_->clear();
        collect_garbage();
    }
}

void RuntimeImpl::collect_garbage() {
    if (memory_used() > kGarbageBytesMax)
        JS_GC(cx_);
    else
        JS_MaybeGC(cx_);
}

Status RuntimeImpl::ended_by(const Limits& limits) const {
    switch (watch_.ending) {
        case Ending::kTime:
            return Status(errors::script_timeout(limits.time_ms));
        case Ending::kMemory:
            return Status(errors::script_memory(limits.memory_bytes));
        case Ending::kServerStops:
            return Status(errors::service_unavailable("The server is stopping."));
        case Ending::kAborted:
        case Ending::kNone:
            break;
    }
    return {};
}

Status RuntimeImpl::compile(std::string_view text, const char* file, Program& program) {
    // Try the text as an expression first: most scripts are one function, often without a name.
    std::string_view expression = text;
    while (!expression.empty() &&
           (expression.back() == ';' || expression.back() == ' ' || expression.back() == '\n' ||
            expression.back() == '\r' || expression.back() == '\t'))
        expression.remove_suffix(1);
    const std::string wrapped = "(" + std::string(expression) + "\n)";
    const auto attempt = [&](std::string_view source) -> RefPtr<JS::Stencil> {
        JS::CompileOptions options(cx_);
        options.setFileAndLine(file, 1);
        JS::SourceText<mozilla::Utf8Unit> buffer;
        if (!buffer.init(cx_, source.data(), source.size(), JS::SourceOwnership::Borrowed))
            return nullptr;
        return JS::CompileGlobalScriptToStencil(cx_, options, buffer);
    };
    program.is_expression = true;
    program.stencil = attempt(wrapped);
    if (program.stencil != nullptr) return {};
    Mistake first = take_mistake(cx_);
    if (first.line == 1 && first.column > 1) --first.column;
    // The closing bracket was added by us and is not part of the script.
    const Mistake end = end_of(expression);
    if (first.line > end.line) first = end;
    program.is_expression = false;
    program.stencil = attempt(text);
    if (program.stencil != nullptr) return {};
    const Mistake second = take_mistake(cx_);
    // Report the error of the attempt that got further.
    const bool later =
        second.line > first.line || (second.line == first.line && second.column > first.column);
    const Mistake& told = later ? second : first;
    return Status(errors::script_syntax(told.what, told.line, told.column));
}

const Program* RuntimeImpl::program(std::string_view text, Status& status, const char* file) {
    if (const auto found = cached_.find(text); found != cached_.end()) {
        cache_.splice(cache_.begin(), cache_, found->second);
        return &found->second->program;
    }
    Cached made;
    status = compile(text, file, made.program);
    if (!status.ok()) return nullptr;
    made.text = text;
    cache_.push_front(std::move(made));
    cached_bytes_ += text.size();
    cached_.emplace(cache_.front().text, cache_.begin());
    while (cached_bytes_ > kCachedTextBytesMax && cache_.size() > 1) {
        cached_bytes_ -= cache_.back().text.size();
        cached_.erase(cache_.back().text);
        cache_.pop_back();
    }
    return &cache_.front().program;
}

bool RuntimeImpl::load(const Program& program, JS::MutableHandleValue function) {
    const JS::InstantiateOptions options;
    JS::RootedScript script(cx_, JS::InstantiateGlobalStencil(cx_, options, program.stencil));
    if (script == nullptr || !JS_ExecuteScript(cx_, script, function)) return false;
    if (!program.is_expression) function.setUndefined();
    return true;
}

std::string RuntimeImpl::take_exception() {
    JS::RootedValue exception(cx_);
    if (!JS_GetPendingException(cx_, &exception)) return "the engine ran out of memory";
    JS_ClearPendingException(cx_);
    std::string text;
    std::string place;
    if (exception.isObject()) {
        JS::RootedObject object(cx_, &exception.toObject());
        JS::RootedObject stack(cx_, JS::ExceptionStackOrNull(object));
        JS::RootedString frames(cx_);
        std::string lines;
        if (stack != nullptr && JS::BuildStackString(cx_, nullptr, stack, &frames) &&
            to_utf8(cx_, frames, lines))
            place = place_in(lines);
        JS_ClearPendingException(cx_);
    }
    JS::RootedString string(cx_, exception.isSymbol() ? nullptr : JS::ToString(cx_, exception));
    if (string == nullptr || !to_utf8(cx_, string, text)) {
        JS_ClearPendingException(cx_);
        return "an exception that cannot be shown";
    }
    return text + place;
}

Status RuntimeImpl::check(std::string_view text, const Limits& limits) {
    JSAutoRealm realm(cx_, *base_);
    Status status;
    if (text.find("function") == std::string_view::npos &&
        text.find("=>") == std::string_view::npos)
        return Status(errors::script_syntax("the text has no function", 1, 1));
    const Watch before = begin_watch(limits);
    if (custody().enter()) {
        const AllocationGuard guard;
        if (program(text, status) == nullptr && status.ok())
            status = Status(errors::script_syntax("the text cannot be compiled", 1, 1));
        if (!custody().leave()) status = Status(errors::script_timeout(limits.time_ms));
    } else {
        status = Status(errors::script_timeout(limits.time_ms));
    }
    end_watch(before);
    return status;
}

void RuntimeImpl::on_stuck(StuckHandler handler) {
    if (handler)
        watched_.give_up = [this, handler = std::move(handler)] { tell_stuck(handler); };
    else
        watched_.give_up = nullptr;
}

}  // namespace orrery::script::detail

namespace orrery::script {

EndRuns::EndRuns(int64_t after_ms)
    : at_us_(detail::system_clock().monotonic_us() + after_ms * 1000) {
    detail::change_common_end([this](std::vector<int64_t>& wishes) { wishes.push_back(at_us_); });
}

EndRuns::~EndRuns() {
    detail::change_common_end([this](std::vector<int64_t>& wishes) {
        wishes.erase(std::find(wishes.begin(), wishes.end(), at_us_));
    });
}

Runtime& Runtime::of_this_thread() {
    return detail::runtime_of_this_thread();
}

}  // namespace orrery::script
