// The tiles, compiled once per instruction set, with LLMCALC_ISA as the namespace.

#include "model/cpu/rows.hpp"

namespace llmcalc::model::LLMCALC_ISA {

namespace {

template <typename W>
constexpr WideTiles<W> wide_tiles{.add_rows = add_rows<W>,
                                  .multiply_rows = multiply_rows<W>,
                                  .scale_row = scale_row<W>,
                                  .activation_rows = activation_rows<W>,
                                  .row_statistics = row_statistics<W>,
                                  .normalize = normalize<W>,
                                  .norm_row_gradient = norm_row_gradient<W>,
                                  .turn_rows = turn_rows<W>,
                                  .add_exponentials = add_exponentials<W>,
                                  .logarithm = logarithm<W>,
                                  .exponential_row = exponential_row<W>,
                                  .softmax = softmax<W>,
                                  .score_gradients = score_gradients<W>,
                                  .adam_row = adam_row<W>,
                                  .descent_row = descent_row<W>,
                                  .sum_of_squares = sum_of_squares<W>,
                                  .throw_dice = throw_dice<W>,
                                  .add_to_rows = add_to_rows<W>,
                                  .add_product = add_product<W>,
                                  .product_with_rows = product_with_rows<W>};

/// Wide rows need no conversion.
template <typename T>
constexpr decltype(Tiles<T>::widen) widening = [] {
  if constexpr (std::is_same_v<T, Wide<T>>)
    return nullptr;
  else
    return static_cast<decltype(Tiles<T>::widen)>(widen);
}();

template <typename T>
constexpr Tiles<T> tiles{.widen = widening<T>,
                         .put_row = put_row<T>,
                         .add_row = add_row<T>,
                         .add_scaled_row = add_scaled_row<T>,
                         .row_product = row_product<T>,
                         .dot_rows = dot_rows<T>,
                         .add_rows_times = add_rows_times<T>,
                         .multiply_square = multiply_square<T>};

}  // namespace

const AllTiles& all_tiles() {
  static constexpr AllTiles all{wide_tiles<float>, tiles<float>, tiles<bf16>, tiles<fp16>};
  return all;
}

}  // namespace llmcalc::model::LLMCALC_ISA
