#pragma once
/// A hardware file: a datasheet with a unit in every value and a source for every number.
///
/// { "name", "title"?, "aliases"?, "vendor"?, "architecture"?, "form_factor"?,
///   "memory": { "capacity": "80 GiB", "bandwidth": "3.35 TB/s", "type"?,
///               "usable"?: 0.75 }                  share that the system lets a program use, of memory that it shares
///   "matmul": { "bf16": "989.4 TFLOP/s", ... }     dense peaks: fp64 fp32 tf32 fp16 bf16 fp8 fp4 int8; those of fewer
///                                                  than 32 bits with FP32 accumulate
///   "cache"?: "50 MiB",
///   "link"?:    { "type"?, "topology"?, "ranks"?, "bandwidth": "450 GB/s", "latency"?: "1 us",
///                 "reduces"?: true, "dimensions"?: [16, 16], "wraps"?: 4 }   inside a node
///   "network"?: { "type"?, "ranks"?, "bandwidth", "latency"?, "reduces"? }   between nodes
///   "pcie"?:    { "type"?, "bandwidth" },
///   "host"?:    { "type"?, "bandwidth"?: "450 GB/s", "memory"?: "512 GB/s" }    way to it and bandwidth of its memory
///   "power"?: "700 W",  "prices"?: [ { "price": "2.99 USD/h", "source" } ],
///   "achieved"?: { "matmul"?: 0.71 or { "bf16": 0.71, ... }, "memory"?: 0.9, "link"?: 0.8, "launch"?: "4 us", "how",
///                  "attention"?: { "fp32": "31 GFLOP/s", ... },  "attention_backward"?,  "plain_attention"?,
///                  "plain_attention_backward"?,  "naive_attention"?,  "naive_attention_backward"?,  "half_matmul"?: {
///                  "fp32": 3.2e6, ... }, "unaligned"?: 0.3 or { "bf16": 0.3, ... },  "exposed"?: { "fp32": 0.8, ... },
///                  "functions"?: 1.7e9, "cache"?: "40 GB/s", "launch_backward"?: "9 us",  "recorded"?: "2 us",
///                  "recorded_backward"?: "5 us",  "overhead"?: "600 MiB" }, see calc/device.hpp
///   "sources": { "memory.capacity": "...", "matmul.bf16": "...", "link.ranks": "...", ... },  "source"?,  "notes"? }
///
/// Bandwidths of links are one way and per device. "source" stands for every number that "sources" does not name. What
/// is not known is left out. A link without "ranks" joins an unknown number of devices and is not used (Link::ranks 1);
/// a network without "ranks" joins any number (Link::ranks 0 too). "reduces": its
/// switches sum (NVLink SHARP, InfiniBand SHARP). "topology": "torus" has "dimensions", the devices along each axis,
/// whose product is "ranks", and a bandwidth that is the sum over the links of a device, two to an axis; "wraps":
/// slices of whole cubes of so many devices a side are tori too (calc/links/torus.hpp). Any other topology is a switch.
/// "pcie" is the way to the host, unless "host" states another (NVLink-C2C); both numbers of "host" are a device's own
/// share. A card that has no other link says PCI Express under "link" too.

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
};

/// What a file says was achieved on the device. A field of `rates` that was not measured is neutral.
struct MeasuredRates {
  Achieved rates{};
  std::array<bool, peak_count> products{};  ///< by format
  bool memory = false, links = false;
  std::string engine{};  ///< whose operators were timed, a software profile's name; empty: the program's own were
};

/// A device as a preset or a file describes it: what calc needs, and what is said about it.
struct HardwareCard {
  std::string name, title;
  std::string word;  ///< what a command names it by: the preset's name, or the path of its file
  std::vector<std::string> aliases;
  std::string source;  ///< where it was read: a preset or a file's path
  std::string vendor, architecture, form_factor, memory_type, link_type;
  Cluster cluster;                        ///< the device, and its links from the innermost outwards
  std::optional<MeasuredRates> measured;  ///< of Device::achieved, which an estimate changes
  BytesPerSecond pcie;                    ///< one way; 0: not known
  double watts = 0;                       ///< 0: not known
  double usable = 0;                      ///< share of the memory that a program may use; 0: not known, or all
  std::vector<Price> prices;
  std::vector<std::pair<std::string, std::string>> sources;  ///< "memory.capacity" and what it rests on
  std::string achieved_how;                                  ///< how Device::achieved was measured; empty: it was not
  std::string notes;
  std::vector<std::string> unknown;  ///< what the file leaves out: "link latency", "price", ...
};

/// Reads and checks a hardware file; `where` names it in errors. Throws InputError.
HardwareCard read_hardware_file(const json::Value& value, const std::string& where);

}  // namespace llmcalc
