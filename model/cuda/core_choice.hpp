#pragma once
/// Which code computes flash attention: cuDNN's, tensor cores by own kernels (mma), or plain multiply-adds. They are
/// asked in this order, and the first that can does it. LLMCALC_ATTENTION=cudnn, mma or plain lets only one be asked.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace llmcalc::model::cuda {

enum class AttentionCore : std::uint8_t { cudnn, mma, plain };

inline constexpr std::array<std::string_view, 3> core_names{"cudnn", "mma", "plain"};

/// What a core that is asked answers: done, and its name; or not, and why not.
struct CoreAnswer {
  bool done = false;
  std::string text;
};

/// Of what CoreChoice::said() says, what it says of one direction: a core's name first.
inline std::string said_of(const std::string& said, bool backward) {
  constexpr std::string_view ahead = "forward: ", back = "; backward: ";
  const std::size_t at = said.find(back);
  if (at == std::string::npos) return said;
  return backward ? said.substr(at + back.size()) : said.substr(ahead.size(), at - ahead.size());
}

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

  /// Begins with the fastest core. `backward`: what said() tells apart.
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
      said_[backward_ ? 1 : 0] = answer.text + (refused_.empty() ? "" : ", " + refused_);
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

  /// The cores that ran last, and why not faster ones; both directions where they differ.
  std::string said() const {
    if (said_[1].empty() || said_[0] == said_[1]) return said_[0];
    return "forward: " + said_[0] + "; backward: " + said_[1];
  }

 private:
  static std::string name(AttentionCore c) { return std::string(core_names[static_cast<std::size_t>(c)]); }

  std::optional<AttentionCore> only_;
  bool backward_ = false;
  std::string refused_;
  std::array<std::string, 2> said_;
};

}  // namespace llmcalc::model::cuda
