#pragma once
/// Metrics and facts of a running server, over HTTP.

#include "cli/kernels/server/server_address.hpp"
#include "evidence/bench/bench_run.hpp"
#include "evidence/bench/exposition.hpp"

namespace llmcalc {

/// The server's metrics. Throws InputError if it does not serve them.
Exposition server_metrics(const ServerAddress& server);

/// Engine, version, model and layout, as far as the server states them; without tests. Throws InputError for an engine
/// that is not known.
BenchRun server_facts(const ServerAddress& server, const Exposition& metrics);

}  // namespace llmcalc
