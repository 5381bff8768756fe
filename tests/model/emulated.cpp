#include "tests/model/emulated.hpp"

#include <ucontext.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <new>
#include <span>
#include <stdexcept>
#include <string_view>

#include "model/cuda/backend.hpp"
#include "model/cuda/open.hpp"
#include "tests/model/emulated_warp.hpp"

namespace llmcalc::test {
namespace {

constexpr std::size_t warp = model::cuda::warp;

/// The threads of one block, each on a stack of its own, taking turns: a warp until all its lanes wait for the block or
/// are done, then the next. A lane that waits for its warp goes on in its next turn: the others have come as far by
/// then, since every turn begins with the first lane and ends with the last. Contexts start the stacks; jumps, which
/// need no system call, change them.
class Block {
 public:
  explicit Block(int size) : fibers_(static_cast<std::size_t>(size)) {
    for (Fiber& f : fibers_) f.stack.resize(std::size_t{1} << 16);
  }

  /// f(i) on every thread i, until all have returned.
  void run(const std::function<void(int)>& f) {
    body_ = &f;
    running = this;
    left_ = fibers_.size();
    for (Fiber& fiber : fibers_) fiber.state = Fiber::fresh;
    while (left_ > 0) {
      for (std::size_t first = 0; first < fibers_.size(); first += warp) run_warp(first);
      for (Fiber& fiber : fibers_)
        if (fiber.state == Fiber::barred) fiber.state = Fiber::waiting;
    }
  }
  /// Lets every other lane of the warp come as far; or every other thread.
  void wait_for_warp() { yield(Fiber::waiting); }
  void wait_for_block() { yield(Fiber::barred); }

 private:
  /// A place in a thread, as __builtin_setjmp keeps it: what _setjmp does, without its check of the stack's bounds,
  /// which under AddressSanitizer takes two system calls for every jump.
  using Place = void* [5];
  struct Fiber {
    enum State { fresh, waiting, barred, over } state = over;
    Place here;
    std::vector<char> stack;
  };

  void run_warp(std::size_t first) {
    for (bool more = true; more;) {
      more = false;
      for (now_ = first; now_ < first + warp; ++now_)
        if (fibers_[now_].state <= Fiber::waiting) {
          turn(fibers_[now_]);
          more = true;
        }
    }
  }
  [[gnu::noinline, gnu::no_sanitize("address")]] static void jump(Place& to) { __builtin_longjmp(to, 1); }
  [[gnu::noinline]] void yield(Fiber::State state) {
    fibers_[now_].state = state;
    if (__builtin_setjmp(fibers_[now_].here) == 0) jump(scheduler_);
  }
  [[gnu::noinline]] void turn(Fiber& f) {
    if (__builtin_setjmp(scheduler_) != 0) return;
    if (f.state == Fiber::waiting) jump(f.here);
    f.state = Fiber::waiting;
    ucontext_t start;
    getcontext(&start);
    start.uc_stack.ss_sp = f.stack.data();
    start.uc_stack.ss_size = f.stack.size();
    start.uc_link = nullptr;
    makecontext(&start, enter, 0);
    setcontext(&start);
  }
  static void enter() {
    Block& b = *running;
    (*b.body_)(static_cast<int>(b.now_));
    b.fibers_[b.now_].state = Fiber::over;
    --b.left_;
    jump(b.scheduler_);
  }

  static inline Block* running = nullptr;
  std::vector<Fiber> fibers_;
  Place scheduler_;
  const std::function<void(int)>* body_ = nullptr;
  std::size_t now_ = 0, left_ = 0;
};

/// What model::cuda::GpuThread is on a GPU.
class Thread {
 public:
  Thread(Block& b, Count block, Count blocks, int index, int size, std::span<std::byte> room,
         std::span<Exchange, 2> exchange, WarpCounts& counts)
      : b_(b),
        block_(block),
        blocks_(blocks),
        index_(index),
        size_(size),
        room_(room.data()),
        lane_(lane(), exchange, room, counts, Wait{&b}) {}
  Count block() const { return block_; }
  Count blocks() const { return blocks_; }
  int index() const { return index_; }
  int size() const { return size_; }
  unsigned lane() const { return static_cast<unsigned>(index_) % warp; }
  void sync() const { b_.wait_for_block(); }
  std::byte* room() const { return room_; }
  template <typename P>
  P stream(const P* from) const {
    return *from;
  }
  float exp(float x) const { return model::exp_of(x); }
  template <typename W>
  W across(W v, int bits) const {
    return lane_.across(v, static_cast<unsigned>(bits));
  }
  void mma(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) const { lane_.mma(c, a, b0, b1); }
  void ldmatrix(unsigned (&r)[4], unsigned at) const { lane_.ldmatrix(r, at, false); }
  void ldmatrix_transposed(unsigned (&r)[4], unsigned at) const { lane_.ldmatrix(r, at, true); }
  template <int bytes>
  void cp_async(unsigned at, const void* from, bool there) const {
    lane_.cp_async(at, from, there, bytes);
  }
  void cp_async_commit() const { lane_.cp_async_commit(); }
  template <int left>
  void cp_async_wait() const {
    lane_.cp_async_wait(left);
  }

