#include "cli/line_editor.h"

#include <fcntl.h>
#include <histedit.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace orrery::cli {

namespace {
constexpr int kHistoryMax = 2000;
constexpr size_t kListedMax = 200;
}  // namespace

struct LineEditor::State {
    EditLine* editor = nullptr;
    History* history = nullptr;
    Completer completer;
    std::string history_file;
    std::string prompt;
    bool cancelled = false;

    static State& of(EditLine* editor) {
        void* data = nullptr;
        el_get(editor, EL_CLIENTDATA, &data);
        return *static_cast<State*>(data);
    }
    static char* show_prompt(EditLine* editor) { return of(editor).prompt.data(); }

    static std::string before_cursor(EditLine* editor) {
        const LineInfo* info = el_line(editor);
        return {info->buffer, static_cast<size_t>(info->cursor - info->buffer)};
    }

    /// Ctrl-C: the line is given up. Signals are off while a line is edited.
    static unsigned char cancel(EditLine* editor, int) {
        of(editor).cancelled = true;
        std::fputs("^C\n", stdout);
        std::fflush(stdout);
        el_insertstr(editor, "\n");
        return CC_NEWLINE;
    }

    static void list(const std::vector<std::string>& candidates) {
        size_t widest = 0;
        for (const auto& candidate : candidates) widest = std::max(widest, candidate.size());
        const size_t per_line = std::max<size_t>(1, 78 / (widest + 2));
        std::fputs("\n", stdout);
        for (size_t i = 0; i < std::min(candidates.size(), kListedMax); ++i) {
            std::printf("%-*s", static_cast<int>(widest + 2), candidates[i].c_str());
            if ((i + 1) % per_line == 0) std::fputs("\n", stdout);
        }
        if (std::min(candidates.size(), kListedMax) % per_line != 0) std::fputs("\n", stdout);
        if (candidates.size() > kListedMax)
            std::printf("... and %zu more\n", candidates.size() - kListedMax);
        std::fflush(stdout);
    }

    static unsigned char complete(EditLine* editor, int) {
        const std::string before = before_cursor(editor);
        const Completion found = of(editor).completer(before);
        if (found.candidates.empty()) return CC_ERROR;
        std::string common = found.candidates.front();
        for (const auto& candidate : found.candidates) {
            size_t same = 0;
            while (same < common.size() && same < candidate.size() &&
                   common[same] == candidate[same])
                ++same;
            common.resize(same);
        }
        if (found.candidates.size() == 1 && !common.ends_with('/') && !common.ends_with('.') &&
            !common.ends_with('('))
            common += ' ';
        const std::string typed =
            before.substr(before.size() - std::min(found.typed, before.size()));
        if (common.size() > typed.size() || (found.candidates.size() == 1 && common != typed)) {
            el_deletestr(editor, static_cast<int>(typed.size()));
            el_insertstr(editor, common.c_str());
            return CC_REFRESH;
        }
        list(found.candidates);
        return CC_REDISPLAY;
    }
};

LineEditor::LineEditor(const std::string& history_file, Completer completer)
    : state_(std::make_unique<State>()) {
    std::setlocale(LC_CTYPE, "");  // NOLINT(concurrency-mt-unsafe): the shell has one thread
    state_->completer = std::move(completer);
    state_->history_file = history_file;
    state_->editor = el_init("orrery", stdin, stdout, stderr);
    el_set(state_->editor, EL_CLIENTDATA, state_.get());
    el_set(state_->editor, EL_PROMPT, State::show_prompt);
    el_set(state_->editor, EL_SIGNAL, 0);
    el_set(state_->editor, EL_EDITOR, "emacs");
    state_->history = history_init();
    HistEvent event;
    history(state_->history, &event, H_SETSIZE, kHistoryMax);
    history(state_->history, &event, H_SETUNIQUE, 1);
    if (!history_file.empty()) history(state_->history, &event, H_LOAD, history_file.c_str());
    el_set(state_->editor, EL_HIST, history, state_->history);
    el_set(state_->editor, EL_ADDFN, "orrery-complete", "Complete what is being typed",
           State::complete);
    el_set(state_->editor, EL_ADDFN, "orrery-cancel", "Give up the line", State::cancel);
    el_set(state_->editor, EL_BIND, "^I", "orrery-complete", nullptr);
    el_set(state_->editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    el_set(state_->editor, EL_BIND, "\\e[1~", "ed-move-to-beg", nullptr);
    el_set(state_->editor, EL_BIND, "\\e[4~", "ed-move-to-end", nullptr);
    el_set(state_->editor, EL_BIND, "\\e[3~", "ed-delete-next-char", nullptr);
    el_set(state_->editor, EL_SETTY, "-d", "-isig", nullptr);
    el_set(state_->editor, EL_BIND, "^C", "orrery-cancel", nullptr);
}

LineEditor::~LineEditor() {
    if (!state_->history_file.empty()) {
        std::error_code ignored;
        std::filesystem::create_directories(
            std::filesystem::path(state_->history_file).parent_path(), ignored);
        const mode_t before = ::umask(0077);  // queries may hold what others should not read
        HistEvent event;
        history(state_->history, &event, H_SAVE, state_->history_file.c_str());
        ::umask(before);
    }
    history_end(state_->history);
    el_end(state_->editor);
}

LineEditor::Outcome LineEditor::read(const std::string& prompt, std::string& line) {
    state_->prompt = prompt;
    state_->cancelled = false;
    el_resize(state_->editor);
    // The library itself would do this after the prompt: what is typed in between would miss it.
    el_set(state_->editor, EL_PREP_TERM, 1);
    int count = 0;
    const char* text = el_gets(state_->editor, &count);
    if (state_->cancelled) return Outcome::kCancelled;
    if (text == nullptr || count <= 0) return Outcome::kEnd;
    line.assign(text, static_cast<size_t>(count));
    while (line.ends_with('\n') || line.ends_with('\r')) line.pop_back();
    return Outcome::kLine;
}

void LineEditor::remember(const std::string& entry) {
    HistEvent event;
    history(state_->history, &event, H_ENTER, entry.c_str());
}

std::vector<std::string> LineEditor::entries() const {
    std::vector<std::string> out;
    HistEvent event;
    for (int more = ::history(state_->history, &event, H_LAST); more >= 0;
         more = ::history(state_->history, &event, H_PREV))
        out.emplace_back(event.str);
    return out;
}

}  // namespace orrery::cli
