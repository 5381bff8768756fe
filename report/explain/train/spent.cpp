#include "report/explain/definition.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

constexpr std::string_view by_operator =
    "max(FLOPs/peak, bytes/bandwidth) per operator at achieved rates, over all layers; communication and launch "
    "overhead are separate parts; the parts sum to the pass time";
constexpr std::string_view spent_source = "operator rows of the pass (--ops)";
constexpr std::string_view estimated = "an estimate for an engine with a nonzero part";

template <Letters path>
Formula spent(S s) {
  return from_engine(s, "t", "time of this part of the pass, s", path.text);
}

/// One part of a pass's time in seconds.
template <Letters path>
constexpr Definition part(std::string_view what) {
  return {path.text, what, "s", spent<path>, by_operator, spent_source, estimated};
}

constexpr Definition spent_table[] = {
    part<"prefill.breakdown_s.matmul">("prefill time of matmuls"),
    part<"prefill.breakdown_s.attention">("prefill time of attention cores"),
    part<"prefill.breakdown_s.elementwise">("prefill time of other operators"),
    part<"prefill.breakdown_s.host">("prefill launch overhead"),
    part<"prefill.breakdown_s.tp">("prefill time of tensor-parallel collectives"),
    part<"prefill.breakdown_s.engine">("engine loop overhead per prefill"),
    part<"decode.breakdown_s.matmul">("decode time of matmuls with weights"),
    part<"decode.breakdown_s.attention">("decode time of attention over the KV cache"),
    part<"decode.breakdown_s.elementwise">("decode time of other operators"),
    part<"decode.breakdown_s.host">("decode launch overhead"),
    part<"decode.breakdown_s.tp">("decode time of tensor-parallel collectives"),
    part<"decode.breakdown_s.engine">("engine loop overhead per decode step"),
};

}  // namespace

std::span<const Definition> spent_definitions() { return spent_table; }

}  // namespace llmcalc::explain
