#pragma once
/// Sums of products, written the way a textbook writes them: like terms together, common factors outside.

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "calc/units.hpp"

namespace llmcalc::explain {

/// "2*a*b". Whole numbers come first; factors that are empty or "1" are left out; a sum that is not alone gets its
/// parentheses. No factor: "1".
std::string product(const std::vector<std::string>& factors);

/// A sum of whole multiples of products: add(2, {"D", "A"}), add(1, {"A", "D"}) is "3*D*A".
class Sum {
 public:
  void add(Count times, std::vector<std::string> factors);
  bool empty() const { return terms_.empty(); }
  std::string text() const;  ///< "0" if it is empty

 private:
  struct Term {
    Count times;
    std::vector<std::string> factors;
  };
  std::vector<Term> terms_;
};

/// Sums, each times a factor: of("L").add(...), of("L_m").add(...): "L*(...) + L_m*(...)".
class GroupedSum {
 public:
  Sum& of(const std::string& factor);
  bool empty() const { return groups_.empty(); }
  std::string text() const;

 private:
  std::vector<std::pair<std::string, Sum>> groups_;
};

/// n/d with parentheses where they are needed.
std::string ratio(const std::string& n, const std::string& d);

}  // namespace llmcalc::explain
