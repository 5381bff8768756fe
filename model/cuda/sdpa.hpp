#pragma once
/// Scaled dot-product attention as libraries have it: causal, as many keys as queries, heads apart by strides, bf16.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

#include "model/backend.hpp"
#include "model/math/host_device.hpp"

namespace llmcalc::model::cuda {

/// Numbers from sequence to sequence, from token to token and from head to head, as in HeadView.
struct HeadStrides {
  Count sequence = 0, token = 0, head = 0;
  auto operator<=>(const HeadStrides&) const = default;
};

/// What a plan is made for. The output and its gradient lie (sequence, token, head) without gaps.
struct SdpaShape {
  Count sequences = 0, heads = 0, kv_heads = 0, tokens = 0, qk_dim = 0, v_dim = 0;
  HeadStrides q, k, v;
  HeadStrides dq, dk, dv;  ///< backward
  bool backward = false;
  bool deterministic = false;  ///< backward: the same bits every time
  auto operator<=>(const SdpaShape&) const = default;

  Count rows() const { return mul(sequences, mul(heads, tokens)); }
};

/// A shape and where its tensors are.
struct Sdpa {
  SdpaShape shape;
  float scale = 1;
  const void *q = nullptr, *k = nullptr, *v = nullptr;
  void* o = nullptr;             ///< written by forward, read by backward
  float* log_sum_exp = nullptr;  ///< (sequence, token, head); likewise; may be absent in forward
  const void* d_o = nullptr;
  void *dq = nullptr, *dk = nullptr, *dv = nullptr;
};

/// Memory that cuDNN wants beside the tensors, in bytes. Statistics: float, one per row of scores, as the others are.
struct SdpaRoom {
  Count statistics = 0;  ///< log-sum-exps (sequence, head, token)
  Count delta = 0;       ///< backward: o . d_o
  Count dq_sum = 0;      ///< backward, not deterministic: qk_dim floats per row, which blocks of keys add to
  Count workspace = 0;   ///< its own

  static constexpr Count aligned(Count bytes) { return (bytes + 255) / 256 * 256; }
  Count total() const { return aligned(statistics) + aligned(delta) + aligned(dq_sum) + aligned(workspace); }
};

inline SdpaRoom sdpa_room(const SdpaShape& s, Count workspace) {
  const Count rows = s.rows() * static_cast<Count>(sizeof(float));
  return {.statistics = rows,
          .delta = s.backward ? rows : 0,
          .dq_sum = s.backward && !s.deterministic ? rows * s.qk_dim : 0,
          .workspace = workspace};
}

/// The parts of such memory, one after another.
struct SdpaScratch {
  std::byte *statistics, *delta, *dq_sum, *workspace;
  SdpaScratch(const SdpaRoom& r, std::byte* at)
      : statistics(at),
        delta(statistics + SdpaRoom::aligned(r.statistics)),
        dq_sum(delta + SdpaRoom::aligned(r.delta)),
        workspace(dq_sum + SdpaRoom::aligned(r.dq_sum)) {}
};

/// Matrices (rows, columns) one after another, turned: a kernel's number i.
struct Turned {
  Count rows, columns;
  const float* from;
  float* to;
  LLMCALC_HD void operator()(Count i) const {
    const Count at = i % (rows * columns), row = at / columns, column = at % columns;
    to[i - at + column * rows + row] = from[i];
  }
};

namespace sdpa_detail {

inline HeadStrides strides(const HeadView& v) { return {v.sequence, v.token, v.head}; }

/// Every head begins at a multiple of 16 bytes, if it has a multiple of 8 numbers.
inline bool aligned(const void* data, const HeadStrides& s) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && s.sequence % 8 == 0 && s.token % 8 == 0 && s.head % 8 == 0;
}
inline bool aligned(const Sdpa& a) {
  const SdpaShape& s = a.shape;
  return aligned(a.q, s.q) && aligned(a.k, s.k) && aligned(a.v, s.v) && aligned(a.o, {}) && aligned(a.d_o, {}) &&
         aligned(a.dq, s.dq) && aligned(a.dk, s.dk) && aligned(a.dv, s.dv);
}

}  // namespace sdpa_detail

/// A prompt or a batch: attention of many queries to no keys but theirs. Other calls, a token's among them, are nothing
/// that faster cores are asked for.
inline bool is_sdpa(const Attention& s) { return s.past() == 0 && s.queries > 1; }

/// The reason why such an attention is not a plain one, in a few words; empty: it is. `number`: bytes of a number;
/// `most`: numbers of a head.
inline std::string sdpa_obstacle(const Attention& s, const AttentionInputs& in, const Dropout& d, const Sdpa& a,
                                 Bytes number, Count most) {
  if (number.value != 2) return "numbers are float32";
  if (s.reach.limited() && s.reach.tokens < s.queries)
    return s.reach.chunked ? "there are chunks" : "there is a window";
  if (in.sinks != nullptr) return "there are sinks";
  if (in.alibi) return "there is ALiBi";
  if (d.p > 0) return "there is dropout";
  if (in.rope_dim > 0) return "rotary parts lie apart";
  if (s.qk_dim % 8 != 0 || s.v_dim % 8 != 0 || s.qk_dim > most || s.v_dim > most)
    return "heads have " + std::to_string(s.qk_dim) + " and " + std::to_string(s.v_dim) +
           " numbers, not multiples of 8 up to " + std::to_string(most);
  if (!sdpa_detail::aligned(a)) return "heads do not begin at multiples of 16 bytes";
  return "";
}

inline Sdpa sdpa_forward(const Attention& s, const AttentionInputs& in, float* log_sum_exp, void* o) {
  using sdpa_detail::strides;
  Sdpa a;
  a.shape = {.sequences = s.sequences,
             .heads = s.heads,
             .kv_heads = s.kv_heads,
             .tokens = s.queries,
             .qk_dim = s.qk_dim,
             .v_dim = s.v_dim,
             .q = strides(in.q),
             .k = strides(in.k),
             .v = strides(in.v),
             .dq = {},
             .dk = {},
             .dv = {}};
  a.scale = static_cast<float>(in.scale);
  a.q = in.q.data;
  a.k = in.k.data;
  a.v = in.v.data;
  a.o = o;
  a.log_sum_exp = log_sum_exp;
  return a;
}

inline Sdpa sdpa_backward(const Attention& s, const AttentionInputs& in, const float* log_sum_exp, const void* o,
                          const void* d_o, const AttentionGradients& to) {
  using sdpa_detail::strides;
  Sdpa a = sdpa_forward(s, in, const_cast<float*>(log_sum_exp), const_cast<void*>(o));
  a.shape.backward = true;
  a.shape.dq = strides(to.q);
  a.shape.dk = strides(to.k);
  a.shape.dv = strides(to.v);
  a.d_o = d_o;
  a.dq = const_cast<void*>(to.q.data);
  a.dk = const_cast<void*>(to.k.data);
  a.dv = const_cast<void*>(to.v.data);
  return a;
}

}  // namespace llmcalc::model::cuda
