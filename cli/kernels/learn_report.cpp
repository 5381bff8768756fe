#include "cli/kernels/learn_report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "calc/parameters.hpp"
#include "learn/ngram.hpp"
#include "report/model/model_sections.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

Section model_section(const LearnRequest& r) {
  Section s{"learnt_model", "model", {}};
  s.add("parameters", "parameters", parameters(r.model.arch).total, Unit::parameters);
  s.add("precision", "precision", std::string(r.precision.name()));
  s.add("tokenizer", "tokenizer", std::string(r.tokenizer->name()));
  s.add("vocabulary", "vocabulary", r.tokenizer->vocabulary(), Unit::tokens);
  s.add("checkpoint", "checkpoint", r.out);
  return s;
}

Section learning_section(const LearnRequest& r, const model::Corpus& corpus, const LearnOutcome& o) {
  const auto learned = static_cast<Count>(corpus.learned().size());
  Section s{"learning", "training", {}};
  s.add("text_bytes", "text", Bytes(static_cast<Count>(r.text.size())));
  s.add("text_tokens", "training tokens", learned, Unit::tokens);
  s.add("validation_tokens", "validation tokens", static_cast<Count>(corpus.validation().size()), Unit::tokens);
  s.add("held_out_tokens", "held-out tokens", static_cast<Count>(corpus.held_out().size()), Unit::tokens);
  s.add("steps", "steps", o.progress.updates, Unit::none,
        fmt::format("{} x {} tokens", r.settings.batch, r.settings.seq));
  s.add("tokens", "tokens seen", o.progress.tokens, Unit::tokens,
        fmt::format("{:.1f} passes over the text",
                    static_cast<double>(o.progress.tokens) / static_cast<double>(learned)));
  if (o.progress.loss) s.add("loss", "training loss", *o.progress.loss, Unit::none, "last step, per token");
  s.add("time_s", "time", Seconds(o.seconds));
  if (o.seconds > 0 && o.tokens > 0)
    s.add("tokens_per_s", "throughput", static_cast<double>(o.tokens) / o.seconds, Unit::tokens_per_second);
  return s;
}

void add_row(Grid& g, const model::Corpus& corpus, const char* name, double perplexity) {
  const double bits = corpus.bits_per_byte(std::log(perplexity));
  g.rows.push_back({name, fmt::format("{:.2f}", perplexity), fmt::format("{:.3f}", bits)});
  g.json.push_back({{"name", name}, {"perplexity", perplexity}, {"bits_per_byte", bits}});
}

}  // namespace

Report learn_report(const LearnRequest& r, const model::Corpus& corpus, const LearnOutcome& o) {
  Report report;
  report.command = "learn";
  report.title = r.model.title;
  report.model = model_json(r.model);
  report.inputs = model::settings_json(r.settings);
  report.conventions = {
      {"perplexity", "exp of the mean -ln p over all held-out tokens except the first, per token of this tokenizer"},
      {"validation",
       "the twentieth of the text before the held-out last tenth; the weights with the lowest loss on it are saved, so "
       "the held-out tenth is used neither for training nor for selection"},
      {"bits_per_byte", "the same -log2 p over the bytes of these tokens; comparable between tokenizers"},
      {"unigram", "token frequencies, Witten-Bell smoothing"},
      {"bigram", "frequencies of token pairs, interpolated Kneser-Ney smoothing"}};
  report.sections = {model_section(r), learning_section(r, corpus, o)};
  Grid g{.key = "held_out",
         .title = "held-out text",
         .columns = {"model", "perplexity", "bits per byte"},
         .left = 1,
         .rows = {}};
  const Count vocabulary = r.tokenizer->vocabulary();
  const double bigram = perplexity(model::Bigram(corpus.learned(), vocabulary), corpus.held_out());
  const double own = std::exp(o.held_out_loss);
  add_row(g, corpus, "unigram", perplexity(model::Unigram(corpus.learned(), vocabulary), corpus.held_out()));
  add_row(g, corpus, "bigram", bigram);
  add_row(g, corpus, "this model", own);
  report.grids.push_back(std::move(g));
  report.notes = r.notes;
  report.verdict = {
      {"", fmt::format("{}Perplexity {:.1f} on held-out text {} the bigram's {:.1f}{} 'llmcalc generate {} \"...\"' "
                       "continues a text.",
                       o.interrupted ? "Interrupted. " : "", own, own < bigram ? "beats" : "does not beat", bigram,
                       own < bigram ? "." : "; a longer text or more --steps may help.", r.out)}};
  return report;
}

}  // namespace llmcalc
