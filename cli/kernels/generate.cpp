#include "cli/kernels/run.hpp"

#include "learn/generate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "calc/memory.hpp"
#include "cli/kernels/bounded_text.hpp"
#include "cli/kernels/loading.hpp"
#include "cli/kernels/place.hpp"
#include "cli/output.hpp"
#include "cli/progress_line.hpp"
#include "cli/stop.hpp"
#include "learn/beam.hpp"
#include "learn/trained_model.hpp"
#include "model/storage/machine_memory.hpp"
#include "report/model/model_sections.hpp"
#include "report/render/render.hpp"
#include "report/report.hpp"
#include "text/error.hpp"
#include "text/format.hpp"
#include "text/quantity.hpp"
#include "text/utf8.hpp"

namespace llmcalc {
namespace {

/// Whether any of these flags is set.
bool any(const Arguments& a, std::initializer_list<const char*> flags) {
  return std::any_of(flags.begin(), flags.end(), [&](const char* flag) { return a.has(flag); });
}

model::GenerateOptions read(const Arguments& a) {
  model::GenerateOptions g;
  g.sampling.temperature = 0.8;
  if (a.has("--tokens")) g.tokens = parse_count(a.text("--tokens"), "--tokens");
  if (a.has("--temperature")) g.sampling.temperature = parse_real(a.text("--temperature"), "--temperature");
  if (a.has("--top-k")) g.sampling.top_k = parse_count(a.text("--top-k"), "--top-k");
  if (a.has("--top-p")) g.sampling.top_p = parse_fraction(a.text("--top-p"), "--top-p");
  if (a.has("--beams")) g.beams = parse_positive(a.text("--beams"), "--beams");
  if (a.has("--seed")) g.seed = static_cast<std::uint64_t>(parse_count(a.text("--seed"), "--seed"));
  if (g.beams > 1 && any(a, {"--temperature", "--top-k", "--top-p", "--seed"}))
    throw InputError("--beams searches without sampling; omit --temperature, --top-k, --top-p and --seed");
  if (g.sampling.temperature == 0 && any(a, {"--top-k", "--top-p", "--seed"}))
    throw InputError("--temperature 0 does not sample; omit --top-k, --top-p and --seed");
  if (a.has("--no-kv-cache") && a.has("--compare-kv-cache"))
    throw InputError("--compare-kv-cache generates with and without the cache; omit --no-kv-cache");
  g.cache = !a.has("--no-kv-cache");
  return g;
}

std::string prompt_of(const Arguments& a) {
  std::string prompt = a.word("PROMPT");
  if (prompt.empty()) {
    prompt = standard_input();
    while (prompt.ends_with('\n')) prompt.pop_back();  // removes the line end that a shell's echo appends
  }
  model::refuse_unless_utf8(prompt, "the prompt");
  if (prompt.empty()) throw InputError("the prompt is empty; pass a text to continue");
  return prompt;
}

/// Prints a prompt, then its continuation as tokens arrive, in whole characters.
class Stream {
 public:
  Stream(bool on, std::string prompt) : on_(on), prompt_(std::move(prompt)) {}
  bool on() const { return on_; }
  void begin() {
    if (on_ && !std::exchange(begun_, true)) write_out(prompt_);
  }
  void add(const std::string& text) {
    begin();
    pending_ += text;
    all_ += text;
    const std::size_t whole = model::whole_length(pending_);
    if (on_ && whole > 0) write_out(pending_.substr(0, whole));
    pending_.erase(0, whole);
  }
  /// Ends the current line, if it is not empty.
  void end() {
    if (begun_) write_out(pending_ + (all_.ends_with('\n') ? "" : "\n"));
  }
  const std::string& all() const { return all_; }

