#include "evidence/profile/operator_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "calc/operator/operand.hpp"
#include "calc/price.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

Count layers_with_experts(const Arch& a) { return a.has_experts() ? a.moe.layers.size() : 0; }

bool is_one_of(const std::string& layer, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), layer) != names.end();
}

double grid_at(const MeasuredGrid& g, double x) { return g.at(std::array{x}); }
double grid_at(const MeasuredGrid& g, double x, double y) { return g.at(std::array{x, y}); }

/// The tables that were measured with this number of tensor-parallel ranks.
const OperatorTables& tables_of(const std::vector<const OperatorTables*>& all, Count ranks) {
  for (const OperatorTables* t : all)
    if (t->ranks == ranks) return *t;
  throw InputError(
      fmt::format("no tables in or next to '{}' are for {} tensor-parallel ranks; measure them", all[0]->path, ranks));
}

/// Down projection of the experts for `tokens` tokens on one rank. The token count in the tables is the matmul's row
/// count divided by top_k.
Linear experts_product(const Arch& arch, const Plan& plan, const Layout& layout, Count tokens) {
  Linear found;
  for_each_operator(arch, plan, layout, {.sequences = tokens, .absorbed = true, .fused_glu = true},
                    [&](const OperatorRow& row) {
                      const Linear* product = std::get_if<Linear>(&row.op.shape);
                      if (row.op.name == "mlp.expert_down" && product != nullptr) found = *product;
                    });
  return found;
}

Seconds from_us(double us) { return Seconds(us * 1e-6); }

}  // namespace

Count calls_of(const std::string& layer, const Arch& arch) {
  if (is_one_of(layer, {"embedding", "final_layernorm"})) return 1;
  if (layer == "layernorm") return mul(arch.norms_per_layer, arch.layers);
  const bool mlp = is_one_of(layer, {"gate_up_proj", "up_proj", "act_fn", "down_proj"});
  return mlp ? arch.layers - layers_with_experts(arch) : arch.layers;
}

OperatorTimes::OperatorTimes(const std::vector<const OperatorTables*>& tables, const Arch& arch, const Plan& plan,
                             const Layout& layout)
    : arch_(arch), plan_(plan), layout_(layout) {
  const OperatorTables& own = tables_of(tables, ranks(layout, Group::tensor));
  take_layers(own);
  take_attention(own);
  if (arch.has_experts()) take_experts(tables_of(tables, ranks(layout, Group::expert_tensor)));
  refuse_without(own);
}

void OperatorTimes::take_layers(const OperatorTables& t) {
  std::set<Count> tokens, sequences;
  for (const LayerTime& l : t.dense) {
    dense_[l.layer].add(std::array{static_cast<double>(l.tokens)}, l.time.value * 1e6);
    tokens.insert(l.tokens);
  }
  for (const LayerTime& l : t.per_sequence) {
    per_sequence_[l.layer].add(std::array{static_cast<double>(l.tokens)}, l.time.value * 1e6);
    sequences.insert(l.tokens);
  }
  tokens_.assign(tokens.begin(), tokens.end());
  sequences_.assign(sequences.begin(), sequences.end());
  most_tokens_ = tokens_.empty() ? 1 : tokens_.back();
}

void OperatorTimes::take_attention(const OperatorTables& t) {
  for (const AttentionTime& a : t.attention) {
    const double chunk = static_cast<double>(a.chunk), past = static_cast<double>(a.past),
                 n = static_cast<double>(a.sequences), context = static_cast<double>(a.context),
                 us = a.time.value * 1e6;
    if (a.sequences == 0)
      prompts_.add(std::array{chunk, past}, us);
    else if (a.chunk == 0)
      decodes_.add(std::array{n, context}, us);
    else
      both_.add(std::array{chunk, past, n, context}, us);
  }
}

void OperatorTimes::take_experts(const OperatorTables& t) {
  for (const ExpertsTime& e : t.experts)
    experts_.add(std::array{static_cast<double>(e.tokens), static_cast<double>(e.activated)}, e.time.value * 1e6);
  if (experts_.empty())
    throw InputError(fmt::format("'{}': moe.csv is missing, but the model has experts; measure their times", t.path));
}

void OperatorTimes::refuse_without(const OperatorTables& t) const {
  for (const char* layer : {"qkv_proj", "o_proj", "down_proj"})
    if (calls_of(layer, arch_) > 0 && !dense_.contains(layer))
      throw InputError(fmt::format("'{}/dense.csv': {} is missing; every pass requires its time", t.path, layer));
  if (!per_sequence_.contains("lm_head"))
    throw InputError(fmt::format("'{}/per_sequence.csv': lm_head is missing; every pass requires its time", t.path));
  if (prompts_.empty() || decodes_.empty())
    throw InputError(
        fmt::format("'{}/attention.csv': rows with only prompts and rows with only decoding are required", t.path));
}

Seconds OperatorTimes::rows(Count tokens) const {
  double us = 0;
  for (const auto& [layer, times] : dense_)
    if (const Count calls = calls_of(layer, arch_); calls > 0)
      us += static_cast<double>(calls) * grid_at(times, static_cast<double>(tokens));
  return from_us(us) + experts(tokens);
}

Seconds OperatorTimes::experts(Count tokens) const {
  if (!arch_.has_experts()) return {};
  const Linear product = experts_product(arch_, plan_, layout_, tokens);
  const double of_tables = static_cast<double>(product.rows) / static_cast<double>(arch_.moe.top_k);
  return static_cast<double>(layers_with_experts(arch_)) *
         from_us(grid_at(experts_, of_tables, groups_touched(product)));
}

Seconds OperatorTimes::head(Count sequences) const {
  double us = 0;
  for (const auto& [layer, times] : per_sequence_) us += grid_at(times, static_cast<double>(sequences));
  return from_us(us);
}

double OperatorTimes::prompt(double chunk, double past) const { return grid_at(prompts_, chunk, past); }

Seconds OperatorTimes::attention(const AttentionWork& w) const {
  if (w.chunks <= 0) return w.decoding > 0 ? from_us(grid_at(decodes_, w.decoding, w.context)) : Seconds();
  const double more = (w.chunks - 1) * (prompt(w.chunk, w.past) -
                                        prompt(0, 0));  // prompt(0, 0): the smallest time, used as the start-up cost
  if (w.decoding <= 0) return from_us(prompt(w.chunk, w.past) + more);
  const double both = both_.empty() ? prompt(w.chunk, w.past) + grid_at(decodes_, w.decoding, w.context)
                                    : both_.at(std::array{w.chunk, w.past, w.decoding, w.context});
  return from_us(both + more);
}

Seconds OperatorTimes::decoding(double sequences, double context, Count steps) const {
  double us = 0;
  while (steps > 0) {
    const double knot = decodes_.next_knot(std::array{sequences}, context);
    const auto some = std::isinf(knot) ? steps : std::min(steps, static_cast<Count>(std::ceil(knot - context)));
    const double last = context + static_cast<double>(some - 1);
    us += static_cast<double>(some) * (grid_at(decodes_, sequences, context) + grid_at(decodes_, sequences, last)) / 2;
    context += static_cast<double>(some);
    steps -= some;
  }
  return from_us(us);
}

}  // namespace llmcalc
