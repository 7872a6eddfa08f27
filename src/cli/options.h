// The command line. One table of options and one of commands feed the parser, --help, the manual page and the shell
// completions, so all of them are consistent.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/suggestion.h"

namespace oomdoctor::cli {

/// One option, for all commands that have it.
struct OptionSpec {
  std::string_view name;
  char letter = 0;            ///< short form, 0 if there is none
  std::string_view argument;  ///< for example "PATH"; empty for a switch
  std::string_view description;
  std::vector<std::string> choices = {};  ///< the valid arguments, compared without regard to case; empty: any
  std::string_view group = {};            ///< its heading in --help, for example "What to read"
  bool rare = false;                      ///< --help shows only its name; the manual page has its description
  std::string_view alias = {};            ///< another long name
};

/// The options under one heading of --help. `rare` sets OptionSpec::rare.
struct OptionGroup {
  std::string_view title;
  std::vector<OptionSpec> options, rare = {};
};

/// What words of a command line may name, where another program than a shell wrote it.
struct InputScope {
  std::map<std::string, std::string> texts;  ///< logs in memory, by the words that name them
  std::vector<std::string> roots;            ///< folders without links; files are read below them. Empty: anywhere
};

/// The arguments of one command, checked against its options.
class Arguments {
 public:
  std::vector<std::string> words;  ///< the arguments that are not options
  InputScope scope;

  /// Whether the option was given. `option` is the long name without dashes, here and below.
  bool has(std::string_view option) const { return values_.find(option) != values_.end(); }
  /// The last value of the option; nullopt if it is absent.
  std::optional<std::string> value(std::string_view option) const;
  std::string value_or(std::string_view option, std::string_view otherwise) const;
  /// All values of the option, in the order of the command line.
  std::vector<std::string> all(std::string_view option) const;
  void add(std::string_view option, std::string value) { values_[std::string(option)].push_back(std::move(value)); }

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

/// One command.
struct CommandSpec {
  std::string_view name;
  std::string_view usage;  ///< the text after the name, for example "[PATH...|-]"
  std::string_view description;
  std::string_view more;                  ///< a second paragraph for the command's --help
  std::vector<std::string_view> options;  ///< names in option_table()
  std::vector<std::string> words = {};    ///< the valid values of its first word; empty: any
  int (*run)(const Arguments&);           ///< exit status
  std::vector<std::string> formats = {};  ///< the valid values of its --format; empty: all
  bool runs_words = false;  ///< its words are a command: its own options end at the first word, also without --
};

const std::vector<OptionSpec>& option_table();  ///< sorted by group
const std::vector<CommandSpec>& command_table();

/// One output format, as --format accepts it.
struct OutputFormat {
  std::string_view name, description;
};
/// In the order of the table of writers.
std::vector<OutputFormat> output_formats();

const OptionSpec& find_option(std::string_view name);  ///< the option must exist
/// The valid arguments of an option for this command; empty: any.
const std::vector<std::string>& choices_of(const CommandSpec& command, const OptionSpec& option);

bool is_command(std::string_view name);
/// Throws Error for an unknown command, with a suggestion.
const CommandSpec& find_command(const std::string& name);
/// The option of the command that a word is: "--quiet", "--format=json", "-v", "-qv" (the first letter). nullptr for
/// any other word.
const OptionSpec* match_option(const CommandSpec& command, std::string_view word);
/// The number of arguments before the first word: options, and their values.
std::size_t count_options(const CommandSpec& command, const std::vector<std::string>& typed);
/// Throws Error for an unknown option, a missing argument and an invalid value or word.
Arguments parse_arguments(const CommandSpec& command, const std::vector<std::string>& typed);

}  // namespace oomdoctor::cli
