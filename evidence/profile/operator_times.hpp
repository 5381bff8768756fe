#pragma once
/// Times of a served model's passes by measured tables of its layers: every layer of the engine as often as the model
/// runs it. Between the rows that were measured, a time is linear in their sizes.

#include <map>
#include <string>
#include <vector>

#include "calc/arch.hpp"
#include "calc/layout.hpp"
#include "calc/plan.hpp"
#include "evidence/profile/measured_grid.hpp"
#include "evidence/profile/operator_table.hpp"

namespace llmcalc {

/// Work of attention in one pass: `chunks` prompts of `chunk` tokens each, each behind `past` others, and `decoding`
/// sequences that each read `context` tokens; means, where they differ.
struct AttentionWork {
  double chunks = 0, chunk = 0, past = 0;
  double decoding = 0, context = 0;
};

class OperatorTimes {
 public:
  /// The tables of a device; those of the layout's ranks are used, and of experts those of as many as divide one.
  /// Throws InputError where a layer of the model is in none of them.
  OperatorTimes(const std::vector<const OperatorTables*>& tables, const Arch& arch, const Plan& plan,
                const Layout& layout);

  /// All layers but attention's cores and the head, on a number of tokens of a rank. Exchanges are left out.
  Seconds rows(Count tokens) const;
  /// Head and sampler.
  Seconds head(Count sequences) const;
  /// Attention's core of one layer. Several chunks take as long as one after another, but start once.
  Seconds attention(const AttentionWork& work) const;
  /// The same of decoding alone, summed over `steps` steps, from one to the next of which every context grows by one.
  Seconds decoding(double sequences, double context, Count steps) const;
  /// Tokens of the largest pass that was measured.
  Count most_tokens() const { return most_tokens_; }
  const std::vector<Count>& measured_tokens() const { return tokens_; }
  const std::vector<Count>& measured_sequences() const { return sequences_; }

 private:
  void take_layers(const OperatorTables& t);
  void take_attention(const OperatorTables& t);
  void take_experts(const OperatorTables& t);
  void refuse_without(const OperatorTables& t) const;
  Seconds experts(Count tokens) const;
  double prompt(double chunk, double past) const;

  const Arch arch_;
  const Plan plan_;
  const Layout layout_;
  std::map<std::string, MeasuredGrid> dense_, per_sequence_;
  MeasuredGrid prompts_, decodes_, both_, experts_;
  std::vector<Count> tokens_, sequences_;
  Count most_tokens_ = 1;
};

/// How often a pass runs a layer of the tables.
Count calls_of(const std::string& layer, const Arch& arch);

}  // namespace llmcalc
