#pragma once
/// Notes about a plan's use of host memory.

#include "ask/request/request.hpp"
#include "report/note.hpp"

namespace llmcalc {

/// Bytes per GPU in host memory, for the stage that uses the most.
Bytes most_on_host(const Request& r);

/// Note on the host memory that a plan needs per GPU and per node, for hardware without a host capacity to check it
/// against. Empty if the plan needs no host memory or has been checked.
Note host_memory_note(const Request& r, Bytes per_gpu);

/// A note that the host's updates count as 0 s, if its memory bandwidth is unknown; else empty.
Note host_updates_note(const Request& r);

}  // namespace llmcalc
