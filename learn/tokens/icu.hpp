#pragma once
/// Functions of ICU4C's C API (unicode.org), loaded from the machine's libraries on first use. ICU keeps their
/// signatures stable and appends its major version to their names, so any version works.

#ifdef LLMCALC_ICU
#define U_DISABLE_RENAMING 1  // headers then declare names without a version suffix
#include <unicode/unorm2.h>
#include <unicode/uregex.h>
#include <unicode/ustring.h>
#include <unicode/utext.h>

namespace llmcalc::model {

struct Icu {
  decltype(&::u_errorName) u_errorName;
  decltype(&::u_strFromUTF8WithSub) u_strFromUTF8WithSub;
  decltype(&::u_strToUTF8) u_strToUTF8;
  decltype(&::unorm2_getInstance) unorm2_getInstance;
  decltype(&::unorm2_normalize) unorm2_normalize;
  decltype(&::utext_openUTF8) utext_openUTF8;
  decltype(&::utext_close) utext_close;
  decltype(&::uregex_open) uregex_open;
  decltype(&::uregex_clone) uregex_clone;
  decltype(&::uregex_close) uregex_close;
  decltype(&::uregex_setUText) uregex_setUText;
  decltype(&::uregex_setMatchCallback) uregex_setMatchCallback;
  decltype(&::uregex_findNext) uregex_findNext;
  decltype(&::uregex_start64) uregex_start64;
  decltype(&::uregex_end64) uregex_end64;
};

/// The newest ICU installed on this machine. Throws InputError if none is installed.
const Icu& icu();

}  // namespace llmcalc::model
#endif
