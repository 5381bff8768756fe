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

/// A note that optimizer updates on the host count as 0 s because its memory bandwidth is unknown; empty if the
/// bandwidth is known or the host does no updates.
Note host_updates_note(const Request& r);

}  // namespace llmcalc
