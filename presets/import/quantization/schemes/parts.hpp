#pragma once
/// Common parts of the readers of quantization blocks.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "presets/import/config.hpp"
#include "presets/import/quantization/scheme.hpp"

namespace llmcalc::import {

/// Throws an InputError of the form "<where>: <what> is not known; ...".
[[noreturn]] void refuse_scheme(const json::Object& q, const std::string& what);

/// The row of calc/formats/dtype.hpp with this name.
constexpr DType row(std::string_view name) { return *dtype(name); }

/// The modules matched by `patterns`, which were read from `key`; `below`: including modules below a name. Throws
/// InputError for an invalid regular expression.
Modules picked(const json::Object& q, std::string_view key, const std::vector<std::string>& patterns,
               bool below = true);

/// Modules in the list under the first of `keys` that is present.
Modules modules(const json::Object& q, KeyNames keys, bool below = true);

/// Reads "group_size" or "q_group_size"; -1: one group per row; default: 128. Throws InputError for sizes that no
/// kernel supports; kernels support powers of two from 8 on.
Count group_size(const json::Object& q, const std::string& what);

/// Values of `bits` bits with `group_bits` bits for each group (-1: for each row), rounded up to whole bytes per
/// matrix.
Format groups_of(std::string_view name, Count bits, Count group, Count group_bits);

/// A packing with the nominal format `row` and the exact bytes of a matrix.
Packing packing(DType row, const Format& bytes);
/// A packing with the nominal format `row` and this many bytes per tensor, for scales.
Packing with_tensor_bytes(DType row, Count bytes);

/// "gptq" for groups of 128, "gptq-g64" and the like for other sizes that have a row, and "gptq" for sizes that do not.
DType grouped_row(std::string_view stem, Count group);

/// A device's matmul format if both operands have the weights' format; scales per tensor or row do not affect it.
std::optional<DType> products_in(DType weights);

/// A list with a single group that packs all matrices in the same way.
std::vector<Scheme::Group> every_matrix(Packing p, std::optional<DType> products = std::nullopt);

/// Records the keys of `o`, a part of the block called `name`, that were never read and may affect bytes or matmuls.
void remember_unread(Scheme& s, const json::Object& o, const std::string& name = "");

}  // namespace llmcalc::import
