#pragma once
/// What vLLM takes of a device besides weights and cache, by version, ranks and device, and what it is allowed where
/// nobody says: presets/estimates/engine-memory.json.
///
/// { "visible":     {"share"},                       of a device's memory, that processes are given
///   "logit_bytes": [{"until"?, "value"}],           EngineTerms::logit_bytes
///   "libraries":   [{"until"?, "ranks"?, "architecture"?, "gib"}],
///   "padding":     [{"until"?, "architecture"?, "width", "hidden"}],      of experts in mxfp4: sizes are multiples
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
  /// Multiples to which the width of a rank's experts and the hidden size are padded.
  struct Padding {
    std::optional<Count> until;
    std::string architecture;  ///< empty: any
    Count width = 1, hidden = 1;
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
  std::vector<Padding> padding;
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
/// The same with the padding of the model's experts.
EngineTerms engine_terms(const EngineHost& host, const Arch& arch, const Plan& plan, const Layout& layout);
/// Bytes by which vLLM pads a rank's experts in mxfp4: of width f per rank and hidden size h, padded to f' and h', they
/// take f' h' / (f h) times their own. 0 in other formats.
Bytes expert_padding(const EngineHost& host, const Arch& arch, const Plan& plan, const Layout& layout);
/// What vLLM allows itself by default; `longest` is the longest request that it takes, 0 where it is not known.
EngineLimits usual_limits(const EngineHost& host, Count longest);
/// Bytes of the device that processes are given: the share that its file states, or that of other devices.
Bytes visible_memory(const HardwareCard& card);

}  // namespace llmcalc
