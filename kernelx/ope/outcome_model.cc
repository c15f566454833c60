// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/ope/outcome_model.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>

#include "kernelx/ground/error.h"
#include "kernelx/ground/parallel.h"
#include "kernelx/ground/rng.h"

namespace kernelx {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

constexpr uint64_t kFoldSalt = 0x666f6c64;
constexpr size_t kBlockRows = 256;
constexpr double kCutSd = 5.0;
constexpr double kCosineWidth = 1.3;  // length scale over the square root of the feature count
constexpr double kPenaltyFloor = 1e-9;

/// The columns of the regression; a design matrix holds one row of the data in each column.
class Design {
 public:
  Design(const LoggedDraws& draws, const OutcomeModelOptions& options)
      : draws_(draws),
        features_(static_cast<Eigen::Index>(draws.feature_count)),
        cosines_(features_ == 0 ? 0 : static_cast<Eigen::Index>(options.cosines)),
        actions_(static_cast<Eigen::Index>(std::min(options.action_functions, kActionFunctions))) {
    Standardise();
    DrawCosines(options.seed);
  }

  [[nodiscard]] Eigen::Index state_columns() const { return 1 + features_ + cosines_; }
  [[nodiscard]] Eigen::Index action_columns() const { return 1 + features_; }
  [[nodiscard]] Eigen::Index actions() const { return actions_; }
  [[nodiscard]] Eigen::Index columns() const {
    return state_columns() + actions_ * action_columns();
  }

  /// 1, features, cosines of each of `rows`; the first `action_columns` rows are what each action
  /// function multiplies.
  [[nodiscard]] Matrix State(std::span<const size_t> rows) const {
    const auto count = static_cast<Eigen::Index>(rows.size());
    Matrix state(state_columns(), count);
    state.row(0).setOnes();
    for (Eigen::Index i = 0; i < count; ++i) {
      const double* x = &draws_.features[rows[static_cast<size_t>(i)] * draws_.feature_count];
      for (Eigen::Index f = 0; f < features_; ++f) {
        state(1 + f, i) = std::clamp((x[f] - mean_(f)) * inverse_sd_(f), -kCutSd, kCutSd);
      }
    }
    if (cosines_ > 0) {
      auto cosines = state.bottomRows(cosines_);
      cosines.noalias() = directions_ * state.middleRows(1, features_);
      cosines.colwise() += phases_;
      cosines = cosines.array().cos();
    }
    return state;
  }

  /// All columns for each of `rows` at its logged action.
  [[nodiscard]] Matrix Logged(std::span<const size_t> rows) const {
    const Matrix state = State(rows);
    Matrix design(columns(), state.cols());
    design.topRows(state_columns()) = state;
    for (Eigen::Index i = 0; i < state.cols(); ++i) {
      const ActionBasis basis = BasisAt(draws_.action[rows[static_cast<size_t>(i)]]);
      for (Eigen::Index j = 0; j < actions_; ++j) {
        design.col(i).segment(state_columns() + j * action_columns(), action_columns()) =
            basis[static_cast<size_t>(j)] * state.col(i).head(action_columns());
      }
    }
    return design;
  }

 private:
  void Standardise() {
    const size_t n = draws_.rows();
    mean_ = Vector::Zero(features_);
    inverse_sd_ = Vector::Zero(features_);
    for (Eigen::Index f = 0; f < features_; ++f) {
      const double* x = &draws_.features[static_cast<size_t>(f)];
      const size_t stride = draws_.feature_count;
      double sum = 0.0;
      for (size_t i = 0; i < n; ++i) sum += x[i * stride];
      mean_(f) = sum / static_cast<double>(n);
      double squares = 0.0;
      for (size_t i = 0; i < n; ++i) {
        const double d = x[i * stride] - mean_(f);
        squares += d * d;
      }
      const double sd = std::sqrt(squares / static_cast<double>(n));
      inverse_sd_(f) = sd > 1e-9 * (1.0 + std::abs(mean_(f))) ? 1.0 / sd : 0.0;
    }
  }

  void DrawCosines(uint64_t seed) {
    Rng rng(seed, kFoldSalt);
    directions_.resize(cosines_, features_);
    phases_.resize(cosines_);
    const double width = kCosineWidth * std::sqrt(static_cast<double>(features_));
    for (Eigen::Index k = 0; k < cosines_; ++k) {
      for (Eigen::Index f = 0; f < features_; ++f) directions_(k, f) = rng.Normal() / width;
      phases_(k) = rng.Uniform(0.0, 2.0 * std::numbers::pi);
    }
  }

