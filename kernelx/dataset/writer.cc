// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/dataset/writer.h"

#include <charconv>
#include <cmath>
#include <type_traits>

#include "kernelx/dataset/builder.h"

namespace kernelx {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kNumberBytes = 32;  // the longest double is 24 characters

template <typename T>
void AppendInteger(T value, std::string& out) {
  char text[kNumberBytes];
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

/// The shortest text that reads back to the same bits. Beyond 10^15 always with an exponent, since
/// a bare integer of 20 digits is no 64-bit number; negative zero keeps its sign as a fraction.
void AppendDouble(double value, std::string& out) {
  if (value == 0.0) {
    out += std::signbit(value) ? "-0.0" : "0";
    return;
  }
  char text[kNumberBytes];
  const auto end = std::abs(value) < 1e15 ? std::to_chars(text, text + sizeof text, value)
                                          : std::to_chars(text, text + sizeof text, value,
                                                          std::chars_format::scientific);
  out.append(text, end.ptr);
}

template <typename Values>
void AppendArray(const Values& values, std::string& out) {
  out += '[';
  bool first = true;
  for (const auto value : values) {
    if (!first) out += ',';
    first = false;
    if constexpr (std::is_same_v<decltype(value), const double>) {
      AppendDouble(value, out);
    } else {
      AppendInteger(value, out);
    }
  }
  out += ']';
}

void AppendString(std::string_view text, std::string& out) {
  constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

void AppendBool(bool value, std::string& out) { out += value ? "true" : "false"; }

/// `behavior`, `applied` and `comm`, as far as known, and the end of the line.
void AppendTail(const Behavior& behavior, const Applied& applied, std::string_view comm,
                std::string& out) {
  if (behavior.known) {
    out += ",\"behavior\":{\"drawn\":";
    AppendBool(behavior.drawn, out);
    out += behavior.mode == DrawMode::kTask ? ",\"mode\":\"task\"" : ",\"mode\":\"group\"";
    out += ",\"window\":";
    AppendInteger(behavior.window, out);
    out += ",\"p_draw\":";
    AppendDouble(behavior.p_draw, out);
    out += ",\"p_zero\":";
    AppendDouble(behavior.p_zero, out);
    out += '}';
  }
  if (applied.known) {
    out += ",\"applied\":{\"nice\":";
    AppendInteger(applied.nice, out);
    out += ",\"slice_ns\":";
    AppendInteger(applied.slice_ns, out);
    out += ",\"at\":";
    AppendInteger(applied.at_ns, out);
    out += ",\"in_force\":";
    AppendBool(applied.in_force, out);
    out += '}';
  }
  if (!comm.empty()) {
    out += ",\"comm\":";
    AppendString(comm, out);
  }
  out += "}\n";
}

void AppendDelta(const Delta& delta, std::string& out) {
  out += ",\"delta\":{\"exec_ns\":";
  AppendInteger(delta.exec_ns, out);
  out += ",\"vruntime_ns\":";
  AppendInteger(delta.vruntime_ns, out);
  out += ",\"wait_us\":";
  AppendInteger(delta.wait_us, out);
  out += ",\"next_wait_us\":";
  AppendInteger(delta.next_wait_us, out);
  out += ",\"voluntary\":";
  AppendInteger(delta.voluntary, out);
  out += ",\"involuntary\":";
  AppendInteger(delta.involuntary, out);
  out += ",\"sleep_us\":";
  AppendInteger(delta.sleep_us, out);
  out += '}';
}

void AppendState(const RawState& state, std::string& out) {
  out += "{\"features\":";
  AppendArray(state.features, out);
  out += ",\"timestamp\":";
  AppendInteger(state.timestamp_ns, out);
  out += ",\"pid\":";
  AppendInteger(state.pid, out);
  out += ",\"cpu\":";
  AppendInteger(state.cpu, out);
  out += '}';
}

}  // namespace

void AppendProcessed(const Row& row, uint32_t columns, std::string& out) {
  out += "{\"state\":";
  AppendArray(row.state, out);
  out += ",\"action\":";
  AppendDouble(row.action, out);
  out += ",\"reward\":";
  AppendDouble(row.reward, out);
  out += ",\"next_state\":";
  AppendArray(row.next_state, out);
  out += ",\"pid\":";
  AppendInteger(row.pid, out);
  out += ",\"cpu\":";
  AppendInteger(row.cpu, out);
  out += ",\"timestamp\":";
  AppendInteger(row.timestamp_ns, out);
  if ((columns & ColumnBits(Column::kNextTimestamp)) != 0) {
    out += ",\"next_timestamp\":";
    AppendInteger(row.next_timestamp_ns, out);
  }
  if ((columns & ColumnBits(Column::kStart)) != 0) {
    out += ",\"start\":";
    AppendInteger(row.start_ns, out);
  }
  if ((columns & ColumnBits(Column::kDelta)) != 0) AppendDelta(row.delta, out);
  AppendTail(row.behavior, row.applied, row.comm, out);
}

void AppendRaw(const RawTransition& row, std::string& out) {
  out += "{\"state_t\":";
  AppendState(row.state, out);
  out += ",\"action\":";
  AppendDouble(row.action, out);
  out += ",\"reward\":";
  AppendInteger(row.reward, out);
  out += ",\"state_t_next\":";
  AppendState(row.next, out);
  AppendTail(row.behavior, row.applied, row.comm, out);
}

std::string FormatProcessed(std::span<const Row> rows, uint32_t columns) {
  std::string text;
  for (const Row& row : rows) AppendProcessed(row, columns, text);
  return text;
}

std::string FormatRaw(std::span<const RawTransition> rows) {
  std::string text;
  for (const RawTransition& row : rows) AppendRaw(row, text);
  return text;
}

void ProcessedWriter::Append(const Row& row) {
  AppendProcessed(row, columns_, buffer_);
  if (buffer_.size() >= kBufferBytes) AppendText({});
}

void ProcessedWriter::AppendText(std::string_view lines) {
  file_.Write(buffer_);
  buffer_.clear();
  file_.Write(lines);
}

void ProcessedWriter::Stage() {
  if (!buffer_.empty()) AppendText({});
  file_.Stage();
}

void ProcessedWriter::Commit() {
  Stage();
  file_.Commit();
}

void RawWriter::Append(const RawTransition& row) {
  AppendRaw(row, buffer_);
  if (buffer_.size() >= kBufferBytes) AppendText({});
}

void RawWriter::AppendText(std::string_view lines) {
  file_.Write(buffer_);
  buffer_.clear();
  file_.Write(lines);
}

void RawWriter::Commit() {
  AppendText({});
  file_.Commit();
}

}  // namespace kernelx
