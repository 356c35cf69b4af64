// Client bodies are the largest hostile input. Whatever parses must write and parse again to the
// same value, and the walk over items must accept and refuse exactly what the parser does.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/errors.h"
#include "json/document.h"
#include "json/item.h"
#include "json/item_id.h"
#include "json/order.h"
#include "json/parse.h"
#include "json/typed_text.h"
#include "json/value_key.h"
#include "json/write.h"

using namespace orrery;        // NOLINT
using namespace orrery::json;  // NOLINT

namespace {

class Balance : public ItemVisitor {
public:
    bool enter_member(std::string_view name) override { return enter(name.size()); }
    bool enter_element() override { return enter(depth_); }
    void leave() override {
        CHECK(depth_ > 0);
        --depth_;
    }
    void scalar(const Value& value) override {
        CHECK(value.is_scalar() && depth_ > 0);
        ++scalars_;
    }
    void container(Type type) override { CHECK(type == Type::kArray || type == Type::kObject); }
    size_t depth_ = 0;
    size_t scalars_ = 0;

private:
    bool enter(size_t salt) {
        if (salt % 7 == 6) return false;
        ++depth_;
        return true;
    }
};

void check_item(std::string_view input, const Result<Value>& parsed, Arena& arena) {
    const std::vector<MemberPath> paths = {{"a"}, {"a", "b"}, {"id"}};
    Balance incoming;
    const auto item = read_item(input, {&paths}, &incoming);
    if (!parsed.ok()) {
        CHECK(!item.ok() && errors::is_bad_request(item.error().code));
        return;
    }
    const Value id = parsed->member("id");
    const bool acceptable = id.is_string() && check_item_id(id.as_string()).ok();
    CHECK(item.ok() == acceptable);
    if (!item.ok()) return;
    CHECK(incoming.depth_ == 0);
    CHECK(item->id == id.as_string());

    // The stored text is the parsed value without system properties.
    std::vector<Member> kept;
    for (const Member& m : parsed->members())
        if (!is_system_property(m.name)) kept.push_back(m);
    CHECK(item->text == to_text(Value::object(kept)));

    Balance stored;
    CHECK(walk_item(item->text, stored).ok());
    CHECK(stored.depth_ == 0 && stored.scalars_ == incoming.scalars_);
    const auto values = extract(item->text, paths, arena);
    CHECK(values.ok());
    CHECK(to_text((*values)[0]) == to_text(Value::object(kept).member("a")));
    for (size_t i = 0; i < paths.size(); ++i) {
        if ((*values)[i].is_scalar()) CHECK(equal((*values)[i], item->partition_key[i]));
    }
}

/// What is a value of a dialect with typed values has one text, which reads back as the same value;
/// its keys are the same as well.
void check_typed(std::string_view input, Arena& arena) {
    const auto typed = parse(input, arena, {.typed_values = true});
    if (!typed.ok()) return;
    std::string text;
    write_typed(text, *typed);
    const auto again = parse(text, arena, {.typed_values = true});
    CHECK(again.ok());
    std::string same;
    write_typed(same, *again);
    CHECK(same == text);
    for (const Dialect dialect : {Dialect::kMongo, Dialect::kTable}) {
        const DialectRules& by = rules(dialect);
        CHECK(compare(*typed, *again, by) == 0);
        std::string keys[2];
        append_value_key(keys[0], *typed, by);
        append_value_key(keys[1], *again, by);
        CHECK(keys[0] == keys[1]);
        const auto id = make_item_id(*typed, by);
        if (id.ok()) CHECK(item_id_of_text(item_id_text(*id, by), by).value() == *id);
    }
}

/// Damaged documents give errors, and nothing worse.
void check_document(std::string_view input, Arena& arena) {
    const auto document = decode_document(input);
    if (!document.ok()) return;
    Balance damaged;
    (void)document->id(arena).ok();
    (void)document->value(arena).ok();
    (void)document->values_at({{"a"}, {"a", "b"}}, arena).ok();
    (void)document->walk(damaged).ok();
    (void)document->select(Selection({{"id"}, {"a", "b"}}), arena).ok();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    Arena arena;
    const auto parsed = parse(input, arena);
    if (parsed.ok()) {
        for (const NumberForm form : {NumberForm::kAsWritten, NumberForm::kCanonical}) {
            const std::string text = to_text(*parsed, form);
            const auto again = parse(text, arena);
            CHECK(again.ok() && equal(*parsed, *again) && compare(*parsed, *again) == 0);
            CHECK(to_text(*again, form) == text);
        }
    }
    check_item(input, parsed, arena);

    ParseOptions lenient;
    lenient.refuse_duplicate_names = false;
    CHECK(parse(input, arena, lenient).ok() || !parsed.ok());
    Balance damaged;
    (void)walk_item(input, damaged).ok();
    check_typed(input, arena);
    check_document(input, arena);
    return 0;
}
