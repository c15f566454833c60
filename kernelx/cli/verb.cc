// SPDX-FileCopyrightText: 2026 The kernelx authors
// SPDX-License-Identifier: MIT
#include "kernelx/cli/verb.h"

#include <memory>
#include <nlohmann/json.hpp>
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

}  // namespace

CLI::App& AddVerb(CLI::App& root, const std::string& name, const std::string& summary,
                  const std::string& examples) {
  CLI::App& verb = *root.add_subcommand(name, summary);
  verb.set_config("--config", "", "read flags from a TOML or JSON file");
  verb.config_formatter(std::make_shared<TomlOrJson>());
  verb.allow_config_extras(CLI::config_extras_mode::error);
  verb.footer("EXAMPLES\n" + examples);
  return verb;
}

}  // namespace kernelx::cli
