#pragma once
/// Bytes of the weight table in any number format.

#include "calc/formats/dtype.hpp"
#include "calc/textbook/weights.hpp"

namespace llmcalc::textbook {

/// Sizes of a format: bytes per element, per group and per outer group; the lengths of these groups; and bytes stored
/// once per tensor.
template <class N>
struct FormatSizes {
  N each, group_bytes, group, outer_bytes, outer, tensor;
};

/// Bytes of `out` rows of `in` elements, in groups along a row or in blocks of `group_rows` rows. Excludes the bytes
/// stored once per tensor.
template <class N>
N matrix_bytes(const Format& f, const FormatSizes<N>& s, const N& in, const N& out) {
  const N rows = f.group_rows > 1 ? quotient_up(out, N(f.group_rows)) : out;
  const N groups = f.group > 0 ? rows * quotient_up(in, s.group) : rows;
  N b = f.element_bits > 0 ? s.each * out * in : N(0);
  if (f.group != 0) b = b + s.group_bytes * groups;
  if (f.outer > 0) b = b + s.outer_bytes * quotient_up(groups, s.outer);
  if (f.row_bits > 0) b = b + N(f.row_bits / 8) * out;
  if (f.column_bits > 0) b = b + N(f.column_bits / 8) * in;
  return f.element_bits % 8 == 0 && f.group_bits % 8 == 0 && f.outer_bits % 8 == 0 ? b : ceil(b);
}

/// Whether every element of matrices, tables and vectors has the same number of bytes.
inline bool is_uniform(const Format& f) {
  return f.group == 0 && f.element_bits % 8 == 0 && f.tensor_bytes == 0 && f.covers_embedding && f.covers_vectors;
}

/// Bytes of one weight. Elements that the format does not cover have p bytes each.
template <class N>
N weight_bytes(const Format& f, const FormatSizes<N>& s, const N& p, const Weight<N>& w) {
  const bool in_table =
      w.component == Component::embedding || w.component == Component::position || w.component == Component::lm_head;
  if (w.matrix) {
    if (in_table && !f.covers_embedding) return p * w.out * w.in;
    return matrix_bytes(f, s, w.in, w.out) + (f.tensor_bytes > 0 ? s.tensor : N(0));
  }
  if (!f.covers_vectors) return p * w.in * w.out;
  return f.element_bits % 8 == 0 ? s.each * w.in * w.out : ceil(s.each * w.in * w.out);
}
/// A number format and its sizes.
template <class N>
struct SizedFormat {
  const Format& format;
  FormatSizes<N> sizes;
};

/// Bytes of all weights, summed matrix by matrix. stored_in(component) returns the SizedFormat of a component.
template <class N, class StoredIn>
N weights_bytes(const Arch& a, const Sizes<N>& s, const StoredIn& stored_in, const N& p) {
  return sum_of_own_weights(a, s, [&](const Weight<N>& w) {
    if (w.tied) return N(0);
    const SizedFormat<N> t = stored_in(w.norm ? Component::norm : w.component);
    return N(w.times) * w.copies * weight_bytes(t.format, t.sizes, p, w);
  });
}

}  // namespace llmcalc::textbook
