// The command line. One table of options and one of commands feed the parser, --help, the manual page and the shells'
// completions, so that none can name what another does not know.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace oomdoctor::cli {

struct OptionSpec {
  std::string_view name;
  char letter = 0;            ///< short form, 0 for none
  std::string_view argument;  ///< "PATH"; empty for a switch
  std::string_view description;
  std::vector<std::string> choices = {};  ///< all that the argument may be, in any letter case; empty: anything
  std::string_view group = {};            ///< its heading in --help: "What to read"
  bool rare = false;                      ///< --help gives its name alone; the manual page tells the rest
};

/// Options under one heading of --help.
struct OptionGroup {
  std::string_view title;
  std::vector<OptionSpec> options, rare = {};
};

/// What was typed behind a command, checked against its options.
class Arguments {
 public:
  std::vector<std::string> words;  ///< all that is no option

  bool has(std::string_view option) const { return values_.find(option) != values_.end(); }
  /// The last value given; nullopt when the option is absent.
  std::optional<std::string> value(std::string_view option) const;
  std::string value_or(std::string_view option, std::string_view otherwise) const;
  std::vector<std::string> all(std::string_view option) const;
  void add(std::string_view option, std::string value) { values_[std::string(option)].push_back(std::move(value)); }

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

struct CommandSpec {
  std::string_view name;
  std::string_view usage;  ///< what stands behind the name: "[PATH...|-]"
  std::string_view description;
  std::string_view more;                  ///< a paragraph for --help of the command
  std::vector<std::string_view> options;  ///< names in option_table()
  std::vector<std::string> words = {};    ///< all that its first word may be; empty: anything
  int (*run)(const Arguments&);           ///< exit status
  std::vector<std::string> formats = {};  ///< what --format may be here; empty: every choice
};

const std::vector<OptionSpec>& option_table();  ///< options of a group stand together
const std::vector<CommandSpec>& command_table();

/// What --format may be, in the table's order.
struct OutputFormat {
  std::string_view name, description;
};
std::vector<OutputFormat> output_formats();

const OptionSpec& find_option(std::string_view name);  ///< one that there is
/// Of an option's argument behind this command; empty: anything.
const std::vector<std::string>& choices_of(const CommandSpec& command, const OptionSpec& option);

/// Throws Error with a did-you-mean for an unknown command.
const CommandSpec& find_command(const std::string& name);
/// Throws Error for an unknown option, a missing argument and a value that is none of the choices.
Arguments parse_arguments(const CommandSpec& command, const std::vector<std::string>& typed);

/// "did you mean 'x'?", or "" when no candidate is near.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace oomdoctor::cli
