// Effect of improving a part of the machine by a tenth.

#include "report/explain/definition.hpp"
#include "report/explain/interval.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

/// Repeats the estimate of the step or pass on a modified machine.
Formula changed(S s, const char* path) {
  return from_engine(s, "d_t", "the estimate with a tenth more of it over the estimate, less 1", path);
}
constexpr std::string_view tenth = "all else as it is";
constexpr std::string_view the_same = "the same estimate of another machine";
constexpr std::string_view several_gpus = "estimates on several GPUs";
constexpr std::string_view several_nodes = "estimates on several nodes";

constexpr Definition table[] = {
    {"sensitivity.peak", "change of the step with a tenth more peak", "",
     [](S s) { return changed(s, "sensitivity.peak"); }, tenth, the_same, known_interval},
    {"sensitivity.bandwidth", "change of the step with a tenth more memory bandwidth", "",
     [](S s) { return changed(s, "sensitivity.bandwidth"); }, tenth, the_same, known_interval},
    {"sensitivity.link", "change of the step with a tenth more bandwidth of the link", "",
     [](S s) { return changed(s, "sensitivity.link"); }, tenth, the_same, several_gpus},
    {"sensitivity.network", "change of the step with a tenth more bandwidth of the network", "",
     [](S s) { return changed(s, "sensitivity.network"); }, tenth, the_same, several_nodes},
    {"sensitivity.latency", "change of the step where links' starts and rounds are a tenth faster", "",
     [](S s) { return changed(s, "sensitivity.latency"); }, tenth, the_same, several_gpus},
    {"sensitivity.host", "change of the step with a tenth more speed of the host", "",
     [](S s) { return changed(s, "sensitivity.host"); }, tenth, the_same, known_interval},
    {"decode_sensitivity.peak", "change of a token's time with a tenth more peak", "",
     [](S s) { return changed(s, "decode_sensitivity.peak"); }, tenth, the_same, known_interval},
    {"decode_sensitivity.bandwidth", "change of a token's time with a tenth more memory bandwidth", "",
     [](S s) { return changed(s, "decode_sensitivity.bandwidth"); }, tenth, the_same, known_interval},
    {"decode_sensitivity.link", "change of a token's time with a tenth more bandwidth of the link", "",
     [](S s) { return changed(s, "decode_sensitivity.link"); }, tenth, the_same, several_gpus},
    {"decode_sensitivity.network", "change of a token's time with a tenth more bandwidth of the network", "",
     [](S s) { return changed(s, "decode_sensitivity.network"); }, tenth, the_same, several_nodes},
    {"decode_sensitivity.latency", "change of a token's time where links' starts and rounds are a tenth faster", "",
     [](S s) { return changed(s, "decode_sensitivity.latency"); }, tenth, the_same, several_gpus},
    {"decode_sensitivity.host", "change of a token's time with a tenth more speed of the host", "",
     [](S s) { return changed(s, "decode_sensitivity.host"); }, tenth, the_same, known_interval},
};

}  // namespace

std::span<const Definition> sensitivity_definitions() { return table; }

}  // namespace llmcalc::explain
