#include "learn/unicode.hpp"

#include "text/error.hpp"

#ifdef LLMCALC_ICU

#include <fmt/format.h>
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/unistr.h>
#include <unicode/uregex.h>
#include <unicode/utext.h>

#include <limits>

#include "text/names.hpp"

namespace llmcalc::model {
namespace {

void refuse_failure(UErrorCode code, const std::string& what) {
  if (U_FAILURE(code)) throw InputError(fmt::format("{}: ICU says {}", what, u_errorName(code)));
}

const icu::Normalizer2& normalizer(std::string_view form) {
  UErrorCode code = U_ZERO_ERROR;
  const bool compatible = form.starts_with("NFK");
  const icu::Normalizer2* const n = icu::Normalizer2::getInstance(
      nullptr, compatible ? "nfkc" : "nfc", form.ends_with("D") ? UNORM2_DECOMPOSE : UNORM2_COMPOSE, code);
  refuse_failure(code, "normal form " + std::string(form));
  return *n;
}

[[noreturn]] void refuse_pattern(const std::string& where, std::string_view what) {
  throw InputError(fmt::format("{}: a pattern with {} means something else to ICU, so this tokenizer is not read",
                               where, in_quotes(what)));
}

/// The expression in ICU's syntax.
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
  void operator()(UText* t) const { utext_close(t); }
};
using Expression = std::unique_ptr<URegularExpression, decltype(&uregex_close)>;

std::unique_ptr<UText, CloseText> viewed(std::string_view text) {
  UErrorCode code = U_ZERO_ERROR;
  std::unique_ptr<UText, CloseText> t(
      utext_openUTF8(nullptr, text.data(), static_cast<std::int64_t>(text.size()), &code));
  refuse_failure(code, "a text");
  return t;
}

}  // namespace

std::string normal_form(std::string_view text, std::string_view form) {
  if (text.size() > static_cast<std::size_t>(std::numeric_limits<int32_t>::max()))
    throw InputError("the text is longer than 2 GiB; give a shorter one");
  const icu::Normalizer2& n = normalizer(form);
  std::string out;
  icu::StringByteSink<std::string> sink(&out);
  UErrorCode code = U_ZERO_ERROR;
  n.normalizeUTF8(0, icu::StringPiece(text.data(), static_cast<int32_t>(text.size())), sink, nullptr, code);
  refuse_failure(code, "normal form " + std::string(form));
  return out;
}

struct Pattern::Compiled {
  Expression expression;
  std::string text, where;
};

namespace {

/// The steps of a search, which ICU counts in ten thousands and over all matches of a text.
struct SearchSteps {
  const MatchSteps& left;
  std::int64_t taken = 0;

  void watch(URegularExpression* e, UErrorCode& code) { uregex_setMatchCallback(e, count, this, &code); }

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
  const icu::UnicodeString wide = icu::UnicodeString::fromUTF8(ours);
  Expression e(uregex_open(wide.getBuffer(), wide.length(), 0, &place, &code), uregex_close);
  if (U_FAILURE(code))
    throw InputError(fmt::format("{}: the pattern {} is not one that ICU reads ({})", where, in_quotes(expression),
                                 u_errorName(code)));
  compiled_ = std::make_shared<Compiled>(Compiled{std::move(e), std::string(expression), where});
}

std::vector<std::pair<std::size_t, std::size_t>> Pattern::matches(std::string_view text, MatchSteps& left) const {
  UErrorCode code = U_ZERO_ERROR;
  const Expression e(uregex_clone(compiled_->expression.get(), &code),
                     uregex_close);  // a search changes what it searches with
  const auto view = viewed(text);
  uregex_setUText(e.get(), view.get(), &code);
  SearchSteps steps{left};
  steps.watch(e.get(), code);  // which a clone does not take over
  std::vector<std::pair<std::size_t, std::size_t>> all;
  while (uregex_findNext(e.get(), &code) != 0 && U_SUCCESS(code)) {
    const std::int64_t first = uregex_start64(e.get(), 0, &code), end = uregex_end64(e.get(), 0, &code);
    if (end > first) all.emplace_back(first, end);
  }
  left.take(steps.taken);
  const std::string name = fmt::format("{}: the pattern {}", compiled_->where, in_quotes(compiled_->text));
  if (code == U_REGEX_STOPPED_BY_CALLER)
    throw InputError(name + " tries more ways to cut this text than any tokenizer needs; give another tokenizer");
  refuse_failure(code, name + " on this text");
  return all;
}

}  // namespace llmcalc::model

#else

namespace llmcalc::model {

namespace {

[[noreturn]] void icu_missing() {
  throw InputError(
      "a tokenizer.json needs ICU, which this llmcalc was built without; install it (Debian: libicu-dev) and build "
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
