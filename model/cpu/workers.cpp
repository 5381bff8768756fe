#include "model/cpu/workers.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>

namespace llmcalc::model {

namespace {

/// Yields the core's execution units to its other hardware thread.
void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Returns when done(x) is true. Spins for less time than a sleep and wake-up take, then sleeps until x changes.
template <typename F>
void await(const std::atomic<int>& x, const F& done) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds moment{20};
  int now = x.load(std::memory_order_acquire);
  for (const auto end = Clock::now() + moment; !done(now) && Clock::now() < end;
       now = x.load(std::memory_order_acquire))
    pause();
  for (; !done(now); now = x.load(std::memory_order_acquire)) x.wait(now, std::memory_order_acquire);
}

struct Loop {
  Count n = 0, stretch = 1;
  RangeBody body = nullptr;
  const void* context = nullptr;
};

/// Whether this thread is running segments of a loop.
thread_local bool at_work = false;

class Workers {
 public:
  Workers() : threads_(asked_for()) {}

  Count threads() const { return threads_; }
  void set_threads(Count n) {
    const std::lock_guard alone(one_loop_);
    threads_ = std::max<Count>(1, n);
  }

  /// Runs a loop. Returns false without running it if another loop is running.
  bool run(const Loop& loop) {
    const std::unique_lock alone(one_loop_, std::try_to_lock);
    if (!alone) return false;
    hire();
    begin(loop);
    work(loop);
    end();
    return true;
  }

 private:
  static Count asked_for() {
    Count n = 0;
    if (const char* said = std::getenv("OMP_NUM_THREADS"))
      std::from_chars(said, said + std::string_view(said).size(), n);
    return n > 0 ? n : std::max<Count>(1, std::thread::hardware_concurrency());
  }

  /// Starts the threads, or fewer if the system refuses more. They are never joined; when the program ends, they sleep.
  void hire() {
    try {
      for (; hired_ < threads_ - 1; ++hired_) std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) {
      threads_ = hired_ + 1;
    }
  }

  void begin(const Loop& loop) {
    {
      const std::lock_guard lock(mutex_);
      loop_ = loop;
      open_ = true;
      next_.store(0, std::memory_order_relaxed);
    }
    number_.fetch_add(1, std::memory_order_release);
    number_.notify_all();
  }

  /// Closes the loop and waits until all workers have left it.
  void end() {
    {
      const std::lock_guard lock(mutex_);
      open_ = false;
    }
    await(inside_, [](int n) { return n == 0; });
  }

  void work(const Loop& l) {
    at_work = true;
    for (Count at; (at = next_.fetch_add(l.stretch, std::memory_order_relaxed)) < l.n;)
      l.body(l.context, at, std::min(l.n, at + l.stretch));
    at_work = false;
  }

  bool enter(Loop& loop) {
    const std::lock_guard lock(mutex_);
    if (!open_ || inside_.load(std::memory_order_relaxed) >= threads_ - 1) return false;
    inside_.fetch_add(1, std::memory_order_relaxed);
    loop = loop_;
    return true;
  }

  void serve() {
    for (int seen = 0;;) {
      await(number_, [=](int n) { return n != seen; });
      seen = number_.load(std::memory_order_acquire);
      if (Loop loop; enter(loop)) {
        work(loop);
        inside_.fetch_sub(1, std::memory_order_release);
        inside_.notify_one();
      }
    }
  }

  std::mutex one_loop_, mutex_;
  std::atomic<Count> threads_;
  Count hired_ = 0;
  Loop loop_;
  bool open_ = false;
  std::atomic<Count> next_{0};
  std::atomic<int> number_{0};  ///< index of the current loop
  std::atomic<int> inside_{0};  ///< number of workers in the loop, except the thread that runs it
};

/// The workers. Never destroyed, because their threads outlive static objects.
Workers& workers() {
  static Workers* const one = new Workers;
  return *one;
}

}  // namespace

Count threads() { return workers().threads(); }
void set_threads(Count n) { workers().set_threads(n); }

void share_out(Count n, bool enough, RangeBody body, const void* context) {
  if (!enough) return body(context, 0, n);
  constexpr Count stretches = 8;  // segments per thread
  const Count size = std::max<Count>(1, n / (stretches * threads()));
  if (n <= size || at_work || threads() == 1 || !workers().run({n, size, body, context})) body(context, 0, n);
}

}  // namespace llmcalc::model
