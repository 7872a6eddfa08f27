// Each law has a cause: constant retention (linear), a growing history that is kept (quadratic), doubling
// (exponential), caches that fill (saturating, logarithmic), start-up (ramp), a change of input (step), a leak under a
// condition (late), work that repeats (sawtooth, ratchet, cycle). Columns are of order 1 on the window 0 … 1, so that
// all coefficients have a similar size. Outside the window every law simply continues.
#include "growth/law.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace oomdoctor {

bool has_smooth_theta(Law law) {
  return law == Law::exponential || law == Law::logarithmic || law == Law::saturating || law == Law::late ||
         law == Law::ramp || law == Law::bend;
}

bool has_levels(Law law) { return law == Law::step || law == Law::two_steps || law == Law::stairs; }

bool is_periodic(Law law) {
  return law == Law::sawtooth || law == Law::ratchet || law == Law::staircase || law == Law::cycle ||
         law == Law::cycle_line;
}

std::size_t line_column(Law law) { return law == Law::cycle_line ? cycle_levels : 1; }

std::size_t column_count(Law law, const std::vector<double>& theta) {
  switch (law) {
    case Law::constant:
      return 1;
    case Law::quadratic:
    case Law::bend:
    case Law::step_line:
    case Law::ratchet:
      return 3;
    case Law::step:
    case Law::two_steps:
    case Law::stairs:
      return theta.size() + 1;
    case Law::cycle:
      return cycle_levels;
    case Law::cycle_line:
      return cycle_levels + 1;
    default:
      return 2;
  }
}

// The basis functions of a law. The first one is the constant, except in laws with levels, where each level has its own
// column.
void fill_columns(Law law, const std::vector<double>& theta, std::span<const double> u, double* out) {
  const std::size_t n = u.size();
  const double first = theta.empty() ? 0 : theta[0];
  const auto column = [&](std::size_t number, auto value) {
    for (std::size_t i = 0; i < n; ++i) out[number * n + i] = value(u[i]);
  };
  const auto line = [](double at) { return at - 0.5; };
  const auto indicator = [&](std::size_t count, auto index_at) {
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t chosen = index_at(u[i]), j = 0; j < count; ++j) out[j * n + i] = j == chosen ? 1 : 0;
  };
  column(0, [](double) { return 1.0; });
  switch (law) {
    case Law::constant:
      return;
    case Law::linear:
      column(1, line);
      return;
    case Law::quadratic:
      column(1, line);
      column(2, [](double at) { return (at - 0.5) * (at - 0.5); });
      return;
    case Law::exponential: {
      const double scale = std::expm1(first);
      column(1, [&](double at) { return std::expm1(first * at) / scale; });
      return;
    }
    case Law::logarithmic: {
      const double scale = std::log1p(first);
      column(1, [&](double at) { return std::log1p(first * std::max(at, 0.0)) / scale; });
      return;
    }
    case Law::saturating:
      column(1, [&](double at) { return -std::expm1(-at / first); });
      return;
    case Law::late:
      column(1, [&](double at) { return std::max(0.0, at - first) / (1 - first); });
      return;
    case Law::ramp:
      column(1, [&](double at) { return std::min(at, first) / first; });
      return;
    case Law::bend:
      column(1, [&](double at) { return std::min(at, first) / first; });
      column(2, [&](double at) { return std::max(0.0, at - first) / (1 - first); });
      return;
    case Law::step_line:
      column(1, line);
      column(2, [&](double at) { return at >= first ? 1.0 : 0.0; });
      return;
    case Law::sawtooth:
      column(1, [&](double at) { return cycle_phase(theta, at); });
      return;
    case Law::ratchet:
      column(1, line);
      column(2, [&](double at) { return cycle_phase(theta, at); });
      return;
    case Law::staircase: {
      const double period = period_of(theta);
      column(1, [&](double at) { return period * std::floor((at - theta[1]) / period + 1e-9); });
      return;
    }
    case Law::cycle_line:
      column(cycle_levels, line);
      [[fallthrough]];
    case Law::cycle:
      indicator(cycle_levels, [&](double at) {
        return std::min(cycle_levels - 1, static_cast<std::size_t>(cycle_phase(theta, at) * cycle_levels));
      });
      return;
    case Law::step:
    case Law::two_steps:
    case Law::stairs:
      indicator(theta.size() + 1, [&](double at) {
        return static_cast<std::size_t>(std::upper_bound(theta.begin(), theta.end(), at) - theta.begin());
      });
      return;
  }
}

void fill_columns(Law law, const std::vector<double>& theta, double u, double* out) {
  fill_columns(law, theta, std::span<const double>(&u, 1), out);
}

// Called for every point of every drawn curve, so small laws need no allocation.
double value_at(Law law, const std::vector<double>& beta, const std::vector<double>& theta, double u) {
  std::array<double, 16> small{};
  std::vector<double> large;
  double* columns = small.data();
  if (beta.size() > small.size()) {
    large.resize(beta.size());
    columns = large.data();
  }
  fill_columns(law, theta, u, columns);
  double sum = 0;
  for (std::size_t i = 0; i < beta.size(); ++i) sum += beta[i] * columns[i];
  return sum;
}

double period_of(const std::vector<double>& theta) {
  return theta.size() == 2 ? theta[0] : (theta.back() - theta.front()) / static_cast<double>(theta.size() - 1);
}

// The tolerances let a position exactly on a reset begin the next period, despite rounding.
double cycle_phase(const std::vector<double>& theta, double u) {
  const double period = period_of(theta);
  if (theta.size() == 2) {
    const double turns = (u - theta[1]) / period;
    return std::max(0.0, turns - std::floor(turns + 1e-9));
  }
  const auto next = std::upper_bound(theta.begin(), theta.end(), u + 1e-12);
  if (next == theta.begin()) return (u - theta.front()) / period + 1;
  const double turns_since = (u - *(next - 1)) / period;
  return next == theta.end() ? turns_since - std::floor(turns_since + 1e-9) : turns_since;
}

}  // namespace oomdoctor
