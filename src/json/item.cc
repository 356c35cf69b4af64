#include "json/item.h"

#include "base/errors.h"
#include "base/limits.h"
#include "json/detail/item_handlers.h"
#include "json/detail/scanner.h"
#include "json/parse.h"
#include "json/typed_text.h"
#include "json/write.h"

namespace orrery::json {

namespace detail {

void Minifier::escaped(const StringToken& token, const char* at) {
    if (dropping_) return;
    flush(at);
    write_string(out_, token.value);
    run_ = token.end;
}

}  // namespace detail

namespace {

constexpr detail::ScanOptions kIncomingOptions{limits::kNestingDepthMax, true};
/// Stored texts were checked when they came in. They may be nested deeper than a request may be
/// today, because the limit for requests may have been lowered since.
constexpr detail::ScanOptions kStoredOptions{detail::kScanDepthCap, false};

/// A value that must be read again once its end is known.
Value parse_part(const char* from, const char* to, Arena& arena) {
    ParseOptions options;
    options.depth_max = detail::kScanDepthCap;
    options.refuse_duplicate_names = false;
    auto value = parse({from, static_cast<size_t>(to - from)}, arena, options);
    return value.ok() ? *value : Value();
}

class ReadHandler : public detail::ScanHandler {
public:
    ReadHandler(std::string_view body, const ItemRules& rules, ItemVisitor* visitor,
                IncomingItem& item)
        : item_(item),
          feed_(visitor),
          matcher_(rules.partition_key_paths),
          minifier_(item.text, body) {
        if (rules.partition_key_paths != nullptr)
            item_.partition_key.resize(rules.partition_key_paths->size());
    }

    void begin(Type type, const char* at) {
        if (depth_ == 0) root_is_object_ = type == Type::kObject;
        feed_.container(depth_, type);
        matcher_.found().truncate(0);
        if (expected_ != Expected::kNothing) {
            if (depth_ == 1 && expected_ == Expected::kId) id_type_wrong_ = true;
            if (depth_ == 1 && expected_ == Expected::kTtl) ttl_at_ = at;
            expected_ = Expected::kNothing;
        }
        ++depth_;
    }
    void end(Type, const char* behind) {
        --depth_;
        if (depth_ == 1 && ttl_at_ != nullptr) {
            item_.ttl = parse_part(ttl_at_, behind, item_.arena);
            ttl_at_ = nullptr;
        }
        if (depth_ == 0) minifier_.finish(behind - 1);
    }
    void name(const detail::StringToken& token, const char* at) {
        if (depth_ == 1) {
            if (is_system_property(token.value)) {
                minifier_.drop_member(at);
                feed_.mute(depth_);
                return;
            }
            minifier_.keep_member(at);
            if (token.value == "id") expected_ = Expected::kId;
            if (token.value == "ttl") expected_ = Expected::kTtl;
        }
        matcher_.member(depth_, token.value);
        feed_.member(depth_, token.value);
    }
    void element() { feed_.element(depth_); }
    void scalar(const Value& value) {
        feed_.scalar(depth_, value);
        if (expected_ != Expected::kNothing) take_expected(value);
        auto& found = matcher_.found();
        if (found.size() == 0) return;
        for (const uint32_t path : found)
            item_.partition_key[path] = copy_value(value, item_.arena);
        found.truncate(0);
    }
    void after_value(const char* behind) {
        feed_.after_value(depth_);
        matcher_.after_value(depth_);
        if (depth_ == 1) minifier_.after_member(behind);
    }
    void space(const char* from, const char* to) { minifier_.space(from, to); }
    void escaped(const detail::StringToken& token, const char* at) { minifier_.escaped(token, at); }

    /// Call it after a scan without errors.
    Status check() const {
        if (!root_is_object_) return Status(errors::bad_request("The item must be a JSON object."));
        if (id_type_wrong_) return Status(errors::invalid_id("it must be a string"));
        if (!id_seen_) return Status(errors::missing_property("id"));
        TRY_STATUS(check_item_id(item_.id));
        if (item_.text.size() > limits::kItemBytesMax)
            return Status(errors::entity_too_large(limits::kItemBytesMax));
        return {};
    }

private:
    enum class Expected : uint8_t { kNothing, kId, kTtl };

