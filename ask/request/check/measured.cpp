#include "ask/request/check/measured.hpp"

#include <fmt/format.h>

#include "calc/run.hpp"
#include "calc/train.hpp"
#include "text/error.hpp"

namespace llmcalc {

double share_of_peak(const Request& r, double tokens_per_s) {
  const double tokens = real(mul(r.plan.micro_batch, r.plan.seq));
  const TrainingFlops flops = training_flops(r.model.arch, r.plan, r.layout, r.hardware->cluster);
  return mfu(static_cast<double>(flops.executed.value) / tokens, tokens_per_s, devices(r.layout),
             r.hardware->cluster.device.peak(r.plan.precision));
}

void check_measured(const Request& r) {
  const double rate = *r.run.measured_tokens_per_s, share = share_of_peak(r, rate);
  if (share > 1)
    throw InputError(fmt::format(
        "--measured-tokens-per-s {:g} is {:.4g} % of the peak of {} {} in {}; check it, --gpus and --precision", rate,
        100 * share, devices(r.layout), r.hardware->name, r.plan.precision.name()));
}

}  // namespace llmcalc
