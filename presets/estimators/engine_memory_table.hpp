#pragma once
/// vLLM's device memory other than weights and cache, by version, ranks and device, and its default limits:
/// presets/estimates/engine-memory.json.
///
/// { "visible":     {"share"},                       share of device memory visible to processes
///   "logit_bytes": [{"until"?, "value"}],           EngineTerms::logit_bytes
///   "libraries":   [{"until"?, "ranks"?, "architecture"?, "gib"}],
///   "padding":     [{"until"?, "architecture"?, "width", "hidden"}],      mxfp4 experts: padded to multiples
///   "limits":      [{"until"?, "least_gib"?, "not"?, "sequences", "pass_tokens", "whole_prompts_to"?}],
///   "intervals":   {"pool", "process"} of {"factor", "families"} }    90 % intervals of an engine's memory: a pool
///                                                  that fills a share of the device, or allocation on demand
///
/// Each entry has a source. In a list, the first matching entry applies. An entry matches version 0.N with N at most
/// `until`, at most `ranks` tensor-parallel ranks, a device of this architecture with at least this memory, and a
/// device name without `not`.

#include <optional>
#include <string>
#include <vector>

#include "presets/estimators/estimate.hpp"
#include "presets/hardware_file.hpp"
#include "serve/engine_memory.hpp"
#include "text/json.hpp"

namespace llmcalc {

struct EngineMemoryTable {
  struct LogitBytes {
    std::optional<Count> until;
    double value = 0;
  };
  struct Libraries {
    std::optional<Count> until, ranks;
    std::string architecture;  ///< device architecture; empty: any
    Bytes bytes;
  };
  /// Multiples to which the width of a rank's experts and the hidden size are padded.
  struct Padding {
    std::optional<Count> until;
    std::string architecture;  ///< device architecture; empty: any
    Count width = 1, hidden = 1;
  };
  struct Limits {
    std::optional<Count> until;
    Bytes least;
    std::string not_named;  ///< text that the device's name must not contain; empty: no restriction
    Count sequences = 1, pass_tokens = 1;
    Count whole_prompts_to = 0;  ///< pass size is raised to the longest request if that has at most this many tokens
  };
  double visible = 1;
  std::vector<LogitBytes> logit_bytes;
  std::vector<Libraries> libraries;
  std::vector<Padding> padding;
  std::vector<Limits> limits;
  EstimateInterval pool, process;
};

/// Throws InputError if the table is invalid.
EngineMemoryTable read_engine_memory_table(const json::Value& value, const std::string& where);
/// The built-in table, which is read on first use.
const EngineMemoryTable& engine_memory_table();

/// Inputs of vLLM's memory estimate other than the model.
struct EngineHost {
  std::optional<Count> version;  ///< N of version 0.N; absent: the latest
  Count ranks = 1;               ///< number of tensor-parallel ranks
  const HardwareCard& card;
};
/// The terms for logits and libraries. All other terms are 0.
EngineTerms engine_terms(const EngineHost& host);
/// The terms for logits, libraries and the padding of the model's experts.
EngineTerms engine_terms(const EngineHost& host, const Arch& arch, const Plan& plan, const Layout& layout);
/// Bytes that vLLM adds to a rank's mxfp4 experts as padding. The width f per rank and the hidden size h are padded
/// to f' and h', which multiplies the bytes by f' h' / (f h). 0 for other formats.
Bytes expert_padding(const EngineHost& host, const Arch& arch, const Plan& plan, const Layout& layout);
/// vLLM's default limits. `longest`: tokens of the longest request that it accepts; 0: unknown.
EngineLimits usual_limits(const EngineHost& host, Count longest);
/// Bytes of device memory that are visible to processes: as stated in the device's file, otherwise a typical share.
Bytes visible_memory(const HardwareCard& card);

}  // namespace llmcalc
