#include "report/explain/definition.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

constexpr std::string_view by_operator =
    "per operator the larger of FLOPs/peak and bytes/bandwidth at what the device reaches, over all layers; exchanges "
    "and launches by themselves; the parts add up to the pass";
constexpr std::string_view spent_source = "the rows of the pass (--ops)";
constexpr std::string_view estimated = "an estimate under an engine, and a part that takes time";

template <Letters path>
Formula spent(S s) {
  return from_engine(s, "t", "seconds of that part of the pass, s", path.text);
}

constexpr Definition spent_table[] = {
    {"prefill.breakdown_s.matmul", "time of a prompt's matrix products", "s", spent<"prefill.breakdown_s.matmul">,
     by_operator, spent_source, estimated},
    {"prefill.breakdown_s.attention", "time of a prompt's attention cores", "s", spent<"prefill.breakdown_s.attention">,
     by_operator, spent_source, estimated},
    {"prefill.breakdown_s.elementwise", "time of a prompt's other operators", "s",
     spent<"prefill.breakdown_s.elementwise">, by_operator, spent_source, estimated},
    {"prefill.breakdown_s.host", "time of a prompt's launches", "s", spent<"prefill.breakdown_s.host">, by_operator,
     spent_source, estimated},
    {"prefill.breakdown_s.tp", "time of a prompt's tensor-parallel exchanges", "s", spent<"prefill.breakdown_s.tp">,
     by_operator, spent_source, estimated},
    {"prefill.breakdown_s.engine", "time of the engine's loop around a prompt", "s",
     spent<"prefill.breakdown_s.engine">, by_operator, spent_source, estimated},
    {"decode.breakdown_s.matmul", "time of a token's products with weights", "s", spent<"decode.breakdown_s.matmul">,
     by_operator, spent_source, estimated},
    {"decode.breakdown_s.attention", "time of a token's attention over the cache", "s",
     spent<"decode.breakdown_s.attention">, by_operator, spent_source, estimated},
    {"decode.breakdown_s.elementwise", "time of a token's other operators", "s",
     spent<"decode.breakdown_s.elementwise">, by_operator, spent_source, estimated},
    {"decode.breakdown_s.host", "time of a token's launches", "s", spent<"decode.breakdown_s.host">, by_operator,
     spent_source, estimated},
    {"decode.breakdown_s.tp", "time of a token's tensor-parallel exchanges", "s", spent<"decode.breakdown_s.tp">,
     by_operator, spent_source, estimated},
    {"decode.breakdown_s.engine", "time of the engine's loop around a token", "s", spent<"decode.breakdown_s.engine">,
     by_operator, spent_source, estimated},
};

}  // namespace

std::span<const Definition> spent_definitions() { return spent_table; }

}  // namespace llmcalc::explain
