#pragma once
/// The words by which files and tables call the closed choices of an Arch.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calc/arch.hpp"

namespace llmcalc {

std::string_view name_of(AttentionKind kind);
std::string_view name_of(BlockKind kind);
std::string_view name_of(NormPlacement placement);
std::string_view name_of(NormKind kind);
std::string_view name_of(MlpKind kind);
std::string_view name_of(Activation activation);
std::string_view name_of(Position position);
std::string_view name_of(QkNorm norm);

/// The choice of type E called `name`, or nothing. E is one of the types above.
template <typename E>
std::optional<E> choice_called(std::string_view name);

/// All names of the choices of E, in the order of the enum.
template <typename E>
std::vector<std::string> choice_names();

}  // namespace llmcalc
