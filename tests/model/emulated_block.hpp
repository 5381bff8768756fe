#pragma once
/// Thread blocks on the CPU. Every thread is a fiber; fibers take turns and synchronize at the waits of a kernel.

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/cuda/thread.hpp"
#include "tests/model/emulated_warp.hpp"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace llmcalc::test {

/// How kernels run. scripts/emulate and scripts/barrier-mutants set this through the environment.
struct Emulation {
  int most_threads = 64;    ///< per block, few enough for fast tests; LLMCALC_EMULATOR_THREADS
  bool last_first = false;  ///< LLMCALC_EMULATOR_LAST_FIRST=1: warps and lanes take turns in reverse order
  std::string file;         ///< LLMCALC_EMULATOR_WITHOUT=FILE:LINE: barriers and waits on this line are skipped
  unsigned line = 0;

  bool without(const Place& at) const { return at.line() == line && std::string_view(at.file_name()).ends_with(file); }
};
Emulation emulation();

/// The threads of one block, each with its own stack, taking turns: a warp runs until all its lanes wait for the
/// block or are done, then the next warp runs. A lane that waits for its warp continues in its next turn: every round
/// begins with the same lane, so the others have caught up by then. Lanes or threads that wait for each other at
/// different places are rejected. Contexts start each stack once; jumps then switch between them without system
/// calls.
class Block {
 public:
  explicit Block(int size) : fibers_(static_cast<std::size_t>(size)) {
    for (Fiber& f : fibers_) f.stack.resize(std::size_t{1} << 16);
  }

  /// Runs f(i) on every thread i until all have returned.
  void run(const std::function<void(int)>& f, const Emulation& how) {
    body_ = &f;
    how_ = &how;
    running = this;
    left_ = fibers_.size();
    for (Fiber& fiber : fibers_) fiber.begin();
    while (left_ > 0) {
      for (std::size_t i = 0; i < fibers_.size(); i += lanes)
        run_warp(turn_of(i / lanes, fibers_.size() / lanes) * lanes);
      check_met("threads of a block", 0, fibers_.size(), lanes);
      for (Fiber& fiber : fibers_)
        if (fiber.state == Fiber::barred) fiber.state = Fiber::waiting;
    }
  }
  /// Yields until every other lane of the warp, or every other thread of the block, has reached the same point.
  void wait_for_warp(const Place& at) { yield(Fiber::waiting, at); }
  void wait_for_block(const Place& at) { yield(Fiber::barred, at); }
  const Emulation& how() const { return *how_; }

 private:
  static constexpr std::size_t lanes = lanes_of_warp;
  /// State of __builtin_setjmp. Unlike _setjmp it does not check stack bounds, which takes two system calls per jump
  /// under ASan. The callers of jump() are exempt from ASan for the same reason.
  using Jump = void* [5];
  [[gnu::noinline, gnu::no_sanitize("address")]] static void jump(Jump& to) { __builtin_longjmp(to, 1); }

  struct Fiber {
    enum State { fresh, waiting, barred, over } state = over;
    Place at;
    Jump here;
    std::vector<char> stack;
    bool started = false;

    /// A fiber that returned continues with the next block; one abandoned in a wait is restarted.
    void begin() { state = started && state == over ? waiting : fresh; }
    bool with(const Fiber& o) const {
      return state == o.state && (state == over || (at.line() == o.at.line() && at.column() == o.at.column() &&
                                                    std::string_view(at.file_name()) == o.at.file_name()));
    }
    std::string text() const {
      if (state == over) return "the kernel's end";
      return std::string(at.file_name()) + ":" + std::to_string(at.line());
    }
  };

  std::size_t turn_of(std::size_t i, std::size_t n) const { return how_->last_first ? n - 1 - i : i; }
  void run_warp(std::size_t first) {
    const std::span<Fiber> warp(fibers_.data() + first, lanes);
    while (std::any_of(warp.begin(), warp.end(), [](const Fiber& f) { return f.state <= Fiber::waiting; })) {
      for (std::size_t i = 0; i < lanes; ++i) {
        now_ = first + turn_of(i, lanes);
        if (fibers_[now_].state <= Fiber::waiting) turn(fibers_[now_]);
      }
      check_met("lanes of a warp", first, first + lanes, 1);
    }
  }
  /// On a GPU the result is undefined unless all threads reach the same call.
  void check_met(const char* who, std::size_t first, std::size_t end, std::size_t step) const {
    for (std::size_t i = first + step; i < end; i += step)
      if (!fibers_[i].with(fibers_[first]))
        throw std::logic_error(std::string(who) + " meet at unlike places: " + fibers_[first].text() + " and " +
                               fibers_[i].text());
  }
  [[gnu::noinline, gnu::no_sanitize("address")]] void yield(Fiber::State state, const Place& at) {
    fibers_[now_].state = state;
    fibers_[now_].at = at;
    if (__builtin_setjmp(fibers_[now_].here) == 0) jump(scheduler_);
  }
  [[gnu::noinline, gnu::no_sanitize("address")]] void turn(Fiber& f) {
    if (__builtin_setjmp(scheduler_) != 0) return;
    if (f.state == Fiber::waiting) jump(f.here);
    f.started = true;
#ifdef __SANITIZE_ADDRESS__
    ASAN_UNPOISON_MEMORY_REGION(f.stack.data(), f.stack.size());  // abandoned calls never returned
#endif
    ucontext_t start;
    getcontext(&start);
    start.uc_stack.ss_sp = f.stack.data();
    start.uc_stack.ss_size = f.stack.size();
    start.uc_link = nullptr;
    makecontext(&start, enter, 0);
    setcontext(&start);
  }
  static void enter() {
    for (;;) {
      Block& b = *running;
      (*b.body_)(static_cast<int>(b.now_));
      --b.left_;
      b.yield(Fiber::over, Place::current());
    }
  }

