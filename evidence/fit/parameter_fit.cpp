#include "evidence/fit/parameter_fit.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <cmath>
#include <future>
#include <map>

namespace llmcalc {

namespace {

constexpr std::size_t most_of_family = 80;
constexpr int steps_of_a_pattern = 8;

using Vector = Eigen::VectorXd;
using DesignMatrix = Eigen::MatrixXd;

/// Converts between parameter values and fractions of the parameters' ranges.
class Ranges {
 public:
  explicit Ranges(std::span<const ParameterCard> cards) : cards_(cards) {}
  Eigen::Index size() const { return static_cast<Eigen::Index>(cards_.size()); }
  std::vector<double> values(const Vector& x) const {
    std::vector<double> all(cards_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = cards_[i].low + x[static_cast<Eigen::Index>(i)] * range(i);
    return all;
  }
  Vector fractions(std::span<const double> values) const {
    Vector x(size());
    for (std::size_t i = 0; i < values.size(); ++i)
      x[static_cast<Eigen::Index>(i)] = (values[i] - cards_[i].low) / range(i);
    return x;
  }
  Vector standard() const {
    std::vector<double> values;
    for (const ParameterCard& c : cards_) values.push_back(c.standard);
    return fractions(values);
  }

 private:
  double range(std::size_t i) const { return cards_[i].high - cards_[i].low; }
  std::span<const ParameterCard> cards_;
};

class Fitter {
 public:
  Fitter(const FitSet& set, const FitOptions& options)
      : set_(set),
        options_(options),
        ranges_(set.cards),
        standard_(ranges_.standard()),
        is_fixed_(set.cards.size(), false) {
    for (const std::size_t i : options.fixed) is_fixed_[i] = true;
    for (std::size_t i = 0; i < set.weights.size(); ++i)
      if (set.weights[i] > 0 && (options.without.empty() || !options.without[i])) rows_.push_back(i);
  }

  LinearErrors linear(std::span<const double> values) const {
    const Vector x = ranges_.fractions(values), r = residuals(x);
    const DesignMatrix j = jacobian(x, r, true);
    LinearErrors all{{values.begin(), values.end()}, std::vector<double>(set_.weights.size()), {}};
    all.derivatives.assign(set_.cards.size(), all.errors);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const auto row = static_cast<Eigen::Index>(i);
      all.errors[rows_[i]] = r[row];
      for (std::size_t k = 0; k < set_.cards.size(); ++k)
        all.derivatives[k][rows_[i]] = j(row, static_cast<Eigen::Index>(k));
    }
    return all;
  }

  std::vector<double> run(std::span<const double> begin) {
    Vector x = ranges_.fractions(begin), r = residuals(x);
    for (Eigen::Index k = 0; k < x.size(); ++k)
      if (fixed(k)) standard_[k] = x[k];
    double damping = 1e-2, now = loss(r, x);
    for (int step = 0; step < options_.most_steps && damping < 1e6; ++step) {
      const DesignMatrix j = jacobian(x, r, step % steps_of_a_pattern == 0);
      if (step % steps_of_a_pattern == 0) depends_ = j.cwiseAbs().array() > 0;
      const double before = now;
      while (damping < 1e6 && !try_step(j, damping, x, r, now)) damping *= 4;
      damping = std::max(damping / 8, 1e-6);
      if (options_.progress) options_.progress(step, now);
      if (before - now < least_gain() * before) break;
    }
    return ranges_.values(x);
  }

 private:
  Vector residuals(const Vector& x) const {
    const std::vector<double> values = ranges_.values(x);
    Vector r(static_cast<Eigen::Index>(rows_.size()));
    if (options_.linear != nullptr) return linear_residuals(x);
    for (Eigen::Index i = 0; i < r.size(); ++i) r[i] = error(i, values);
    return r;
  }
  Vector linear_residuals(const Vector& x) const {
    const Vector by = x - ranges_.fractions(options_.linear->values);
    Vector r = Vector::Zero(static_cast<Eigen::Index>(rows_.size()));
    for (Eigen::Index i = 0; i < r.size(); ++i) r[i] = options_.linear->errors[rows_[static_cast<std::size_t>(i)]];
    return r + linear_jacobian() * by;
  }
  DesignMatrix linear_jacobian() const {
    DesignMatrix j(static_cast<Eigen::Index>(rows_.size()), ranges_.size());
    for (Eigen::Index k = 0; k < ranges_.size(); ++k)
      for (Eigen::Index i = 0; i < j.rows(); ++i)
        j(i, k) = options_.linear->derivatives[static_cast<std::size_t>(k)][rows_[static_cast<std::size_t>(i)]];
    return j;
  }
  double error(Eigen::Index i, std::span<const double> values) const {
    return set_.error(rows_[static_cast<std::size_t>(i)], values);
  }

  bool same(Eigen::Index i, std::span<const double> a, std::span<const double> b) const {
    return set_.same && set_.same(rows_[static_cast<std::size_t>(i)], a, b);
  }

