#include "evidence/convert/words/cluster_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <regex>

#include "evidence/convert/device_class.hpp"
#include "evidence/convert/words/network_rate.hpp"
#include "evidence/names/words.hpp"
#include "text/leading_number.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

bool tells(const std::string& text, const char* word) { return text.find(word) != std::string::npos; }

bool has_link(const HardwareCard& card) {
  return std::find(card.unknown.begin(), card.unknown.end(), "link") == card.unknown.end() &&
         !card.cluster.levels.empty();
}

std::optional<Link> preset_network(const HardwareCard& card) {
  const std::size_t at = has_link(card) ? 1 : 0;
  return card.cluster.levels.size() > at ? std::optional(card.cluster.levels[at]) : std::nullopt;
}

/// Number of a run's devices in each node. Published runs have the same number in all nodes: NVIDIA's runs of 512,
/// 2,496 and 2,560 GPUs use 64 of the 72 in an NVL72 domain, and PaLM's 6,144 chips are 3,072 in each of two pods of
/// 4,096 (arXiv:2204.02311). The result is the largest divisor of the run's device count that is between half a node
/// and a full node.
Count in_each_node(Count devices, Count joined) {
  for (Count n = joined; 2 * n >= joined && devices > joined; --n)
    if (devices % n == 0) return n;
  return joined;
}

/// Number of devices connected by the links inside a node.
Count joined_inside(const HardwareSaid& said, Count preset_ranks) {
  static const std::regex domain("domain of ([0-9]{1,6})");
  std::smatch found;
  if (std::regex_search(said.inside, found, domain)) return leading_whole(found[1]);
  const std::string text = lower(said.inside);
  const bool torus = tells(text, "torus") || tells(text, "ici") || tells(text, "neuronlink");
  if (torus || !said.per_node) return std::max(preset_ranks, std::min(said.count, Count{8}));
  return std::max<Count>(*said.per_node, 1);
}

/// Whether a row's devices communicate over PCI Express. A bridge connects only two devices, so larger groups use PCI
/// Express.
bool goes_over_pcie(const HardwareSaid& said, std::vector<std::string>& assumed) {
  const std::string text = lower(said.inside);
  const Words words(text);
  if (said.count > 2 && words.affirms_any({"bridge", "bridges", "pairs"})) {
    assumed.push_back(
        fmt::format("PCI Express between all devices: links of {} connect only pairs", in_quotes(said.inside)));
    return true;
  }
  if (words.says_no() || words.denies("nvlink") || words.denies("nvswitch")) return true;
  return tells(text, "pcie") && !tells(text, "nvlink/") && !text.starts_with("nvlink");
}

Link inside_link(const HardwareSaid& said, const HardwareCard& card, std::vector<std::string>& assumed) {
  Link link = has_link(card) ? card.cluster.levels[0] : Link{};
  if ((goes_over_pcie(said, assumed) || link.bandwidth.value <= 0) && card.pcie.value > 0)
    link = {.ranks = link.ranks, .bandwidth = card.pcie, .latency = link.latency, .reduces = link.reduces};
  if (link.bandwidth.value <= 0) {
    link.bandwidth = BytesPerSecond(32e9);
    if (said.count > 1)
      assumed.push_back("a link of 32 GB/s each way (PCI Express 4.0): neither the row nor the preset has one");
  }
  link.ranks = in_each_node(said.count, joined_inside(said, link.ranks > 1 ? link.ranks : 1));
  return link;
}

Link between_link(const HardwareSaid& said, const HardwareCard& card, Count inside, std::vector<std::string>& assumed) {
  Link link = preset_network(card).value_or(Link{0, BytesPerSecond(25e9), Seconds()});
  link.ranks = 0;
  const Count per_node = said.per_node.value_or(said.nodes ? std::max<Count>(1, said.count / *said.nodes) : 8);
  if (const auto stated = network_share(said.between, per_node)) {
    link.bandwidth = stated->rate;
    if (stated->assumed_of_node && said.count > inside)
      assumed.push_back(
          fmt::format("a network of {:g} GB/s each way per device: {} is interpreted as the rate of a node",
                      link.bandwidth.value / 1e9, in_quotes(said.between)));
  } else if (said.count > inside) {
    assumed.push_back(fmt::format("a network of {:g} GB/s each way per device, {}: the row states no rate",
                                  link.bandwidth.value / 1e9, preset_network(card) ? "the preset's" : "200 Gbit/s"));
  }
  return link;
}

