#include "evidence/logs/out_of_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/error.hpp"

namespace llmcalc {

namespace {

constexpr std::string_view first_words = "Tried to allocate ";

struct MessagePhrase {
  std::string_view words;
  std::optional<LoggedBytes> OutOfMemory::*bytes;
};
constexpr std::array sizes_behind{
    MessagePhrase{" has a total capacity of ", &OutOfMemory::capacity},
    MessagePhrase{" has a total capacty of ", &OutOfMemory::capacity},  // misspelled in PyTorch 2.1
    MessagePhrase{" of which ", &OutOfMemory::free},
    MessagePhrase{"Of the allocated memory ", &OutOfMemory::allocated},
};
constexpr std::array sizes_before{
    MessagePhrase{" total capacity;", &OutOfMemory::capacity},
    MessagePhrase{" already allocated;", &OutOfMemory::allocated},
    MessagePhrase{" free;", &OutOfMemory::free},
    MessagePhrase{" allowed;", &OutOfMemory::allowed},
    MessagePhrase{" reserved in total by PyTorch", &OutOfMemory::reserved},
    MessagePhrase{" cached)", &OutOfMemory::reserved},  // before PyTorch 1.4
    MessagePhrase{" allocated in private pools", &OutOfMemory::private_pools},
    MessagePhrase{" is reserved by PyTorch but unallocated", &OutOfMemory::slack},
};

/// A message with its line breaks removed.
std::string in_one_line(std::string_view text) {
  constexpr std::size_t longest = 4000;
  std::string out;
  for (const char c : text.substr(0, longest)) {
    const bool space = c == ' ' || c == '\n' || c == '\t';
    if (!space || !out.ends_with(' ')) out += space ? ' ' : c;
  }
  return out;
}

/// Whether a size is known. PyTorch prints NVML's value for "not available" as 2^64 - 1 bytes.
bool is_known(std::string_view until_size) { return !until_size.ends_with(" 17179869184.00 GiB"); }

std::vector<DeviceProcess> processes_of(const LogLine& message) {
  constexpr std::string_view behind = " memory in use";
  std::vector<DeviceProcess> all;
  std::string_view rest = message.text;
  for (std::size_t end = rest.find(behind); end != std::string_view::npos; end = rest.find(behind)) {
    const LogLine part{rest.substr(0, end + behind.size()), message.file, message.number};
    const std::size_t own = part.text.rfind("this process has "), other = part.text.rfind("Process ");
    const bool is_own = own != std::string_view::npos && (other == std::string_view::npos || own > other);
    const LogLine from{is_own || other == std::string_view::npos ? part.text : part.text.substr(other), part.file,
                       part.number};
    const auto bytes = is_known(rest.substr(0, end)) ? part.size_before(behind) : std::nullopt;
    if (bytes) all.push_back({is_own ? std::nullopt : from.count_behind("Process "), *bytes});
    rest.remove_prefix(end + behind.size());
  }
  return all;
}

/// Throws InputError if a part exceeds its whole by more than rounding.
void check_below(const LogLine& m, const std::optional<LoggedBytes>& part, std::string_view what,
                 const std::optional<LoggedBytes>& whole, std::string_view of) {
  if (!part || !whole || part->bytes <= whole->bytes + part->within + whole->within) return;
  throw InputError(
      fmt::format("{}: {:.2f} GiB {} is more than {:.2f} GiB {}; pass the unmodified PyTorch message (on Windows, with "
                  "the driver's fallback to host memory disabled)",
                  m.where(), static_cast<double>(part->bytes.value) / 0x1p30, what,
                  static_cast<double>(whole->bytes.value) / 0x1p30, of));
}

void check_sense(const LogLine& m, const OutOfMemory& o) {
  check_below(m, o.free, "free", o.capacity, "of total capacity");
  check_below(m, o.allocated, "allocated", o.capacity, "of total capacity");
  check_below(m, o.reserved, "reserved", o.capacity, "of total capacity");
  check_below(m, o.allocated, "allocated", o.reserved, "reserved");
  check_below(m, o.private_pools, "in private pools", o.allocated, "allocated");
  if (!o.free || !o.reserved) return;
  const LoggedBytes both{o.free->bytes + o.reserved->bytes, o.free->within + o.reserved->within};
  check_below(m, both, "free and reserved", o.capacity, "of total capacity");
}

/// Derives one missing size from the other two: reserved memory is allocated memory plus slack.
void complete(OutOfMemory& o) {
  if (o.allocated && o.slack && !o.reserved)
    o.reserved = {o.allocated->bytes + o.slack->bytes, o.allocated->within + o.slack->within};
  else if (o.allocated && o.reserved && !o.slack)
    o.slack = {std::max(Bytes(), o.reserved->bytes - o.allocated->bytes), o.allocated->within + o.reserved->within};
}

/// Name of the variable in a message such as "try setting PYTORCH_HIP_ALLOC_CONF=expandable_segments:True"; empty if
/// the message names none.
std::string variable_of(std::string_view message) {
  constexpr std::string_view begin = "PYTORCH_", end = "ALLOC_CONF";
  const std::size_t at = message.find(begin);
  if (at == std::string_view::npos) return "";
  std::size_t behind = at;
  while (behind < message.size() && (message[behind] == '_' || (message[behind] >= 'A' && message[behind] <= 'Z')))
    ++behind;
  const std::string_view name = message.substr(at, behind - at);
  return name.ends_with(end) ? std::string(name) : "";
}

/// Parses the message at the beginning of the line. Empty if it is not about a device.
std::optional<OutOfMemory> message_of(const LogLine& line) {
  OutOfMemory o;
  const auto asked = line.size_behind(first_words);
  if (!asked) return std::nullopt;
  o.asked = *asked;
  for (const MessagePhrase& p : sizes_behind)
    if (const auto bytes = line.size_behind(p.words)) o.*p.bytes = bytes;
  for (const MessagePhrase& p : sizes_before)
    if (const auto bytes = line.size_before(p.words)) o.*p.bytes = bytes;
  if (!o.capacity && !o.allocated) return std::nullopt;
  o.gpu = line.count_behind("GPU ");
  o.processes = processes_of(line);
  o.variable = variable_of(line.text);
  complete(o);
  check_sense(line, o);
  return o;
}

}  // namespace

OutOfMemoryLog read_out_of_memory(std::string_view plain, std::string_view file) {
  OutOfMemoryLog log;
  Count number = 1;
  std::size_t counted = 0;
  for (std::size_t at = plain.find(first_words); at != std::string_view::npos;) {
    number += std::count(plain.begin() + static_cast<std::ptrdiff_t>(counted),
                         plain.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    counted = at;
    const std::size_t next = plain.find(first_words, at + 1);
    const std::string message = in_one_line(plain.substr(at, next == std::string_view::npos ? next : next - at));
    at = next;
    std::optional<OutOfMemory> one = message_of({message, file, number});
    if (!one) continue;
    const bool of_hip = plain.substr(0, counted).ends_with("HIP out of memory. ");
    if (one->variable.empty()) one->variable = of_hip ? "PYTORCH_HIP_ALLOC_CONF" : "PYTORCH_CUDA_ALLOC_CONF";
    const bool again =
        std::any_of(log.messages.begin(), log.messages.end(), [&](const OutOfMemory& o) { return o.gpu == one->gpu; });
    if (again)
      ++log.repeats;
    else
      log.messages.push_back(*one);
  }
  return log;
}

}  // namespace llmcalc
