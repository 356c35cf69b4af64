#pragma once

#include <functional>
#include <memory>

namespace CLI {
class App;
}

namespace orrery::cli {

/// The commands that talk to an account as any client does: shell, import, export, bench, top, lab,
/// and completion of other shells.
class Commands {
public:
    Commands();
    ~Commands();
    Commands(const Commands&) = delete;
    Commands& operator=(const Commands&) = delete;

    /// Before parsing. `app` outlives this.
    void add_to(CLI::App& app);
    /// After parsing: runs the one that was named and gives its exit code; empty when none of them
    /// was.
    std::function<int()> chosen() const;

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace orrery::cli
