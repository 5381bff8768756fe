#include "cli/kernels/loading.hpp"

#include <fmt/format.h>

#include "report/report.hpp"
#include "text/format.hpp"

namespace llmcalc {

void load_shown(const model::TrainedModel& m, model::Transformer& t, ProgressLine& line) {
  const double start = line.seconds();
  m.load(t, [&](Bytes done, Bytes all) {
    const double share = static_cast<double>(done.value) / static_cast<double>(all.value);
    line.show(fmt::format("loading {} of {}{}", human_text(static_cast<double>(done.value), Unit::bytes),
                          human_text(static_cast<double>(all.value), Unit::bytes),
                          left_text(line.seconds() - start, share)));
  });
}

}  // namespace llmcalc
