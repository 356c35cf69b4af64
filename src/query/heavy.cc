#include "query/heavy.h"

namespace orrery::query {

bool is_heavy(const CompiledQuery& query) {
    return query.has_udf() || query.has_subquery() || query.root().sources.size() != 1;
}

}  // namespace orrery::query