 private:
  bool on_, begun_ = false;
  std::string prompt_, pending_, all_;
};

/// Names of the values of model::Ended, in order.
constexpr std::array<std::string_view, 4> ended_names{"length", "end of text", "positions", "interrupted"};

double tokens_per_second(const model::Generated& g) {
  const auto decoded = static_cast<double>(g.tokens.size()) - 1;
  return decoded > 0 && g.decode.value > 0 ? decoded / g.decode.value : 0;
}

void say_timing(const Arch& a, Count longest, Count prompt, const model::Generated& g) {
  if (g.ended == model::Ended::positions)
    say(a.learned_rows() > 0
            ? fmt::format("llmcalc: note: the text ends at the model's limit of {} learned positions", a.learned_rows())
            : fmt::format("llmcalc: note: the text ends at the model's context limit of {} tokens", longest));
  say(fmt::format("prefill {} tokens in {}, then {} tokens in {}{}", prompt, human_text(g.prefill.value, Unit::seconds),
                  g.tokens.size(), human_text(g.decode.value, Unit::seconds),
                  tokens_per_second(g) > 0 ? ": " + human_text(tokens_per_second(g), Unit::tokens_per_second) : ""));
}

Seconds taken(const model::Generated& g) { return g.prefill + g.decode; }

/// Table of the costs of generating the same tokens with and without the cache.
Grid comparison(const model::Generated& with, const model::Generated& without) {
  Grid grid{.key = "with_and_without_cache", .title = "KV cache", .columns = {}, .rows = {}};
  for (const auto& [name, g] : {std::pair{"with", &with}, std::pair{"without", &without}}) {
    grid.rows.push_back({fmt::format("{} the KV cache", name), human_text(taken(*g).value, Unit::seconds),
                         human_text(tokens_per_second(*g), Unit::tokens_per_second), human_text(g->flops, Unit::flops),
                         fmt::format("{} tokens processed", g->tokens_run)});
    grid.json.push_back({{"name", name},
                         {"time_s", taken(*g).value},
                         {"tokens_per_s", tokens_per_second(*g)},
                         {"flops", value_json(g->flops)},
                         {"tokens_run", g->tokens_run},
                         {"token_ids", g->tokens}});
  }
  return grid;
}

void say_costs(const model::Generated& with, const model::Generated& without) {
  for (const std::vector<std::string>& row : comparison(with, without).rows)
    say(fmt::format("{}", fmt::join(row, ", ")));
}

/// Reports whether the cache changed the text; returns exit code 1 if it did.
int say_whether_same(const model::Generated& with, const model::Generated& without) {
  if (without.ended == model::Ended::stopped) return stopped_code();
  if (with.tokens == without.tokens) {
    say(fmt::format("{} tokens, identical with and without the cache", with.tokens.size()));
    return 0;
  }
  const auto [a, b] =
      std::mismatch(with.tokens.begin(), with.tokens.end(), without.tokens.begin(), without.tokens.end());
  say(fmt::format("llmcalc: the output with the KV cache differs from token {} on", a - with.tokens.begin() + 1));
  return 1;
}

std::string json_report(const model::TrainedModel& c, const Arguments& a, const model::GenerateOptions& g,
                        const std::string& prompt, const std::string& text, const model::Generated& done,
                        const std::optional<model::Generated>& without) {
  Report r;
  r.command = "generate";
  r.model = model_json(c.model());
  r.model["source"] = a.word("CHECKPOINT");
  r.inputs = {{"tokens", g.tokens}, {"beams", g.beams}, {"kv_cache", g.cache}};
  if (g.beams == 1)
    r.inputs.update({{"temperature", g.sampling.temperature},
                     {"top_k", g.sampling.top_k},
                     {"top_p", g.sampling.top_p},
                     {"seed", g.seed}});
  Section s{"generation", "generation", {}};
  s.add("prompt", "", prompt);
  s.add("text", "", text);
  s.add("tokens", "", static_cast<Count>(done.tokens.size()));
  s.add("ended", "", std::string(ended_names[static_cast<std::size_t>(done.ended)]));
  s.add("prefill_s", "", done.prefill);
  s.add("decode_s", "", done.decode);
  s.add("tokens_per_s", "", tokens_per_second(done), Unit::tokens_per_second);
  if (g.beams > 1) s.add("log_probability", "", done.log_probability);
  r.sections = {s};
  if (without) r.grids = {comparison(done, *without)};
  json::Value v = report_json(r);
  v["generation"]["token_ids"] = done.tokens;
  return dump(v);
}

Plan plan_for(const model::TrainedModel& c, Count prompt, const model::GenerateOptions& g) {
  Plan p = plan_of(c);
  p.prompt = prompt;
  p.generate = std::max<Count>(1, g.tokens);
  p.kv_cache = g.cache;
  return p;
}

/// Throws InputError if the search or the model does not fit in memory.
void refuse_what_cannot_be(const Arch& a, const Plan& plan, const model::GenerateOptions& g,
                           const model::AvailableMemory& room) {
  if (g.beams > a.vocabulary)
    throw InputError(fmt::format(
        "--beams {}: the model has {} tokens, so at most {} texts differ in their first token; pass at most {}",
        g.beams, a.vocabulary, a.vocabulary, a.vocabulary));
  Bytes needed = inference_memory(a, plan).peak;
  if (g.beams > 1) needed += model::beam_memory(a.vocabulary, {.width = g.beams, .length = g.tokens});
  model::refuse_beyond_memory(needed, "generating a text of this length with this model",
                              g.beams > 1 ? "reduce --tokens or --beams" : "reduce --tokens", room);
}

/// Shows how many tokens or texts are done, and the estimated remaining time.
std::function<void(Count, Count)> counted_on(ProgressLine& line, const char* what) {
  return [&line, what, start = line.seconds()](Count done, Count most) {
    const double share = static_cast<double>(done) / static_cast<double>(std::max<Count>(1, most));
    line.show(fmt::format("{} {} of {}{}", what, done, most, left_text(line.seconds() - start, share)));
  };
}

/// Generates and streams the text. The first token removes the progress line. If an error occurs, ends the line of text
/// first.
model::Generated shown(model::Transformer& t, const model::TrainedModel& c, std::span<const std::int32_t> prompt,
                       model::GenerateOptions g, Stream& stream, ProgressLine& line) {
  line.show("reading the prompt");
  if (g.beams > 1) g.searching = counted_on(line, "searching: text");
  const auto hidden = counted_on(line, "token");
  Count tokens = 0;
  try {
    const model::Generated done = model::generate(t, prompt, g, [&](std::int32_t token) {
      stream.on() ? line.clear() : hidden(++tokens, g.tokens);
      stream.add(c.tokenizer().decode(std::span(&token, 1)));
    });
    line.clear();
    stream.begin();
    stream.end();
    return done;
  } catch (...) {
    line.clear();
    stream.end();
    throw;
  }
}

model::Generated without_cache(model::Transformer& t, std::span<const std::int32_t> prompt, model::GenerateOptions g,
                               ProgressLine& line) {
  const auto progress = counted_on(line, "without the KV cache: token");
  Count tokens = 0;
  g.cache = t.settings().plan.kv_cache = false;
  if (g.beams > 1) g.searching = counted_on(line, "without the KV cache: text");
  const model::Generated done = model::generate(t, prompt, g, [&](std::int32_t) { progress(++tokens, g.tokens); });
  line.clear();
  return done;
}

}  // namespace

int run_generate(const Arguments& arguments) {
  model::GenerateOptions g = read(arguments);
  const validate::Where where = place(arguments.text("--device", "cpu"));
  const std::string prompt = prompt_of(arguments);
  ProgressLine line("reading the checkpoint");
  const std::unique_ptr<model::TrainedModel> opened = model::trained_model(arguments.word("CHECKPOINT"));
  const model::TrainedModel& c = *opened;
  const std::vector<std::int32_t> tokens = c.tokenizer().encode(prompt);
  const auto given = static_cast<Count>(tokens.size());
  const Plan plan = plan_for(c, given, g);
  const Arch& arch = c.model().arch;
  g.longest = c.longest();
  model::refuse_bad_generation(arch, tokens, g);
  refuse_what_cannot_be(arch, plan, g, where.room());
  const std::unique_ptr<model::Backend> backend = where.make(c.number());
  model::Transformer t(arch, *backend, {.plan = plan, .numerics = c.numerics()}, std::nullopt);
  load_shown(c, t, line);
  g.stop = &stop_flag();
  g.ends = c.ends();
  const bool json = arguments.has("--json");
  Stream stream(!json, prompt);
  const model::Generated done = shown(t, c, tokens, g, stream, line);
  if (!json) say_timing(arch, g.longest, given, done);
  const bool stopped = done.ended == model::Ended::stopped;
  const auto without =
      arguments.has("--compare-kv-cache") && !stopped ? std::optional(without_cache(t, tokens, g, line)) : std::nullopt;
  if (json) write_out(json_report(c, arguments, g, prompt, stream.all(), done, without));
  if (without && !json) say_costs(done, *without);
  if (without) return say_whether_same(done, *without);
  return stopped ? stopped_code() : 0;
}

}  // namespace llmcalc
