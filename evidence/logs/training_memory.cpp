#include "evidence/logs/training_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calc/elementary.hpp"
#include "text/error.hpp"
#include "text/quantity.hpp"

namespace llmcalc {

namespace {

using Logged = std::optional<LoggedBytes>;

/// The number after these words, multiplied by `unit` because the log does not print the unit next to it. Absent if
/// there is no number.
Logged number_of(const LogLine& line, std::string_view words, double unit) {
  const auto rest = line.behind(words);
  const auto value = line.real_behind(words);
  if (!value) return std::nullopt;
  const std::string_view digits = digits_at(rest->substr(std::min(rest->find_first_not_of(' '), rest->size())));
  const std::size_t point = digits.find('.');
  const auto decimals = static_cast<double>(point == std::string_view::npos ? 0 : digits.size() - point - 1);
  if (*value * unit > 0x1p62)
    throw InputError(fmt::format("{}: {:g} is too large to be a memory size", line.where(), *value));
  return LoggedBytes{Bytes(std::llround(*value * unit)),
                     Bytes(std::llround(0.5 * elementary::pow(10, -decimals) * unit))};
}

constexpr double mib = 0x1p20, gib = 0x1p30, gigabyte = 1e9;

void raise(Logged& peak, const Logged& by) {
  if (by && (!peak || by->bytes > peak->bytes)) peak = by;
}

class TrainingReader {
 public:
  explicit TrainingReader(const std::vector<LogLine>& lines) {
    for (const LogLine& line : lines) read(line);
  }
  TrainingMemory memory() && { return std::move(t_); }

 private:
  void read(const LogLine& line) {
    read_megatron(line);
    read_bridge(line);
    read_nemo(line);
    read_deepspeed(line);
    read_torchtune(line);
    read_torchtitan(line);
  }

  void name(const char* software, const char* title) {
    // Megatron-DeepSpeed prints the lines of both Megatron-LM and DeepSpeed.
    const bool megatron = t_.software.starts_with("megatron"), deepspeed = std::string_view(software) == "deepspeed";
    if (t_.software == "megatron-deepspeed") return;
    const bool both = (megatron && deepspeed) || (t_.software == "deepspeed" && !deepspeed);
    if (both) std::erase_if(t_.ranks, [](const RankMemory& r) { return !r.rank; });
    t_.software = both ? "megatron-deepspeed" : software;
    t_.title = both ? "Megatron-DeepSpeed" : title;
  }

  RankMemory& of_rank(std::optional<Count> rank) {
    for (RankMemory& r : t_.ranks)
      if (r.rank == rank) return r;
    t_.ranks.push_back({.rank = rank});
    return t_.ranks.back();
  }

  void report(const LogLine& line, const RankMemory& r) {
    check(line, r.allocated, "allocated", r.peak_allocated, "at the peak");
    check(line, r.peak_allocated, "allocated", r.peak_reserved, "reserved");
    RankMemory& kept = of_rank(r.rank);
    kept.allocated = r.allocated;
    kept.reserved = r.reserved;
    raise(kept.peak_allocated, r.peak_allocated);
    raise(kept.peak_reserved, r.peak_reserved);
    ++t_.reports;
  }
  void check(const LogLine& line, const Logged& part, const char* what, const Logged& whole, const char* of) const {
    if (!part || !whole || part->bytes <= whole->bytes + part->within + whole->within) return;
    throw InputError(fmt::format("{}: {:.2f} GiB {} is more than {:.2f} GiB {}; pass the unmodified {} log",
                                 line.where(), static_cast<double>(part->bytes.value) / gib, what,
                                 static_cast<double>(whole->bytes.value) / gib, of, t_.title));
  }

  // ---- Megatron-LM: several ranks may report on the same line

  void read_megatron(const LogLine& line) {
    constexpr std::string_view words = "memory (MB) | ";
    if (const auto f = line.behind("Theoretical memory footprints: ")) {
      const LogLine rest{*f, line.file, line.number};
      t_.weights_and_optimizer = rest.size_behind("weight and optimizer=");
      t_.activations = rest.size_behind("activation=");
    }
    std::string_view before = line.text;
    for (std::size_t at = before.find(words); at != std::string_view::npos; at = before.find(words)) {
      name("megatron-lm", "Megatron-LM");
      const std::string_view rest = before.substr(at + words.size());
      const std::size_t next = rest.find(words);
      read_megatron(line, before.substr(0, at), rest.substr(0, next));
      before = rest;
    }
  }
  void read_megatron(const LogLine& line, std::string_view before, std::string_view numbers) {
    const LogLine n{numbers, line.file, line.number};
    const auto at_start = [&](std::string_view words, std::string_view old) {
      const auto of = number_of(n, words, mib);
      return of ? of : number_of(n, old, mib);
    };
    RankMemory r{.rank = rank_in(line, before)};
    r.allocated = numbers.starts_with("allocated: ") ? number_of(n, "allocated: ", mib) : std::nullopt;
    r.peak_allocated = number_of(n, "| max allocated: ", mib);
    r.reserved = at_start("| reserved: ", "| cached: ");
    r.peak_reserved = at_start("| max reserved: ", "| max cached: ");
    if (!r.peak_allocated) return;
    report(line, r);
  }
  /// Rank in the last "[Rank 7]" of the text.
  static std::optional<Count> rank_in(const LogLine& line, std::string_view text) {
    const std::size_t at = text.rfind("[Rank ");
    return at == std::string_view::npos ? std::nullopt
                                        : LogLine{text.substr(at), line.file, line.number}.count_behind("[Rank ");
  }

