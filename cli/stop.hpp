#pragma once
/// Signals that request the program to stop: SIGINT from Ctrl-C, SIGTERM and SIGHUP from timeout, Slurm and ssh.

#include <atomic>

namespace llmcalc {

/// From now on such a signal ends the program at once, with a message on stderr and exit code 128 + signal number.
void stop_at_once();

/// From now on the first such signal sets this flag; the second one, or the first a second later, ends the program.
const std::atomic<bool>& stop_flag();

/// The same without the time limit, for results that must be saved.
const std::atomic<bool>& save_flag();

/// The exit code of a run whose flag was set: 130 after Ctrl-C, as in shells.
int stopped_code();

}  // namespace llmcalc
