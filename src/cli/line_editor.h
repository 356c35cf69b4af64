#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::cli {

/// What may stand at the cursor.
struct Completion {
    size_t typed = 0;  ///< characters (ASCII) before the cursor that a candidate replaces
    std::vector<std::string>
        candidates;  ///< sorted; a single one is completed by a blank unless it ends in / or .
};

/// Reads lines from a terminal, with editing, history and completion. Owned by one thread; one at a
/// time.
class LineEditor {
public:
    using Completer = std::function<Completion(std::string_view before_cursor)>;

    /// `history_file` may be empty: nothing is kept.
    LineEditor(const std::string& history_file, Completer completer);
    ~LineEditor();
    LineEditor(const LineEditor&) = delete;
    LineEditor& operator=(const LineEditor&) = delete;

    enum class Outcome : uint8_t { kLine, kCancelled, kEnd };
    /// A line without its end. kCancelled: Ctrl-C; kEnd: Ctrl-D on an empty line.
    Outcome read(const std::string& prompt, std::string& line);
    void remember(const std::string& entry);
    std::vector<std::string> entries() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace orrery::cli
