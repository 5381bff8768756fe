#pragma once
/// A machine of several devices, possibly of different kinds: --hardware rtx-3090+rtx-3060, 2xrtx-3090+rtx-3060. An
/// engine runs its batch in a pipeline with one stage per device, in the order of the names. Devices of different
/// kinds exchange hidden states over PCI Express.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ask/request/request.hpp"

namespace llmcalc {

/// Names of the devices: {"rtx-3090", "rtx-3090", "rtx-3060"}; one for a single device. Throws InputError for a name
/// that is missing, and for too many devices.
std::vector<std::string> device_names(const std::string& hardware);

/// Whether the text names several devices of one machine.
bool names_machine(std::string_view hardware);

/// Sets the devices and the pipeline stages of the request. Throws InputError for unknown devices, and for a --pp
/// that differs from the number of devices.
void read_machine(Request& r, const std::string& hardware);

/// Whether the machine has devices of several kinds.
bool has_unlike_devices(const Request& r);

/// Whether an engine runs the request's batch in pipeline stages.
bool has_stages(const Request& r);

/// The device of a stage.
const HardwareCard& card_of_stage(const Request& r, Count stage);

/// Runs of neighboring devices of the same kind, with the length of each run.
std::vector<std::pair<const HardwareCard*, Count>> devices_by_kind(const Request& r);

/// The request for the device of a single stage, at its engine's rates. The caller sets Request::stage.
Request on_device_of_stage(const Request& r, Count stage);

/// Throws InputError if the command does not estimate machines of several devices, or if the memory or time of the
/// pipeline stages is not modeled.
void check_stages(const Request& r);

}  // namespace llmcalc
