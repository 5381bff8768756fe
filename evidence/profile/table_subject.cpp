#include "evidence/profile/table_subject.hpp"

#include <fmt/format.h>

#include <span>
#include <string_view>

#include "evidence/names/device_name.hpp"
#include "evidence/names/format_name.hpp"
#include "presets/builtin.hpp"
#include "presets/load.hpp"
#include "text/names.hpp"

namespace llmcalc {
namespace {

[[noreturn]] void refuse_preset(const OperatorTables& t, std::string_view kind, std::string_view said,
                                std::span<const Builtin> presets, std::string_view option) {
  const std::string_view name = said.substr(said.rfind('/') + 1);  // without the organization
  throw InputError(fmt::format("the tables in '{}': {}; alternatively, pass {}", t.path,
                               unknown_name(kind, name, builtin_names(presets), presets.size()), option));
}

std::string device_called(const OperatorTables& t, const Devices& devices) {
  for (const std::string& said : {t.origin.device, t.device_folder})
    if (const HardwareCard* card = said.empty() ? nullptr : devices.find(said)) return card->name;
  refuse_preset(t, "hardware", t.origin.device.empty() ? t.device_folder : t.origin.device, builtin_hardware(),
                "--hardware HW");
}

ModelCard model_called(const OperatorTables& t) {
  for (const std::string& said : {t.origin.model, t.model_folder})
    if (const Builtin* preset = said.empty() ? nullptr : find_meant(builtin_models(), said)) return load_model(*preset);
  refuse_preset(t, "model", t.origin.model.empty() ? t.model_folder : t.origin.model, builtin_models(),
                "--model MODEL");
}

/// Sets the plan's formats. A format without matmul support on the device is used only for storage, and matmuls run
/// in 16 bits.
void use_formats(Plan& plan, const OperatorTables& t, const Device& device, std::vector<std::string>& assumed) {
  const std::string said = t.origin.format.empty() ? "bf16" : t.origin.format;
  if (t.origin.format.empty())
    assumed.push_back(fmt::format("{}: weights in bf16, since no meta.yaml states their format", t.path));
  const FormatsSaid f = formats_of(said, "", said, device.peak(dtypes::bf16).value > 0 ? dtypes::bf16 : dtypes::fp16);
  if (!f.skip.empty())
    throw InputError(fmt::format(
        "'{}': variant {} in meta.yaml is not a supported number format; 'llmcalc list dtypes' shows all formats",
        t.path, in_quotes(said)));
  plan.weight_precision = f.weights;
  plan.working = f.working;
  plan.kv_precision = f.cache;
  plan.precision = device.peak(f.precision).value > 0 ? f.precision : f.working;
  if (device.peak(plan.precision).value == 0)
    throw InputError(fmt::format("'{}': the hardware has no peak rate for {}, the format of the measured tables",
                                 t.path, plan.precision.name()));
}

}  // namespace

std::string device_of(const std::vector<OperatorTables>& all) {
  const Devices devices;
  const std::string first = device_called(all[0], devices);
  for (const OperatorTables& t : all)
    if (const std::string other = device_called(t, devices); other != first)
      throw InputError(
          fmt::format("'{}' was measured on {} and '{}' on {}; a hardware file describes one device, so pass the "
                      "folder of one device, or --hardware HW",
                      all[0].path, first, t.path, other));
  return first;
}

TableSubject subject_of(const OperatorTables& t, const std::optional<ModelCard>& said, const Device& device,
                        std::vector<std::string>& assumed) {
  const ModelCard model = said ? *said : model_called(t);
  TableSubject s{fmt::format("{}, tp {}", model.name, t.ranks), model.arch, {}, {}};
  s.layout.tp = t.ranks;
  if (flaw(s.arch, s.layout) != LayoutFlaw::none)
    throw InputError(fmt::format(
        "'{}': the heads of {} ({}) cannot be divided evenly among {} tensor-parallel ranks; pass the folder "
        "of this model, or the right --model",
        t.path, model.name, s.arch.heads, t.ranks));
  if (s.arch.has_experts() && t.experts.empty())
    throw InputError(
        fmt::format("'{}' has no moe.csv (tokens,activated_experts,time_us) with the times of {}'s experts, which "
                    "every step requires; measure them, or pass --model with a model without experts",
                    t.path, model.name));
  use_formats(s.plan, t, device, assumed);
  return s;
}

}  // namespace llmcalc
