#include "engine/observer.h"

namespace orrery::engine {

std::string_view operation_name(OperationClass operation) {
    switch (operation) {
        case OperationClass::kRead:
            return "read";
        case OperationClass::kCreate:
            return "create";
        case OperationClass::kReplace:
            return "replace";
        case OperationClass::kUpsert:
            return "upsert";
        case OperationClass::kPatch:
            return "patch";
        case OperationClass::kDelete:
            return "delete";
        case OperationClass::kBatch:
            return "batch";
        case OperationClass::kQuery:
            return "query";
        case OperationClass::kReadFeed:
            return "readFeed";
        case OperationClass::kChangeFeed:
            return "changeFeed";
        case OperationClass::kScript:
            return "script";
        case OperationClass::kMetadata:
            return "metadata";
        case OperationClass::kCount:
            break;
    }
    return "other";
}

}  // namespace orrery::engine
