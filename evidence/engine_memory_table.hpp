#pragma once
/// What vLLM takes of a device besides weights and cache, by version, ranks and device, and what it is allowed where
/// nobody says: presets/estimates/engine-memory.json.
///
/// { "visible":     {"share"},                       of a device's memory, that processes are given
///   "logit_bytes": [{"until"?, "value"}],           EngineTerms::logit_bytes
///   "libraries":   [{"until"?, "ranks"?, "architecture"?, "gib"}],
///   "limits":      [{"until"?, "least_gib"?, "not"?, "sequences", "pass_tokens", "whole_prompts_to"?}] }
///
/// each with its source. Of a list that line holds which is the first whose conditions are met: version 0.N with N at
/// most `until`, at most `ranks` tensor-parallel ranks, a device of that architecture, of at least that memory, of a
/// name without `not`.

#include <optional>
#include <string>
#include <vector>

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
    std::string architecture;  ///< empty: any
    Bytes bytes;
  };
  struct Limits {
    std::optional<Count> until;
    Bytes least;
    std::string not_named;  ///< empty: any
    Count sequences = 1, pass_tokens = 1;
    Count whole_prompts_to = 0;  ///< a pass holds the longest request if that has no more tokens
  };
  double visible = 1;
  std::vector<LogitBytes> logit_bytes;
  std::vector<Libraries> libraries;
  std::vector<Limits> limits;
};

/// Throws InputError.
EngineMemoryTable read_engine_memory_table(const json::Value& value, const std::string& where);
/// The built-in one. Read when it is first asked for.
const EngineMemoryTable& engine_memory_table();

/// Where vLLM runs: what its memory depends on besides the model.
struct EngineHost {
  std::optional<Count> version;  ///< N of 0.N; absent: the latest
  Count ranks = 1;               ///< tensor-parallel ones
  const HardwareCard& card;
};
/// Logits and libraries; the other terms are 0.
EngineTerms engine_terms(const EngineHost& host);
/// What vLLM allows itself by default; `longest` is the longest request that it takes, 0 where it is not known.
EngineLimits usual_limits(const EngineHost& host, Count longest);
/// Bytes of the device that processes are given.
Bytes visible_memory(const HardwareCard& card);

}  // namespace llmcalc
