#include "evidence/names/inference_stack.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "presets/load.hpp"

namespace llmcalc {

namespace {

/// An engine without a profile, and the profile used for it.
struct LikeEngine {
  std::string_view engine, profile;
};
constexpr std::array like_engines{LikeEngine{"torchao", "gpt-fast"}, LikeEngine{"deepspeed", "deepspeed-inference"},
                                  LikeEngine{"pytorch", "transformers"}, LikeEngine{"jax", "jetstream"}};

std::string_view profile_of_engine(std::string_view engine) {
  const auto* like =
      std::find_if(like_engines.begin(), like_engines.end(), [&](const LikeEngine& l) { return l.engine == engine; });
  const std::string_view name = like == like_engines.end() ? engine : like->profile;
  const Builtin* profile = find_builtin(builtin_software(), name);
  return profile != nullptr && load_software(profile->name).inference ? name
                                                                      : "vllm";  // also if `name` is a training stack
}

/// Profile of an engine's version.
std::string_view profile_of(const EngineName& engine) {
  const std::optional<Count> minor = minor_version(engine.version);
  if (engine.name == "vllm" && minor && *minor < 8) return "vllm-legacy";
  if (engine.name == "tensorrt-llm" && minor && *minor < 1000) return "tensorrt-llm-legacy";
  return profile_of_engine(engine.name);
}

}  // namespace

InferenceStack inference_stack(const EngineName& engine) {
  InferenceStack s = *load_software(profile_of(engine)).inference;
  if (engine.eager) s.launching = Launching::eager;
  return s;
}

namespace {

/// Class of a figure if all of its inputs are stated.
std::optional<InferenceClass> class_of_figure(const InferenceCase& c, FigureKind quantity) {
  const bool under_load = c.kind != BatchKind::fixed && !c.decode_window;
  switch (quantity) {
    case FigureKind::time_per_token:
    case FigureKind::user_rate:
    case FigureKind::decode_step:
    case FigureKind::decode_time:
    case FigureKind::decode_rate:
    case FigureKind::decode_rate_first:
    case FigureKind::decode_rate_last:
    case FigureKind::bandwidth:
      return under_load ? InferenceClass::served_decode : InferenceClass::decode;
    case FigureKind::whole_time:
    case FigureKind::output_rate:
    case FigureKind::total_rate:
    case FigureKind::peak_output_rate:
      return InferenceClass::whole_batch;
    case FigureKind::prefill_time:
    case FigureKind::prefill_rate:
      return InferenceClass::prefill;
    case FigureKind::first_token:
      return under_load ? InferenceClass::first_token : InferenceClass::prefill;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<InferenceClass> inference_class(const InferenceCase& c, FigureKind quantity) {
  const std::optional<InferenceClass> kind = class_of_figure(c, quantity);
  return kind && c.input_assumed ? InferenceClass::assumed : kind;
}

}  // namespace llmcalc
