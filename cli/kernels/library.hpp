#pragma once
/// C interface of the kernel library, libllmcalc_kernels.so. The library contains a separate copy of the command-line
/// code, so no C++ object crosses the interface and no exception leaves it.

#define LLMCALC_EXPORT __attribute__((visibility("default")))

/// Runs `words`, a command and its arguments. Returns the exit code; prints answers and errors as the program does.
extern "C" LLMCALC_EXPORT int llmcalc_kernels(int count, const char* const* words);
