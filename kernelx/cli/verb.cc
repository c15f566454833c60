// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/cli/verb.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

namespace kernelx::cli {
namespace {

/// Reads a configuration file that is JSON when it starts with '{', TOML otherwise.
class TomlOrJson : public CLI::ConfigTOML {
 public:
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    if ((input >> std::ws).peek() != '{') return CLI::ConfigTOML::from_config(input);
    std::vector<CLI::ConfigItem> items;
    nlohmann::json object;
    try {
      object = nlohmann::json::parse(input);
    } catch (const nlohmann::json::exception& error) {
      throw CLI::FileError(std::string("the configuration is not JSON: ") + error.what());
    }
    for (const auto& [key, value] : object.items()) {
      CLI::ConfigItem item;
      item.name = key;
      for (const auto& one : value.is_array() ? value : nlohmann::json::array({value})) {
        item.inputs.push_back(one.is_string() ? one.get<std::string>() : one.dump());
      }
      items.push_back(std::move(item));
    }
    return items;
  }
};

/// Gives the verb's options what the file says, but for those that the command line has given.
/// CLI11 reads a configuration for the whole program only, not for a verb.
void ApplyConfig(const std::string& path, CLI::App& verb) {
  TomlOrJson format;
  for (const CLI::ConfigItem& item : format.from_file(path)) {
    CLI::Option* option = verb.get_option_no_throw("--" + item.name);
    if (option == nullptr) option = verb.get_option_no_throw(item.name);
    const bool known = option != nullptr && option->get_configurable() && item.parents.empty() &&
                       item.name != "config";
    if (!known) throw CLI::ConfigError::Extras(item.fullname());
    if (!option->empty()) continue;
    if (option->get_expected_min() == 0) {
      option->add_result(option->get_flag_value(item.name, format.to_flag(item)));
    } else {
      option->add_result(item.inputs);
    }
  }
}

constexpr size_t kHelpColumns = 80;

/// `text` with line breaks where it would pass `width` columns.
std::string Wrap(const std::string& text, size_t width) {
  std::string wrapped;
  size_t column = 0;
  std::istringstream words(text);
  for (std::string word; words >> word; column += word.size()) {
    if (column > 0) {
      const bool full = column + 1 + word.size() > width;
      wrapped += full ? '\n' : ' ';
      column = full ? 0 : column + 1;
    }
    wrapped += word;
  }
  return wrapped;
}

class WrappedHelp : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override {
    return Wrap(option->get_description(), kHelpColumns - get_column_width());
  }
  std::string make_subcommand(const CLI::App* verb) const override {
    std::ostringstream out;
    CLI::detail::format_help(out, verb->get_name(),
                             Wrap(verb->get_description(), kHelpColumns - get_column_width()),
                             get_column_width());
    return out.str();
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> HelpFormatter() {
  auto formatter = std::make_shared<WrappedHelp>();
  formatter->column_width(30);
  return formatter;
}

CLI::App& AddVerb(CLI::App& root, const std::string& name, const std::string& summary,
                  const std::string& examples) {
  CLI::App& verb = *root.add_subcommand(name, summary);
  verb.add_option_function<std::string>(
          "--config", [&verb](const std::string& path) { ApplyConfig(path, verb); },
          "read flags from a TOML or JSON file; those of the command line come first")
      ->type_name("FILE");
  verb.footer("EXAMPLES\n" + examples);
  return verb;
}

}  // namespace kernelx::cli
