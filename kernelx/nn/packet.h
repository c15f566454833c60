// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
//
// The one product the networks are made of, on the processor's vector registers (through Eigen's
// packets, so AVX-512, AVX2, SSE and NEON alike). Internal to the room: include from .cc only.
//
// Every element of the result is one chain of multiply-adds over the depth, in order, whatever tile
// it is computed in. So a column comes out bit-equal alone or in a batch of any size.
#pragma once

#include <cmath>
#include <cstddef>

#include "kernelx/nn/eigen.h"

namespace kernelx::packet {

namespace ei = Eigen::internal;

template <typename T>
using Packet = typename ei::packet_traits<T>::type;
template <typename T>
inline constexpr size_t kLanes = ei::unpacket_traits<Packet<T>>::size;

template <typename T>
Packet<T> Load(const T* p) {
  return ei::ploadu<Packet<T>>(p);
}
template <typename T>
void Store(T* p, const Packet<T>& v) {
  ei::pstoreu(p, v);
}
template <typename T>
Packet<T> Set(T x) {
  return ei::pset1<Packet<T>>(x);
}

inline Packet<float> Tanh(const Packet<float>& x) { return ei::generic_fast_tanh_float(x); }
inline Packet<double> Tanh(const Packet<double>& x) {
  double lane[kLanes<double>];
  Store(lane, x);
  for (double& v : lane) v = std::tanh(v);
  return Load(lane);
}

/// C[lane, column] = sum over k of A[lane, k] * B[k, column]. Lanes are contiguous in A and C and a
/// multiple of 16; B is read an element at a time, so its strides are free (0 repeats an element).
template <typename T>
struct Product {
  size_t lanes, columns, depth;
  const T* a;
  size_t a_depth_stride;
  const T* b;
  size_t b_depth_stride, b_column_stride;
  T* c;
  size_t c_column_stride;
};

/// `start(lane, column)` gives the packet a sum begins with; `finish(packet, lane, column)` what is
/// stored.
template <int kRows, int kColumns, typename T, typename Start, typename Finish>
inline void Tile(const Product<T>& p, size_t lane, size_t column, const Start& start,
                 const Finish& finish) {
  Packet<T> sum[kRows][kColumns];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) sum[r][c] = start(lane + r * kLanes<T>, column + c);
  }
  const T* a = p.a + lane;
  const T* b = p.b + column * p.b_column_stride;
  for (size_t k = 0; k < p.depth; ++k, a += p.a_depth_stride, b += p.b_depth_stride) {
    Packet<T> left[kRows];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) left[r] = Load(a + r * kLanes<T>);
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) {
      const Packet<T> right = Set(b[c * p.b_column_stride]);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) sum[r][c] = ei::pmadd(left[r], right, sum[r][c]);
    }
  }
#pragma GCC unroll 8
  for (int c = 0; c < kColumns; ++c) {
    T* out = p.c + (column + c) * p.c_column_stride + lane;
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      Store(out + r * kLanes<T>, finish(sum[r][c], lane + r * kLanes<T>, column + c));
    }
  }
}

template <int kRows, typename T, typename Start, typename Finish>
void Stripe(const Product<T>& p, size_t lane, const Start& start, const Finish& finish) {
  size_t column = 0;
  for (; column + 4 <= p.columns; column += 4) Tile<kRows, 4>(p, lane, column, start, finish);
  switch (p.columns - column) {
    case 3:
      return Tile<kRows, 3>(p, lane, column, start, finish);
    case 2:
      return Tile<kRows, 2>(p, lane, column, start, finish);
    case 1:
      return Tile<kRows, 1>(p, lane, column, start, finish);
    default:
      return;
  }
}

template <typename T, typename Start, typename Finish>
void Multiply(const Product<T>& p, const Start& start, const Finish& finish) {
  // 16 sums and their operands fill the 32 registers of AVX-512 and NEON; with 16, half as many.
  constexpr int kRows = EIGEN_ARCH_DEFAULT_NUMBER_OF_REGISTERS >= 32 ? 4 : 2;
  size_t lane = 0;
  for (; lane + kRows * kLanes<T> <= p.lanes; lane += kRows * kLanes<T>) {
    Stripe<kRows>(p, lane, start, finish);
  }
  for (; lane < p.lanes; lane += kLanes<T>) Stripe<1>(p, lane, start, finish);
}

}  // namespace kernelx::packet
