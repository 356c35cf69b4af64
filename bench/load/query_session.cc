#include "load/query_session.h"

#include <poll.h>

#include <algorithm>

namespace orrery::bench {

Outcome Session::run(const QueryLine& line, const QueryValues& values, bool within_key) {
    begin(line, values, within_key);
    for (;;) {
        pollfd wait{fd(), POLLIN, 0};
        ::poll(&wait, 1, -1);
        if (auto outcome = proceed()) return std::move(*outcome);
    }
}

std::string Session::leading_digits(std::string_view text) {
    return std::string(text.substr(0, std::min(text.find_first_not_of("0123456789"), text.size())));
}

}  // namespace orrery::bench