    void take_expected(const Value& value) {
        if (expected_ == Expected::kTtl) {
            item_.ttl = copy_value(value, item_.arena);
        } else if (value.is_string()) {
            item_.id = value.as_string();
            id_seen_ = true;
        } else {
            id_type_wrong_ = true;
        }
        expected_ = Expected::kNothing;
    }

    IncomingItem& item_;
    detail::VisitorFeed feed_;
    detail::PathMatcher matcher_;
    detail::Minifier minifier_;
    uint32_t depth_ = 0;
    Expected expected_ = Expected::kNothing;
    bool root_is_object_ = false;
    bool id_seen_ = false;
    bool id_type_wrong_ = false;
    const char* ttl_at_ = nullptr;
};

class WalkHandler : public detail::ScanHandler {
public:
    explicit WalkHandler(ItemVisitor& visitor) : feed_(&visitor) {}

    void begin(Type type, const char*) {
        if (depth_ == 0) root_is_object_ = type == Type::kObject;
        feed_.container(depth_++, type);
    }
    void end(Type, const char*) { --depth_; }
    void name(const detail::StringToken& token, const char*) {
        if (depth_ == 1 && is_system_property(token.value)) {
            feed_.mute(depth_);
        } else {
            feed_.member(depth_, token.value);
        }
    }
    void element() { feed_.element(depth_); }
    void scalar(const Value& value) { feed_.scalar(depth_, value); }
    void after_value(const char*) { feed_.after_value(depth_); }
    bool root_is_object() const { return root_is_object_; }

private:
    detail::VisitorFeed feed_;
    uint32_t depth_ = 0;
    bool root_is_object_ = false;
};

class ExtractHandler : public detail::ScanHandler {
public:
    ExtractHandler(const std::vector<MemberPath>& paths, Arena& arena)
        : arena_(arena), matcher_(&paths), values_(paths.size()) {}

    void begin(Type, const char* at) {
        take_found([&](uint32_t path) { open_.push_back({path, depth_, at}); });
        ++depth_;
    }
    void end(Type, const char* behind) {
        --depth_;
        if (open_.empty() || open_.back().depth != depth_) return;
        const Value value = parse_part(open_.back().at, behind, arena_);
        for (; !open_.empty() && open_.back().depth == depth_; open_.pop_back())
            values_[open_.back().path] = value;
    }
    void name(const detail::StringToken& token, const char*) {
        matcher_.member(depth_, token.value);
    }
    void scalar(const Value& value) {
        take_found([&](uint32_t path) { values_[path] = copy_value(value, arena_); });
    }
    void after_value(const char*) { matcher_.after_value(depth_); }
    bool finished() const { return found_count_ == values_.size() && open_.empty(); }
    std::vector<Value> take() { return std::move(values_); }

private:
    struct Open {
        uint32_t path;
        uint32_t depth;
        const char* at;
    };
    template <typename Use>
    void take_found(Use use) {
        auto& found = matcher_.found();
        if (found.size() == 0) return;
        for (const uint32_t path : found) use(path);
        found_count_ += found.size();
        found.truncate(0);
    }

