#include "evidence/names/inference_stack.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <regex>
#include <string>

#include "presets/estimators/engine_limits.hpp"
#include "presets/load.hpp"

namespace llmcalc {

namespace {

/// An engine without a profile, and the profile used for it.
struct LikeEngine {
  std::string_view engine, profile;
};
constexpr std::array like_engines{LikeEngine{"torchao", "gpt-fast"}, LikeEngine{"atom", "vllm"},
                                  LikeEngine{"deepspeed", "deepspeed-inference"}, LikeEngine{"pytorch", "transformers"},
                                  LikeEngine{"jax", "jetstream"}};

std::string_view profile_of_engine(std::string_view engine) {
  const auto* like =
      std::find_if(like_engines.begin(), like_engines.end(), [&](const LikeEngine& l) { return l.engine == engine; });
  const std::string_view name = like == like_engines.end() ? engine : like->profile;
  const Builtin* profile = find_builtin(builtin_software(), name);
  return profile != nullptr && load_software(profile->name).inference ? name
                                                                      : "vllm";  // also if `name` is a training stack
}

/// The version of a profile at which a run of `stated` is predicted: the first known version for older runs. Empty,
/// which means the newest, if the row states no version or the profile has none. Ignores suffixes such as "rc1".
std::string version_of_profile(const SoftwareCard& newest, const std::string& stated) {
  static const std::regex pattern("^b?[0-9]+([.-][0-9]+)*");
  std::smatch found;
  if (newest.versions.empty() || !std::regex_search(stated, found, pattern)) return "";
  const std::string version = found[0];
  const SoftwareVersion& first = newest.versions.front();
  const bool dated = version.find('-') != std::string::npos;
  if (!dated && first.name.starts_with('b') && !version.starts_with('b')) return "";  // version of a program around it
  const bool older = dated ? version < first.released.substr(0, version.size()) : is_older(version, first.name);
  return older ? first.name : version;
}

}  // namespace

std::string inference_profile(const EngineName& engine) { return std::string(profile_of_engine(engine.name)); }

namespace {

SoftwareCard software_of(const EngineName& engine) {
  const std::string profile = inference_profile(engine);
  // The versions of an engine without a profile are not those of the profile that is used for it.
  const std::string version =
      profile == engine.name ? version_of_profile(load_software(profile), engine.version) : std::string();
  return load_software(version.empty() ? profile : profile + "@" + version);
}

}  // namespace

EngineLimits default_limits(const EngineName& engine, Count tensor_ranks, const HardwareCard& card, Count longest) {
  const auto version = engine.name == "vllm" ? minor_version(engine.version) : std::nullopt;
  return default_limits({version, tensor_ranks, card}, software_of(engine).server, longest);
}

InferenceStack inference_stack(const EngineName& engine) {
  InferenceStack s = *software_of(engine).inference;
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
  if (kind && (c.prompt_pool || c.drafts > 0))
    return kind == InferenceClass::first_token ? InferenceClass::pooled_first : InferenceClass::pooled;
  return kind && c.input_assumed ? InferenceClass::assumed : kind;
}

}  // namespace llmcalc
