#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "json/order.h"
#include "query/functions/functions.h"
#include "query/functions/values.h"
#include "query/parse/number.h"

namespace orrery::query {
namespace {

using json::Member;
using json::Value;

Value make_array(EvalContext& context, std::span<const Value> elements) {
    if (!context.may_allocate(elements.size_bytes())) return {};
    return Value::array(context.arena->copy(elements));
}

bool all_arrays(Arguments args) {
    return std::all_of(args.begin(), args.end(), [](const Value& v) { return v.is_array(); });
}

Value concat(EvalContext& context, Arguments args) {
    if (!all_arrays(args)) return {};
    size_t count = 0;
    for (const Value& v : args) count += v.elements().size();
    if (!context.may_allocate(count * sizeof(Value)) || !context.charge(count)) return {};
    std::vector<Value> out;
    out.reserve(count);
    for (const Value& v : args) out.insert(out.end(), v.elements().begin(), v.elements().end());
    return make_array(context, out);
}

bool contains_part(EvalContext& context, const Value& whole, const Value& part);

/// Whether `whole` has every member of `part`, with a value that contains that one's.
bool contains_members(EvalContext& context, const Value& whole, const Value& part) {
    constexpr size_t kFewMembers = 8;
    const std::span<const Member> wanted = part.members();
    const auto contained = [&](const Value& other, const Member& m) {
        return !other.is_undefined() && contains_part(context, other, m.value);
    };
    if (wanted.size() <= kFewMembers)
        return std::all_of(wanted.begin(), wanted.end(),
                           [&](const Member& m) { return contained(whole.member(m.name), m); });
    if (wanted.size() > whole.members().size() || !context.charge(whole.members().size()))
        return false;
    // Sorted once: a search through all members for each of them would take the square.
    const auto by_name = [](const Member& a, const Member& b) { return a.name < b.name; };
    std::vector<Member> members(whole.members().begin(), whole.members().end());
    std::sort(members.begin(), members.end(), by_name);
    return std::all_of(wanted.begin(), wanted.end(), [&](const Member& m) {
        const auto it = std::lower_bound(members.begin(), members.end(), m, by_name);
        return it != members.end() && it->name == m.name && contained(it->value, m);
    });
}

/// Whether `part` is contained in `whole`: objects by their properties, recursively; arrays match
/// element by element when they hold objects, else only whole.
bool contains_part(EvalContext& context, const Value& whole, const Value& part) {
    if (!context.charge()) return false;
    if (part.is_object() && whole.is_object()) return contains_members(context, whole, part);
    if (part.is_array() && whole.is_array()) {
        if (json::equal(whole, part)) return true;
        return !part.elements().empty() &&
               std::all_of(part.elements().begin(), part.elements().end(), [&](const Value& p) {
                   return p.is_object() &&
                          std::any_of(whole.elements().begin(), whole.elements().end(),
                                      [&](const Value& w) { return contains_part(context, w, p); });
               });
    }
    return part.type() == whole.type() && json::equal(whole, part);
}

bool has_element(const Value& array, const Value& v) {
    for (const Value& e : array.elements())
        if (e.type() == v.type() && json::equal(e, v)) return true;
    return false;
}

Value contains(EvalContext& context, Arguments args) {
    if (args[1].is_undefined()) return {};
    if (!args[0].is_array()) return {};
    bool partial = false;
    if (args.size() == 3) {
        if (!args[2].is_bool()) return {};
        partial = args[2].as_bool();
    }
    if (!context.charge(args[0].elements().size())) return {};
    if (!partial) return Value::boolean(has_element(args[0], args[1]));
    for (const Value& e : args[0].elements())
        if (contains_part(context, e, args[1])) return Value::boolean(true);
    return context.failed() ? Value() : Value::boolean(false);
}

/// Three-valued OR (Any) or AND over the values.
template <bool Any>
Value contains_values(EvalContext& context, Arguments args) {
    if (!args[0].is_array()) return {};
    if (args[0].elements().empty()) return Value::boolean(false);
    if (!context.charge(args[0].elements().size() * args.size())) return {};
    bool unknown = false;
    for (const Value& v : args.subspan(1)) {
        if (v.is_undefined()) {
            unknown = true;
        } else if (has_element(args[0], v) == Any) {
            return Value::boolean(Any);
        }
    }
    return unknown ? Value() : Value::boolean(!Any);
}

Value length(EvalContext&, Arguments args) {
    if (!args[0].is_array()) return {};
    return Value::integer(static_cast<int64_t>(args[0].elements().size()));
}

Value slice(EvalContext&, Arguments args) {
    if (!args[0].is_array()) return {};
    const auto elements = args[0].elements();
    const auto size = static_cast<int64_t>(elements.size());
    const auto start = exact_int64(args[1]);
    if (!start) return {};
    int64_t from = *start < 0 ? std::max<int64_t>(0, size + std::max(*start, -size)) : *start;
    from = std::min(from, size);
    int64_t count = size - from;
    if (args.size() == 3) {
        const auto given = exact_int64(args[2]);
        if (!given) return {};
        count = std::clamp<int64_t>(*given, 0, count);
    }
    return Value::array(elements.subspan(static_cast<size_t>(from), static_cast<size_t>(count)));
}

bool all_numbers(const Value& array) {
    return array.is_array() && std::all_of(array.elements().begin(), array.elements().end(),
                                           [](const Value& v) { return v.is_number(); });
}

double sum_of(const Value& array) {
    double sum = 0;
    for (const Value& v : array.elements()) sum += v.as_double();
    return sum;
}

Value sum(EvalContext&, Arguments args) {
    return all_numbers(args[0]) ? Value::number(sum_of(args[0])) : Value();
}

Value average(EvalContext&, Arguments args) {
    if (!all_numbers(args[0]) || args[0].elements().empty()) return {};
    return Value::number(sum_of(args[0]) / static_cast<double>(args[0].elements().size()));
}

Value median(EvalContext& context, Arguments args) {
    if (!all_numbers(args[0]) || args[0].elements().empty()) return {};
    if (!context.charge(args[0].elements().size())) return {};
    std::vector<double> numbers;
    for (const Value& v : args[0].elements()) {
        if (std::isnan(v.as_double())) return Value::number(v.as_double());
        numbers.push_back(v.as_double());
    }
    std::sort(numbers.begin(), numbers.end());
    const size_t middle = numbers.size() / 2;
    if (numbers.size() % 2 == 1) return Value::number(numbers[middle]);
    return Value::number((numbers[middle - 1] + numbers[middle]) / 2);
}

/// The least (Sign -1) or greatest element in the order of types.
template <int Sign>
Value extreme(EvalContext&, Arguments args) {
    if (!args[0].is_array()) return {};
    Value best;
    for (const Value& v : args[0].elements()) {
        if (!v.is_scalar()) return {};
        if (best.is_undefined() || json::compare(v, best) * Sign > 0) best = v;
    }
    return best;
}

// --- sets ---------------------------------------------------------------------------------------

ValueSet set_of(const Value& array) {
    ValueSet set;
    for (const Value& v : array.elements()) set.insert(v);
    return set;
}

bool may_build_sets(EvalContext& context, Arguments args) {
    if (!all_arrays(args)) return false;
    return context.charge(args[0].elements().size() + args[1].elements().size());
}

Value set_union(EvalContext& context, Arguments args) {
    if (!may_build_sets(context, args)) return {};
    ValueSet set = set_of(args[0]);
    for (const Value& v : args[1].elements()) set.insert(v);
    return make_array(context, set.values());
}

/// The distinct elements of the first array that are (Keep) or are not in the second.
template <bool Keep>
Value set_filter(EvalContext& context, Arguments args) {
    if (!may_build_sets(context, args)) return {};
    const ValueSet first = set_of(args[0]);
    const ValueSet second = set_of(args[1]);
    std::vector<Value> out;
    for (const Value& v : first.values())
        if (second.contains(v) == Keep) out.push_back(v);
    return make_array(context, out);
}

Value set_equal(EvalContext& context, Arguments args) {
    if (!may_build_sets(context, args)) return {};
    const ValueSet first = set_of(args[0]);
    const ValueSet second = set_of(args[1]);
    if (first.size() != second.size()) return Value::boolean(false);
    for (const Value& v : first.values())
        if (!second.contains(v)) return Value::boolean(false);
    return Value::boolean(true);
}

Value choose(EvalContext&, Arguments args) {
    const auto index = exact_int64(args[0]);
    if (!index || *index < 1 || *index >= static_cast<int64_t>(args.size())) return {};
    return args[static_cast<size_t>(*index)];
}

Value object_to_array(EvalContext& context, Arguments args) {
    if (!args[0].is_object()) return {};
    std::string_view key = "k";
    std::string_view value = "v";
    if (args.size() > 1) {
        if (!args[1].is_string()) return {};
        key = args[1].as_string();
    }
    if (args.size() > 2) {
        if (!args[2].is_string()) return {};
        value = args[2].as_string();
    }
    if (!context.may_allocate(args[0].members().size() * (sizeof(Value) + 2 * sizeof(Member))))
        return {};
    std::vector<Value> out;
    for (const Member& m : args[0].members()) {
        const Member pair[] = {{key, Value::string(m.name)}, {value, m.value}};
        // With one name for both, the value is the last member of that name.
        const auto members = std::span<const Member>(pair).last(key == value ? 1 : 2);
        out.push_back(Value::object(context.arena->copy(members)));
    }
    return make_array(context, out);
}

using enum FunctionFamily;

constexpr std::array kFunctions = {
    FunctionSpec{"ARRAY_CONCAT(array, array, …)", 2, kAnyCount, kPure, concat},
    by_index(FunctionSpec{"ARRAY_CONTAINS(array, value, partial?)", 2, 3, kPure, contains}),
    FunctionSpec{"ARRAY_CONTAINS_ANY(array, value, …)", 2, kAnyCount, kPure, contains_values<true>},
    FunctionSpec{"ARRAY_CONTAINS_ALL(array, value, …)", 2, kAnyCount, kPure,
                 contains_values<false>},
    FunctionSpec{"ARRAY_LENGTH(array)", 1, 1, kPure, length},
    FunctionSpec{"ARRAY_SLICE(array, start, length?)", 2, 3, kPure, slice},
    FunctionSpec{"ARRAY_AVG(array)", 1, 1, kPure, average},
    FunctionSpec{"ARRAY_SUM(array)", 1, 1, kPure, sum},
    FunctionSpec{"ARRAY_MEDIAN(array)", 1, 1, kPure, median},
    FunctionSpec{"ARRAY_MIN(array)", 1, 1, kPure, extreme<-1>},
    FunctionSpec{"ARRAY_MAX(array)", 1, 1, kPure, extreme<1>},
    FunctionSpec{"SetUnion(array, array)", 2, 2, kPure, set_union},
    FunctionSpec{"SetIntersect(array, array)", 2, 2, kPure, set_filter<true>},
    FunctionSpec{"SetDifference(array, array)", 2, 2, kPure, set_filter<false>},
    FunctionSpec{"SetEqual(array, array)", 2, 2, kPure, set_equal},
    FunctionSpec{"CHOOSE(index, value, …)", 2, kAnyCount, kPure, choose},
    FunctionSpec{"ObjectToArray(object, keyName?, valueName?)", 1, 3, kPure, object_to_array},
};

}  // namespace

std::span<const FunctionSpec> array_functions() {
    return kFunctions;
}

}  // namespace orrery::query
