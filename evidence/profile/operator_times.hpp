#pragma once
/// Pass times of a served model, computed from measured tables of its layers. Each layer is counted once per call in
/// a pass. Times are interpolated linearly between measured rows.

#include <map>
#include <string>
#include <vector>

#include "calc/arch.hpp"
#include "calc/layout.hpp"
#include "calc/plan.hpp"
#include "evidence/profile/measured_grid.hpp"
#include "evidence/profile/operator_table.hpp"

namespace llmcalc {

/// Attention work of one pass: `chunks` prompt chunks of `chunk` tokens, each after `past` earlier tokens, and
/// `decoding` sequences that each read `context` tokens. If chunks or sequences differ, the sizes are means.
struct AttentionWork {
  double chunks = 0, chunk = 0, past = 0;
  double decoding = 0, context = 0;
};

class OperatorTimes {
 public:
  /// Uses the tables of a device with the layout's tensor-parallel ranks, and for experts the tables whose rank count
  /// equals the number of ranks that shard an expert. Throws InputError if the tables lack a layer of the model.
  OperatorTimes(const std::vector<const OperatorTables*>& tables, const Arch& arch, const Plan& plan,
                const Layout& layout);

  /// Time of all layers except attention kernels and the head, for the tokens of a rank. Excludes collectives.
  Seconds rows(Count tokens) const;
  /// Time of the head and the sampler.
  Seconds head(Count sequences) const;
  /// Time of one layer's attention kernel. The times of several chunks add up, but the start-up cost counts only
  /// once.
  Seconds attention(const AttentionWork& work) const;
  /// Decode-attention time of one layer, summed over `steps` steps. Every context grows by one token per step.
  Seconds decoding(double sequences, double context, Count steps) const;
  /// Tokens of the largest measured pass.
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

/// Number of calls of a table's layer in one pass.
Count calls_of(const std::string& layer, const Arch& arch);

}  // namespace llmcalc