  static inline Block* running = nullptr;
  std::vector<Fiber> fibers_;
  Jump scheduler_;
  const std::function<void(int)>* body_ = nullptr;
  const Emulation* how_ = nullptr;
  std::size_t now_ = 0, left_ = 0;
};

/// The counterpart of model::cuda::GpuThread. Calls that wait for other threads pass on their source location.
class Thread {
 public:
  Thread(Block& b, Count block, Count blocks, int index, int size, std::span<std::byte> room,
         std::span<CollectiveCall, 2> collective_call, WarpCounts& counts)
      : b_(b),
        block_(block),
        blocks_(blocks),
        index_(index),
        size_(size),
        room_(room.data()),
        lane_(lane(), collective_call, room, counts, Wait{&b}) {}
  Count block() const { return block_; }
  Count blocks() const { return blocks_; }
  int index() const { return index_; }
  int size() const { return size_; }
  unsigned lane() const { return static_cast<unsigned>(index_) % lanes_of_warp; }
  void sync(const Place& at = Place::current()) const {
    if (!b_.how().without(at)) b_.wait_for_block(at);
  }
  std::byte* room() const { return room_; }
  template <typename P>
  P stream(const P* from) const {
    return *from;
  }
  float exp(float x) const { return model::exp_of(x); }
  template <typename W>
  W across(W v, int bits, const Place& at = Place::current()) const {
    return lane_.across(v, static_cast<unsigned>(bits), at);
  }
  void mma(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, const Place& at = Place::current()) const {
    lane_.mma(c, a, b0, b1, at);
  }
  void ldmatrix(unsigned (&r)[4], unsigned from, const Place& at = Place::current()) const {
    lane_.ldmatrix(r, from, false, at);
  }
  void ldmatrix_transposed(unsigned (&r)[4], unsigned from, const Place& at = Place::current()) const {
    lane_.ldmatrix(r, from, true, at);
  }
  template <int bytes>
  void cp_async(unsigned at, const void* from, bool there) const {
    lane_.cp_async(at, from, there, bytes);
  }
  void cp_async_commit(const Place& at = Place::current()) const {
    if (!b_.how().without(at)) lane_.cp_async_commit();
  }
  template <int left>
  void cp_async_wait(const Place& at = Place::current()) const {
    if (!b_.how().without(at)) lane_.cp_async_wait(left);
  }

 private:
  struct Wait {
    Block* b;
    void operator()(const Place& at) const { b->wait_for_warp(at); }
  };

  Block& b_;
  Count block_, blocks_;
  int index_, size_;
  std::byte* room_;
  mutable WarpLane<Wait> lane_;
};

/// Runs the blocks of a launch one after another. Their shared memory starts as NaN.
class Blocks {
 public:
  template <typename Kernel>
  void run(const Kernel& kernel, Count blocks, int size, Count room, const Emulation& how) {
    std::vector<std::byte> shared(static_cast<std::size_t>(room));
    std::vector<std::array<CollectiveCall, 2>> collectives(static_cast<std::size_t>(size) / lanes_of_warp);
    Block& fibers = of_size(size);
    const auto body = [&](Count b, int i) {
      kernel(Thread(fibers, b, blocks, i, size, shared, collectives[static_cast<std::size_t>(i) / lanes_of_warp],
                    counts_));
    };
    for (Count b = 0; b < blocks; ++b) {
      std::fill(shared.begin(), shared.end(), std::byte{0xff});
      fibers.run([&](int i) { body(b, i); }, how);
    }
  }
  const WarpCounts& counts() const { return counts_; }

 private:
  Block& of_size(int size) {
    std::unique_ptr<Block>& b = by_warps_.at(static_cast<std::size_t>(size) / lanes_of_warp);
    if (b == nullptr) b = std::make_unique<Block>(size);
    return *b;
  }
  std::array<std::unique_ptr<Block>, 33> by_warps_;  ///< up to 1024 threads
  WarpCounts counts_;
};

}  // namespace llmcalc::test