  const LoggedDraws& draws_;
  Eigen::Index features_;
  Eigen::Index cosines_;
  Eigen::Index actions_;
  Vector mean_;
  Vector inverse_sd_;
  Matrix directions_;
  Vector phases_;
};

/// Second moments of the rows of one fold, targets less their mean over all rows.
struct FoldMoments {
  Matrix gram;     // columns x columns, lower triangle
  Matrix cross;    // columns x terms
  Vector squares;  // terms
};

class Fitter {
 public:
  Fitter(const LoggedDraws& draws, const OutcomeModelOptions& options)
      : draws_(draws), options_(options), design_(draws, options), terms_(draws.rewards.size()) {
    if (options.ridges.empty()) {
      throw Error(ErrorCode::kUsage, "ope.OutcomeModel: no ridge to try; give at least one");
    }
    const std::vector<int> folds = FoldsOf(draws, options.folds);
    rows_.resize(static_cast<size_t>(*std::max_element(folds.begin(), folds.end())) + 1);
    for (size_t i = 0; i < folds.size(); ++i) rows_[static_cast<size_t>(folds[i])].push_back(i);
    target_mean_.assign(terms_, 0.0);
    for (size_t t = 0; t < terms_; ++t) {
      for (const double y : draws.rewards[t].value) target_mean_[t] += y;
      target_mean_[t] /= static_cast<double>(draws.rows());
    }
  }

  void Accumulate() {
    moments_.resize(rows_.size());
    ParallelFor(rows_.size(), options_.threads, [&](size_t begin, size_t end) {
      for (size_t k = begin; k < end; ++k) moments_[k] = MomentsOf(rows_[k]);
    });
    total_ = moments_[0];
    for (size_t k = 1; k < moments_.size(); ++k) {
      total_.gram += moments_[k].gram;
      total_.cross += moments_[k].cross;
      total_.squares += moments_[k].squares;
    }
    const auto n = static_cast<double>(draws_.rows());
    variance_ = total_.gram.diagonal() / n - (total_.gram.col(0) / n).cwiseAbs2();
  }

  /// Solves every fold under every penalty and keeps, a term, the penalty with the least held-out
  /// error.
  void Solve() {
    const size_t grid = options_.ridges.size();
    std::vector<Matrix> solved(grid * rows_.size());
    ParallelFor(solved.size(), options_.threads, [&](size_t begin, size_t end) {
      for (size_t j = begin; j < end; ++j) {
        solved[j] = SolveFold(j % rows_.size(), options_.ridges[j / rows_.size()]);
      }
    });
    theta_.assign(rows_.size(), Matrix::Zero(design_.columns(), static_cast<Eigen::Index>(terms_)));
    best_error_.assign(terms_, std::numeric_limits<double>::infinity());
    best_ridge_.assign(terms_, 0.0);
    for (size_t g = 0; g < grid; ++g) {
      for (size_t t = 0; t < terms_; ++t) {
        const auto column = static_cast<Eigen::Index>(t);
        double error = 0.0;
        for (size_t k = 0; k < rows_.size(); ++k) {
          error += HeldOutError(k, solved[g * rows_.size() + k].col(column), column);
        }
        if (!(error < best_error_[t])) continue;
        best_error_[t] = error;
        best_ridge_[t] = options_.ridges[g];
        for (size_t k = 0; k < rows_.size(); ++k) {
          theta_[k].col(column) = solved[g * rows_.size() + k].col(column);
        }
      }
    }
  }

  /// Per row and term, the weights of 1 and of each action function.
  [[nodiscard]] std::vector<double> Coefficients() const {
    std::vector<double> out(draws_.rows() * terms_ * (1 + kActionFunctions), 0.0);
    for (size_t k = 0; k < rows_.size(); ++k) {
      const size_t blocks = (rows_[k].size() + kBlockRows - 1) / kBlockRows;
      ParallelFor(blocks, options_.threads, [&](size_t begin, size_t end) {
        for (size_t b = begin; b < end; ++b) {
          const size_t first = b * kBlockRows;
          const size_t count = std::min(kBlockRows, rows_[k].size() - first);
          Predict(k, std::span(rows_[k]).subspan(first, count), out);
        }
      });
    }
    return out;
  }

  [[nodiscard]] std::vector<double> RSquared() const {
    std::vector<double> r2(terms_, 0.0);
    for (size_t t = 0; t < terms_; ++t) {
      const double spread = total_.squares(static_cast<Eigen::Index>(t));
      r2[t] = spread > 0.0 ? 1.0 - best_error_[t] / spread : 0.0;
    }
    return r2;
  }

  [[nodiscard]] const std::vector<double>& ridges() const { return best_ridge_; }