/// Models a device without a preset on a similar one, with the stated memory and with rates scaled by the ratio of
/// bandwidths.
void make_device(const HardwareSaid& said, const Devices& devices, RowCluster& r) {
  const HardwareCard* model = devices.called(stand_in(said.device));
  if (!said.memory_gb || model == nullptr) {
    r.skip = fmt::format("no preset is named {}, and the row does not state its memory", in_quotes(said.device));
    return;
  }
  r.preset = false;
  r.hardware = *model;
  r.like = model->name;
  r.hardware.name = r.hardware.title = said.device;
  Device& d = r.hardware.cluster.device;
  d.memory = Bytes(std::llround(*said.memory_gb * 0x1p30));
  const double ratio = said.bandwidth_gb_s ? *said.bandwidth_gb_s * 1e9 / d.bandwidth.value : 1;
  d.bandwidth = ratio * d.bandwidth;
  for (FlopsPerSecond& peak : d.peaks) peak = ratio * peak;
  r.assumed.push_back(fmt::format("no preset is named {}: a {} with {:g} GB and rates scaled by {:.2f}",
                                  in_quotes(said.device), model->title, *said.memory_gb, ratio));
}

/// Whether a stated size in GB, decimal or binary, differs from `have` bytes by at most the fraction `share`.
bool is_about(double stated, double have, double share) {
  for (const double unit : {1e9, 0x1p30})
    if (std::fabs(stated * unit / have - 1) <= share) return true;
  return false;
}

/// Replaces the preset's memory and bandwidth with the row's if they differ, since devices are sold in variants with
/// different memory.
void adjust_device(const HardwareSaid& said, RowCluster& r) {
  Device& d = r.hardware.cluster.device;
  if (said.memory_gb && !is_about(*said.memory_gb, static_cast<double>(d.memory.value), 0.1)) {
    d.memory = Bytes(std::llround(*said.memory_gb * 0x1p30));
    r.assumed.push_back(fmt::format("the {} with {:g} GB, as the row has it", r.hardware.title, *said.memory_gb));
  }
  if (said.bandwidth_gb_s && !is_about(*said.bandwidth_gb_s, d.bandwidth.value, 0.03)) {
    d.bandwidth = BytesPerSecond(*said.bandwidth_gb_s * 1e9);
    r.assumed.push_back(fmt::format("the {} at {:g} GB/s, as the row has it", r.hardware.title, *said.bandwidth_gb_s));
  }
}

}  // namespace

std::string without_bandwidth(const HardwareSaid& said, const RowCluster& on) {
  if (on.preset || said.bandwidth_gb_s) return "";
  return fmt::format("no preset is named {}, and the row does not state its bandwidth", in_quotes(said.device));
}

RowCluster cluster_of(const HardwareSaid& said, const Devices& devices) {
  RowCluster r;
  std::string name = said.device;
  if (said.cores && !device_name(name).cores) name += fmt::format(" ({}-core GPU)", *said.cores);
  if (const HardwareCard* card = devices.find(name, said.memory_gb)) {
    r.hardware = *card;
    r.like = card->name;
    adjust_device(said, r);
  } else {
    make_device(said, devices, r);
  }
  if (!r.skip.empty()) return r;
  if (tells(lower(said.device), "form factor not stated"))
    r.assumed.push_back(fmt::format("the {}: the form factor is not stated", r.hardware.title));
  const Link inside = inside_link(said, r.hardware, r.assumed);
  const Link between = between_link(said, r.hardware, inside.ranks, r.assumed);
  r.hardware.cluster.levels = {};
  r.hardware.cluster.levels.push(inside);
  r.hardware.cluster.levels.push(between);
  return r;
}

Count cores_of_chip(const HardwareCard& chip) {
  // AWS Neuron Runtime and Cloud TPU's documentation (v3, 7x) count cores as devices; ROCm and Ascend count dies.
  constexpr std::array<std::pair<std::string_view, Count>, 7> chips{{{"NeuronCore-v2", 2},
                                                                     {"NeuronCore-v3", 8},
                                                                     {"NeuronCore-v4", 8},
                                                                     {"TPU v3", 2},
                                                                     {"TPU7x", 2},
                                                                     {"2 GCD", 2},
                                                                     {"two 910B dies", 2}}};
  for (const auto& [word, cores] : chips)
    if (chip.architecture.find(word) != std::string::npos) return cores;
  return 1;
}

HardwareCard part_of(const HardwareCard& chip, Count parts) {
  HardwareCard part = chip;
  Device& d = part.cluster.device;
  const double share = 1 / static_cast<double>(parts);
  d.memory = Bytes(d.memory.value / parts);
  d.cache = Bytes(d.cache.value / parts);
  d.bandwidth = share * d.bandwidth;
  for (FlopsPerSecond& peak : d.peaks) peak = share * peak;
  for (Link& level : part.cluster.levels) {
    level.ranks = mul(level.ranks, parts);
    level.bandwidth = share * level.bandwidth;
  }
  part.title = fmt::format("1/{} of {}", parts, chip.title);
  return part;
}

}  // namespace llmcalc
