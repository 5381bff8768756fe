#pragma once
/// Quantizes and dequantizes rows, with float as the intermediate format.

#include <vector>

#include "model/cpu/parallel.hpp"
#include "model/storage/coded.hpp"

namespace llmcalc::model::LLMCALC_ISA {

template <typename T>
void encode(const CodedShape& s, Count rows, const T* x, std::byte* codes) {
  each<T>(rows, s.width * 8, [&](Count r) {
    std::vector<float> row(static_cast<std::size_t>(s.width));
    for (Count i = 0; i < s.width; ++i)
      row[static_cast<std::size_t>(i)] = static_cast<float>(static_cast<Plain<Wide<T>>>(wide(x[r * s.width + i])));
    model::encode(s, row, codes + r * s.bytes().value);
  });
}

template <typename T>
void decode(const CodedShape& s, Count first, Count rows, const std::byte* codes, T* x) {
  each<T>(rows, s.width * 8, [&](Count r) {
    std::vector<float> row(static_cast<std::size_t>(s.width));
    const Count at = first + r;
    s.row_alone ? decode_rows(s, codes + at * s.bytes().value, 0, 1, row.data())
                : decode_rows(s, codes, at, 1, row.data());
    for (Count i = 0; i < s.width; ++i)
      x[r * s.width + i] = T(static_cast<Wide<T>>(static_cast<Plain<Wide<T>>>(row[static_cast<std::size_t>(i)])));
  });
}

}  // namespace llmcalc::model::LLMCALC_ISA
