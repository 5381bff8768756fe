#include "evidence/convert/words/schedule_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "calc/pipeline/schedule.hpp"
#include "evidence/convert/training/training_row.hpp"
#include "evidence/names/words.hpp"
#include "text/leading_number.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

/// Part of a schedule's name, reduced to letters and digits. More specific names come first.
struct ScheduleName {
  const char* part;
  Schedule schedule;
  bool near = false;  ///< whether the named schedule is only similar to `schedule`
};
constexpr ScheduleName schedule_names[] = {
    {"dualpipev", Schedule::dualpipe_v},
    {"dualpipe", Schedule::dualpipe},
    {"zbv", Schedule::zb_v},
    {"zb2p", Schedule::zb_2p},
    {"zb1p", Schedule::zb_1p},
    {"zbh1", Schedule::zb_h1},
    {"zbh2", Schedule::zb_h2},
    {"vhalf", Schedule::zb_v, true},
    {"vmin", Schedule::zb_v, true},
    {"zerobubble", Schedule::zb_1p, true},
    {"loopedbfs", Schedule::interleaved, true},
    {"loopbfs", Schedule::interleaved, true},
    {"breadthfirst", Schedule::interleaved, true},
    {"interleav", Schedule::interleaved},
    {"1f1bi", Schedule::interleaved},
    {"1f1b", Schedule::one_f_one_b},
    {"pipedream", Schedule::one_f_one_b},
    {"gpipe", Schedule::gpipe},
    {"afab", Schedule::gpipe},
    {"filldrain", Schedule::gpipe},
    {"fthenb", Schedule::gpipe},
    {"allforwardallbackward", Schedule::gpipe},
};

/// The text without denials of interleaving: "1f1b (non-interleaved)" becomes "1f1b ()".
std::string without_denied(const std::string& text) {
  static const std::regex denied("(?:non|not|no|without)[ -]*interleav[a-z]*");
  return std::regex_replace(lower(text.substr(0, 200)), denied, "");
}

/// Schedule in the text, or null.
const ScheduleName* schedule_called(const std::string& text) {
  const std::string plain = run_together(without_denied(text));
  const auto* found = std::find_if(std::begin(schedule_names), std::end(schedule_names),
                                   [&](const ScheduleName& s) { return plain.find(s.part) != std::string::npos; });
  return found == std::end(schedule_names) ? nullptr : found;
}

/// Chunks per rank in the schedule's text: "interleaved 1F1B (VPP 2)".
std::optional<Count> chunks_told(const std::string& text) {
  static const std::regex pattern("(?:vpp?|virtual[a-z -]*|chunks)[ =:]*([0-9]{1,4})");
  std::smatch found;
  const std::string said = lower(text.substr(0, 200));
  return std::regex_search(said, found, pattern) ? std::optional<Count>(leading_whole(found[1])) : std::nullopt;
}

constexpr Count usual_chunks = 2;

void use_chunks(const TrainingParallelism& p, Layout& split, bool named, Assumptions& assumed) {
  const std::optional<Count> told = p.vp ? p.vp : chunks_told(p.schedule);
  split.chunks = std::max<Count>(told.value_or(1), 1);
  if (!told && !named) assumed.weigh("one chunk of layers per pipeline rank: virtual stages are not stated");
  if (split.schedule == Schedule::interleaved && !told) {
    split.chunks = usual_chunks;
    assumed.weigh(fmt::format("{} chunks of layers per pipeline rank: the row states {} without their number",
                              usual_chunks, in_quotes(p.schedule)));
  }
  if (split.schedule == Schedule::one_f_one_b && split.chunks > 1) split.schedule = Schedule::interleaved;
  if (split.schedule == Schedule::interleaved && split.chunks == 1) split.schedule = Schedule::one_f_one_b;
  if (const Count fixed = fixed_chunks(split.schedule); fixed > 0) split.chunks = fixed;
}

}  // namespace

void use_schedule(const TrainingRow& row, Layout& split, Assumptions& assumed, std::string& skip) {
  const TrainingParallelism& p = row.parallelism;
  split.chunks = 1;
  split.schedule = Schedule::one_f_one_b;
  if (split.pp == 1) return;
  const Words words(p.schedule);
  const bool named = !words.silent() && !words.says_no();
  const ScheduleName* schedule = schedule_called(p.schedule);
  if (named && schedule == nullptr) {
    skip = fmt::format("unknown schedule {}", in_quotes(p.schedule));
    return;
  }
  if (schedule != nullptr) split.schedule = schedule->schedule;
  if (schedule != nullptr && schedule->near)
    assumed.weigh(fmt::format("the schedule {}: the row states {}", name(split.schedule), in_quotes(p.schedule)));
  use_chunks(p, split, named, assumed);
}

}  // namespace llmcalc
