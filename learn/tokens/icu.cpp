#include "learn/tokens/icu.hpp"

#ifdef LLMCALC_ICU
#include <dlfcn.h>
#include <fmt/format.h>

#include <optional>

#include "text/error.hpp"

namespace llmcalc::model {
namespace {

constexpr int newest_major = 99, oldest_major = 60;

/// Looks up the symbols of one ICU version and casts them to their types.
class Symbols {
 public:
  explicit Symbols(int major)
      : suffix_(fmt::format("_{}", major)),
        common_(dlopen(fmt::format("libicuuc.so.{}", major).c_str(), RTLD_NOW | RTLD_LOCAL)),
        i18n_(common_ != nullptr ? dlopen(fmt::format("libicui18n.so.{}", major).c_str(), RTLD_NOW | RTLD_LOCAL)
                                 : nullptr) {}

  template <typename F>
  void find(F*& f, const char* name) {
    const std::string versioned = name + suffix_;
    for (void* library : {common_, i18n_})
      if (void* found = library != nullptr ? dlsym(library, versioned.c_str()) : nullptr; found != nullptr) {
        f = reinterpret_cast<F*>(found);
        return;
      }
    complete_ = false;
  }
  bool complete() const { return complete_; }

 private:
  std::string suffix_;
  void *common_, *i18n_;
  bool complete_ = true;
};

std::optional<Icu> loaded(int major) {
  Icu icu{};
  Symbols symbols(major);
#define LLMCALC_FIND(name) symbols.find(icu.name, #name)
  LLMCALC_FIND(u_errorName);
  LLMCALC_FIND(u_strFromUTF8WithSub);
  LLMCALC_FIND(u_strToUTF8);
  LLMCALC_FIND(unorm2_getInstance);
  LLMCALC_FIND(unorm2_normalize);
  LLMCALC_FIND(utext_openUTF8);
  LLMCALC_FIND(utext_close);
  LLMCALC_FIND(uregex_open);
  LLMCALC_FIND(uregex_clone);
  LLMCALC_FIND(uregex_close);
  LLMCALC_FIND(uregex_setUText);
  LLMCALC_FIND(uregex_setMatchCallback);
  LLMCALC_FIND(uregex_findNext);
  LLMCALC_FIND(uregex_start64);
  LLMCALC_FIND(uregex_end64);
#undef LLMCALC_FIND
  return symbols.complete() ? std::optional(icu) : std::nullopt;
}

std::optional<Icu> newest() {
  for (int major = newest_major; major >= oldest_major; --major)
    if (auto icu = loaded(major)) return icu;
  return std::nullopt;
}

}  // namespace

const Icu& icu() {
  static const std::optional<Icu> one = newest();
  if (!one)
    throw InputError("tokenizer.json requires the ICU library, which is not installed; install it (Debian: libicu72)");
  return *one;
}

}  // namespace llmcalc::model
#endif