  // ---- Megatron-Bridge and NeMo

  void read_bridge(const LogLine& line) {
    if (!line.says("memory (GB) | ") || !line.says("mem-max-allocated-gigabytes: ")) return;
    name("nemo", "Megatron-Bridge");
    report(line, {.rank = rank_in(line, line.text),
                  .allocated = number_of(line, "mem-allocated-gigabytes: ", gigabyte),
                  .reserved = number_of(line, "mem-reserved-gigabytes: ", gigabyte),
                  .peak_allocated = number_of(line, "mem-max-allocated-gigabytes: ", gigabyte),
                  .peak_reserved = number_of(line, "mem-max-reserved-gigabytes: ", gigabyte)});
  }

  void read_nemo(const LogLine& line) {
    if (!line.says("max_memory_reserved: ") || !line.says("max_memory_allocated: ")) return;
    name("nemo", "NeMo");
    report(line, {.peak_allocated = number_of(line, "max_memory_allocated: ", 1),
                  .peak_reserved = number_of(line, "max_memory_reserved: ", 1)});
  }

  // ---- DeepSpeed: peaks since the last report, and the peak of reserved memory in whole units

  void read_deepspeed(const LogLine& line) {
    if (const auto version = line.behind("DeepSpeed info: version="))
      t_.version = std::string(version->substr(0, version->find_first_of(", ")));
    if (!line.says("MA ") || !line.says(" Max_MA ") || !line.says(" Max_CA ")) return;
    name("deepspeed", "DeepSpeed");
    if (t_.software == "megatron-deepspeed") return;  // Megatron's reports name the rank
    RankMemory r{.allocated = line.size_behind("] MA "),
                 .reserved = line.size_behind(" CA "),
                 .peak_allocated = line.size_behind(" Max_MA "),
                 .peak_reserved = line.size_behind(" Max_CA ")};
    if (r.reserved && r.peak_reserved && r.reserved->bytes > r.peak_reserved->bytes - r.peak_reserved->within)
      r.peak_reserved = r.reserved;
    if (r.peak_allocated) report(line, r);
  }

  // ---- torchtune and torchtitan

  void read_torchtune(const LogLine& line) {
    if (line.says("Memory stats after model init")) name("torchtune", "torchtune");
    if (t_.software == "torchtune") {
      raise(tuned_.peak_allocated, line.size_behind("peak memory allocation: "));
      raise(tuned_.peak_reserved, line.size_behind("peak memory reserved: "));
      if (line.says("peak memory reserved: ")) report(line, tuned_);
    }
    if (!line.says("peak_memory_alloc:") || !line.says("peak_memory_reserved:")) return;
    name("torchtune", "torchtune");
    report(line, {.peak_allocated = number_of(line, "peak_memory_alloc:", gib),
                  .peak_reserved = number_of(line, "peak_memory_reserved:", gib)});
  }

  void read_torchtitan(const LogLine& line) {
    if (const auto version = line.behind("torchtitan version: "))
      t_.version = std::string(version->substr(0, version->find(' ')));
    if (line.says(" capacity: ") && line.says(" memory")) t_.capacity = line.size_before(" memory");
    const bool step = line.says(" step: ") && line.says(" loss: "), built = line.says(" memory usage for model: ");
    if (line.says(" memory allocation retries")) t_.retries = retries_in(line);
    if (!line.says("GiB(") || (!step && !built)) return;
    name("torchtitan", "torchtitan");
    const auto rank = line.count_behind("[rank");
    report(line,
           {.rank = rank,
            .peak_reserved = step ? line.size_behind(" memory: ") : line.size_behind(" memory usage for model: ")});
    check(line, of_rank(rank).peak_reserved, "reserved", t_.capacity, "of the device");
  }

  /// Total retries after a line such as "2 CUDA memory allocation retries.", whose number counts from the previous
  /// report.
  Count retries_in(const LogLine& line) const {
    const std::string_view before = line.text.substr(0, line.text.find(" memory allocation retries"));
    const std::size_t number = before.find_last_of("0123456789"), begin = before.substr(0, number).rfind(' ');
    if (number == std::string_view::npos || begin == std::string_view::npos) return t_.retries;
    return add(t_.retries, LogLine{before.substr(begin), line.file, line.number}.count_behind("").value_or(0));
  }

  TrainingMemory t_;
  RankMemory tuned_;
};

Bytes peak_of(const RankMemory& r) {
  return r.peak_allocated ? r.peak_allocated->bytes : r.peak_reserved ? r.peak_reserved->bytes : Bytes();
}

}  // namespace

const RankMemory& TrainingMemory::fullest() const {
  return *std::max_element(ranks.begin(), ranks.end(),
                           [](const RankMemory& a, const RankMemory& b) { return peak_of(a) < peak_of(b); });
}

TrainingMemory read_training_memory(const std::vector<LogLine>& lines) { return TrainingReader(lines).memory(); }

}  // namespace llmcalc