 private:
  [[nodiscard]] FoldMoments MomentsOf(std::span<const size_t> rows) const {
    const auto terms = static_cast<Eigen::Index>(terms_);
    FoldMoments m{.gram = Matrix::Zero(design_.columns(), design_.columns()),
                  .cross = Matrix::Zero(design_.columns(), terms),
                  .squares = Vector::Zero(terms)};
    for (size_t first = 0; first < rows.size(); first += kBlockRows) {
      const auto block = rows.subspan(first, std::min(kBlockRows, rows.size() - first));
      const Matrix design = design_.Logged(block);
      Matrix targets(design.cols(), terms);
      for (Eigen::Index t = 0; t < terms; ++t) {
        const auto term = static_cast<size_t>(t);
        for (Eigen::Index i = 0; i < design.cols(); ++i) {
          targets(i, t) =
              draws_.rewards[term].value[block[static_cast<size_t>(i)]] - target_mean_[term];
        }
      }
      m.gram.selfadjointView<Eigen::Lower>().rankUpdate(design);
      m.cross.noalias() += design * targets;
      m.squares += targets.colwise().squaredNorm().transpose();
    }
    return m;
  }

  [[nodiscard]] Matrix SolveFold(size_t fold, double ridge) const {
    const auto n = static_cast<double>(draws_.rows() - rows_[fold].size());
    Matrix gram = total_.gram - moments_[fold].gram;
    for (Eigen::Index j = 0; j < gram.rows(); ++j) {
      const double penalty = j == 0 ? 0.0 : ridge * std::max(variance_(j), 0.0);
      gram(j, j) += std::max(n, 1.0) * std::max(penalty, kPenaltyFloor);
    }
    const Eigen::LLT<Matrix> factor(gram);
    if (factor.info() != Eigen::Success) {
      throw Error(ErrorCode::kBadInput,
                  "ope.OutcomeModel: the regression is singular; check the features for columns "
                  "of extreme size or raise the ridges");
    }
    return factor.solve(total_.cross - moments_[fold].cross);
  }

  [[nodiscard]] double HeldOutError(size_t fold, const Vector& theta, Eigen::Index term) const {
    const FoldMoments& m = moments_[fold];
    return m.squares(term) - 2.0 * theta.dot(m.cross.col(term)) +
           theta.dot(m.gram.selfadjointView<Eigen::Lower>() * theta);
  }

  void Predict(size_t fold, std::span<const size_t> rows, std::vector<double>& out) const {
    const Matrix& theta = theta_[fold];
    const Matrix state = design_.State(rows);
    const auto terms = static_cast<Eigen::Index>(terms_);
    for (Eigen::Index j = -1; j < design_.actions(); ++j) {
      const Eigen::Index width = j < 0 ? design_.state_columns() : design_.action_columns();
      const Eigen::Index first = j < 0 ? 0 : design_.state_columns() + j * width;
      const Matrix value = theta.middleRows(first, width).transpose() * state.topRows(width);
      for (Eigen::Index i = 0; i < state.cols(); ++i) {
        for (Eigen::Index t = 0; t < terms; ++t) {
          const size_t at = rows[static_cast<size_t>(i)] * terms_ + static_cast<size_t>(t);
          out[at * (1 + kActionFunctions) + static_cast<size_t>(j + 1)] =
              value(t, i) + (j < 0 ? target_mean_[static_cast<size_t>(t)] : 0.0);
        }
      }
    }
  }

  const LoggedDraws& draws_;
  const OutcomeModelOptions& options_;
  Design design_;
  size_t terms_;
  std::vector<std::vector<size_t>> rows_;  // by fold
  std::vector<double> target_mean_;
  std::vector<FoldMoments> moments_;
  FoldMoments total_;
  Vector variance_;            // of each column
  std::vector<Matrix> theta_;  // by fold, columns x terms
  std::vector<double> best_error_;
  std::vector<double> best_ridge_;
};

}  // namespace

std::vector<int> FoldsOf(const LoggedDraws& draws, size_t folds) {
  if (!draws.fold.empty()) return draws.fold;
  if (folds < 2) {
    throw Error(ErrorCode::kUsage, "ope.OutcomeModel: cross-fitting needs at least 2 folds");
  }
  std::vector<int> result;
  result.reserve(draws.rows());
  for (const uint64_t id : draws.cluster) {
    result.push_back(static_cast<int>(MixSeed(id, kFoldSalt) % folds));
  }
  return result;
}

OutcomeModel OutcomeModel::Fit(const LoggedDraws& draws, const OutcomeModelOptions& options) {
  Fitter fitter(draws, options);
  fitter.Accumulate();
  fitter.Solve();
  OutcomeModel model;
  model.terms_ = draws.rewards.size();
  model.coefficients_ = fitter.Coefficients();
  model.r_squared_ = fitter.RSquared();
  model.ridges_ = fitter.ridges();
  return model;
}

}  // namespace kernelx
