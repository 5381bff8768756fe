#pragma once
/// Signals that request the program to stop: SIGINT from Ctrl-C, SIGTERM and SIGHUP from timeout, Slurm and ssh.

#include <atomic>

namespace llmcalc {

/// Makes these signals end the program at once, with a message on stderr and exit code 128 + signal number.
void stop_at_once();

/// Makes the first of these signals set the returned flag. A second signal ends the program; so does the first, after
/// about a second.
const std::atomic<bool>& stop_flag();

/// As stop_flag(), but without the time limit, for results that must be saved.
const std::atomic<bool>& save_flag();

/// The exit code of a run whose flag was set: 130 after Ctrl-C, as in shells.
int stopped_code();

}  // namespace llmcalc
