// Effect of improving a part of the machine by a tenth.

#include "report/explain/definition.hpp"
#include "report/explain/interval.hpp"

namespace llmcalc::explain {
namespace {

using S = const Setting&;

/// Repeats the estimate of the step or pass on a modified machine.
Formula changed(S s, const char* path) {
  return from_engine(s, "d_t", "relative change of the estimate after a 1.1x improvement", path);
}
constexpr std::string_view tenth = "all else unchanged";
constexpr std::string_view the_same = "same estimate for a modified machine";
constexpr std::string_view several_gpus = "estimates on several GPUs";
constexpr std::string_view several_nodes = "estimates on several nodes";

constexpr Definition table[] = {
    {"sensitivity.peak", "change in step time at 1.1x peak", "", [](S s) { return changed(s, "sensitivity.peak"); },
     tenth, the_same, known_interval},
    {"sensitivity.bandwidth", "change in step time at 1.1x memory bandwidth", "",
     [](S s) { return changed(s, "sensitivity.bandwidth"); }, tenth, the_same, known_interval},
    {"sensitivity.link", "change in step time at 1.1x link bandwidth", "",
     [](S s) { return changed(s, "sensitivity.link"); }, tenth, the_same, several_gpus},
    {"sensitivity.network", "change in step time at 1.1x network bandwidth", "",
     [](S s) { return changed(s, "sensitivity.network"); }, tenth, the_same, several_nodes},
    {"sensitivity.latency", "change in step time at 1/1.1 of the link latency", "",
     [](S s) { return changed(s, "sensitivity.latency"); }, tenth, the_same, several_gpus},
    {"sensitivity.host", "change in step time at 1.1x host speed", "",
     [](S s) { return changed(s, "sensitivity.host"); }, tenth, the_same, known_interval},
    {"decode_sensitivity.peak", "change in time per token at 1.1x peak", "",
     [](S s) { return changed(s, "decode_sensitivity.peak"); }, tenth, the_same, known_interval},
    {"decode_sensitivity.bandwidth", "change in time per token at 1.1x memory bandwidth", "",
     [](S s) { return changed(s, "decode_sensitivity.bandwidth"); }, tenth, the_same, known_interval},
    {"decode_sensitivity.link", "change in time per token at 1.1x link bandwidth", "",
     [](S s) { return changed(s, "decode_sensitivity.link"); }, tenth, the_same, several_gpus},
    {"decode_sensitivity.network", "change in time per token at 1.1x network bandwidth", "",
     [](S s) { return changed(s, "decode_sensitivity.network"); }, tenth, the_same, several_nodes},
    {"decode_sensitivity.latency", "change in time per token at 1/1.1 of the link latency", "",
     [](S s) { return changed(s, "decode_sensitivity.latency"); }, tenth, the_same, several_gpus},
    {"decode_sensitivity.host", "change in time per token at 1.1x host speed", "",
     [](S s) { return changed(s, "decode_sensitivity.host"); }, tenth, the_same, known_interval},
};

}  // namespace

std::span<const Definition> sensitivity_definitions() { return table; }

}  // namespace llmcalc::explain
