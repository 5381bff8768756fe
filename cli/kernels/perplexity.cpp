#include "cli/kernels/run.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "calc/memory.hpp"
#include "cli/kernels/bounded_text.hpp"
#include "cli/kernels/loading.hpp"
#include "cli/kernels/place.hpp"
#include "cli/output.hpp"
#include "cli/print.hpp"
#include "cli/stop.hpp"
#include "learn/corpus.hpp"
#include "model/storage/machine_memory.hpp"
#include "report/model/model_sections.hpp"
#include "report/report.hpp"
#include "text/error.hpp"
#include "text/format.hpp"
#include "text/quantity.hpp"
#include "text/utf8.hpp"

namespace llmcalc {
namespace {

/// A text and its tokens under a model's tokenizer.
struct PredictedText {
  std::vector<std::int32_t> tokens;
  Count bytes = 0;  ///< bytes of all tokens except the first, which is not predicted
};

PredictedText predicted_text(const model::Tokenizer& tokenizer, const std::string& path) {
  const std::string text = file_text(path);
  model::refuse_unless_utf8(text, path);
  PredictedText p{tokenizer.encode(text), 0};
  if (p.tokens.size() < 2) throw InputError(fmt::format("'{}' has fewer than two tokens; pass a longer text", path));
  p.bytes = static_cast<Count>(text.size()) - static_cast<Count>(tokenizer.decode(std::span(p.tokens).first(1)).size());
  return p;
}

/// The plan for consecutive windows, without dropout.
Plan window_plan(const model::TrainedModel& m, Count window) {
  Plan p = plan_of(m);
  p.seq = p.prompt = window;
  p.generate = 1;
  return p;
}

Count window_of(const Arguments& a, const model::TrainedModel& m, std::size_t tokens) {
  const Arch& arch = m.model().arch;
  const Count most = m.longest() > 0 ? m.longest() : arch.context;
  constexpr Count usual = 512;
  if (!a.has("--window")) return std::min({usual, most, static_cast<Count>(tokens) - 1});
  const Count window = parse_positive(a.text("--window"), "--window");
  if (window > most)
    throw InputError(
        fmt::format("--window {}: the model's context is {} tokens; pass at most that many", window, most));
  return std::min(window, static_cast<Count>(tokens) - 1);
}

Section prediction(const PredictedText& p, Count window, double loss, double seconds) {
  const auto tokens = static_cast<Count>(p.tokens.size()) - 1;
  Section s{"prediction", "prediction", {}};
  s.add("perplexity", "perplexity", std::exp(loss));
  s.add("loss", "-ln p per token", loss);
  s.add("bits_per_byte", "bits per byte", model::bits_per_byte(loss, tokens, p.bytes));
  s.add("tokens", "tokens", tokens, Unit::tokens);
  s.add("window", "window", window, Unit::tokens);
  s.add("time_s", "time", Seconds(seconds));
  s.add("tokens_per_s", "throughput", static_cast<double>(tokens) / seconds, Unit::tokens_per_second);
  return s;
}

Report perplexity_report(const Arguments& a, const model::TrainedModel& m, Section found, Count window) {
  Report r;
  r.command = "perplexity";
  r.title = fmt::format("{} on {}", m.model().title, a.word("FILE"));
  r.model = model_json(m.model());
  r.model["source"] = a.word("CHECKPOINT");
  r.inputs = {{"file", a.word("FILE")}, {"window", window}};
  r.conventions = {{"perplexity",
                    "exp of the mean -ln p over all tokens except the first; windows do not overlap, and a token is "
                    "predicted only from the preceding tokens of its window"},
                   {"bits_per_byte", "the same -log2 p over the bytes of these tokens; comparable between tokenizers"}};
  r.sections = {std::move(found)};
  return r;
}

double loss_shown(model::Transformer& t, const PredictedText& p, ProgressLine& line) {
  const double start = line.seconds();
  return model::Corpus::loss(t, p.tokens, 0, [&](Count done, Count all) {
    line.show(fmt::format("token {} of {}{}", done, all,
                          left_text(line.seconds() - start, static_cast<double>(done) / static_cast<double>(all))));
  });
}

}  // namespace

int run_perplexity(const Arguments& arguments) {
  stop_at_once();
  const validate::Where where = place(arguments.text("--device", "cpu"));
  ProgressLine line("reading the checkpoint");
  const std::unique_ptr<model::TrainedModel> m = model::trained_model(arguments.word("CHECKPOINT"));
  const PredictedText p = predicted_text(m->tokenizer(), arguments.word("FILE"));
  const Count window = window_of(arguments, *m, p.tokens.size());
  const Plan plan = window_plan(*m, window);
  const Arch& arch = m->model().arch;
  model::refuse_beyond_memory(inference_memory(arch, plan).peak + training_memory(arch, plan).logits,
                              "running this model on a window", "use a smaller --window", where.room());
  const std::unique_ptr<model::Backend> backend = where.make(m->number());
  model::Transformer t(arch, *backend, {.plan = plan, .numerics = m->numerics()}, std::nullopt);
  load_shown(*m, t, line);
  const double start = line.seconds();
  const double loss = loss_shown(t, p, line);
  if (!std::isfinite(loss)) {
    say("llmcalc: the loss is not finite; the weights are damaged or overflow in this format");
    return 1;
  }
  const Section found = prediction(p, window, loss, line.seconds() - start);
  line.clear();
  print(perplexity_report(arguments, *m, found, window), screen_of(arguments));
  return 0;
}

}  // namespace llmcalc
