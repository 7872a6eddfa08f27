// A program with its own settings, such as vLLM or detectron2: a file in rules/programs/. It says how logs show the
// program and what the program does. Its settings are the rules' part of the file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/toml_table.h"

namespace oomdoctor {

struct Program {
  enum class Work {
    serves,     ///< an inference server: many clients, a cache sized at its start
    runs,       ///< runs a model, one request after the other
    paints,     ///< generates images, and prints its sampler's steps
    boosts,     ///< gradient-boosted trees; its iterations are not training steps of a network
    simulates,  ///< many copies of a simulated world; the learner may run in the same process
    trains,     ///< a training library, also used for evaluation
  };

  /// A word that occurs in no other program's log: a launcher, a logger, a module of a command line.
  struct Word {
    std::string name, anchor, example;
  };

  std::string name = {};
  Work work = Work::serves;
  bool images = false;                    ///< its samples are images
  bool one_sample = false;                ///< a step takes one sample: there is no batch
  bool grows = false;                     ///< adds to its model during the run: memory grows without a leak
  std::string message = {};               ///< the framework that its messages name; "" if none
  std::vector<std::string> embeds = {};   ///< programs that it contains: its log has their messages
  std::vector<std::string> files = {};    ///< parts of its files' names
  std::vector<std::string> parsers = {};  ///< parsers whose matches identify it
  std::vector<Word> words = {};

  /// True for one of its files, wherever the program is installed.
  bool owns(std::string_view file) const;
  /// True for a program that does not train a network.
  bool is_engine() const { return work != Work::trains && work != Work::simulates; }
};

/// Reads the keys above. The caller reads the settings, then calls finish(). Throws Error.
Program read_program(TomlTable& table);

}  // namespace oomdoctor
