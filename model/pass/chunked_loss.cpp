// The loss of logits that exist only in chunks (LogitStore::chunks). For each chunk of tokens, the logits are computed,
// then their loss, their gradient in place, and the gradients of the head's input and matrix. No value is computed
// twice: the head's backward pass runs within the forward pass (FusedLinearCrossEntropy of Liger Kernel,
// arXiv:2410.10989).

#include <algorithm>

#include "model/pass/pass.hpp"

namespace llmcalc::model {

/// The head's matmul on tokens of x and the loss of the result, in tensors that all chunks share.
struct Pass::ChunkedHead {
  std::string_view product, loss;
  Value x;
  std::span<const std::int64_t> targets;
  Parameter *w = nullptr, *b = nullptr;
  bool tied = false;
  Tensor logits = nullptr;  ///< logits of one chunk, wide
  Tensor dx = nullptr;      ///< gradient of all tokens; null if not required
  double each = 0;          ///< loss gradient of one token
  Count known(Count first, Count n) const {
    const auto part = targets.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(n));
    return std::count_if(part.begin(), part.end(), [](std::int64_t t) { return t >= 0; });
  }
  Linear shape(Count rows) const {
    return {.rows = rows, .in = w->shape.in, .out = w->shape.out, .bias = b != nullptr, .tied = tied};
  }
  /// Row `first` of x or of its gradient.
  static void* row(const Tensor& t, Count first, Bytes width) {
    return t ? static_cast<std::byte*>(t->data()) + (first * width).value : nullptr;
  }
};

/// Writes the mean loss of tokens [first, first + n) to `mean`, and their logits to h.logits.
void Pass::chunk_forward(const ChunkedHead& h, Count first, Count n, double* mean) {
  const Linear s = h.shape(n);
  const Loss loss{n, s.out};
  const double most = numerics().logit_cap;
  const auto* const targets = h.targets.data() + first;
  const LinearView v{.x = ChunkedHead::row(h.x.data, first, s.in * backend_.number()),
                     .weight = value(h.w),
                     .bias = value(h.b),
                     .wide_output = true};
  forward(h.product, s, [&] {
    backend_.linear(s, v, h.logits->data());
    if (most > 0) backend_.cap(mul(n, s.out), most, h.logits->data(), true);
  });
  forward(h.loss, loss, [&] {
    most > 0 ? backend_.capped_loss(loss, targets, h.logits->data(), mean)
             : backend_.loss(loss, targets, h.logits->data(), nullptr, mean);
  });
}

/// Gradients of the head's input and matrix from the logits of tokens [first, first + n).
void Pass::chunk_backward(const ChunkedHead& h, Count first, Count n) {
  const Linear s = h.shape(n);
  const Loss loss{n, s.out};
  const double most = numerics().logit_cap;
  const auto* const targets = h.targets.data() + first;
  run(h.loss, loss, Direction::backward, [&] {
    most > 0 ? backend_.capped_loss_gradient(loss, targets, h.each, most, h.logits->data(), nullptr)
             : backend_.loss_gradient(loss, targets, h.each, h.logits->data(), nullptr);
  });
  run(h.product, s, Direction::backward, [&] {
    const Bytes row = s.in * backend_.number();
    const Into dw = matrix_sum(h.w);
    const LinearView v{.x = ChunkedHead::row(h.x.data, first, row),
                       .weight = value(h.w),
                       .wide_output = true,
                       .add_weight_gradient = dw.add};
    backend_.linear_gradient(s, v, h.logits->data(), ChunkedHead::row(h.dx, first, row), false, dw.data, bias_sum(h.b));
  });
}

/// Computes the loss chunk by chunk. After forward, the gradient of x is stored in place of x, along with one chunk's
/// buffers.
void Pass::chunked_loss(std::string_view op, Value given, std::span<const std::int64_t> targets, double* mean) {
  ChunkedHead h{.product = "head.logits", .loss = op, .x = std::move(given), .targets = targets};
  h.w = &matrix(h.product);
  h.b = weight(h.product, "bias");
  h.tied = borrows(h.product);
  const Count rows = h.x.rows, size = ceil_div(rows, plan().logits.chunks),
              known = std::max<Count>(1, h.known(0, rows));
  const bool asks = taping() && h.x.slot->asks, back = asks || (taping() && trains(h.product));
  if (!wide_logits()) throw std::logic_error("chunked logits require the wide format");
  h.logits = arena_.make(Purpose::logits, h.product, mul(size, h.w->shape.out) * backend_.wide());
  if (asks) h.dx = own(h.product, h.x.data->bytes());
  h.each = loss_scale_ / static_cast<double>(known);
  Unpacked of_chunk(backend_);
  auto* const part = static_cast<double*>(of_chunk.of(Bytes(sizeof(double))));
  backend_.zero(mean, Bytes(sizeof(double)));
  for (Count first = 0; first < rows; first += size) {
    const Count n = std::min(size, rows - first);
    chunk_forward(h, first, n, part);
    backend_.add_share(static_cast<double>(h.known(first, n)) / static_cast<double>(known), part, mean);
    if (back) chunk_backward(h, first, n);
  }
  if (!back) return;
  if (!asks) h.x.data->claim(h.product);
  tape_->remember([held = asks ? h.dx : h.x.data, asks, slot = h.x.slot, logits = h.logits] {
    if (asks) slot->gradient = held;
  });
}

}  // namespace llmcalc::model
