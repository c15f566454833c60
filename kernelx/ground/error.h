// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>
#include <string>

namespace kernelx {

/// Why an operation failed; the command line turns it into an exit code.
enum class ErrorCode {
  kUsage,              ///< A flag, argument or call that makes no sense: exit 2.
  kBadInput,           ///< The content of a file or stream is wrong: exit 1.
  kFile,               ///< The file system refused: missing, unreadable, full: exit 1.
  kState,              ///< Called out of order, e.g. Step before Reset: exit 1.
  kMissingCapability,  ///< This machine or build lacks something: exit 3.
};

/// The one exception of the library. `what()` reads "where: what happened, with the value; what to
/// do", for a bad line of input "file:line: what; what to do".
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace kernelx
