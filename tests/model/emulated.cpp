#include "tests/model/emulated.hpp"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <new>
#include <span>
#include <stdexcept>
#include <string_view>
#include <typeinfo>

#include "model/cuda/backend.hpp"
#include "model/cuda/open.hpp"
#include "tests/model/emulated_block.hpp"

namespace llmcalc::test {
namespace {

/// A thread that never waits for others.
struct Lone {
  Count block_, blocks_;
  int index_, size_;
  Count block() const { return block_; }
  Count blocks() const { return blocks_; }
  int index() const { return index_; }
  int size() const { return size_; }
};

class EmulatedDevice;

/// Counterpart of model::cuda::GpuGraph: recorded launches and copies with their parameters. The graph owns memory
/// allocated during recording and fills it with NaN before and after use.
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

/// The compiled kernels, and whether each was launched.
std::map<std::string, bool>& kinds() {
  static std::map<std::string, bool> all;
  return all;
}
template <typename Kernel>
inline bool& launched = kinds()[typeid(Kernel).name()];

class EmulatedDevice {
 public:
  ~EmulatedDevice() {
    const char* const file = std::getenv("LLMCALC_EMULATOR_LOG");
    if (file == nullptr) return;
    std::ofstream to(file);
    for (const auto& [name, ran] : kinds()) to << (ran ? "ran " : "never ") << name << '\n';
  }
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
    if (recording_ != nullptr) throw std::runtime_error("the host reads results during the recording");
    copy(to, from, bytes);
  }
  void copy(void* to, const void* from, Count bytes) {
    if (bytes > 0) ask([=] { std::memcpy(to, from, static_cast<std::size_t>(bytes)); });  // both may be null otherwise
  }
  void wait() {
    if (recording_ != nullptr) throw std::runtime_error("the host waits during the recording");
  }
  Count capacity() const { return 0; }
  Count available() const { return 0; }
  const WarpCounts& counts() const { return blocks_.counts(); }

  template <typename Kernel>
  void launch(const Kernel& kernel, Count blocks, int threads, Count room) {
    ++launches_;
    launched<Kernel> = true;
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
  /// Runs f now, or at each launch of the current recording.
  template <typename F>
  void ask(const F& f) {
    if (recording_ != nullptr)
      recording_->add(f);
    else
      f();
  }
  template <typename Kernel>
  void run(const Kernel& kernel, Count blocks, int threads, Count room) {
    const Emulation how = emulation();
    const int size = model::cuda::FixedSize<Kernel> ? threads : std::min(threads, how.most_threads);
    blocks_.run(kernel, blocks, size, room, how);
  }
  template <typename Kernel>
  requires(Kernel::alone)  // no waits, so no fibers
      void run(const Kernel& kernel, Count given, int threads, Count) {
    const bool few = threads > emulation().most_threads;
    const Count blocks = few ? std::min<Count>(given, 3) : given;
    const int size = few ? 5 : threads;
    for (Count b = 0; b < blocks; ++b)
      for (int i = 0; i < size; ++i) kernel(Lone{b, blocks, i, size});
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
  Blocks blocks_;
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

Emulation emulation() {
  const auto told = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  Emulation how;
  if (const std::string most = told("LLMCALC_EMULATOR_THREADS"); !most.empty()) how.most_threads = std::stoi(most);
  how.last_first = told("LLMCALC_EMULATOR_LAST_FIRST") == "1";
  const std::string without = told("LLMCALC_EMULATOR_WITHOUT");
  if (const std::size_t colon = without.rfind(':'); colon != std::string::npos) {
    how.file = without.substr(0, colon);
    how.line = static_cast<unsigned>(std::stoi(without.substr(colon + 1)));
  }
  return how;
}

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
