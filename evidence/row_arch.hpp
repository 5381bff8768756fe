#pragma once
/// The architecture of a row: from its own shapes, with what every model of that kind has where the row is silent.

#include <optional>
#include <string>
#include <string_view>

#include "calc/arch.hpp"
#include "evidence/inference_row.hpp"
#include "evidence/training_row.hpp"

namespace llmcalc {

/// An architecture, or why there is none.
struct RowArch {
  Arch arch;
  std::string vocabulary_assumed;  ///< the sentence, where the row is silent about it
  std::string skip;                ///< not empty: the row's shapes are no model
};

RowArch arch_of(const TrainingRow& row);
RowArch arch_of(const InferenceRow& row);

/// Layers with a window or chunks, as sources write them: "alternating full / sliding window 128 with sinks", "3 of 4
/// layers chunked attention (8192)", "alternate layers", "5 local : 1 global". Without a number in the text, `window`
/// is the reach. Nothing where the text is about something else.
LocalAttention local_attention(std::string_view text, Count window, Count layers);

}  // namespace llmcalc
