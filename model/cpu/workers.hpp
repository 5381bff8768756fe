#pragma once
/// The threads that the kernels share. Idle threads spin for some microseconds, in which the next loop may begin, and
/// then sleep, which frees their cores; OpenMP's threads would keep spinning.

#include "calc/units.hpp"

namespace llmcalc::model {

/// Threads that a loop runs on: OMP_NUM_THREADS of the environment, else as many as this process has cores.
Count threads();
void set_threads(Count n);

/// A loop's body: numbers [first, last) of what `context` points to.
using RangeBody = void (*)(const void* context, Count first, Count last);

/// Runs the numbers below n in stretches on all threads; returns when all are done. Threads take stretches dynamically,
/// so that a preempted thread holds up nobody. Runs on the calling thread alone inside such a loop, or while another
/// thread's loop is running, or if there is not `enough` work for two.
void share_out(Count n, bool enough, RangeBody body, const void* context);

/// f(i) for every i below n, in any order, on all threads: one copy of f's code.
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
