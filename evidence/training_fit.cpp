#include "evidence/training_fit.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <map>
#include <thread>

#include "calc/train.hpp"
#include "evidence/training_stack.hpp"

namespace llmcalc {

namespace {

constexpr double soft_residual = 0.07;  // beyond which residuals count by size
constexpr std::size_t most_of_family = 80;

double row_weight(const TrainingRow& row, const TrainingCase& c) {
  const double quality = row.quality == "A" ? 1 : row.quality == "B" ? 0.6 : 0.1;
  // Composed from timings of layers, not measured as a whole.
  const bool composed = row.family.find("single-node") != std::string::npos && row.family.find("vTrain") == 0;
  return quality * (c.input_assumed ? 0.3 : 1) * (composed ? 0.3 : 1);
}

/// Every n-th row of a family, so that at most 80 are left.
void thin(std::vector<FitRow>& rows) {
  std::map<std::string, std::size_t> count, seen;
  for (const FitRow& r : rows) ++count[r.family];
  std::erase_if(rows, [&](const FitRow& r) {
    const std::size_t every = (count[r.family] + most_of_family - 1) / most_of_family;
    return seen[r.family]++ % every != 0;
  });
}

void weigh_families(std::vector<FitRow>& rows) {
  std::map<std::string, double> count;
  for (const FitRow& r : rows) ++count[r.family];
  for (FitRow& r : rows) r.weight /= std::pow(count[r.family], 0.35);
}

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;
constexpr auto parameters_in_all = static_cast<Eigen::Index>(training_parameter_count);

double range(std::size_t i) { return training_parameter_cards[i].high - training_parameter_cards[i].low; }

TrainingParameters parameters(const Vector& x) {
  TrainingParameters p;
  for (std::size_t i = 0; i < training_parameter_count; ++i)
    p.values()[i] = training_parameter_cards[i].low + x[static_cast<Eigen::Index>(i)] * range(i);
  return p;
}

/// Parameters as fractions of their ranges.
Vector fractions(const TrainingParameters& p) {
  Vector x(parameters_in_all);
  for (std::size_t i = 0; i < training_parameter_count; ++i)
    x[static_cast<Eigen::Index>(i)] = (p.values()[i] - training_parameter_cards[i].low) / range(i);
  return x;
}

/// ln(predicted / measured) of all rows.
Vector residuals(const std::vector<FitRow>& rows, const Vector& x) {
  const TrainingParameters p = parameters(x);
  Vector r(static_cast<Eigen::Index>(rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i)
    r[static_cast<Eigen::Index>(i)] = std::log(estimated_step(rows[i].c, rows[i].stack, p) / *rows[i].c.step);
  return r;
}

class Fitter {
 public:
  Fitter(const std::vector<FitRow>& rows, const FitOptions& options)
      : rows_(rows), options_(options), standard_(fractions({})) {
    for (const TrainingParameter p : options.fixed) is_fixed_[static_cast<std::size_t>(p)] = true;
  }

  TrainingParameters run(const TrainingParameters& begin) {
    Vector x = fractions(begin), r = residuals(rows_, x);
    for (Eigen::Index k = 0; k < x.size(); ++k)
      if (fixed(k)) standard_[k] = x[k];
    double damping = 1e-2, now = loss(r, x);
    for (int step = 0; step < options_.most_steps && damping < 1e6; ++step) {
      const Matrix j = jacobian(x, r);
      const double before = now;
      while (damping < 1e6 && !try_step(j, damping, x, r, now)) damping *= 4;
      damping = std::max(damping / 8, 1e-6);
      if (options_.progress) options_.progress(step, now);
      if (before - now < 1e-4 * before) break;
    }
    return parameters(x);
  }

 private:
  /// 2 a^2 (sqrt(1 + (r / a)^2) - 1) of each residual, and the pull of the defaults.
  double loss(const Vector& r, const Vector& x) const {
    double all = 0;
    for (Eigen::Index i = 0; i < r.size(); ++i) {
      const double t = r[i] / soft_residual;
      all += weight(i) * 2 * soft_residual * soft_residual * (std::sqrt(1 + t * t) - 1);
    }
    return all + pull() * (x - standard_).squaredNorm();
  }
  double weight(Eigen::Index i) const { return rows_[static_cast<std::size_t>(i)].weight; }
  double pull() const { return options_.ridge * 16 * soft_residual * soft_residual; }

  Matrix jacobian(const Vector& x, const Vector& r) const {
    Matrix j(r.size(), parameters_in_all);
    const auto column = [&](Eigen::Index k) {
      j.col(k).setZero();
      if (fixed(k)) return;
      Vector moved = x;
      const double by = x[k] > 0.5 ? -0.01 : 0.01;
      moved[k] += by;
      j.col(k) = (residuals(rows_, moved) - r) / by;
    };
    std::thread other([&] {
      for (Eigen::Index k = 1; k < parameters_in_all; k += 2) column(k);
    });
    for (Eigen::Index k = 0; k < parameters_in_all; k += 2) column(k);
    other.join();
    return j;
  }

  /// Takes the step if it lowers the loss. Clamped parameters stay at their bounds.
  bool try_step(const Matrix& j, double damping, Vector& x, Vector& r, double& now) const {
    Vector w(r.size());
    for (Eigen::Index i = 0; i < r.size(); ++i) w[i] = weight(i) / std::hypot(1, r[i] / soft_residual);
    Matrix a = j.transpose() * w.asDiagonal() * j;
    a.diagonal().array() += pull();
    const Vector gradient = j.transpose() * w.asDiagonal() * r + pull() * (x - standard_);
    a.diagonal() += damping * a.diagonal();
    Vector moved = (x - a.ldlt().solve(gradient)).cwiseMax(0).cwiseMin(1);
    for (Eigen::Index k = 0; k < x.size(); ++k)
      if (fixed(k)) moved[k] = x[k];
    const Vector then = residuals(rows_, moved);
    const double lower = loss(then, moved);
    if (lower >= now) return false;
    x = moved;
    r = then;
    now = lower;
    return true;
  }

  bool fixed(Eigen::Index k) const { return is_fixed_[static_cast<std::size_t>(k)]; }

  const std::vector<FitRow>& rows_;
  const FitOptions& options_;
  Vector standard_;
  std::array<bool, training_parameter_count> is_fixed_{};
};

}  // namespace

Seconds estimated_step(const TrainingCase& c, const TrainingStack& stack, const TrainingParameters& p) {
  Cluster cluster = c.cluster();
  cluster.device.achieved = training_rates(p, c.on.hardware, stack);
  return train(c.arch, c.plan, c.layout, cluster).estimate.total();
}

std::vector<FitRow> fit_rows(const std::vector<TrainingRow>& rows, const Devices& devices) {
  std::vector<FitRow> all;
  for (const TrainingRow& row : rows) {
    TrainingCase c = training_case(row, devices);
    if (!c.skip.empty() || !c.step) continue;
    const double weight = row_weight(row, c);
    const TrainingStack stack = training_stack(c);
    all.push_back({row.family, weight, std::move(c), stack});
  }
  thin(all);
  weigh_families(all);
  return all;
}

TrainingParameters fit(const std::vector<FitRow>& rows, const TrainingParameters& begin, const FitOptions& options) {
  return Fitter(rows, options).run(begin);
}

}  // namespace llmcalc