  /// Loss of all residuals, plus the penalty for distance from the defaults.
  double loss(const Vector& r, const Vector& x) const {
    double all = 0;
    for (Eigen::Index i = 0; i < r.size(); ++i) {
      const double t = r[i] / set_.width, size = is_soft() ? 2 * (std::sqrt(1 + t * t) - 1) : std::log1p(t * t);
      all += weight(i) * set_.width * set_.width * size;
    }
    return all + pull() * (x - standard_).squaredNorm();
  }
  double weight(Eigen::Index i) const { return set_.weights[rows_[static_cast<std::size_t>(i)]]; }
  double pull() const { return options_.ridge * 16 * set_.width * set_.width; }

  /// Derivatives of the residuals `r` at `x`. `all`: evaluates every pair of row and parameter. Otherwise evaluates
  /// only pairs whose derivative was nonzero in the last full evaluation, since a row depends only on the few
  /// parameters of its device and software.
  DesignMatrix jacobian(const Vector& x, const Vector& r, bool all) const {
    if (options_.linear != nullptr) return linear_jacobian();
    DesignMatrix j(r.size(), ranges_.size());
    const auto column = [&](Eigen::Index k) {
      j.col(k).setZero();
      if (fixed(k)) return;
      Vector moved = x;
      const double by = x[k] > 0.5 ? -0.01 : 0.01;
      moved[k] += by;
      const std::vector<double> before = ranges_.values(x), values = ranges_.values(moved);
      for (Eigen::Index i = 0; i < r.size(); ++i)
        if ((all || depends_(i, k)) && !same(i, before, values)) j(i, k) = (error(i, values) - r[i]) / by;
    };
    std::future<void> other = std::async([&] {  // runs in a second thread if the system can start one
      for (Eigen::Index k = 1; k < ranges_.size(); k += 2) column(k);
    });
    for (Eigen::Index k = 0; k < ranges_.size(); k += 2) column(k);
    other.get();
    return j;
  }

  /// Accepts the step if it lowers the loss. Clamped parameters stay at their bounds.
  bool try_step(const DesignMatrix& j, double damping, Vector& x, Vector& r, double& now) const {
    Vector w(r.size());
    for (Eigen::Index i = 0; i < r.size(); ++i) {
      const double t = r[i] / set_.width;
      w[i] = weight(i) / (is_soft() ? std::sqrt(1 + t * t) : 1 + t * t);
    }
    DesignMatrix a = j.transpose() * w.asDiagonal() * j;
    a.diagonal().array() += pull();
    const Vector gradient = j.transpose() * w.asDiagonal() * r + pull() * (x - standard_);
    a.diagonal() += damping * a.diagonal();
    Vector moved = (x - a.ldlt().solve(gradient)).cwiseMax(0).cwiseMin(1);
    for (Eigen::Index k = 0; k < x.size(); ++k)
      if (fixed(k)) moved[k] = x[k];
    const Vector then = residuals(moved);
    const double lower = loss(then, moved);
    if (lower >= now) return false;
    x = moved;
    r = then;
    now = lower;
    return true;
  }

  /// Minimum gain of a step, as a fraction of the loss; the fit stops below it. Cauchy's loss is flat far from its
  /// minimum.
  double least_gain() const { return is_soft() ? 1e-4 : 1e-6; }
  bool is_soft() const { return set_.loss == FitLoss::soft_l1; }
  bool fixed(Eigen::Index k) const { return is_fixed_[static_cast<std::size_t>(k)]; }

  const FitSet& set_;
  const FitOptions& options_;
  Ranges ranges_;
  Vector standard_;
  std::vector<bool> is_fixed_;
  std::vector<std::size_t> rows_;
  Eigen::Array<bool, Eigen::Dynamic, Eigen::Dynamic> depends_;
};

}  // namespace

void weigh_families(FitSet& set) {
  std::map<std::string_view, std::size_t> count, seen;
  for (std::size_t i = 0; i < set.weights.size(); ++i) count[set.families[i]] += set.weights[i] > 0 ? 1 : 0;
  for (std::size_t i = 0; i < set.weights.size(); ++i) {
    if (set.weights[i] <= 0) continue;
    const std::size_t n = count[set.families[i]], every = (n + most_of_family - 1) / most_of_family;
    const bool stays = seen[set.families[i]]++ % every == 0;
    set.weights[i] *= stays ? std::pow((n + every - 1) / every, -0.35) : 0;
  }
}

LinearErrors linear_errors(const FitSet& set, std::span<const double> values) { return Fitter(set, {}).linear(values); }

std::vector<double> fit(const FitSet& set, std::span<const double> begin, const FitOptions& options) {
  return Fitter(set, options).run(begin);
}

std::vector<double> fit_from_afar(const FitSet& set, std::span<const double> begin, const FitOptions& options) {
  if (set.loss == FitLoss::soft_l1) return fit(set, begin, options);
  FitSet softly = set;
  softly.loss = FitLoss::soft_l1;
  return fit(set, fit(softly, begin, options), options);
}

}  // namespace llmcalc
