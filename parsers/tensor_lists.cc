// A list of tensors in memory, one a line, with shape and number type: "torch.Size([8, 1024, 768]),
// torch.float32, 24.00 MB", "  (8, 1024, 768) torch.float16". The size follows from both, so a printed one is not
// needed. The table of pytorch_memlab prints no type but the size: "Tensor3   (8, 1024, 768)   24.00M".
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/bytes.h"
#include "read/context.h"
#include "read/parser.h"
#include "read/sizes.h"

namespace oomdoctor::parsers::tensor_lists {
namespace {

struct Tensor {
  std::vector<i64> shape;
  std::string type;
  i64 bytes = 0;

  bool is_like(const Tensor& other) const { return shape == other.shape && type == other.type; }
  std::string text() const {
    std::string sizes;
    for (const i64 size : shape) sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
    return '(' + sizes + ')' + (type.empty() ? "" : ' ' + type);
  }
};

/// Tensors of one shape and type.
struct TensorGroup {
  Tensor tensor;
  i64 count = 0;
};

constexpr auto widths = std::to_array<std::pair<std::string_view, i64>>({{"float64", 8},
                                                                         {"float32", 4},
                                                                         {"float16", 2},
                                                                         {"bfloat16", 2},
                                                                         {"half", 2},
                                                                         {"int64", 8},
                                                                         {"int32", 4},
                                                                         {"int16", 2},
                                                                         {"int8", 1},
                                                                         {"uint8", 1},
                                                                         {"bool", 1},
                                                                         {"float8_e4m3fn", 1},
                                                                         {"float8_e5m2", 1},
                                                                         {"float", 4}});

/// The dimensions in the brackets at `text`, which are removed from it.
std::vector<i64> take_shape(std::string_view& text) {
  constexpr std::size_t max_dimensions = 8;
  std::vector<i64> shape;
  for (const std::string_view front : {"torch.Size(", "size=", "shape="})
    if (text.starts_with(front)) text.remove_prefix(front.size());
  if (text.empty() || (text[0] != '(' && text[0] != '[')) return {};
  const std::size_t close = text.find_first_of(")]", 1);
  if (close == text.npos) return {};
  for (std::string_view rest = text.substr(1, close - 1); !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view number = trimmed(rest.substr(0, comma));
    if (number.empty() && comma == rest.size()) break;  // "(4096,)"
    if (number.empty() || !only_digits(number) || shape.size() == max_dimensions) return {};
    shape.push_back(leading_integer(number));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  text.remove_prefix(std::min(text.find_first_not_of(")],: ", close), text.size()));
  return shape;
}

/// A line that shows one tensor, with nothing but marks, a number or a class in front of its shape.
std::optional<Tensor> read_tensor(std::string_view line) {
  std::string_view text = trimmed(line);
  if (text.starts_with("<class 'torch")) text.remove_prefix(std::min(text.find('>') + 1, text.size()));
  while (!text.empty() && std::string_view("-*•#:. \t").find(text[0]) != std::string_view::npos) text.remove_prefix(1);
  for (const std::string_view word : {"Tensor", "tensor", "Parameter", ":"})
    if (text.starts_with(word)) text = trimmed(text.substr(word.size()));
  Tensor tensor;
  tensor.shape = take_shape(text);
  if (tensor.shape.empty()) return std::nullopt;
  if (text.starts_with("dtype=")) text.remove_prefix(6);
  if (!text.starts_with("torch.")) return std::nullopt;
  text.remove_prefix(6);
  std::size_t end = 0;
  while (end < text.size() && is_word_char(text[end])) ++end;
  tensor.type = std::string(text.substr(0, end));
  const auto width = std::find_if(widths.begin(), widths.end(), [&](const auto& w) { return w.first == tensor.type; });
  if (width == widths.end()) return std::nullopt;
  double bytes = static_cast<double>(width->second);
  for (const i64 size : tensor.shape) bytes *= static_cast<double>(size);
  if (!(bytes >= 0 && bytes < static_cast<double>(64 * TiB))) return std::nullopt;
  tensor.bytes = static_cast<i64>(bytes);
  return tensor;
}

/// A row of pytorch_memlab: a name, the shape and the size, in columns.
std::optional<Tensor> read_row(std::string_view line) {
  const std::string_view text = trimmed(line);
  const std::size_t shape = text.find(" (");
  if (shape == text.npos) return std::nullopt;
  std::string_view rest = trimmed(text.substr(shape));
  Tensor tensor;
  tensor.shape = take_shape(rest);
  const auto size = read_size(rest);
  if (tensor.shape.empty() || !size) return std::nullopt;
  tensor.bytes = size->count;
  return tensor;
}

/// "2 × (4, 32, 2048, 2048) float32, 2.00 GiB each"
std::string group_text(const TensorGroup& group) {
  const std::string one = group.tensor.text() + ", " + bytes_text(group.tensor.bytes);
  return group.count == 1 ? one : std::to_string(group.count) + " × " + one + " each";
}

/// Batch, heads, tokens, tokens: a matrix of attention scores has one row and one column for each token.
bool is_of_scores(const Tensor& tensor) {
  constexpr i64 shortest = 256;  // tokens: shorter sequences have small scores
  const std::size_t n = tensor.shape.size();
  return n >= 3 && tensor.shape[n - 1] == tensor.shape[n - 2] && tensor.shape[n - 1] >= shortest;
}

/// Batch, tokens, words: the width of rows as long as a vocabulary, or 0. Weights have two dimensions.
i64 rows_of_words(const Tensor& tensor) {
  constexpr i64 smallest = 30000;
  return tensor.shape.size() == 3 && tensor.shape.back() >= smallest ? tensor.shape.back() : 0;
}

}  // namespace

bool is_tensor(std::string_view line) { return read_tensor(line).has_value(); }

namespace {

/// The tensors of a list, those of one shape and type together.
class TensorList {
 public:
  void add(const Tensor& tensor) {
    sum_ += tensor.bytes;
    if (is_of_scores(tensor)) scores_ += tensor.bytes;
    const auto known =
        std::find_if(groups_.begin(), groups_.end(), [&](const TensorGroup& g) { return g.tensor.is_like(tensor); });
    (known != groups_.end() ? *known : groups_.emplace_back(TensorGroup{tensor, 0})).count++;
  }

