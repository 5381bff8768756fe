#include "cli/machine/here.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "presets/builtin.hpp"
#include "presets/load.hpp"
#include "text/error.hpp"
#include "text/format.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

/// A name without trademark signs, clock rates and core counts: "amd epyc 7763".
std::string plain_name(std::string_view name) {
  std::string out;
  for (std::string_view rest = name; !rest.empty();) {
    const std::size_t space = rest.find(' ');
    std::string word = lower(rest.substr(0, space));
    rest = space == std::string_view::npos ? "" : rest.substr(space + 1);
    for (const std::string_view mark : {"(r)", "(tm)"})
      if (const std::size_t at = word.find(mark); at != std::string::npos) word.erase(at, mark.size());
    constexpr std::array<std::string_view, 5> idle{"cpu", "processor", "@", "gen", "graphics"};
    const bool is_idle = word.empty() || std::find(idle.begin(), idle.end(), word) != idle.end() ||
                         word.ends_with("ghz") || word.ends_with("-core");
    if (!is_idle) out += (out.empty() ? "" : " ") + word;
  }
  return out;
}

/// Whether the card's memory is unknown, or within a tenth of the preset's. (Drivers report less than the full
/// capacity.)
bool has_like_memory(const Builtin& preset, Bytes memory) {
  const double whole = real(load_hardware(preset).cluster.device.memory.value);
  return memory == Bytes() || (real(memory.value) > 0.9 * whole && real(memory.value) < 1.1 * whole);
}

const Builtin* preset_of(std::string_view name, Bytes memory) {
  const Builtin* preset = name.empty() ? nullptr : find_meant(builtin_hardware(), plain_name(name));
  return preset != nullptr && has_like_memory(*preset, memory) ? preset : nullptr;
}

std::string gpus_text(const Machine& m) {
  const FoundGpu& gpu = m.gpus.front();
  const std::string size = gpu.memory > Bytes() ? fmt::format(" ({})", bytes_text(gpu.memory)) : "";
  return m.gpus.size() > 1 ? fmt::format("{} x {}{}", m.gpus.size(), gpu.name, size) : gpu.name + size;
}

struct Asked {
  const char *question, *command;
};

std::array<Asked, 5> questions_on(const std::string& device, std::array<std::string, 2>& commands) {
  commands = {fmt::format("llmcalc fit{}", device.empty() ? " --hardware rtx-4090" : ""),
              fmt::format("llmcalc infer llama-3.1-8b --hardware {}", device.empty() ? "rtx-4090" : device)};
  return {Asked{"Which models run on a device?", commands[0].c_str()},
          Asked{"Does a model fit, and how fast is it?", commands[1].c_str()},
          Asked{"What does training take?", "llmcalc train llama-3.1-8b --hardware h100 --gpus 64 --fsdp --tokens 1T"},
          Asked{"Which GPUs serve 100 users?",
                "llmcalc plan serve llama-3.1-8b --hardware h100,l40s --users 100 --slo-tpot 50ms"},
          Asked{"Where did the memory go?", "llmcalc diagnose LOG"}};
}

}  // namespace

std::optional<std::string> preset_here(const Machine& m) {
  const Builtin* preset =
      m.gpus.empty() ? preset_of(m.processor, Bytes()) : preset_of(m.gpus[0].name, m.gpus[0].memory);
  return preset == nullptr ? std::nullopt : std::optional(std::string(preset->name));
}

std::string machine_text(const Machine& m) {
  std::string text = m.gpus.empty() ? "no GPU found" : gpus_text(m);
  if (!m.processor.empty()) text += ", " + m.processor;
  if (m.threads > 0) text += fmt::format(", {} threads", m.threads);
  if (m.memory > Bytes()) text += fmt::format(", {} of memory", bytes_text(m.memory));
  return text;
}

std::string greeting(const Machine& m) {
  std::array<std::string, 2> commands;
  std::string text =
      "llmcalc: parameters, memory, FLOPs, time and cost of language models\n\nthis machine: " + machine_text(m) + "\n";
  const std::optional<std::string> preset = preset_here(m);
  if (preset) text += fmt::format("preset: {}\n", *preset);
  for (const Asked& a : questions_on(preset.value_or(""), commands))
    text += fmt::format("\n{}\n  {}", a.question, a.command);
  return text + "\n\n'llmcalc --help' lists all commands, 'llmcalc COMMAND --help' the options of one.\n";
}

Report machine_report(const Machine& m) {
  Report r;
  r.command = "list";
  r.title = "this machine";
  Section s{"machine", "", {}};
  for (const FoundGpu& gpu : m.gpus)
    s.add("", "GPU", gpu.name, Unit::none, gpu.memory > Bytes() ? bytes_text(gpu.memory) : "");
  if (!m.gpus.empty()) {
    s.add("gpu", "", m.gpus[0].name);
    s.add("gpus", "", static_cast<Count>(m.gpus.size()));
    s.add("gpu_memory_bytes", "", m.gpus[0].memory);
  }
  if (!m.processor.empty()) s.add("processor", "processor", m.processor);
  if (m.threads > 0) s.add("threads", "threads", m.threads);
  if (m.memory > Bytes()) s.add("memory_bytes", "memory", m.memory);
  const std::optional<std::string> preset = preset_here(m);
  s.add("preset", "preset", preset.value_or("none"));
  r.sections = {std::move(s)};
  return r;
}

std::string required_preset_here(const Machine& m) {
  if (const std::optional<std::string> preset = preset_here(m)) return *preset;
  throw InputError(fmt::format(
      "--hardware is missing, and no preset is known for this machine ({}); 'llmcalc list hardware' lists the presets",
      machine_text(m)));
}

}  // namespace llmcalc
