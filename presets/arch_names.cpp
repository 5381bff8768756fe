#include "presets/arch_names.hpp"

#include <array>

namespace llmcalc {

namespace {

template <typename E>
struct Named {
  E value;
  std::string_view name;
};

template <typename E>
constexpr int table = 0;

template <>
constexpr auto table<AttentionKind> = std::array<Named<AttentionKind>, 2>{{
    {AttentionKind::grouped, "grouped"},
    {AttentionKind::latent, "latent"},
}};
template <>
constexpr auto table<BlockKind> = std::array<Named<BlockKind>, 2>{{
    {BlockKind::serial, "serial"},
    {BlockKind::parallel, "parallel"},
}};
template <>
constexpr auto table<NormPlacement> = std::array<Named<NormPlacement>, 4>{{
    {NormPlacement::pre, "pre"},
    {NormPlacement::post, "post"},
    {NormPlacement::output, "output"},
    {NormPlacement::both, "both"},
}};
template <>
constexpr auto table<NormKind> = std::array<Named<NormKind>, 4>{{
    {NormKind::layer_norm, "layer_norm"},
    {NormKind::layer_norm_no_bias, "layer_norm_no_bias"},
    {NormKind::rms_norm, "rms_norm"},
    {NormKind::weight_free, "weight_free"},
}};
template <>
constexpr auto table<MlpKind> = std::array<Named<MlpKind>, 2>{{
    {MlpKind::plain, "plain"},
    {MlpKind::gated, "gated"},
}};
template <>
constexpr auto table<Activation> = std::array<Named<Activation>, 6>{{
    {Activation::relu, "relu"},
    {Activation::relu_squared, "relu_squared"},
    {Activation::gelu, "gelu"},
    {Activation::gelu_tanh, "gelu_tanh"},
    {Activation::silu, "silu"},
    {Activation::xielu, "xielu"},
}};
template <>
constexpr auto table<Position> = std::array<Named<Position>, 5>{{
    {Position::none, "none"},
    {Position::learned, "learned"},
    {Position::sinusoidal, "sinusoidal"},
    {Position::rope, "rope"},
    {Position::alibi, "alibi"},
}};
template <>
constexpr auto table<QkNorm> = std::array<Named<QkNorm>, 7>{{
    {QkNorm::none, "none"},
    {QkNorm::weight_free, "weight_free"},
    {QkNorm::per_head, "per_head"},
    {QkNorm::per_head_bias, "per_head_bias"},
    {QkNorm::each_head, "each_head"},
    {QkNorm::full, "full"},
    {QkNorm::full_bias, "full_bias"},
}};

template <typename E>
std::string_view name_in_table(E value) {
  for (const auto& row : table<E>)
    if (row.value == value) return row.name;
  return "?";
}

}  // namespace

std::string_view name_of(AttentionKind kind) { return name_in_table(kind); }
std::string_view name_of(BlockKind kind) { return name_in_table(kind); }
std::string_view name_of(NormPlacement placement) { return name_in_table(placement); }
std::string_view name_of(NormKind kind) { return name_in_table(kind); }
std::string_view name_of(MlpKind kind) { return name_in_table(kind); }
std::string_view name_of(Activation activation) { return name_in_table(activation); }
std::string_view name_of(Position position) { return name_in_table(position); }
std::string_view name_of(QkNorm norm) { return name_in_table(norm); }

template <typename E>
std::optional<E> choice_called(std::string_view name) {
  for (const auto& row : table<E>)
    if (row.name == name) return row.value;
  return std::nullopt;
}

template <typename E>
std::vector<std::string> choice_names() {
  std::vector<std::string> out;
  for (const auto& row : table<E>) out.emplace_back(row.name);
  return out;
}

#define LLMCALC_CHOICE(E)                                       \
  template std::optional<E> choice_called<E>(std::string_view); \
  template std::vector<std::string> choice_names<E>();
LLMCALC_CHOICE(AttentionKind)
LLMCALC_CHOICE(BlockKind)
LLMCALC_CHOICE(NormPlacement)
LLMCALC_CHOICE(NormKind)
LLMCALC_CHOICE(MlpKind)
LLMCALC_CHOICE(Activation)
LLMCALC_CHOICE(Position)
LLMCALC_CHOICE(QkNorm)
#undef LLMCALC_CHOICE

}  // namespace llmcalc
