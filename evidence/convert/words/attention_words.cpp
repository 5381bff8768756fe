#include "evidence/convert/words/attention_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <vector>

#include "calc/units.hpp"
#include "evidence/names/words.hpp"
#include "text/names.hpp"

namespace llmcalc {

namespace {

/// Words that occur in kernel names.
constexpr std::array kernel_words{"flash",
                                  "flashattention",
                                  "flashattn",
                                  "fa",
                                  "sdpa",
                                  "flex",
                                  "flexattention",
                                  "xformers",
                                  "memory",
                                  "mem",
                                  "efficient",
                                  "cudnn",
                                  "gaudi",
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
/// Words that may accompany a kernel name.
constexpr std::array words_beside{"attention", "attn",    "kernel",    "kernels",   "core",  "own",    "implementation",
                                  "with",      "and",     "in",        "the",       "of",    "no",     "not",
                                  "stated",    "norm",    "rmsnorm",   "layernorm", "mask",  "scale",  "dropout",
                                  "causal",    "packed",  "sequences", "megatron",  "lm",    "style",  "torch",
                                  "pytorch",   "native",  "grouped",   "multi",     "head",  "query",  "scaled",
                                  "dot",       "product", "sliding",   "window",    "v",     "varlen", "compile",
                                  "compiled",  "version", "triton",    "ck",        "aiter", "pallas", "without",
                                  "fwd",       "bwd",     "mha",       "gqa",       "rocm",  "cuda",   "hopper",
                                  "backend",   "via"};

template <std::size_t N>
bool is_among(const std::array<const char*, N>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// Words of the text that do not begin with a digit.
std::vector<std::string> letter_words(const std::string& text) {
  std::vector<std::string> all = words_of(text);
  std::erase_if(all, [](const std::string& word) { return word[0] >= '0' && word[0] <= '9'; });
  return all;
}

std::vector<std::string> unknown_words(const std::string& text) {
  std::vector<std::string> all;
  for (const std::string& word : letter_words(without_remarks(text)))
    if (!is_among(kernel_words, word) && !is_among(words_beside, word)) all.push_back(word);
  return all;
}

/// Kernel word that an unknown word starts with or resembles; empty if there is no such word.
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

/// Clause about unknown words, such as: "block" and "sparse" are not known.
std::string not_known(const std::vector<std::string>& unknown) {
  std::vector<std::string> quoted;
  for (const std::string& word : unknown) quoted.push_back(in_quotes(word));
  return fmt::format("{} {} not known{}", fmt::join(quoted, " and "), quoted.size() == 1 ? "is" : "are",
                     near_kernel(unknown));
}

bool names_kernel(const std::string& text) {
  const std::vector<std::string> all = letter_words(text);
  return std::any_of(all.begin(), all.end(), [](const std::string& w) { return is_among(kernel_words, w); });
}

std::string_view spoken_kernel(AttentionKernel k) {
  switch (k) {
    case AttentionKernel::unfused:
      return "separate unfused operators";
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

/// FlashAttention version in the text: "FA3", "flash attention v2", "FlashAttention 1.0.8".
std::optional<Count> flash_version(const Words& words) {
  const std::vector<std::string>& all = words.all();
  for (const char* name : {"flashattention", "flash attention", "flash attn", "flashattn", "fa", "flash"}) {
    const std::vector<std::string> phrase = words_of(name);
    std::size_t at = words.place(phrase) + phrase.size();
    if (at < all.size() && (all[at] == "v" || all[at] == "version")) ++at;
    if (at < all.size() && all[at].find_first_not_of("0123456789") == std::string::npos)
      return std::min<Count>(std::atoll(all[at].substr(0, 9).c_str()), 1000);
  }
  return std::nullopt;
}

/// Kernel of a FlashAttention version. Version 3 and later count as a vendor kernel, like cuDNN's.
AttentionKernel flash_of_version(Count version) {
  if (version <= 1) return AttentionKernel::flash_1;
  return version == 2 ? AttentionKernel::flash_2 : AttentionKernel::vendor;
}

AttentionKernel kernel_called(const std::string& text) {
  const Words words(text);
  const bool vendor = words.affirms_any({"cudnn", "gaudi", "transformerengine", "transformer engine", "te"});
  const bool flash = vendor || words.affirms_any({"flash", "flashattention", "flashattn", "fa", "splash", "sdpa",
                                                  "flex", "flexattention"});
  if (words.affirms_any({"math", "naive", "eager", "vanilla", "unfused"}) && !vendor &&
      !words.affirms_any({"flash", "flashattention", "fa", "fused softmax"}))
    return AttentionKernel::unfused;
  if (const auto version = flash_version(words); flash && version) return flash_of_version(*version);
  if (words.affirms_any({"xformers", "memory efficient", "mem efficient"})) return AttentionKernel::flash_1;
  if (!flash) return words.affirms("fused") ? AttentionKernel::fused_softmax : AttentionKernel::unfused;
  if (vendor) return AttentionKernel::vendor;
  return words.affirms("sdpa") ? AttentionKernel::flash_2 : AttentionKernel::flash;
}

/// Whether the text is only "fused" or "fused attention", which means cuDNN's kernel in TransformerEngine and NeMo
/// (NVTE_FUSED_ATTN).
bool is_fused_alone(const std::string& text) {
  const std::vector<std::string> all = words_of(text);
  return Words(text).affirms("fused") && std::all_of(all.begin(), all.end(), [](const std::string& word) {
           return word == "fused" || word == "attention" || word == "attn" || word == "kernel" || word == "kernels";
         });
}

}  // namespace

AttentionSaid attention_called(const std::string& said) {
  AttentionSaid a;
  a.stated = !Words(said).silent();
  a.fused_norm = Words(said).affirms("fused rmsnorm");
  if (!a.stated) return a;
  if (names_kernel(said)) a.kernel = kernel_called(said);
  if (is_fused_alone(said)) {
    a.kernel = AttentionKernel::vendor;
    a.assumed =
        "attention with the vendor's flash kernel, which TransformerEngine calls \"fused\": the row names no other "
        "kernel";
    return a;
  }
  if (const auto unknown = unknown_words(said); !unknown.empty())
    a.assumed = fmt::format("attention with {}: {}", spoken_kernel(a.kernel), not_known(unknown));
  else if (!names_kernel(said))
    a.assumed = fmt::format("attention with {}: {} names no kernel", spoken_kernel(a.kernel), in_quotes(said));
  return a;
}

}  // namespace llmcalc