 private:
  struct Wait {
    Block* b;
    void operator()() const { b->wait_for_warp(); }
  };

  Block& b_;
  Count block_, blocks_;
  int index_, size_;
  std::byte* room_;
  mutable WarpLane<Wait> lane_;
};

/// A thread that waits for nobody.
struct Lone {
  static constexpr int threads = 5;
  Count block_, blocks_;
  int index_;
  Count block() const { return block_; }
  Count blocks() const { return blocks_; }
  int index() const { return index_; }
  int size() const { return threads; }
};

class EmulatedDevice;

/// What model::cuda::GpuGraph is on a GPU: launches and copies with their parameters, to be done again. What is taken
/// in it is its own memory, full of NaN before and after it is used.
class EmulatedGraph {
 public:
  EmulatedGraph(EmulatedDevice& device, Count room)
      : device_(device), host_(static_cast<std::size_t>(room)), there_(host_.size()) {}
  ~EmulatedGraph();
  EmulatedGraph(const EmulatedGraph&) = delete;
  EmulatedGraph& operator=(const EmulatedGraph&) = delete;

  void begin();
  void end();
  struct Room {
    std::byte *host, *device;
  };
  Room room(Count bytes) {
    const std::size_t from = used_;
    used_ += (static_cast<std::size_t>(bytes) + 15) / 16 * 16;
    if (used_ > host_.size()) throw std::runtime_error("a recording's room is too small");
    return {host_.data() + from, there_.data() + from};
  }
  template <typename F>
  void fill(const F& f) {
    f();
  }
  void launch() {
    std::copy(host_.begin(), host_.end(), there_.begin());
    for (const auto& node : nodes_) node();
  }

  void add(std::function<void()> node) { nodes_.push_back(std::move(node)); }
  void* take(Count bytes) {
    const auto n = static_cast<std::size_t>(std::max<Count>(bytes, 1));
    std::byte* const p = memory_.emplace_back(std::make_unique<std::byte[]>(n)).get();
    live_[p] = n;
    add([p, n] { std::memset(p, 0xff, n); });
    return p;
  }
  void give(void* p) {
    const auto at = live_.find(p);
    if (at == live_.end()) throw std::logic_error("memory from before is released in a recording");
    add([p, n = at->second] { std::memset(p, 0xff, n); });
    live_.erase(at);
  }

 private:
  EmulatedDevice& device_;
  std::vector<std::byte> host_, there_;
  std::size_t used_ = 0;
  std::vector<std::function<void()>> nodes_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::map<void*, std::size_t> live_;
};

class EmulatedDevice {
 public:
  using Graph = EmulatedGraph;
  EmulatedGraph* recording() const { return recording_; }
  void set_recording(EmulatedGraph* graph) { recording_ = graph; }

  void* allocate(Count bytes) {
    if (recording_ != nullptr) return recording_->take(bytes);
    void* p = std::malloc(static_cast<std::size_t>(bytes));
    if (p == nullptr) throw std::bad_alloc();
    return p;
  }
  void release(void* p, Count) { recording_ != nullptr ? recording_->give(p) : std::free(p); }
  void fill(void* p, int byte, Count bytes) {
    ask([=] { std::memset(p, byte, static_cast<std::size_t>(bytes)); });
  }
  void upload(void* to, const void* from, Count bytes) {
    if (recording_ == nullptr) return copy(to, from, bytes);
    const EmulatedGraph::Room room = recording_->room(bytes);
    std::memcpy(room.host, from, static_cast<std::size_t>(bytes));
    copy(to, room.device, bytes);
  }
  void download(void* to, const void* from, Count bytes) {
    if (recording_ != nullptr) throw std::runtime_error("the host reads results in it");
    copy(to, from, bytes);
  }
  void copy(void* to, const void* from, Count bytes) {
    ask([=] { std::memcpy(to, from, static_cast<std::size_t>(bytes)); });
  }
  void wait() {
    if (recording_ != nullptr) throw std::runtime_error("the host waits in it");
  }
  Count capacity() const { return 0; }
  Count available() const { return 0; }
  const WarpCounts& counts() const { return counts_; }

  template <typename Kernel>
  void launch(const Kernel& kernel, Count blocks, int threads, Count room) {
    ++launches_;
    ask([this, kernel, blocks, threads, room] { run(kernel, blocks, threads, room); });
  }

  bool matmul(const model::MatmulShape& s, bool from_bf16, bool to_f32, const void* a, const void* b, void* c,
              bool = true, const void* given_bias = nullptr) {
    const void* const bias = epilogues_ ? given_bias : nullptr;
    ask([=] {
      if (!from_bf16) return product<float, float>(s, a, b, bias, c);
      to_f32 ? product<model::bf16, float>(s, a, b, bias, c) : product<model::bf16, model::bf16>(s, a, b, bias, c);
    });
    return bias != nullptr;
  }
  void set_epilogues(bool on) { epilogues_ = on; }
  std::int64_t launches() const { return launches_; }

