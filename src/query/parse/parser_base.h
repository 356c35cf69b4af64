#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "base/errors.h"
#include "query/limits.h"
#include "query/parse/diagnostics.h"
#include "query/parse/hints.h"
#include "query/parse/lexer.h"
#include "query/parse/parser.h"

/// Private to the parser (parser.h).
namespace orrery::query {

using ast::Expr;
using ast::ExprKind;
using ast::Op;
using ast::Query;
using ast::Range;

/// One token of look-ahead, the one error, and the making of nodes. A failed function returns null
/// (or false) after recording the error; callers only pass that on.
class ParserBase {
protected:
    explicit ParserBase(Syntax& syntax)
        : syntax_(syntax), arena_(syntax.arena), lexer_(syntax.text, syntax.arena) {
        advance();
    }

    // --- tokens -------------------------------------------------------------------------------
    void advance() {
        end_ = token_.range.end;
        token_ = lexer_.next();
    }
    bool at(Tok kind) const { return token_.kind == kind; }
    bool accept(Tok kind) {
        if (!at(kind)) return false;
        advance();
        return true;
    }
    bool expect(Tok kind) {
        if (accept(kind)) return true;
        unexpected();
        return false;
    }
    /// Records the syntax error at the current token.
    std::nullptr_t unexpected() {
        if (failed_) return nullptr;
        Diagnostics diagnostics(syntax_.text);
        const std::string hint = hints::syntax(syntax_.text, token_.range.start, form_);
        if (at(Tok::kEnd)) {
            diagnostics.add("SC1002", token_.range, "Syntax error, unexpected end-of-file.", hint);
        } else {
            constexpr size_t kQuotedMax = 64;
            size_t length = std::min(token_.text.size(), kQuotedMax);
            while (length < token_.text.size() && length > 0 &&
                   (static_cast<unsigned char>(token_.text[length]) & 0xC0) == 0x80)
                --length;
            diagnostics.add("SC1001", token_.range,
                            fmt::format("Syntax error, incorrect syntax near '{}'.",
                                        token_.text.substr(0, length)),
                            hint);
        }
        return fail(diagnostics.to_error());
    }
    std::nullptr_t fail(Error error) {
        if (!failed_) error_ = std::move(error);
        failed_ = true;
        return nullptr;
    }

    // --- nodes --------------------------------------------------------------------------------
    template <typename T>
    T* make() {
        return new (arena_.allocate(sizeof(T), alignof(T))) T();
    }
    /// Moves what was pushed on `stack` since `mark` into the arena.
    template <typename T>
    std::span<const T> take(std::vector<T>& stack, size_t mark) {
        const size_t count = stack.size() - mark;
        if (count == 0) return {};
        auto* out = reinterpret_cast<T*>(arena_.allocate(count * sizeof(T), alignof(T)));
        std::uninitialized_copy(stack.begin() + static_cast<ptrdiff_t>(mark), stack.end(), out);
        stack.resize(mark);
        return {out, count};
    }
    Expr* make_expr(ExprKind kind, uint32_t start) {
        Expr* e = make<Expr>();
        e->kind = kind;
        e->range = {start, end_};
        return e;
    }
    /// The node, once its parts are set; null when it is too high.
    Expr* done(Expr* e) {
        uint32_t below = e->query == nullptr ? 0 : e->query->height;
        for (const Expr* arg : e->args) below = std::max<uint32_t>(below, arg->height);
        for (const ast::Step& step : e->steps)
            if (step.expr != nullptr) below = std::max<uint32_t>(below, step.expr->height);
        return set_height(*e, below + 1) ? e : nullptr;
    }
    template <typename T>
    bool set_height(T& node, uint32_t height) {
        if (height > limits::kDepthMax) {
            too_deep();
            return false;
        }
        node.height = static_cast<uint16_t>(height);
        return true;
    }
    void too_deep() {
        fail(errors::bad_request(
            fmt::format("The query nests expressions or subqueries more than {} levels deep.",
                        limits::kDepthMax)));
    }
    /// Appends to an array that this parser allocated: in place while it has room, which is up to
    /// the next power of two.
    template <typename T>
    void append(std::span<const T>& items, const T& item) {
        T* data = const_cast<T*>(items.data());
        if (std::has_single_bit(items.size()) || items.empty()) {
            const size_t capacity = std::bit_ceil(items.size() + 1);
            data = reinterpret_cast<T*>(arena_.allocate(capacity * sizeof(T), alignof(T)));
            std::uninitialized_copy(items.begin(), items.end(), data);
        }
        new (&data[items.size()]) T(item);
        items = {data, items.size() + 1};
    }
    template <typename... Args>
    std::span<const Expr* const> list(Args... args) {
        const Expr* items[] = {args...};
        auto* out =
            reinterpret_cast<const Expr**>(arena_.allocate(sizeof(items), alignof(const Expr*)));
        std::copy(std::begin(items), std::end(items), out);
        return {out, sizeof...(args)};
    }

    /// A canonical text nests at most twice as deep as its tree is high, so it parses again.
    static constexpr uint32_t kRecursionMax = 2 * limits::kDepthMax + 8;

    /// Counts a level of recursion for the life of the object.
    class Level {
    public:
        explicit Level(ParserBase& parser) : parser_(parser) {
            if (++parser_.depth_ > kRecursionMax) parser_.too_deep();
        }
        ~Level() { --parser_.depth_; }
        explicit operator bool() const { return !parser_.failed_; }

    private:
        ParserBase& parser_;
    };

    Syntax& syntax_;
    json::Arena& arena_;
    Lexer lexer_;
    Token token_;
    uint32_t end_ = 0;  // of the last consumed token
    uint32_t depth_ = 0;
    bool failed_ = false;
    hints::Form form_ = hints::Form::kQuery;  // of the text
    Error error_;
};

}  // namespace orrery::query