  void report(EventSink& sink) {
    constexpr double most = 0.5;
    if (sum_ == 0) return;
    std::stable_sort(groups_.begin(), groups_.end(), [](const TensorGroup& a, const TensorGroup& b) {
      return a.tensor.bytes * a.count > b.tensor.bytes * b.count;
    });
    std::string largest = group_text(groups_[0]);
    if (groups_.size() > 1) largest += "; " + group_text(groups_[1]);
    sink.setting("live_tensors", largest);
    sink.setting("live_tensors_sum", decimal_bytes_text(sum_));
    if (const i64 width = rows_of_words(groups_[0].tensor); width > 0)
      sink.setting("live_vocabulary", std::to_string(width));
    if (static_cast<double>(scores_) >= most * static_cast<double>(sum_))
      sink.setting("live_scores", decimal_bytes_text(scores_));
  }

 private:
  std::vector<TensorGroup> groups_;
  i64 sum_ = 0, scores_ = 0;
};

constexpr int max_tensors = 2000;

}  // namespace

/// The first line of a list reports all of it.
void list(const Match& m, EventSink& sink) {
  bool goes_on = false;
  m.cursor.backward(1, [&](const Line& line) { return goes_on = is_tensor(line.text), false; });
  if (goes_on) return;
  TensorList tensors;
  const auto add = [&](std::string_view line) {
    const auto tensor = read_tensor(line);
    if (tensor) tensors.add(*tensor);
    return tensor.has_value();
  };
  add(m.cursor.line().text);
  m.cursor.forward(max_tensors, [&](const Line& line) { return add(line.text); });
  tensors.report(sink);
}

/// The header of a table, which a sum ends.
void report(const Match& m, EventSink& sink) {
  TensorList tensors;
  m.cursor.forward(max_tensors, [&](const Line& line) {
    if (const auto tensor = read_row(line.body())) tensors.add(*tensor);
    return !trimmed(line.body()).starts_with("Total Tensors");
  });
  tensors.report(sink);
}

}  // namespace oomdoctor::parsers::tensor_lists
