#include "learn/tokens/unicode.hpp"

#include "text/error.hpp"

#ifdef LLMCALC_ICU

#include <fmt/format.h>

#include <limits>

#include "learn/tokens/icu.hpp"
#include "text/names.hpp"

namespace llmcalc::model {
namespace {

void refuse_failure(UErrorCode code, const std::string& what) {
  if (U_FAILURE(code)) throw InputError(fmt::format("{}: ICU error {}", what, icu().u_errorName(code)));
}

constexpr UChar32 replacement = 0xFFFD;  // replaces bytes that are not UTF-8

/// Converts UTF-8 to UTF-16, which needs at most one unit per byte.
std::u16string wide(std::string_view text) {
  std::u16string units(text.size(), u'\0');
  const auto bytes = static_cast<int32_t>(text.size());
  int32_t length = 0;
  UErrorCode code = U_ZERO_ERROR;
  icu().u_strFromUTF8WithSub(units.data(), bytes, &length, text.data(), bytes, replacement, nullptr, &code);
  refuse_failure(code, "a text");
  units.resize(static_cast<std::size_t>(length));
  return units;
}

/// Converts UTF-16 to UTF-8, which needs at most three bytes per unit.
std::string narrow(const std::u16string& units) {
  std::string text(3 * units.size(), '\0');
  int32_t length = 0;
  UErrorCode code = U_ZERO_ERROR;
  icu().u_strToUTF8(text.data(), static_cast<int32_t>(text.size()), &length, units.data(),
                    static_cast<int32_t>(units.size()), &code);
  refuse_failure(code, "a text");
  text.resize(static_cast<std::size_t>(length));
  return text;
}

const UNormalizer2& normalizer(std::string_view form) {
  UErrorCode code = U_ZERO_ERROR;
  const bool compatible = form.starts_with("NFK");
  const UNormalizer2* const n = icu().unorm2_getInstance(
      nullptr, compatible ? "nfkc" : "nfc", form.ends_with("D") ? UNORM2_DECOMPOSE : UNORM2_COMPOSE, &code);
  refuse_failure(code, "normal form " + std::string(form));
  return *n;
}

/// The normal form of UTF-16 text.
std::u16string normalized(const UNormalizer2& n, const std::u16string& units) {
  std::u16string out(units.size() + 64, u'\0');
  for (;;) {
    UErrorCode code = U_ZERO_ERROR;
    const int32_t length = icu().unorm2_normalize(&n, units.data(), static_cast<int32_t>(units.size()), out.data(),
                                                  static_cast<int32_t>(out.size()), &code);
    const bool fits = code != U_BUFFER_OVERFLOW_ERROR;
    out.resize(static_cast<std::size_t>(length));
    if (!fits) continue;
    refuse_failure(code, "Unicode normalization");
    return out;
  }
}

[[noreturn]] void refuse_pattern(const std::string& where, std::string_view what) {
  throw InputError(fmt::format("{}: a pattern with {} has a different meaning in ICU; this tokenizer is not supported",
                               where, in_quotes(what)));
}

/// Translates a regular expression to ICU's syntax.
std::string as_icu_reads(std::string_view expression, const std::string& where) {
  std::string text;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    const bool begins_set = i > 0 && expression[i - 1] == '[';
    if (c == '$' || (c == '^' && !begins_set)) refuse_pattern(where, expression.substr(i, 1));
    if (c != '\\' || i + 1 == expression.size()) {
      text += c;
      continue;
    }
    const std::string_view escape = expression.substr(i++, 2);
    if (std::string_view("wWbBAzZGhHRX").find(escape[1]) != std::string_view::npos) refuse_pattern(where, escape);
    text += escape == "\\s" ? "\\p{White_Space}" : escape == "\\S" ? "\\P{White_Space}" : escape;
  }
  return text;
}

struct CloseText {
  void operator()(UText* t) const { icu().utext_close(t); }
};

std::unique_ptr<UText, CloseText> viewed(std::string_view text) {
  UErrorCode code = U_ZERO_ERROR;
  std::unique_ptr<UText, CloseText> t(
      icu().utext_openUTF8(nullptr, text.data(), static_cast<std::int64_t>(text.size()), &code));
  refuse_failure(code, "a text");
  return t;
}

}  // namespace

