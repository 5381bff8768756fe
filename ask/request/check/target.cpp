#include "ask/request/check/target.hpp"

#include <fmt/format.h>

#include "ask/request/target.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {

void check_target(const Request& r, Parts parts) {
  const bool trains = (parts & part::training) != 0;
  const SpeedTarget& t = *r.target;
  if (trains ? t.for_training() : t.for_inference()) {
    if (t.kind == TargetKind::days && !r.run.tokens)
      throw InputError("--target in days requires --tokens D, the number of tokens to train on; add --tokens");
    return;
  }
  throw InputError(
      fmt::format("--target {} applies to {}; for {} use {}", in_quotes(target_text(t)),
                  trains ? "inference" : "training", trains ? "training" : "inference",
                  trains ? "tokens/s, a step time, an MFU or days" : "tokens/s, a time per token or a TTFT"));
}

}  // namespace llmcalc
