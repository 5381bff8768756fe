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

/// A part of the seconds of a pass.
template <Letters path>
constexpr Definition part(std::string_view what) {
  return {path.text, what, "s", spent<path>, by_operator, spent_source, estimated};
}

constexpr Definition spent_table[] = {
    part<"prefill.breakdown_s.matmul">("time of a prompt's matrix products"),
    part<"prefill.breakdown_s.attention">("time of a prompt's attention cores"),
    part<"prefill.breakdown_s.elementwise">("time of a prompt's other operators"),
    part<"prefill.breakdown_s.host">("time of a prompt's launches"),
    part<"prefill.breakdown_s.tp">("time of a prompt's tensor-parallel exchanges"),
    part<"prefill.breakdown_s.engine">("time of the engine's loop around a prompt"),
    part<"decode.breakdown_s.matmul">("time of a token's products with weights"),
    part<"decode.breakdown_s.attention">("time of a token's attention over the cache"),
    part<"decode.breakdown_s.elementwise">("time of a token's other operators"),
    part<"decode.breakdown_s.host">("time of a token's launches"),
    part<"decode.breakdown_s.tp">("time of a token's tensor-parallel exchanges"),
    part<"decode.breakdown_s.engine">("time of the engine's loop around a token"),
};

}  // namespace

std::span<const Definition> spent_definitions() { return spent_table; }

}  // namespace llmcalc::explain
