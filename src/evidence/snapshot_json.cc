#include "evidence/snapshot_json.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/ascii.h"

namespace oomdoctor {
namespace {

using enum SnapshotProblemKind;

/// The bytes of a stream as an input iterator.
class StreamIterator {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = char;
  using pointer = const char*;
  using reference = char;
  using iterator_category = std::input_iterator_tag;

  explicit StreamIterator(ByteStream* in) : in_(in) {}
  char operator*() const { return *in_->data(); }
  StreamIterator& operator++() {
    in_->skip(1);
    return *this;
  }
  bool operator==(const StreamIterator&) const { return !in_->ensure(1); }  // compared with the end only
  bool operator!=(const StreamIterator& other) const { return !(*this == other); }

 private:
  ByteStream* in_;
};

/// The events of the parser, as values for the builder. What is open waits on a stack.
class JsonEvents {
 public:
  JsonEvents(ByteStream& in, SnapshotBuilder& out) : in_(in), out_(out) {}

  bool null() { return add({}); }
  bool boolean(bool value) { return add(SnapshotValue::of_truth(value)); }
  bool number_integer(std::int64_t value) { return add(SnapshotValue::of_integer(value)); }
  bool number_unsigned(std::uint64_t value) {
    return add(value >> 63 != 0 ? SnapshotValue::of_wide(value) : SnapshotValue::of_integer(static_cast<i64>(value)));
  }
  bool number_float(double value, const std::string& /*text*/) { return add(SnapshotValue::of_real(value)); }
  bool string(std::string& value) { return add(out_.text(value)); }
  bool binary(std::vector<std::uint8_t>& /*value*/) { return false; }  // not in JSON
  bool key(std::string& value) { return add(out_.text(value)); }
  bool start_object(std::size_t /*size*/) { return open(out_.empty_dict()); }
  bool start_array(std::size_t /*size*/) { return open(out_.empty_list()); }

  bool end_object() {
    const SnapshotValue dict = open_.back().container;
    out_.set_items(dict, std::span(values_).subspan(open_.back().first));
    return close(dict);
  }

  bool end_array() {
    flush_list();
    return close(open_.back().container);
  }

  bool parse_error(std::size_t /*position*/, const std::string& /*token*/, const nlohmann::json::exception&) {
    if (!in_.ensure(1))
      throw SnapshotProblem{snapshot_cut, "the file is cut: it ends before its JSON does", in_.offset()};
    throw SnapshotProblem{snapshot_malformed, "it is not valid JSON", in_.offset()};
  }

  SnapshotValue top() const { return top_; }

 private:
  struct OpenContainer {
    SnapshotValue container;
    std::size_t first = 0;  ///< of its values on the stack
  };

  bool add(SnapshotValue value) {
    if (open_.empty()) {
      top_ = value;
      return true;
    }
    values_.push_back(value);
    constexpr std::size_t batch = 1024;  // a list of events is passed on in pieces
    if (open_.back().container.tag == ValueTag::list && values_.size() - open_.back().first >= batch) flush_list();
    return true;
  }

  bool open(SnapshotValue container) {
    if (open_.size() >= SnapshotLimits::depth)
      throw SnapshotProblem{snapshot_limit, "its JSON is nested deeper than any snapshot", in_.offset()};
    open_.push_back({container, values_.size()});
    return true;
  }

  void flush_list() {
    const OpenContainer& list = open_.back();
    out_.append(list.container, std::span(values_).subspan(list.first));
    values_.resize(list.first);
  }

  bool close(SnapshotValue container) {
    values_.resize(open_.back().first);
    open_.pop_back();
    return add(container);
  }

  ByteStream& in_;
  SnapshotBuilder& out_;
  std::vector<OpenContainer> open_;
  std::vector<SnapshotValue> values_;
  SnapshotValue top_;
};

}  // namespace

SnapshotValue read_snapshot_json(ByteStream& in, SnapshotBuilder& out) {
  JsonEvents events(in, out);
  try {
    nlohmann::json::sax_parse(StreamIterator(&in), StreamIterator(&in), &events);
  } catch (SnapshotProblem& problem) {
    if (!problem.offset) problem.offset = in.offset();
    throw;
  }
  return events.top();
}

bool begins_snapshot_json(std::string_view first) {
  constexpr std::size_t look = 4096;
  constexpr auto words = std::to_array<std::string_view>(
      {"\"device_traces\"", "\"total_size\"", "\"segment_type\"", "\"segment_pool_id\"", "\"device_free\"",
       "\"allocator_settings\"", "\"external_annotations\"", "\"host_segments\"", "\"PYTORCH_CUDA_ALLOC_CONF\""});
  first = first.substr(0, look);
  const auto begin = std::find_if_not(first.begin(), first.end(), is_space);
  if (begin == first.end() || (*begin != '{' && *begin != '[')) return false;
  const auto key = std::find_if_not(begin + 1, first.end(), is_space);
  if (*begin == '{' && first.substr(static_cast<std::size_t>(key - first.begin())).starts_with("\"segments\""))
    return true;
  return std::any_of(words.begin(), words.end(), [&](auto word) { return first.find(word) != first.npos; });
}

}  // namespace oomdoctor
