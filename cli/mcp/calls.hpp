#pragma once
/// Tool calls that run in the background, a few at a time, until they end or are cancelled.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace llmcalc::mcp {

class Calls {
 public:
  /// The work of a call. It returns early once the flag is set.
  using Work = std::function<void(const std::atomic<bool>& cancelled)>;

  Calls() = default;
  ~Calls();
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  /// Starts the work, or queues it if as many calls as possible run. Returns false if a call with this id has not
  /// ended.
  bool start(const std::string& id, Work work);
  /// Sets the flag of a call. A queued call does not start. Ignores unknown ids.
  void cancel(const std::string& id);
  /// Waits until all calls have ended; after `patience` cancels those that have not, and waits for them as long again.
  /// Returns whether all have ended.
  bool finish(std::chrono::milliseconds patience);

 private:
  struct Call {
    std::string id;
    Work work;
    std::atomic<bool> cancelled = false;
  };
  using Shared = std::shared_ptr<Call>;

  void add_thread();
  void run_until_over();
  void run(std::unique_lock<std::mutex>& lock);
  bool has(const std::string& id) const;

  std::mutex mutex_;
  std::condition_variable queued_, ended_;
  std::list<Shared> queue_, running_;
  std::vector<std::thread> threads_;
  bool over_ = false;
};

}  // namespace llmcalc::mcp
