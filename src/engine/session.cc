// Signing in, and what all operations have in common.
#include "engine/session.h"

#include "base/errors.h"
#include "base/limits.h"
#include "engine/engine.h"
#include "engine/scripts.h"

namespace orrery::engine {

Result<bool> Session::sign_in(const Signature& given) {
    for (const AccountKey& key : engine().account().keys()) {
        if (!equal_constant_time(key.hmac.sign_text(given.text), given.signature)) continue;
        const int64_t skew = engine().clock().wall_seconds() - given.signed_at;
        if (skew > limits::kTokenSkewSecondsMax || skew < -limits::kTokenSkewSecondsMax)
            return errors::forbidden(
                "The authorization token is not valid at the current time: its date differs "
                "from the server's "
                "clock by more than 15 minutes. Check the client's clock.");
        principal_.kind = key.read_only ? Principal::Kind::kReadOnly : Principal::Kind::kMaster;
        return true;
    }
    return false;
}

Status Session::sign_in_with_token(std::string_view token) {
    TRY(principal_, engine().tokens().verify(token));
    return {};
}

bool Session::sign_in_with_key(std::string_view user, std::string_view given) {
    if (user != engine().account().id() && user != "localhost") return false;
    // All keys are compared, so that the time says nothing of which one it was.
    const AccountKey* found = nullptr;
    for (const AccountKey& key : engine().account().keys())
        if (equal_constant_time(key.text, given)) found = &key;
    if (found == nullptr) return false;
    principal_.kind = found->read_only ? Principal::Kind::kReadOnly : Principal::Kind::kMaster;
    return true;
}

Result<bool> Session::use_container(Statement& statement, std::string_view database,
                                    std::string_view container) const {
    if (principal_.kind == Principal::Kind::kNobody)
        return engine::authorize(principal_, Access::kContainerRead, {});
    auto found = engine().catalog().find_container(database, container);
    if (principal_.kind == Principal::Kind::kToken &&
        (found == nullptr || !(found->rid == principal_.scope.container)))
        return errors::forbidden("The resource token was issued for another container.");
    if (found == nullptr) return false;
    statement.container_ = std::move(found);
    return true;
}

void Session::on_worker(std::function<void()> work) const {
    engine().workers().post(std::move(work));
}

Status Session::post_script(std::function<void()> work,
                            std::function<void(UnansweredRun&)> stuck) const {
    return engine().scripts().post(std::move(work),
                                   [stuck = std::move(stuck)](UnansweredRun run) { stuck(run); });
}

void Session::on_script_thread(std::function<Status()> work,
                               const std::function<void(const Status&)>& failed) const {
    const Status posted = post_script(
        [work = std::move(work), failed] {
            const Status status = work();
            if (!status.ok() && !Scripts::given_up()) failed(status);
        },
        [failed](UnansweredRun& run) { failed(run.status); });
    if (!posted.ok()) failed(posted);
}

Status Session::authorize(const Statement& statement, Operation operation,
                          std::optional<std::string_view> epk, std::string_view item_id,
                          std::string_view script_rid) const {
    return engine::authorize(principal_, rule_of(operation).access,
                             {statement.container_.get(), epk, item_id, script_rid});
}

Status Session::authorize(const Statement& statement, const partition::ItemOperation& operation,
                          std::string_view epk) const {
    using partition::OperationKind;
    // Create and upsert take the id from the body, so an `id` beside it grants nothing.
    if (operation.kind == OperationKind::kCreate || operation.kind == OperationKind::kUpsert)
        return authorize(statement, Operation::kCreateItem, epk);
    return authorize(
        statement,
        operation.kind == OperationKind::kRead ? Operation::kReadItem : Operation::kWriteItem, epk,
        operation.id);
}

Status Session::check_seen(const Statement& statement, const catalog::PartitionRange& range) {
    std::string_view rest = statement.seen.text;
    while (!rest.empty()) {
        TRY(const auto seen, statement.seen.next(rest));
        if (!seen) break;
        // Positions in ancestors hold for their children.
        bool applies = seen->range_id == range.id;
        for (const auto& parent : range.parents) applies = applies || seen->range_id == parent;
        if (applies && seen->lsn > range.partition->lsn())
            return Status(errors::session_not_available());
    }
    return {};
}

Status Session::check_many(const Statement& statement, Operation operation,
                           const std::optional<std::string>& limited_to,
                           const partition::EpkRange& range) const {
    std::optional<std::string_view> epk;
    if (limited_to) epk = *limited_to;
    TRY_STATUS(authorize(statement, operation, epk));
    if (statement.seen.text.empty()) return {};
    for (const auto* one : statement.container_->ranges->overlapping(range))
        TRY_STATUS(check_seen(statement, *one));
    return {};
}

Result<catalog::ScriptPtr> Session::find_script(const Statement& statement, catalog::ChildType type,
                                                std::string_view name) const {
    auto script = engine().catalog().find_script(statement.container_->rid, type, name);
    if (script != nullptr) return script;
    return errors::resource_not_found("The script '" + std::string(name) + "' does not exist.");
}

}  // namespace orrery::engine