 private:
  /// Done now, or whenever the recording is launched.
  template <typename F>
  void ask(const F& f) {
    if (recording_ != nullptr)
      recording_->add(f);
    else
      f();
  }
  template <typename Kernel>
  void run(const Kernel& kernel, Count blocks, int threads, Count room) {
    // Few enough that tests end; other kernels must do with any number of threads that is whole warps.
    const int size = model::cuda::FixedSize<Kernel> ? threads : std::min(threads, 64);
    std::vector<std::byte> shared(static_cast<std::size_t>(room));
    std::vector<std::array<Exchange, 2>> exchanges(static_cast<std::size_t>(size) / warp);
    Block& fibers = block_of(size);
    for (Count b = 0; b < blocks; ++b) {
      std::fill(shared.begin(), shared.end(), std::byte{0xff});
      fibers.run([&](int i) {
        kernel(Thread(fibers, b, blocks, i, size, shared, exchanges[static_cast<std::size_t>(i) / warp], counts_));
      });
    }
  }
  template <typename Kernel>
  requires(Kernel::alone)  // nothing waits in it: no fibers
      void run(const Kernel& kernel, Count given, int, Count) {
    const Count blocks = std::min<Count>(given, 3);
    for (Count b = 0; b < blocks; ++b)
      for (int i = 0; i < Lone::threads; ++i) kernel(Lone{b, blocks, i});
  }
  Block& block_of(int size) {
    std::unique_ptr<Block>& b = blocks_.at(static_cast<std::size_t>(size) / warp);
    if (b == nullptr) b = std::make_unique<Block>(size);
    return *b;
  }
  template <typename A, typename C>
  static void product(const model::MatmulShape& s, const void* pa, const void* pb, const void* pbias, void* pc) {
    const A *a = static_cast<const A*>(pa), *b = static_cast<const A*>(pb);
    const C* bias = static_cast<const C*>(pbias);
    C* c = static_cast<C*>(pc);
    for (Count i = 0; i < s.m; ++i)
      for (Count j = 0; j < s.n; ++j) {
        double sum = s.add ? static_cast<double>(model::wide(c[i * s.ldc + j])) : 0;
        for (Count k = 0; k < s.k; ++k)
          sum += static_cast<double>(model::wide(s.transpose_a ? a[k * s.lda + i] : a[i * s.lda + k])) *
                 static_cast<double>(model::wide(s.transpose_b ? b[j * s.ldb + k] : b[k * s.ldb + j]));
        if (bias != nullptr) sum += static_cast<double>(model::wide(bias[j]));
        c[i * s.ldc + j] = static_cast<C>(static_cast<float>(sum));
      }
  }
  std::array<std::unique_ptr<Block>, 5> blocks_;
  WarpCounts counts_;
  std::int64_t launches_ = 0;
  bool epilogues_ = false;
  EmulatedGraph* recording_ = nullptr;
};

EmulatedGraph::~EmulatedGraph() {
  if (device_.recording() == this) device_.set_recording(nullptr);
}
void EmulatedGraph::begin() { device_.set_recording(this); }
void EmulatedGraph::end() {
  device_.set_recording(nullptr);
  if (!live_.empty()) throw std::logic_error("memory of a recording outlives it");
}

EmulatedDevice& the_device() {
  static EmulatedDevice one;
  return one;
}

std::unique_ptr<model::Backend> made(model::Number number, bool poison, model::Instruments* instruments) {
  EmulatedDevice& device = the_device();
  if (number == model::Number::f32)
    return std::make_unique<model::cuda::Cuda<float, EmulatedDevice>>(device, "emulated, float32", poison, instruments);
  if (number == model::Number::bf16)
    return std::make_unique<model::cuda::Cuda<model::bf16, EmulatedDevice>>(device, "emulated, bfloat16", poison,
                                                                            instruments);
  throw std::invalid_argument("a GPU has float32 and bfloat16");
}

}  // namespace

std::unique_ptr<model::Backend> make_emulated_with(model::Number number, model::Instruments& instruments) {
  return made(number, false, &instruments);
}
std::unique_ptr<model::Backend> make_emulated(model::Number number, bool poison) {
  return made(number, poison, nullptr);
}

void add_biases_in_epilogues(bool on) { the_device().set_epilogues(on); }

std::int64_t launches() { return the_device().launches(); }

const WarpCounts& warp_counts() { return the_device().counts(); }

std::vector<MakeBackend> gpus() {
  const char* const there = std::getenv("LLMCALC_TEST_GPU");
  if (there == nullptr) return {make_emulated};
  const MakeBackend real = [](model::Number n, bool poison) { return model::make_cuda(n, poison); };
  if (std::string_view(there) == "only") return {real};
  return {make_emulated, real};
}

}  // namespace llmcalc::test