    Arena& arena_;
    detail::PathMatcher matcher_;
    std::vector<Value> values_;
    std::vector<Open> open_;
    size_t found_count_ = 0;
    uint32_t depth_ = 0;
};

Status damaged(const std::string& what) {
    return Status(errors::internal("A stored item is damaged: " + what));
}

// Items of dialects with typed values are read as a whole: what a wrapper is shows at its end.

Value value_at(Value value, const MemberPath& path) {
    for (const std::string& name : path) value = value.member(name);
    return value;
}

/// The value of a stored text of a dialect with typed values.
Result<Value> parse_stored(std::string_view text, Arena& arena) {
    auto value = parse(text, arena,
                       {.depth_max = detail::kScanDepthCap,
                        .refuse_duplicate_names = false,
                        .typed_values = true});
    if (!value.ok()) return damaged(value.error().message);
    return value;
}

void walk_members(const Value& object, ItemVisitor& visitor) {
    for (const Member& member : object.members()) {
        if (!visitor.enter_member(member.name)) continue;
        walk_value(member.value, visitor);
        visitor.leave();
    }
}

Result<IncomingItem> read_typed_item(std::string_view body, const ItemRules& rules,
                                     ItemVisitor* visitor) {
    IncomingItem item;
    TRY(const Value value, parse(body, item.arena, {.typed_values = true}));
    if (!value.is_object()) return errors::bad_request("The item must be a JSON object.");
    write_typed(item.text, value);
    if (item.text.size() > limits::kItemBytesMax)
        return errors::entity_too_large(limits::kItemBytesMax);
    if (rules.partition_key_paths != nullptr) {
        for (const MemberPath& path : *rules.partition_key_paths) {
            const Value found = value_at(value, path);
            item.partition_key.push_back(found.is_scalar() ? found : Value());
        }
    }
    if (visitor != nullptr) walk_members(value, *visitor);
    return item;
}

}  // namespace

bool is_system_property(std::string_view name) {
    if (name.size() < 3 || name.front() != '_') return false;
    return name == "_rid" || name == "_self" || name == "_etag" || name == "_ts" ||
           name == "_attachments" || name == "_lsn";
}

Result<IncomingItem> read_item(std::string_view body, const ItemRules& rules,
                               ItemVisitor* visitor) {
    if (json::rules(rules.dialect).typed_values) return read_typed_item(body, rules, visitor);
    IncomingItem item;
    Arena decoded;
    ReadHandler handler(body, rules, visitor, item);
    detail::Scanner<ReadHandler> scanner(body, handler, decoded, kIncomingOptions);
    if (!scanner.run()) return scanner.error();
    TRY_STATUS(handler.check());
    return item;
}

void walk_value(const Value& value, ItemVisitor& visitor) {
    if (value.is_array()) {
        visitor.container(Type::kArray);
        for (const Value& element : value.elements()) {
            if (!visitor.enter_element()) continue;
            walk_value(element, visitor);
            visitor.leave();
        }
    } else if (value.is_object()) {
        visitor.container(Type::kObject);
        walk_members(value, visitor);
    } else if (!value.is_undefined()) {
        visitor.scalar(value);
    }
}

Status walk_item(std::string_view text, ItemVisitor& visitor, Dialect dialect) {
    Arena decoded;
    if (rules(dialect).typed_values) {
        TRY(const Value item, parse_stored(text, decoded));
        if (!item.is_object()) return damaged("it is not a JSON object.");
        walk_members(item, visitor);
        return {};
    }
    WalkHandler handler(visitor);
    detail::Scanner<WalkHandler> scanner(text, handler, decoded, kStoredOptions);
    if (!scanner.run()) return damaged(scanner.error().message);
    if (!handler.root_is_object()) return damaged("it is not a JSON object.");
    return {};
}

Result<std::vector<Value>> extract(std::string_view text, const std::vector<MemberPath>& paths,
                                   Arena& arena, Dialect dialect) {
    if (rules(dialect).typed_values) {
        TRY(const Value item, parse_stored(text, arena));
        std::vector<Value> found;
        for (const MemberPath& path : paths) found.push_back(value_at(item, path));
        return found;
    }
    Arena decoded;
    ExtractHandler handler(paths, arena);
    detail::Scanner<ExtractHandler> scanner(text, handler, decoded, kStoredOptions);
    if (!scanner.run()) return damaged(scanner.error().message);
    std::vector<Value> values = handler.take();
    for (size_t i = 0; i < paths.size(); ++i)
        if (paths[i].empty()) values[i] = parse_part(text.data(), text.data() + text.size(), arena);
    return values;
}

}  // namespace orrery::json
