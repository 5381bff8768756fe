#pragma once
/// The threads that the kernels share. Idle threads spin for some microseconds in case the next loop begins soon, then
/// sleep, which frees their cores; OpenMP's threads would keep spinning.

#include "calc/units.hpp"

namespace llmcalc::model {

/// Number of threads that run a loop: the environment variable OMP_NUM_THREADS, otherwise the number of cores.
Count threads();
void set_threads(Count n);

/// A loop's body: runs indices [first, last) of the loop that `context` describes.
using RangeBody = void (*)(const void* context, Count first, Count last);

/// Runs the indices below n in segments on all threads; returns when all are done. Threads take segments dynamically,
/// so a preempted thread does not delay the others. Uses only the calling thread inside another loop, while another
/// thread's loop runs, or if there is not `enough` work for two threads.
void share_out(Count n, bool enough, RangeBody body, const void* context);

/// Calls f(i) for every i below n, in any order, on all threads, with one copy of f's code.
template <typename F>
void share_out(Count n, bool enough, const F& f) {
  share_out(
      n, enough,
      [](const void* context, Count first, Count last) {
        const F& mine = *static_cast<const F*>(context);
        for (Count i = first; i < last; ++i) mine(i);
      },
      &f);
}
template <typename F>
void share_out(Count n, const F& f) {
  share_out(n, true, f);
}

}  // namespace llmcalc::model
