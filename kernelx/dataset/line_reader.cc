// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/dataset/line_reader.h"

#include <fmt/format.h>

#include "kernelx/dataset/json_fault.h"
#include "kernelx/ground/error.h"

namespace kernelx {

void ChunkLines::Clear() {
  lines = 0;
  blank = 0;
  faulty.clear();
}

void LineLedger::Take(const TextChunk& chunk, const ChunkLines& lines) {
  report_.bytes += chunk.text().size();
  if (chunk.is_piece()) {
    piece_bytes_ += chunk.text().size();
    const bool newline = chunk.text().ends_with('\n');
    const std::string_view text = chunk.text().substr(0, chunk.text().size() - (newline ? 1 : 0));
    if (chunk.ends_piece() || quarantine_ == nullptr) {
      const uint64_t line = ++lines_;
      TakeBad(line, text, {BadKind::kTooLong, TooLongWhy(piece_bytes_ - (newline ? 1 : 0))});
      piece_bytes_ = 0;
    } else {
      quarantine_->AddPiece(text);
    }
    return;
  }
  report_.blank_lines += lines.blank;
  for (const FaultyLine& bad : lines.faulty) TakeBad(lines_ + bad.line + 1, bad.text, bad.fault);
  lines_ += lines.lines;
}

void LineLedger::TakeBad(uint64_t line, std::string_view text, const LineFault& fault) {
  if (quarantine_ == nullptr) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{}:{}: {}; mend the line, or set bad lines aside with --quarantine "
                            "FILE",
                            path_, line, fault.why));
  }
  quarantine_->Add(path_, line, fault.kind, fault.why, text);
  ++report_.bad;
  ++report_.bad_by_kind[static_cast<size_t>(fault.kind)];
}

void FailNoRows(const std::string& path, const ReadReport& report) {
  const std::string why = report.bad > 0 ? fmt::format("none of its {} lines is a row", report.bad)
                                         : std::string("it is empty");
  throw Error(ErrorCode::kBadInput,
              fmt::format("{}: no rows: {}; give a recording or a processed file with at least one "
                          "(see docs/format.md)",
                          path, why));
}

}  // namespace kernelx
