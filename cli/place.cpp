#include "cli/place.hpp"

#include <fmt/format.h>

#include "model/cuda/open.hpp"
#include "text/error.hpp"
#include "text/names.hpp"

namespace llmcalc {

validate::Where place(const std::string& device, const std::atomic<bool>* stop) {
  validate::Where where{.stop = stop};
  if (device == "cpu") return where;
  if (device != "cuda")
    throw InputError(fmt::format("--device {} is not known; it takes cpu, cuda", in_quotes(device)));
  model::make_cuda(model::Number::f32);  // that there is none is said before anything runs
  where.make = [](model::Number n) { return model::make_cuda(n); };
  where.on_processor = false;
  return where;
}

}  // namespace llmcalc
