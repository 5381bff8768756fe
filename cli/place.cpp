#include "cli/place.hpp"

#include "model/cuda/open.hpp"

namespace llmcalc {

validate::Where place(const std::string& device) {
  validate::Where where;
  if (device == "cpu") return where;
  model::make_cuda(model::Number::f32);  // that there is none is said before anything runs
  where.make = [](model::Number n) { return model::make_cuda(n); };
  where.on_processor = false;
  return where;
}

}  // namespace llmcalc
