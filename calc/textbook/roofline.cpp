#include "calc/textbook/roofline.hpp"

#include <algorithm>
#include <limits>

namespace llmcalc::textbook {
double ridge_point(double peak, double bandwidth) { return peak / bandwidth; }

double roofline_seconds(double flops, double bytes, double peak, double bandwidth, bool overlapped) {
  const double compute = flops / peak, memory = bytes / bandwidth;
  return overlapped ? std::max(compute, memory) : compute + memory;
}

Flops Gemm::flops() const { return (Exact(2) * m * n * k).flops(); }
Bytes Gemm::bytes() const { return (Exact(a_bytes) * m * k + Exact(b_bytes) * k * n + Exact(c_bytes) * m * n).bytes(); }
double gemm_intensity(const Gemm& g) { return (g.flops() / g.bytes()).value; }
double gemm_seconds(const Gemm& g, double peak, double bandwidth) {
  return roofline_seconds(static_cast<double>(g.flops().value), real(g.bytes().value), peak, bandwidth);
}

double elementwise_intensity(double flops, double bytes_read, double bytes_written) {
  return flops / (bytes_read + bytes_written);
}

double critical_batch(double ridge, double weight_bytes) { return ridge * weight_bytes / 2; }
double critical_batch(double ridge, double weight_bytes, Count in, Count out, double activation_bytes) {
  const double i = real(in), o = real(out), spare = 2 * i * o - ridge * activation_bytes * (i + o);
  return spare > 0 ? ridge * weight_bytes * i * o / spare : std::numeric_limits<double>::infinity();
}

double decode_attention_intensity(Count heads, Count kv_heads, double kv_bytes) {
  return 2 * real(heads) / (real(kv_heads) * kv_bytes);
}
double decode_attention_intensity(Count heads, Count kv_heads, double kv_bytes, Count head_dim, Count context,
                                  double activation_bytes) {
  const double a = real(heads) * real(head_dim), g = real(kv_heads) * real(head_dim), c = real(context);
  return 4 * a * c / (2 * g * c * kv_bytes + 2 * a * activation_bytes);
}
double latent_decode_intensity(Count heads, Count kv_rank, Count rope_dim, double kv_bytes) {
  const double r = real(kv_rank), rope = real(rope_dim);
  return 2 * real(heads) * (2 * r + rope) / ((r + rope) * kv_bytes);
}

double flash_attention_bytes(Count heads, Count head_dim, Count seq, Count query_block, double precision, bool causal) {
  const double blocks = real(ceil_div(seq, query_block)) * (causal ? 0.5 : 1);
  return precision * real(heads) * real(head_dim) * real(seq) * (2 + 2 * blocks);
}

}  // namespace llmcalc::textbook
