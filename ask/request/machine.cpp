#include "ask/request/machine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ask/request/host.hpp"
#include "ask/request/options/options.hpp"
#include "ask/request/server.hpp"
#include "ask/request/software.hpp"
#include "presets/load.hpp"
#include "text/error.hpp"
#include "text/file_exists.hpp"
#include "text/leading_number.hpp"

namespace llmcalc {
namespace {

constexpr std::size_t most_devices = 16;

/// A device name and the number of devices: "2xrtx-3090".
struct NamedDevices {
  std::string name;
  Count number = 1;
};

NamedDevices numbered(const std::string& text) {
  const std::size_t x = text.find('x');
  const bool is_number =
      x != std::string::npos && x > 0 && text.find_first_not_of("0123456789") == x && x + 1 < text.size();
  if (!is_number || find_meant(builtin_hardware(), text) != nullptr) return {text, 1};
  return {text.substr(x + 1), leading_whole(text)};
}

std::vector<std::string> split_at_plus(const std::string& text) {
  std::vector<std::string> all(1);
  for (const char c : text)
    if (c == '+')
      all.emplace_back();
    else
      all.back() += c;
  return all;
}

/// Cluster of a machine with this number of devices, linked only by PCI Express. Throws InputError if the device has
/// no PCI Express.
Cluster joined_by_pcie(const HardwareCard& card, Count devices, const std::string& hardware) {
  if (card.pcie.value <= 0)
    throw InputError(fmt::format(
        "--hardware {}: different devices in one machine are linked by PCI Express, which {} does not have; "
        "use devices of one kind",
        hardware, card.name));
  Link link{.ranks = devices, .bandwidth = card.pcie};
  for (const Link& level : card.cluster.levels)
    if (level.bandwidth.value == card.pcie.value) link.latency = level.latency;
  return cluster(card.cluster.device, link);
}

}  // namespace

bool names_machine(std::string_view hardware) {
  const std::string text(hardware);
  if (file_exists(text)) return false;
  return text.find('+') != std::string::npos || numbered(text).name != text;
}

std::vector<std::string> device_names(const std::string& hardware) {
  std::vector<std::string> all;
  for (const std::string& part : split_at_plus(hardware)) {
    const NamedDevices devices = numbered(part);
    if (devices.name.empty())
      throw InputError(fmt::format(
          "--hardware {}: the name of a device is missing; name each, for example rtx-3090+rtx-3060", hardware));
    if (devices.number < 1 || devices.number > static_cast<Count>(most_devices - all.size()))
      throw InputError(fmt::format("--hardware {}: a machine has 1 to {} devices", hardware, most_devices));
    all.insert(all.end(), static_cast<std::size_t>(devices.number), devices.name);
  }
  return all;
}

void read_machine(Request& r, const std::string& hardware) {
  r.machine.clear();
  for (const std::string& name : device_names(hardware)) r.machine.push_back(load_hardware(name));
  const auto stages = static_cast<Count>(r.machine.size());
  if (r.gave("--pp") && ranks(r.layout, Group::pipeline) != stages)
    throw InputError(fmt::format("--pp {} differs from the {} devices of --hardware {}; omit --pp",
                                 ranks(r.layout, Group::pipeline), stages, hardware));
  if (has_unlike_devices(r))
    for (HardwareCard& card : r.machine) card.cluster = joined_by_pcie(card, stages, hardware);
  r.hardware = r.machine.front();
  r.hardware->word = hardware;
  give(r, *find_option("--pp"), fmt::format("{}", stages));
}

bool has_unlike_devices(const Request& r) {
  return std::any_of(r.machine.begin(), r.machine.end(),
                     [&](const HardwareCard& card) { return card.name != r.machine.front().name; });
}

namespace {

bool is_batch_in_pipeline(const Request& r) {
  const bool is_batch = r.has(part::one_batch) && !r.has(part::training) && !has_traffic(r.serving);
  return is_batch && ranks(r.layout, Group::pipeline) > 1;
}

}  // namespace

bool has_stages(const Request& r) { return r.hardware && is_batch_in_pipeline(r); }

const HardwareCard& card_of_stage(const Request& r, Count stage) {
  return r.machine.empty() ? *r.hardware : r.machine[static_cast<std::size_t>(stage)];
}

std::vector<std::pair<const HardwareCard*, Count>> devices_by_kind(const Request& r) {
  std::vector<std::pair<const HardwareCard*, Count>> all;
  for (const HardwareCard& card : r.machine)
    if (!all.empty() && all.back().first->name == card.name)
      ++all.back().second;
    else
      all.emplace_back(&card, 1);
  return all;
}

Request on_device_of_stage(const Request& r, Count stage) {
  Request one = r;
  one.hardware = card_of_stage(r, stage);
  one.machine.clear();
  one.layout = one_engine(r.layout);
  settle_host(one);
  return for_inference(std::move(one));
}

namespace {

void check_machine(const Request& r) {
  if (!r.has(part::machine) || r.has(part::training))
    throw InputError(
        fmt::format("--hardware {}: only infer, memory --infer, report and fit can estimate several devices of one "
                    "machine; name one device here",
                    r.hardware->word));
  if (ranks(r.layout, Group::pipeline) != static_cast<Count>(r.machine.size()) || ranks(r.layout, Group::tensor) > 1)
    throw InputError(
        fmt::format("--hardware {}: each device is one pipeline stage; omit --tp and --pp", r.hardware->word));
  for (const std::string_view flag : {"--memory", "--network"})
    if (r.gave(flag))
      throw InputError(fmt::format("{} changes one kind of device, but --hardware {} has several; omit {}", flag,
                                   r.hardware->word, flag));
}

}  // namespace

void check_stages(const Request& r) {
  if (!r.machine.empty()) check_machine(r);
  if (!r.hardware && is_batch_in_pipeline(r))
    throw InputError("--pp: an engine splits layers by the memory of its devices; add --hardware HW");
  if (!has_stages(r)) return;
  const std::string option = r.machine.empty() ? "--pp" : "--hardware " + r.hardware->word;
  if (r.model.arch.is_encoder_decoder())
    throw InputError(
        fmt::format("{}: {} has an encoder, and stages of encoder-decoder models are not supported; use one device",
                    option, r.model.name));
  if (!has_engine_memory(r))
    throw InputError(
        fmt::format("{}: stages need an engine, which keeps a KV cache; omit --software none, --no-kv-cache and the "
                    "efficiency options",
                    option));
  for (const std::string_view flag : {"--offload", "--target", "--ops"})
    if (r.gave(flag))
      throw InputError(fmt::format("{} is not supported with pipeline stages; omit it, or use one device", flag));
}

}  // namespace llmcalc
