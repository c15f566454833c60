// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/dataset/json_fault.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

namespace kernelx {
namespace {

using nlohmann::json;

/// Follows the parse to where it stops, and notes the first number that does not fit.
class Witness : public nlohmann::json_sax<json> {
 public:
  bool null() override { return Value(); }
  bool boolean(bool /*value*/) override { return Value(); }
  bool number_integer(number_integer_t /*value*/) override { return Value(); }
  bool number_unsigned(number_unsigned_t /*value*/) override { return Value(); }
  bool number_float(number_float_t value, const string_t& text) override {
    const bool integral = text.find_first_of(".eE") == string_t::npos;
    if (bad_number.empty() && (integral || !std::isfinite(value))) {
      bad_number = text;
      bad_number_key = last_key_;
    }
    return Value();
  }
  bool string(string_t& /*value*/) override { return Value(); }
  bool binary(binary_t& /*value*/) override { return Value(); }
  bool start_object(size_t /*elements*/) override { return Open(); }
  bool key(string_t& value) override {
    last_key_ = value;
    return true;
  }
  bool end_object() override { return Close(); }
  bool start_array(size_t /*elements*/) override { return Open(); }
  bool end_array() override { return Close(); }
  bool parse_error(size_t where, const std::string& /*last_token*/,
                   const json::exception& error) override {
    position = where;
    number_overflow = error.id == 406;
    if (number_overflow && bad_number.empty()) bad_number_key = last_key_;
    return false;
  }

  std::string bad_number;
  std::string bad_number_key;
  bool number_overflow = false;
  bool too_deep = false;
  bool complete = false;  ///< a whole value had been read before the error
  size_t position = 0;    ///< bytes read up to the error

 private:
  bool Value() {
    complete = depth_ == 0;
    return true;
  }
  bool Open() {
    too_deep = ++depth_ > kMaxDepth || too_deep;
    return true;
  }
  bool Close() {
    --depth_;
    return Value();
  }
  size_t depth_ = 0;
  std::string last_key_;
};

bool IsWordByte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.' ||
         c == '_';
}

/// The word or number of `line` around the byte at `position` - 1.
std::string_view WordAt(std::string_view line, size_t position) {
  if (line.empty()) return {};
  size_t begin = std::min(position == 0 ? 0 : position - 1, line.size() - 1);
  if (!IsWordByte(line[begin]) && begin > 0) --begin;
  size_t end = begin;
  while (begin > 0 && IsWordByte(line[begin - 1])) --begin;
  while (end < line.size() && IsWordByte(line[end])) ++end;
  return line.substr(begin, std::max<size_t>(end, begin + 1) - begin);
}

LineFault NumberFault(std::string_view key, std::string_view text) {
  return {BadKind::kOutOfRange,
          fmt::format("`{}` holds {}, which no 64-bit number can; write a smaller one",
                      QuoteText(key), QuoteText(text))};
}

}  // namespace

std::string TooLongWhy(size_t bytes) {
  return fmt::format("the line has {} bytes or more; a row has at most {}", bytes, kMaxLineBytes);
}

LineFault ExplainSyntax(std::string_view line, simdjson::error_code error) {
  if (error == simdjson::UTF8_ERROR) {
    return {BadKind::kNotUtf8, "the line is not UTF-8 (" + QuoteText(line) + ")"};
  }
  Witness witness;
  json::sax_parse(line, &witness);
  if (witness.too_deep) {
    return {BadKind::kTooDeep,
            fmt::format("the line nests deeper than {} levels; a row needs three", kMaxDepth)};
  }
  if (!witness.bad_number.empty()) return NumberFault(witness.bad_number_key, witness.bad_number);
  const std::string_view word = WordAt(line, witness.position);
  if (witness.number_overflow) return NumberFault(witness.bad_number_key, word);
  if (witness.complete) {
    return {BadKind::kTwoValues,
            fmt::format("a second value follows the first at byte {} ({}); a line is one row",
                        witness.position,
                        QuoteText(line.substr(std::max<size_t>(witness.position, 1) - 1)))};
  }
  if (witness.position > line.size()) {
    return {BadKind::kIncomplete,
            fmt::format("the line ends inside its object, after \"{}\"",
                        QuoteText(line.substr(line.size() - std::min<size_t>(line.size(), 24))))};
  }
  return {BadKind::kNotJson, fmt::format("not JSON at byte {} ({}); a finite number, a string, an "
                                         "array or an object belongs there",
                                         witness.position, QuoteText(word))};
}

}  // namespace kernelx
