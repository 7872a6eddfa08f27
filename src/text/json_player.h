// JSON documents whose records a reader of lines cannot see, as lines: the answer of a Prometheus query in one line,
// the state of a trainer with a key on each line.
//
// - An answer of Prometheus's HTTP API becomes its text format: name{label="…"} value milliseconds.
// - Of a document with a history of records, and of a list of samples, each record becomes one line. Nothing else of it
//   changes.
#pragma once

#include <string>
#include <string_view>

namespace oomdoctor {

/// Plays one document. Memory is bounded for any input. Not thread-safe.
class JsonPlayer {
 public:
  enum class Played { none, query_answer, records };

  /// The kind of document that begins with `head`.
  static Played kind_of(std::string_view head);

  explicit JsonPlayer(Played kind) : kind_(kind) {}
  /// Plays more of the document and appends finished lines to `out`.
  void feed(std::string_view raw, std::string& out);

 private:
  void break_lines(char c, std::string& out);
  void take(char c, std::string& out);
  void end_text();
  void open(char c);
  void close(std::string& out);
  void add_label();
  void write_sample(std::string& out) const;

  Played kind_;
  bool in_string_ = false, escaped_ = false;
  std::string open_;  ///< the brackets around the current place
  // Of records:
  std::size_t record_ = 0;  ///< depth of the record that is being read; 0 outside
  bool after_break_ = false, between_ = false;
  // Of an answer:
  bool in_scalar_ = false, expects_key_ = false;
  std::string text_, key_;     ///< the string or number at hand; the last key
  std::size_t labels_at_ = 0;  ///< depth of the object of labels; 0 outside
  std::string name_, labels_;
  bool overlong_ = false;     ///< of the labels
  std::string time_, value_;  ///< of the sample at hand
};

}  // namespace oomdoctor
