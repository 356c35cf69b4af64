#include <array>
#include <cmath>
#include <numbers>
#include <optional>

#include "base/random.h"
#include "query/functions/functions.h"
#include "query/parse/number.h"

namespace orrery::query {
namespace {

using json::Value;

/// One number in, one number out.
template <double (*F)(double)>
Value unary(EvalContext&, Arguments args) {
    return args[0].is_number() ? Value::number(F(args[0].as_double())) : Value();
}

template <double (*F)(double, double)>
Value binary(EvalContext&, Arguments args) {
    if (!args[0].is_number() || !args[1].is_number()) return {};
    return Value::number(F(args[0].as_double(), args[1].as_double()));
}

double sign(double x) {
    return x > 0 ? 1 : x < 0 ? -1 : x;
}
double square(double x) {
    return x * x;
}
double cot(double x) {
    return 1 / std::tan(x);
}
double degrees(double x) {
    return x * 180 / std::numbers::pi;
}
double radians(double x) {
    return x * std::numbers::pi / 180;
}

Value log(EvalContext&, Arguments args) {
    if (!args[0].is_number() || (args.size() == 2 && !args[1].is_number())) return {};
    const double x = std::log(args[0].as_double());
    return Value::number(args.size() == 2 ? x / std::log(args[1].as_double()) : x);
}

Value pi(EvalContext&, Arguments) {
    return Value::number(std::numbers::pi);
}

Value rand(EvalContext&, Arguments) {
    return Value::number(static_cast<double>(random_u64() >> 11) * 0x1p-53);
}

Value number_bin(EvalContext&, Arguments args) {
    if (!args[0].is_number() || (args.size() == 2 && !args[1].is_number())) return {};
    const double size = args.size() == 2 ? args[1].as_double() : 1;
    if (size == 0) return {};
    return Value::number(std::floor(args[0].as_double() / size) * size);
}

// --- 64-bit integers: wraparound on overflow ---------------------------------------------------

using Int = int64_t;
using Bits = uint64_t;

template <std::optional<Int> (*F)(Int, Int)>
Value int_binary(EvalContext&, Arguments args) {
    const auto a = exact_int64(args[0]);
    const auto b = exact_int64(args[1]);
    if (!a || !b) return {};
    const auto result = F(*a, *b);
    return result ? Value::integer(*result) : Value();
}

std::optional<Int> wrap(Bits bits) {
    return static_cast<Int>(bits);
}
std::optional<Int> int_add(Int a, Int b) {
    return wrap(static_cast<Bits>(a) + static_cast<Bits>(b));
}
std::optional<Int> int_sub(Int a, Int b) {
    return wrap(static_cast<Bits>(a) - static_cast<Bits>(b));
}
std::optional<Int> int_mul(Int a, Int b) {
    return wrap(static_cast<Bits>(a) * static_cast<Bits>(b));
}
std::optional<Int> int_div(Int a, Int b) {
    if (b == 0) return std::nullopt;
    if (b == -1) return wrap(Bits{0} - static_cast<Bits>(a));
    return a / b;
}
std::optional<Int> int_mod(Int a, Int b) {
    if (b == 0) return std::nullopt;
    return b == -1 ? 0 : a % b;
}
std::optional<Int> int_and(Int a, Int b) {
    return a & b;
}
std::optional<Int> int_or(Int a, Int b) {
    return a | b;
}
std::optional<Int> int_xor(Int a, Int b) {
    return a ^ b;
}
/// A shift by 64 or more leaves nothing (or the sign); a negative one is no shift.
std::optional<Int> int_left(Int a, Int b) {
    if (b < 0) return std::nullopt;
    return b > 63 ? Int{0} : static_cast<Int>(static_cast<Bits>(a) << b);
}
std::optional<Int> int_right(Int a, Int b) {
    if (b < 0) return std::nullopt;
    return a >> (b > 63 ? 63 : b);
}

Value int_not(EvalContext&, Arguments args) {
    const auto a = exact_int64(args[0]);
    return a ? Value::integer(~*a) : Value();
}

using enum FunctionFamily;

constexpr std::array kFunctions = {
    FunctionSpec{"ABS(number)", 1, 1, kPure, unary<std::fabs>},
    FunctionSpec{"ACOS(number)", 1, 1, kPure, unary<std::acos>},
    FunctionSpec{"ASIN(number)", 1, 1, kPure, unary<std::asin>},
    FunctionSpec{"ATAN(number)", 1, 1, kPure, unary<std::atan>},
    FunctionSpec{"ATN2(y, x)", 2, 2, kPure, binary<std::atan2>},
    FunctionSpec{"CEILING(number)", 1, 1, kPure, unary<std::ceil>},
    FunctionSpec{"COS(number)", 1, 1, kPure, unary<std::cos>},
    FunctionSpec{"COT(number)", 1, 1, kPure, unary<cot>},
    FunctionSpec{"DEGREES(number)", 1, 1, kPure, unary<degrees>},
    FunctionSpec{"EXP(number)", 1, 1, kPure, unary<std::exp>},
    FunctionSpec{"FLOOR(number)", 1, 1, kPure, unary<std::floor>},
    FunctionSpec{"LOG(number, base?)", 1, 2, kPure, log},
    FunctionSpec{"LOG10(number)", 1, 1, kPure, unary<std::log10>},
    FunctionSpec{"NumberBin(number, size?)", 1, 2, kPure, number_bin},
    FunctionSpec{"PI()", 0, 0, kPure, pi},
    FunctionSpec{"POWER(number, exponent)", 2, 2, kPure, binary<std::pow>},
    FunctionSpec{"RADIANS(number)", 1, 1, kPure, unary<radians>},
    FunctionSpec{"RAND()", 0, 0, kVolatile, rand},
    FunctionSpec{"ROUND(number, digits?)", 1, 1, kPure, unary<std::round>},
    FunctionSpec{"SIGN(number)", 1, 1, kPure, unary<sign>},
    FunctionSpec{"SIN(number)", 1, 1, kPure, unary<std::sin>},
    FunctionSpec{"SQRT(number)", 1, 1, kPure, unary<std::sqrt>},
    FunctionSpec{"SQUARE(number)", 1, 1, kPure, unary<square>},
    FunctionSpec{"TAN(number)", 1, 1, kPure, unary<std::tan>},
    FunctionSpec{"TRUNC(number)", 1, 1, kPure, unary<std::trunc>},
    FunctionSpec{"IntAdd(a, b)", 2, 2, kPure, int_binary<int_add>},
    FunctionSpec{"IntSub(a, b)", 2, 2, kPure, int_binary<int_sub>},
    FunctionSpec{"IntMul(a, b)", 2, 2, kPure, int_binary<int_mul>},
    FunctionSpec{"IntDiv(a, b)", 2, 2, kPure, int_binary<int_div>},
    FunctionSpec{"IntMod(a, b)", 2, 2, kPure, int_binary<int_mod>},
    FunctionSpec{"IntBitAnd(a, b)", 2, 2, kPure, int_binary<int_and>},
    FunctionSpec{"IntBitOr(a, b)", 2, 2, kPure, int_binary<int_or>},
    FunctionSpec{"IntBitXor(a, b)", 2, 2, kPure, int_binary<int_xor>},
    FunctionSpec{"IntBitNot(a)", 1, 1, kPure, int_not},
    FunctionSpec{"IntBitLeftShift(a, b)", 2, 2, kPure, int_binary<int_left>},
    FunctionSpec{"IntBitRightShift(a, b)", 2, 2, kPure, int_binary<int_right>},
};

}  // namespace

std::span<const FunctionSpec> math_functions() {
    return kFunctions;
}

}  // namespace orrery::query
