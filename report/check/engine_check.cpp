#include "report/check/engine_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "calc/memory.hpp"
#include "calc/parameters.hpp"
#include "calc/textbook/textbook.hpp"
#include "calc/train.hpp"
#include "report/compare.hpp"
#include "report/report.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

/// Collects comparisons about one subject.
class SubjectComparison {
 public:
  SubjectComparison(std::string subject, std::vector<Difference>& out) : subject_(std::move(subject)), out_(out) {}

  void count(std::string_view quantity, Count engine, Count textbook) { compare(quantity, engine, textbook); }
  void flops(std::string_view quantity, Flops engine, Flops textbook) { compare(quantity, engine, textbook); }
  Count made() const { return made_; }

 private:
  template <class Number>
  void compare(std::string_view quantity, Number engine, Number textbook) {
    ++made_;
    if (engine == textbook) return;
    out_.push_back({subject_, std::string(quantity), exact_text(engine), exact_text(textbook)});
  }
  std::string subject_;
  std::vector<Difference>& out_;
  Count made_ = 0;
};

void compare_parameters(const Arch& a, SubjectComparison& c) {
  const Parameters p = parameters(a);
  const textbook::ParameterSums t = textbook::parameters(a);
  c.count("parameters.embedding", p.embedding, t.embedding);
  c.count("parameters.position", p.position, t.position);
  c.count("parameters.attention", p.attention, t.attention);
  c.count("parameters.mlp", p.mlp, t.mlp);
  c.count("parameters.norm", p.norm, t.norm);
  c.count("parameters.lm_head", p.lm_head, t.lm_head);
  c.count("parameters.total", p.total, t.total());
  c.count("parameters.active", p.active, textbook::active_parameters(a));
  c.count("parameters.non_embedding", p.non_embedding, textbook::non_embedding_parameters(a));
  c.count("parameters.matmul", p.matmul_active, textbook::matmul_parameters(a));
  c.count("adafactor numbers", p.factored, textbook::adafactor_numbers(a));
  Plan muon;
  muon.optimizer = Optimizer::muon;
  c.flops("flops.optimizer", update_flops(a, muon), textbook::newton_schulz_flops(a, muon.newton_schulz_steps));
}

constexpr std::array attention_conventions{AttentionFlops::full, AttentionFlops::causal_half,
                                           AttentionFlops::causal_exact};
constexpr std::array recomputations{Recompute::none, Recompute::selective, Recompute::full};

/// Compares training FLOPs in three attention conventions and three recomputation modes.
void compare_training(const Arch& a, SubjectComparison& c) {
  for (const AttentionFlops convention : attention_conventions) {
    Plan p{.seq = std::min<Count>(a.context, 2048), .micro_batch = 3, .global_batch = 3, .attention_flops = convention};
    const textbook::PassShape pass{.batch = 3, .seq = p.seq, .pairs = convention, .head = textbook::Head::all};
    const textbook::ForwardFlops forward = textbook::forward_flops(a, pass);
    for (const Recompute recompute : recomputations) {
      p.recompute = recompute;
      const TrainingFlops f = training_flops(a, p);
      c.flops("flops.forward", f.forward, forward.total());
      c.flops("flops.hardware_total", f.hardware_total, textbook::train_flops(forward, recompute));
    }
  }
}

/// Compares the decode steps and KV caches of generative models. The closed forms do not cover encoder-decoder models.
void compare_inference(const Arch& a, SubjectComparison& c) {
  if (a.is_encoder() || a.is_encoder_decoder()) return;
  Plan p{.batch = 5, .attention_flops = AttentionFlops::causal_exact};
  const Prices held = price_holdings(a, p);
  for (const Count context : {Count{1}, Count{777}, Count{5000}}) {
    const WholeFlops step = whole_flops(a, p, decode_step(p, context), Phase::decode);
    c.flops("decode.flops", step.forward.total(), textbook::decode_flops(a, p.batch, context));
    c.count("kv_cache.bytes_total", (p.batch * cache_bytes(held, context)).value,
            textbook::kv_cache_bytes(a, p.batch, context, 2).value +
                p.batch * textbook::state_bytes_per_sequence(a, 2).value);
  }
  c.count("kv_cache.bytes_per_token", cache_bytes_per_token(held).value, textbook::kv_bytes_per_token(a, 2).value);
}

/// Compares the parameters, FLOPs and KV cache of all MTP modules.
void compare_modules(const Arch& a, SubjectComparison& c) {
  const Count n = a.mtp.modules;
  if (n == 0) return;
  c.count("parameters.mtp", mtp_parameters(a).total, mul(n, textbook::module_parameters(a)));
  Plan none{.seq = std::min<Count>(a.context, 2048), .micro_batch = 3, .global_batch = 3}, all = none;
  all.mtp = n;
  c.flops("flops.forward_modules", training_flops(a, all).forward - training_flops(a, none).forward,
          n * textbook::module_forward_flops(a, {.batch = 3, .seq = none.seq}));
  c.count("kv_cache.bytes_per_token of modules", (cache_bytes_per_token(a, all) - cache_bytes_per_token(a, none)).value,
          mul(n, textbook::kv_bytes_per_token(textbook::module_model(a), 2).value));
}

}  // namespace

Count check_model(const ModelCard& card, std::vector<Difference>& differences) {
  SubjectComparison c(card.name, differences);
  compare_parameters(card.arch, c);
  compare_training(card.arch, c);
  compare_inference(card.arch, c);
  compare_modules(card.arch, c);
  if (card.published) c.count("published parameters", parameters(card.arch).total, *card.published);
  return c.made();
}

}  // namespace llmcalc
