#pragma once
/// Notes about memory of the host that a plan uses.

#include <string>

#include "ask/request/request.hpp"

namespace llmcalc {

/// Bytes that a GPU has on the host, that of the stage which has most there.
Bytes most_on_host(const Request& r);

/// How much memory of the host a plan needs per GPU and per node, where the hardware does not state what there is, and
/// nothing checks it; empty: it needs none, or it is checked.
std::string host_memory_note(const Request& r, Bytes per_gpu);

/// That the host's updates count as 0 s, where the bandwidth of its memory is not known; empty: they do not.
std::string host_updates_note(const Request& r);

}  // namespace llmcalc
