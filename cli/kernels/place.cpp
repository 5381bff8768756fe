#include "cli/kernels/place.hpp"

#include <algorithm>

#include "model/cuda/open.hpp"
#include "text/quantity.hpp"

namespace llmcalc {

namespace {

/// The number in "cuda:1"; 0 in "cuda".
int device_index(std::string_view device) {
  const std::size_t colon = device.find(':');
  if (colon == std::string_view::npos) return 0;
  constexpr Count most = 1000;
  return static_cast<int>(std::min(parse_count(device.substr(colon + 1), "--device"), most));
}

}  // namespace

bool is_gpu(std::string_view device) { return device != "cpu"; }

validate::Where place(const std::string& device) {
  validate::Where where;
  if (device == "cpu") return where;
  const int index = device_index(device);
  model::make_cuda(model::Number::f32, false, index);  // reports a missing device before anything runs
  where.make = [index](model::Number n) { return model::make_cuda(n, false, index); };
  where.on_processor = false;
  return where;
}

}  // namespace llmcalc
