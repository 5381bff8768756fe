#pragma once
/// Common parts of the readers of quantization blocks.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "presets/import/config.hpp"
#include "presets/import/quantization/scheme.hpp"

namespace llmcalc::import {

/// Throws an InputError of the form "<where>: <what> is not supported; ...".
[[noreturn]] void refuse_scheme(const json::Object& q, const std::string& what);

/// The row of calc/formats/dtype.hpp with this name.
constexpr DType row(std::string_view name) { return *dtype(name); }

/// The modules matched by `patterns`, which were read from `key`. `below`: names also match the modules below them.
/// Throws InputError for an invalid regular expression.
Modules picked(const json::Object& q, std::string_view key, const std::vector<std::string>& patterns,
               bool below = true);

/// Modules in the list under the first of `keys` that is present.
Modules modules(const json::Object& q, KeyNames keys, bool below = true);

/// Reads "group_size" or "q_group_size" (-1: one group per row; default: 128). Throws InputError unless the size is a
/// power of two of at least 8, as kernels require.
Count group_size(const json::Object& q, const std::string& what);

/// Values of `bits` bits with `group_bits` bits for each group (-1: for each row), rounded up to whole bytes per
/// matrix.
Format groups_of(std::string_view name, Count bits, Count group, Count group_bits);

/// A packing with the nominal format `row` and the exact bytes of a matrix.
Packing packing(DType row, const Format& bytes);
/// A packing with the nominal format `row` and this many bytes per tensor, for scales.
Packing with_tensor_bytes(DType row, Count bytes);

/// Format with this stem for a group size, such as "gptq-g64". If there is none, the format for groups of 128:
/// "gptq", "awq" or "int4-g128".
DType grouped_row(std::string_view stem, Count group);

/// A device's matmul format if both operands have the format `weights`. Scales per tensor or row do not affect it.
std::optional<DType> products_in(DType weights);

/// A list with a single group, which packs all matrices in the same way.
std::vector<Scheme::Group> every_matrix(Packing p, std::optional<DType> products = std::nullopt);

/// Records the unread keys of `o` that may affect bytes or matmuls. `o` is the part of the block called `name`.
void remember_unread(Scheme& s, const json::Object& o, const std::string& name = "");

}  // namespace llmcalc::import