std::string normal_form(std::string_view text, std::string_view form) {
  if (text.size() > static_cast<std::size_t>(std::numeric_limits<int32_t>::max() / 4))
    throw InputError("the text is longer than 512 MiB; pass a shorter text");
  return narrow(normalized(normalizer(form), wide(text)));
}

struct Pattern::Compiled {
  struct Close {
    void operator()(URegularExpression* e) const { icu().uregex_close(e); }
  };
  using Expression = std::unique_ptr<URegularExpression, Close>;

  Expression expression;
  std::string text, where;
};

namespace {

/// Counts the steps of a search for all matches in a text, in ICU's units of ten thousand.
struct SearchSteps {
  const MatchSteps& left;
  std::int64_t taken = 0;

  void watch(URegularExpression* e, UErrorCode& code) { icu().uregex_setMatchCallback(e, count, this, &code); }

 private:
  static UBool U_CALLCONV count(const void* steps, int32_t taken) {
    auto* s = static_cast<SearchSteps*>(const_cast<void*>(steps));
    s->taken = taken;
    return static_cast<UBool>(s->left.allow(taken));
  }
};

}  // namespace

Pattern::Pattern(std::string_view expression, const std::string& where) {
  const std::string ours = as_icu_reads(expression, where);
  UErrorCode code = U_ZERO_ERROR;
  UParseError place{};
  const std::u16string units = wide(ours);
  Compiled::Expression e(icu().uregex_open(units.data(), static_cast<int32_t>(units.size()), 0, &place, &code));
  if (U_FAILURE(code))
    throw InputError(fmt::format("{}: ICU cannot compile the pattern {} ({})", where, in_quotes(expression),
                                 icu().u_errorName(code)));
  compiled_ = std::make_shared<Compiled>(Compiled{std::move(e), std::string(expression), where});
}

std::vector<std::pair<std::size_t, std::size_t>> Pattern::matches(std::string_view text, MatchSteps& left) const {
  UErrorCode code = U_ZERO_ERROR;
  const Compiled::Expression e(
      icu().uregex_clone(compiled_->expression.get(), &code));  // a search modifies its expression
  const auto view = viewed(text);
  icu().uregex_setUText(e.get(), view.get(), &code);
  SearchSteps steps{left};
  steps.watch(e.get(), code);  // a clone does not inherit the callback
  std::vector<std::pair<std::size_t, std::size_t>> all;
  while (icu().uregex_findNext(e.get(), &code) != 0 && U_SUCCESS(code)) {
    const std::int64_t first = icu().uregex_start64(e.get(), 0, &code), end = icu().uregex_end64(e.get(), 0, &code);
    if (end > first) all.emplace_back(first, end);
  }
  left.take(steps.taken);
  const std::string name = fmt::format("{}: the pattern {}", compiled_->where, in_quotes(compiled_->text));
  if (code == U_REGEX_STOPPED_BY_CALLER)
    throw InputError(name + " exceeds the backtracking limit on this text; use a different tokenizer");
  refuse_failure(code, name + " on this text");
  return all;
}

}  // namespace llmcalc::model

#else

namespace llmcalc::model {

namespace {

[[noreturn]] void icu_missing() {
  throw InputError(
      "tokenizer.json requires ICU, but this llmcalc was built without it; install it (Debian: libicu-dev) and build "
      "again");
}

}  // namespace

struct Pattern::Compiled {};

std::string normal_form(std::string_view, std::string_view) { icu_missing(); }
Pattern::Pattern(std::string_view, const std::string&) { icu_missing(); }
std::vector<std::pair<std::size_t, std::size_t>> Pattern::matches(std::string_view, MatchSteps&) const {
  icu_missing();
}

}  // namespace llmcalc::model

#endif
