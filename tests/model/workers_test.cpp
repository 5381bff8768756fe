// Threads shared by the kernels: each index runs once, and waiting threads sleep.

#include "model/cpu/workers.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>
#include <vector>

#include "tests/catch.hpp"

using namespace llmcalc;
using namespace llmcalc::model;

namespace {

/// Sets the number of threads for the object's lifetime.
class Threads {
 public:
  explicit Threads(Count n) { set_threads(n); }
  ~Threads() { set_threads(had_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  Count had_ = threads();
};

bool each_once(Count n) {
  std::vector<std::atomic<int>> times(static_cast<std::size_t>(n));
  share_out(n, [&](Count i) { ++times[static_cast<std::size_t>(i)]; });
  return std::all_of(times.begin(), times.end(), [](int t) { return t == 1; });
}

/// CPU seconds of all threads of this process.
double computed() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void sleep_for(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

}  // namespace

TEST_CASE("a parallel loop on all threads runs every index once", "[workers]") {
  for (const Count n : {1, 2, 3, 8}) {
    const Threads some(n);
    for (const Count numbers : {0, 1, 2, 3, 15, 16, 17, 1000}) CHECK(each_once(numbers));
  }
}

TEST_CASE("a nested parallel loop runs every index once", "[workers]") {
  const Threads some(3);
  std::atomic<int> right = 0;
  share_out(20, [&](Count) { right += each_once(50) ? 1 : 0; });
  CHECK(right == 20);
}

TEST_CASE("parallel loops started by several threads run every index once", "[workers]") {
  const Threads some(3);
  std::atomic<int> right = 0;
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) right += each_once(30) ? 1 : 0;
    });
  for (std::thread& t : callers) t.join();
  CHECK(right == 4 * 200);
}

TEST_CASE("threads sleep while they wait for a parallel loop to start or to end", "[workers]") {
  const Threads some(3);
  const double before = computed();
  for (int i = 0; i < 5; ++i) {
    share_out(2, [](Count n) { sleep_for(n == 0 ? 40 : 0); });  // all threads but one wait for the loop's end
    sleep_for(40);
  }
  // In 400 ms one thread that is awake would compute for 400 ms; sleeping threads wake ten times for 20 microseconds.
  CHECK(computed() - before < 0.1);
}
