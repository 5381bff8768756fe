#pragma once
/// A hardware file: a datasheet with a unit in every value and a source for every number.
///
/// { "name", "title"?, "aliases"?, "vendor"?, "architecture"?, "form_factor"?,
///   "memory": { "capacity": "80 GiB", "bandwidth": "3.35 TB/s", "type"?,
///               "driver"?: "79.65 GiB",            total that the driver reports (nvidia-smi)
///               "visible"?: "79.15 GiB",           total that a process sees (CUDA)
///               "usable"?: 0.75 }                  fraction available to programs if the CPU shares the memory
///   "matmul": { "bf16": "989.4 TFLOP/s", ... }     dense peaks: fp64 fp32 tf32 fp16 bf16 fp8 fp4 int8; FP32
///                                                  accumulation for formats below 32 bits
///   "cache"?: "50 MiB",
///   "link"?:    { "type"?, "topology"?, "ranks"?, "bandwidth": "450 GB/s", "latency"?: "1 us",
///                 "reduces"?: true, "dimensions"?: [16, 16], "wraps"?: 4 }   inside a node
///   "network"?: { "type"?, "ranks"?, "bandwidth", "latency"?, "reduces"? }   between nodes
///   "pcie"?:    { "type"?, "bandwidth" },
///   "host"?:    { "type"?, "bandwidth"?: "450 GB/s", "memory"?: "512 GB/s" }    host's link and memory bandwidths
///   "power"?: "700 W",  "prices"?: [ { "price": "2.99 USD/h", "source", "seller"?, "date"?,
///                                      "recalled"?: true } ],   recalled: not looked up
///   "achieved"?: { "matmul"?: 0.71 or { "bf16": 0.71, ... }, "memory"?: 0.9, "link"?: 0.8, "launch"?: "4 us", "how",
///                  "attention"?: { "fp32": "31 GFLOP/s", ... },  "attention_backward"?,  "plain_attention"?,
///                  "plain_attention_backward"?,  "naive_attention"?,  "naive_attention_backward"?,  "half_matmul"?: {
///                  "fp32": 3.2e6, ... }, "unaligned"?: 0.3 or { "bf16": 0.3, ... },  "exposed"?: { "fp32": 0.8, ... },
///                  "functions"?: 1.7e9, "cache"?: "40 GB/s", "launch_backward"?: "9 us",  "recorded"?: "2 us",
///                  "recorded_backward"?: "5 us",  "overhead"?: "600 MiB" }, see calc/device.hpp
///   "served"?: { "engine": "vllm", "version"?, "model", "date"?, "file", "decode"?: 1.12, "prompt"?: 0.9,
///                "prompt_class"?: "first token" },   a benchmark of a server on the device
///   "sources": { "memory.capacity": "...", "matmul.bf16": "...", "link.ranks": "...", ... },  "source"?,  "notes"? }
///
/// Link bandwidths are per device and per direction. "source" applies to every value that is not listed in "sources".
/// Unknown values are omitted. A link without "ranks" connects an unknown number of devices and is not used
/// (Link::ranks 1); a network without "ranks" connects any number (Link::ranks 0). "reduces": the switches perform
/// reductions in the network (NVLink SHARP, InfiniBand SHARP). "topology": "torus" requires "dimensions", the number of
/// devices along each axis, whose product is "ranks"; its bandwidth is the sum over a device's links, two per axis.
/// "wraps": slices of whole cubes with this many devices per side are also tori (calc/links/torus.hpp). Any other
/// topology is a switch. "pcie" is the link to the host, unless "host" states another (NVLink-C2C); both "host"
/// bandwidths are per-device shares. A card without a device-to-device link also has PCI Express as its "link".

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calc/cluster.hpp"
#include "text/json.hpp"

namespace llmcalc {

struct Price {
  double usd_per_hour = 0;
  std::string source;
  std::string seller{}, date{};  ///< empty if unknown
  bool recalled = false;         ///< whether the price was recalled, not looked up
};

/// Measured efficiencies that a file states for a device. Fields of `rates` that were not measured have their neutral
/// value.
struct MeasuredRates {
  Achieved rates{};
  std::array<bool, peak_count> products{};  ///< whether matmul rates were measured, by format
  bool memory = false, links = false;
  std::string engine{};  ///< software profile of the engine whose operators were timed; empty: this program
};

/// A benchmark of a served model on the device. The ratios are measured times over estimated times.
struct ServedRun {
  std::string engine{};            ///< software profile of the engine
  std::string version{}, date{};   ///< empty: not stated
  std::string model{}, file{};     ///< the model, and the file of the benchmark's output
  std::optional<double> decode{};  ///< ratio of times per token
  std::optional<double> prompt{};  ///< ratio of prompt times
  std::string prompt_class{};      ///< class of the prompt times (InferenceClass): "prefill" or "first token"
};

/// A device from a preset or a file: inputs of calc/, and descriptive data.
struct HardwareCard {
  std::string name, title;
  std::string word;  ///< name in commands: the preset's name, or the path of its file
  std::vector<std::string> aliases;
  std::string source;  ///< origin of the card: preset name or file path
  std::string vendor, architecture, form_factor, memory_type, link_type;
  HostSide host;                          ///< host values as stated in the file
  Cluster cluster;                        ///< the device, and its links from the innermost outward
  std::optional<MeasuredRates> measured;  ///< measured Device::achieved; estimates modify only the copy in `cluster`
  std::optional<ServedRun> served;        ///< benchmark of a server on the device
  BytesPerSecond pcie;                    ///< bandwidth per direction; 0: unknown
  bool bridged = false;  ///< whether a bridge connects only a few cards; all other cards communicate over PCI Express
  double watts = 0;      ///< power in watts; 0: unknown
  Bytes driver{}, visible{};  ///< memory that the driver reports, and that a process sees; 0: unknown
  double usable = 0;          ///< fraction of the memory that programs can use; 0: unknown, or all of it
  std::vector<Price> prices;
  std::vector<std::pair<std::string, std::string>> sources;  ///< path of a value, "memory.capacity", and its source
  Count unsourced = 0;                                       ///< number of values without a source; 0 in presets
  std::string achieved_how;                                  ///< how Device::achieved was measured; empty: not measured
  std::string notes;
  std::vector<std::string> unknown;  ///< values missing from the file: "link latency", "price", ...
};

/// Reads and checks a hardware file; `where` names it in errors. Throws InputError if it is invalid.
HardwareCard read_hardware_file(const json::Value& value, const std::string& where);

}  // namespace llmcalc
