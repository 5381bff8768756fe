#include "report/train/target_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ask/request/target.hpp"
#include "calc/search.hpp"
#include "text/format.hpp"

namespace llmcalc {
namespace {

/// Largest rate factor tried: beyond it, work limited by the rate takes negligible time.
constexpr Count times_the_rate = Count{1} << 16;

/// A number in option syntax; rounded if it is not an integer.
std::string option_text(const Quantity& q) {
  const Count* whole = std::get_if<Count>(&q);
  return whole != nullptr ? fmt::format("{}", *whole) : human_text(q, Unit::none);
}

struct ChangeWords {
  const char *key, *words;
};
constexpr std::array change_words{ChangeWords{"bandwidth_factor", "{} times the memory bandwidth"},
                                  ChangeWords{"peak_factor", "{} times the matmul peak"},
                                  ChangeWords{"link_factor", "{} times the link bandwidth"},
                                  ChangeWords{"network_factor", "{} times the network bandwidth"},
                                  ChangeWords{"batch", "--batch {}"},
                                  ChangeWords{"tp", "--tp {}"},
                                  ChangeWords{"gpus", "--gpus {}"},
                                  ChangeWords{"weight_precision", "--weight-precision {}"}};

/// The single changes that each meet the target: "1.62 times the memory bandwidth, --tp 2".
std::string enough(const Report& report, const std::string& section) {
  std::string all;
  for (const auto& [key, words] : change_words)
    if (const Row* row = report.row(fmt::format("{}.{}", section, key)))
      all += (all.empty() ? "" : ", ") + fmt::format(fmt::runtime(words), option_text(row->value));
  return all;
}

}  // namespace

void add_none(Section& s, const std::string& key, const std::string& label, const std::string& why) {
  s.add("", label, std::string("none"), Unit::none, why);
  s.add(key, "", why);
}

std::string why_none(const std::vector<Attempt>& all) {
  const Attempt* fastest = nullptr;
  const auto over = [](const Attempt& a) { return a.time / a.allowed; };
  for (const Attempt& a : all)
    if (a.fits && (fastest == nullptr || over(a) < over(*fastest))) fastest = &a;
  if (fastest == nullptr) return fmt::format("does not fit, even with {}", all.back().change);
  if (all.front().allowed != all.back().allowed)
    return fmt::format("{} is closest: it takes {}, and the limit is {}", fastest->change, seconds_text(fastest->time),
                       seconds_text(fastest->allowed));
  return fmt::format("{} takes {}{}", fastest->change, seconds_text(fastest->time),
                     all.size() > 1 ? ", the minimum" : "");
}

std::optional<double> add_rate(Section& s, const Request& r, const HardwareRate& rate, Trial trial) {
  const auto at = [&](Count steps) {
    Request other = r;
    rate.set(*other.hardware, rate.step * real(steps));
    return trial(other, "");
  };
  const Count guess = std::max<Count>(1, static_cast<Count>(rate.now / rate.step)), most = mul(guess, times_the_rate);
  const std::optional<Count> least = first(
      most, [&](Count n) { return at(n).in_time(); }, guess);
  if (!least) {
    add_none(s, fmt::format("no_{}", rate.key), rate.label,
             fmt::format("other work takes {}, {}", seconds_text(at(most).time), rate.slow_else));
    return std::nullopt;
  }
  const double found = rate.step * real(*least);
  s.add(fmt::format("{}_factor", rate.key), rate.label, found / rate.now, Unit::none,
        fmt::format("times the {:.0f} {} of the device: {:.0f} {}", rate.now / rate.in_unit, rate.unit,
                    found / rate.in_unit, rate.unit));
  return found;
}

Finding target_finding(const Report& report, const std::string& section, const SpeedTarget& target, bool near) {
  const Row& reached = *report.row(section + ".reached");
  const bool yes = std::get<bool>(reached.value);
  std::string text = fmt::format("{} is {}: {}", target_text(target), yes ? "reached" : "missed", reached.note);
  if (near) text += ", within the error interval";
  if (yes) return {"target", text, false};
  const std::string changes = enough(report, section);
  return {"target",
          text + (changes.empty() ? "; no single change reaches it" : "; each of these reaches it: " + changes), true};
}

}  // namespace llmcalc
