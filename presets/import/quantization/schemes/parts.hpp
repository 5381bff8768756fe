#pragma once
/// What the readers of quantisation blocks share.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "presets/import/config.hpp"
#include "presets/import/quantization/scheme.hpp"

namespace llmcalc::import {

/// Throws InputError: "<where>: <what> is not known; ...".
[[noreturn]] void refuse_scheme(const json::Object& q, const std::string& what);

/// The row of calc/formats/dtype.hpp with that name.
constexpr DType row(std::string_view name) { return *dtype(name); }

/// The modules that `patterns`, read from `key`, pick; `below`: and those below a name. Throws InputError for a bad
/// regular expression.
Modules picked(const json::Object& q, std::string_view key, const std::vector<std::string>& patterns,
               bool below = true);

/// The modules in the list that the first of `keys` names.
Modules modules(const json::Object& q, KeyNames keys, bool below = true);

/// "group_size" or "q_group_size"; -1: one group per row; 128 where the block is silent. Refuses what no kernel takes:
/// other sizes than powers of two from 8 on.
Count group_size(const json::Object& q, const std::string& what);

/// Numbers of `bits` with `group_bits` for each group (-1: for each row), on whole bytes per matrix.
Format groups_of(std::string_view name, Count bits, Count group, Count group_bits);

/// `row` with a matrix's own bytes.
Packing packing(DType row, const Format& bytes);
/// `row`, whose tensors have that many bytes of their own: scales.
Packing with_tensor_bytes(DType row, Count bytes);

/// "gptq" for groups of 128, "gptq-g64" for others that have a row; the former for all else.
DType grouped_row(std::string_view stem, Count group);

/// The format that a device multiplies in where both operands are as the weights; scales of a tensor or a row do not
/// change it.
std::optional<DType> products_in(DType weights);

/// Groups of all matrices in one packing.
std::vector<Scheme::Group> every_matrix(Packing p, std::optional<DType> products = std::nullopt);

/// Remembers the keys of `o`, a part of the block called `name`, that nothing asked for and that change bytes or
/// products for all that is known.
void remember_unread(Scheme& s, const json::Object& o, const std::string& name = "");

}  // namespace llmcalc::import
