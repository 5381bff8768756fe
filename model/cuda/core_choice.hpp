#pragma once
/// The implementations of flash attention: cuDNN's, tensor cores by own kernels (mma), or plain multiply-adds. They are
/// asked in this order, and the first that can does it. LLMCALC_ATTENTION=cudnn, mma or plain lets only one be asked.

#include <array>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "model/attention_core.hpp"

namespace llmcalc::model::cuda {

inline constexpr std::array<std::string_view, 3> core_names{"cudnn", "mma", "plain"};

/// A core's answer: done, and its name; or not, and why not.
struct CoreAnswer {
  bool done = false;
  std::string text;
};

class CoreChoice {
 public:
  CoreChoice() : CoreChoice(std::getenv("LLMCALC_ATTENTION")) {}
  /// null: any core. Throws std::runtime_error: no such core.
  explicit CoreChoice(const char* only) {
    for (std::size_t i = 0; only != nullptr && i < core_names.size(); ++i)
      if (core_names[i] == only) only_ = static_cast<AttentionCore>(i);
    if (only != nullptr && !only_)
      throw std::runtime_error("LLMCALC_ATTENTION is " + std::string(only) + "; cudnn, mma and plain are known");
  }

  /// Begins with the fastest core. `backward`: what ran() tells apart.
  void begin(bool backward) { backward_ = backward, refused_.clear(); }

  /// Whether this core may be asked at all.
  bool may(AttentionCore core) const { return !only_ || *only_ == core; }
  /// Asks a core, which is a function that returns a CoreAnswer; true: it is done. Throws std::runtime_error where it
  /// cannot and no other may.
  template <typename Ask>
  bool done_by(AttentionCore core, const Ask& ask) {
    if (!may(core)) return false;
    const CoreAnswer answer = ask();
    if (answer.done) {
      ran_.of(backward_) = CoreRun{core, answer.text, refused_};
      return true;
    }
    if (only_) throw std::runtime_error("LLMCALC_ATTENTION is " + name(core) + ", and " + answer.text);
    refused_ += (refused_.empty() ? "not " : "; not ") + name(core) + ": " + answer.text;
    return false;
  }
  /// After all others: what can everything is what is left.
  void last() {
    if (only_ && *only_ != AttentionCore::plain)
      throw std::runtime_error("LLMCALC_ATTENTION is " + name(*only_) + ", which is not built here");
    done_by(AttentionCore::plain, [] { return CoreAnswer{true, "plain"}; });
  }

  const AttentionCores& ran() const { return ran_; }

 private:
  static std::string name(AttentionCore c) { return std::string(core_names[static_cast<std::size_t>(c)]); }

  std::optional<AttentionCore> only_;
  bool backward_ = false;
  std::string refused_;
  AttentionCores ran_;
};

}  // namespace llmcalc::model::cuda
