// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#pragma once

#if defined(__GNUC__) && !defined(__clang__)
// GCC takes the undefined operand of its own AVX-512 intrinsics for a mistake of ours (GCC PR
// 105593). Include this header from .cc files only: the waiver holds to the end of the file.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <Eigen/Core>
