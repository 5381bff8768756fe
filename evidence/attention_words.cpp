#include "evidence/attention_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "text/names.hpp"

namespace llmcalc {

namespace {

/// Words that name a kernel.
constexpr std::array kernel_words{"flash",
                                  "flashattention",
                                  "flashattn",
                                  "fa",
                                  "sdpa",
                                  "flex",
                                  "flexattention",
                                  "xformers",
                                  "memory",
                                  "efficient",
                                  "cudnn",
                                  "te",
                                  "transformer",
                                  "engine",
                                  "splash",
                                  "unfused",
                                  "naive",
                                  "eager",
                                  "math",
                                  "vanilla",
                                  "standard",
                                  "fused",
                                  "softmax",
                                  "none",
                                  "transformerengine"};
/// Words that may stand beside them.
constexpr std::array words_beside{
    "attention", "attn",    "kernel",  "kernels", "core",   "own",       "implementation", "with",    "and",
    "in",        "the",     "of",      "no",      "not",    "stated",    "norm",           "rmsnorm", "layernorm",
    "mask",      "scale",   "dropout", "causal",  "packed", "sequences", "megatron",       "lm",      "style",
    "torch",     "pytorch", "native",  "grouped", "multi",  "head",      "query",          "scaled",  "dot",
    "product",   "sliding", "window",  "v",       "varlen", "compile",   "compiled"};

template <std::size_t N>
bool is_among(const std::array<const char*, N>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// A text without what stands in parentheses.
std::string without_remarks(const std::string& text) {
  std::string out;
  int depth = 0;
  for (const char c : text) {
    if (c == '(') ++depth;
    if (depth == 0) out += c;
    if (c == ')' && depth > 0) --depth;
  }
  return out;
}

/// Runs of letters of a text in lower case.
std::vector<std::string> letter_runs(const std::string& text) {
  std::vector<std::string> out{""};
  for (const char c : text)
    if (c >= 'a' && c <= 'z')
      out.back() += c;
    else if (!out.back().empty())
      out.emplace_back();
  if (out.back().empty()) out.pop_back();
  return out;
}

std::vector<std::string> unknown_words(const std::string& text) {
  std::vector<std::string> all;
  for (const std::string& word : letter_runs(without_remarks(text)))
    if (!is_among(kernel_words, word) && !is_among(words_beside, word)) all.push_back(word);
  return all;
}

/// The kernel's word that an unknown word begins with, or that is near to it; empty: there is none.
std::string near_word(const std::string& word) {
  constexpr std::size_t least_letters = 4;
  const std::vector<std::string> known(kernel_words.begin(), kernel_words.end());
  for (const std::string& kernel : known)
    if (kernel.size() >= least_letters && word.starts_with(kernel)) return kernel;
  const std::vector<std::string> near = nearest(word, known, 1);
  return near.empty() ? "" : near[0];
}

std::string near_kernel(const std::vector<std::string>& unknown) {
  for (const std::string& word : unknown)
    if (const std::string near = near_word(word); !near.empty())
      return fmt::format(", did you mean {}?", in_quotes(near));
  return "";
}

/// "block" and "sparse" are not known
std::string not_known(const std::vector<std::string>& unknown) {
  std::vector<std::string> quoted;
  for (const std::string& word : unknown) quoted.push_back(in_quotes(word));
  return fmt::format("{} {} not known{}", fmt::join(quoted, " and "), quoted.size() == 1 ? "is" : "are",
                     near_kernel(unknown));
}

bool names_kernel(const std::string& text) {
  const std::vector<std::string> all = letter_runs(text);
  return std::any_of(all.begin(), all.end(), [](const std::string& w) { return is_among(kernel_words, w); });
}

std::string_view spoken_kernel(AttentionKernel k) {
  switch (k) {
    case AttentionKernel::unfused:
      return "one operator after another";
    case AttentionKernel::fused_softmax:
      return "a fused softmax";
    case AttentionKernel::flash_1:
      return "FlashAttention 1";
    case AttentionKernel::flash_2:
      return "FlashAttention 2";
    case AttentionKernel::vendor:
      return "the vendor's flash kernel";
    case AttentionKernel::flash:
      break;
  }
  return "a flash kernel";
}

/// Lower case, words apart by spaces: "flash-attention_2" is "flash attention 2".
std::string spaced(const std::string& text) {
  std::string out = lower(text);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '-' || c == '_'; }, ' ');
  return out;
}

AttentionKernel kernel_called(const std::string& text) {
  const auto any = [&](std::initializer_list<const char*> all) {
    return std::any_of(all.begin(), all.end(), [&](const char* w) { return text.find(w) != std::string::npos; });
  };
  const std::vector<std::string> words = letter_runs(text);
  const auto word = [&](const char* w) { return std::find(words.begin(), words.end(), w) != words.end(); };
  const bool vendor = any({"cudnn", "transformerengine", "transformer engine", "flashattention 3"}) || word("te");
  const bool flash = (vendor || any({"flash", "splash", "sdpa", "flex"}) || word("fa")) && !any({"no flash"});
  if (any({"xformers", "memory efficient"})) return AttentionKernel::flash_1;
  if (!flash) return word("fused") ? AttentionKernel::fused_softmax : AttentionKernel::unfused;
  if (vendor) return AttentionKernel::vendor;
  if (any({"flashattention 2", "flash attention 2", "sdpa", "fa2"})) return AttentionKernel::flash_2;
  return any({"flashattention 1"}) ? AttentionKernel::flash_1 : AttentionKernel::flash;
}

}  // namespace

AttentionSaid attention_called(const std::string& said) {
  const std::string text = spaced(said);
  AttentionSaid a;
  a.stated = !text.empty() && text.find("not stated") == std::string::npos;
  a.fused_norm = text.find("fused rmsnorm") != std::string::npos;
  if (!a.stated) return a;
  if (names_kernel(text)) a.kernel = kernel_called(text);
  if (const auto unknown = unknown_words(text); !unknown.empty())
    a.assumed = fmt::format("attention by {}: {}", spoken_kernel(a.kernel), not_known(unknown));
  else if (!names_kernel(text))
    a.assumed = fmt::format("attention by {}: {} names no kernel", spoken_kernel(a.kernel), in_quotes(said));
  return a;
}

}  // namespace llmcalc
