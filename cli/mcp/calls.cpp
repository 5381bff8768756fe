#include "cli/mcp/calls.hpp"

#include <algorithm>
#include <system_error>

namespace llmcalc::mcp {
namespace {

constexpr std::size_t most_threads = 4;  // a search uses all cores itself

}  // namespace

Calls::~Calls() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    queue_.clear();
    for (const Shared& c : running_) c->cancelled = true;
  }
  queued_.notify_all();
  for (std::thread& t : threads_) t.join();
}

bool Calls::has(const std::string& id) const {
  const auto is_it = [&](const Shared& c) { return c->id == id; };
  return std::any_of(queue_.begin(), queue_.end(), is_it) || std::any_of(running_.begin(), running_.end(), is_it);
}

bool Calls::start(const std::string& id, Work work) {
  std::unique_lock lock(mutex_);
  if (has(id)) return false;
  queue_.push_back(std::make_shared<Call>(id, std::move(work)));
  if (queue_.size() + running_.size() > threads_.size() && threads_.size() < most_threads) add_thread();
  if (threads_.empty()) run(lock);  // the system starts no thread
  queued_.notify_one();
  return true;
}

void Calls::add_thread() {
  try {
    threads_.emplace_back([this] { run_until_over(); });
  } catch (const std::system_error&) {  // the other threads run the call later
  }
}

void Calls::run_until_over() {
  std::unique_lock lock(mutex_);
  while (true) {
    queued_.wait(lock, [this] { return over_ || !queue_.empty(); });
    if (over_) return;
    run(lock);
  }
}

/// Runs the first call of the queue, without the lock.
void Calls::run(std::unique_lock<std::mutex>& lock) {
  const auto call = running_.insert(running_.end(), queue_.front());
  queue_.pop_front();
  lock.unlock();
  (*call)->work((*call)->cancelled);
  lock.lock();
  running_.erase(call);
  ended_.notify_all();
}

void Calls::cancel(const std::string& id) {
  const std::lock_guard lock(mutex_);
  queue_.remove_if([&](const Shared& c) { return c->id == id; });
  for (const Shared& c : running_)
    if (c->id == id) c->cancelled = true;
}

bool Calls::finish(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  const auto all_ended = [this] { return queue_.empty() && running_.empty(); };
  if (ended_.wait_for(lock, patience, all_ended)) return true;
  queue_.clear();
  for (const Shared& c : running_) c->cancelled = true;
  return ended_.wait_for(lock, patience, all_ended);
}

}  // namespace llmcalc::mcp
