#include "read/freeform.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>

#include "base/ascii.h"
#include "base/parse_whole.h"
#include "read/label.h"
#include "read/parser.h"
#include "read/tokens.h"
#include "read/translation.h"

namespace oomdoctor {
namespace {

constexpr std::size_t max_label_words = 9;
constexpr std::size_t max_values = 16;
constexpr std::size_t max_line_bytes = 512;  ///< bytes; a longer line is a list of many records
constexpr double granule = 512;              ///< bytes: PyTorch's allocator rounds every size to a multiple of it
constexpr double segments_of_gib = 512;      ///< PyTorch's allocator takes memory in multiples of 2 MiB
constexpr double page = 4096;                ///< bytes: psutil and the kernel count a process in pages

/// Words in a label and tokens in a line, to reserve memory.
constexpr std::size_t typical_words = 8, typical_tokens = 64;
using LowerWords = std::vector<std::string_view>;

/// True for a rate per second and a total that no steps have. Python starts no training step in less than 1 ms, but a
/// resumed bar counts its first steps at once, so only a bar with a large total counts items for sure.
bool is_too_fast(double rate, double total) {
  constexpr double max_step_rate = 1000, min_items = 100000;
  return rate > max_step_rate && total >= min_items;
}

/// "worker-3", "worker_3", "worker3": one of several parts of a program, each with memory of its own.
bool names_part(std::string_view word) {
  if (word.empty() || !is_digit(word.back())) return false;
  static constexpr auto parts = std::to_array<std::string_view>({"worker", "replica", "actor"});
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    if (word.size() <= part.size() || lower(word.substr(0, part.size())) != part) return false;
    std::string_view number = word.substr(part.size());
    if (std::string_view("-_#: ").find(number.front()) != std::string_view::npos) number.remove_prefix(1);
    return !number.empty() && only_digits(number);
  });
}

/// Words that people cut with a point.
bool is_abbreviation(std::string_view word) {
  return one_of(word, {"max", "min", "avg", "mem", "alloc", "res", "rsvd", "proc", "cur", "curr", "est", "approx",
                       "opt", "util", "total", "val"});
}

/// "train", "pretraining", "finetuning", "fit": the description of a bar that counts the steps of a training.
bool names_training(std::string_view word) {
  return word.starts_with("train") ||
         one_of(word, {"pretrain", "pretraining", "finetune", "finetuning", "fit", "fitting"});
}

/// The GPU of "GPU1" or "cuda1"; nullopt for other words.
std::optional<int> device_in_word(std::string_view word) {
  constexpr std::size_t most_digits = 2;
  for (const std::string_view device : {"gpu", "cuda"}) {
    if (!word.starts_with(device)) continue;
    const std::string_view number = word.substr(device.size());
    if (!number.empty() && number.size() <= most_digits && only_digits(number))
      return static_cast<int>(leading_integer(number));
  }
  return std::nullopt;
}

/// Bytes of one step of the last printed digit.
double compute_quantum(double factor, int decimals) {
  for (int i = 0; i < decimals; ++i) factor /= 10;
  return std::max(1.0, factor);
}

/// The words before a number, back to whatever separates them from the rest of the line.
struct NumberPhrase {
  LowerWords words;  ///< all words in lower case, without units
  LowerWords identifiers;
  std::string_view unit;
  std::optional<int> device;
  std::size_t device_at = FreeformValue::none;
  std::size_t begin = 0, end = 0;  ///< the label's range in the line
  std::size_t first_token = 0;
  std::string_view moment;  ///< "after compiled optim step", as the programmer named it
  bool firm = true;         ///< no unknown word is before the label
  /// One of the words makes the label no measurement.
  bool rejected = false;
};

/// Parses one line, without the head that a logger prints.
class FreeformReader {
 public:
  /// `printed` differs from `line` only if the line is a translation.
  FreeformReader(std::string_view line, std::string_view printed, bool fairseq)
      : line_(line), printed_(printed), lowered_(lower(line)), fairseq_(fairseq) {
    tokens_.reserve(typical_tokens);
    TokenReader tokens(line_, lowered_);
    while (const auto token = tokens.next()) tokens_.push_back(*token);
    join_sizes();
  }

  FreeformLine read() {
    read_bar();
    read_progress();
    if (out_.over_epochs) *out_.step += std::max(0.0, *out_.epoch - out_.first_epoch) * *out_.total;
    if (!is_no_measurement(line_) && !is_prose() && !out_.other_work) read_values();
    out_.repeatable = !digits_matter_;
    return std::move(out_);
  }

 private:
  using Kind = Token::Kind;

  bool is(std::size_t i, char c) const { return i < tokens_.size() && tokens_[i].is(c); }
  bool is_number(std::size_t i) const { return i < tokens_.size() && tokens_[i].kind == Kind::number; }
  bool is_word(std::size_t i) const { return i < tokens_.size() && tokens_[i].kind == Kind::word; }
  bool glued(std::size_t i) const { return i > 0 && i < tokens_.size() && tokens_[i].begin == tokens_[i - 1].end; }
  /// True for the device in "torch.cuda.memory_allocated(0)".
  bool is_argument(std::size_t i) const {
    return i > 1 && is_integer(i) && is(i - 1, '(') && is(i + 1, ')') && is_word(i - 2) && glued(i - 1) &&
           one_of(tokens_[i - 2].name, {"memory_allocated", "memory_reserved", "memory_cached", "max_memory_allocated",
                                        "max_memory_reserved", "max_memory_cached"});
  }
  /// True for the step in "memory after epoch 3: 5.6 GB".
  bool ends_moment(std::size_t i) const {
    return i > 1 && is_integer(i) && (is(i + 1, ':') || is(i + 1, '=')) && is_number(i + 2) && is_word(i - 1) &&
           (tokens_[i - 1].name == "epoch" || step_rank(tokens_[i - 1].name) > 0) && is_word(i - 2) &&
           names_moment(tokens_[i - 2].name);
  }
  bool is_integer(std::size_t i) const { return is_number(i) && tokens_[i].number.decimals == 0; }

  bool is_prose() {
    if (!prose_) prose_ = has_prose();
    return *prose_;
  }

  bool has_prose() const {
    return std::any_of(tokens_.begin(), tokens_.end(),
                       [](const Token& t) { return t.kind == Kind::word && belongs_to_prose(t.name); });
  }

  /// True if a word names a metric of a training.
  bool names_metrics() const {
    return std::any_of(tokens_.begin(), tokens_.end(), [](const Token& t) {
      if (t.kind != Kind::word) return false;
      const std::string_view w = t.name;
      return w.find("loss") != w.npos || one_of(w, {"lr", "acc", "accuracy", "eta", "time", "grad_norm", "mem",
                                                    "memory", "reward", "tokens", "step", "iter", "epoch", "batch"});
    });
  }

  bool is_about_device() const {
    return std::any_of(tokens_.begin(), tokens_.end(), [](const Token& t) {
      return t.kind == Kind::word && one_of(t.name, {"gpu", "cuda", "vram", "mem", "memory", "allocated", "reserved",
                                                     "cached", "alloc", "hbm"});
    });
  }

  /// Reads "mem: 9.1 of 23.9 GiB" and "ram 3.1 GB of 16.0 GB" as if a slash were between the sizes.
  void join_sizes() {
    for (std::size_t i = 1; i + 2 < tokens_.size(); ++i) {
      if (!is_word(i) || tokens_[i].name != "of" || !is_number(i + 1) || !unit_after(i + 1)) continue;
      const std::size_t first = is_number(i - 1) ? i - 1 : i - std::min<std::size_t>(i, 2);
      if (!is_number(first) || (first + 2 == i && !unit_after(first))) continue;
      digits_matter_ = true;
      if (first + 2 == i || tokens_[first].number.value <= tokens_[i + 1].number.value)
        tokens_[i].kind = Kind::mark, tokens_[i].text = "/";
    }
  }

  std::optional<Unit> unit_after(std::size_t n) const {
    if (!is_word(n + 1)) return std::nullopt;
    // A rate, "GB/s". "8.0 GB / reserved: 9.0 GB" has two amounts.
    if (is(n + 2, '/') && is_word(n + 3) && (glued(n + 2) || tokens_[n + 3].name.size() <= 3)) return std::nullopt;
    return read_unit(tokens_[n + 1].text, glued(n + 1));
  }

  std::optional<std::size_t> find_moment_start(std::size_t end) const;
  NumberPhrase find_phrase(std::size_t n);
  const NumberPhrase& phrase_before(std::size_t n) {
    const auto found = std::find_if(phrases_.begin(), phrases_.end(), [n](const auto& p) { return p.first == n; });
    return found != phrases_.end() ? found->second : phrases_.emplace_back(n, find_phrase(n)).second;
  }
  bool counts_free(std::size_t n) const;
  bool counts_whole(std::size_t n) const;
  void read_bar();
  bool is_rest_of_bar() const;
  void read_progress();
  bool is_parameter() const;
  bool is_stage();
  bool counts_work_done(std::size_t n) const;
  bool is_before_step_word(std::size_t n) const;
  std::optional<std::size_t> find_step_in_epoch(std::size_t n) const;
  void read_leading_step();
  void judge_line();
  bool read_length(const NumberPhrase& p, std::size_t n);
  bool is_plausible(const NumberPhrase& p, const Label& label, std::size_t n, bool of_total, bool& alone) const;
  bool follows_part(std::size_t token) const;
  bool prints_load() const;
  bool states_share(std::size_t n) const;
  bool names_threshold() const;
  std::optional<Label> find_label(const NumberPhrase& p, std::size_t n);
  std::optional<Label> label_behind(const NumberPhrase& p, std::size_t at) const;
  bool read_amount_of_memory(std::size_t n);
  std::optional<Unit> unit_at(std::size_t n, GaugeValue& number, bool& of_total);
  std::optional<Unit> unit_of_line() const;
  void read_values();
  bool lists_machine() const;
  void find_part();
  void find_part_of_record();
  void find_heading();
  bool read_headed(const NumberPhrase& p, std::size_t n);
  std::size_t read_bare_pair(std::size_t n, std::optional<int> device, std::size_t device_at);
  void resolve_unitless();
  void drop_ambiguous();
  void add_value(const NumberPhrase& phrase, const Label& label, const GaugeValue& number,
                 const std::optional<Unit>& unit);
  void read_rate(std::size_t total);
  bool is_request(const NumberPhrase& p, std::size_t n) const;
  void set_step(std::size_t step, std::optional<std::size_t> total);
  std::optional<Unit> infer_unit() const;
  bool counts_bytes(const NumberPhrase& p, const Label& label, std::size_t n) const;
  bool read_share(const NumberPhrase& p, std::size_t n, std::optional<int> device);
  void read_load_of_ram(const NumberPhrase& p, std::size_t n);

  /// What the keys of a list are about: "Memory info of CPU: total: 125.6 GB, available: 98.4 GB".
  struct Heading {
    LowerWords words;
    std::size_t from = 0;  ///< the first key
    std::optional<int> device;
    std::size_t device_at = FreeformValue::none;
    double total = 0;  ///< bytes
  };

  std::string_view line_, printed_;
  std::optional<Heading> heading_;
  std::string_view part_;   ///< "worker 3", of which all values of the line are
  bool of_record_ = false;  ///< `part_` is a field of the line, before or after its values
  std::string lowered_;
  bool fairseq_;  ///< a bar of fairseq: "| epoch 001:", counted from 1
  std::vector<Token> tokens_;
  LowerWords words_;                                          ///< of one identifier
  std::deque<std::pair<std::size_t, NumberPhrase>> phrases_;  ///< the phrase before each number, computed once
  FreeformLine out_;
  bool digits_matter_ = false;  ///< the result depends on digits beyond the value of their number
  std::optional<bool> prose_;
  std::optional<Unit> printed_unit_;  ///< directly after the last value that has one
  std::vector<std::pair<std::size_t, std::size_t>>
      unitless_;  ///< (index in out_.values, token): allocator values without a unit
};

/// "memory after compiled optim step: 12": the first token of the words before token `end`, if they name a moment with
/// words that a label does not know.
std::optional<std::size_t> FreeformReader::find_moment_start(std::size_t end) const {
  if (!is(end, ':') && !is(end, '=')) return std::nullopt;
  if (end > 2 && ends_moment(end - 1)) return end - 3;
  if (is(end - 1, ')')) --end;  // "memory (before request): 5.6 GB"
  bool known = true;
  for (std::size_t i = end; i > 0 && end - i < max_label_words && is_word(i - 1); --i) {
    if (names_moment(tokens_[i - 1].name)) return known || i == end ? std::nullopt : std::optional(i - 1);
    known &= belongs_to_label(tokens_[i - 1].name);
  }
  return std::nullopt;
}

/// Walks back from the number: separators, the unit of the label, a moment, then words, until something ends the
/// label. Words before the first unknown one are identifiers only, not part of the label.
NumberPhrase FreeformReader::find_phrase(std::size_t n) {
  NumberPhrase p;
  std::size_t i = n;
  const auto separator = [&](const Token& t) {
    return t.kind == Kind::mark && std::string_view(":=([{'\"~#").find(t.text[0]) != std::string_view::npos;
  };
  const auto filler = [&](const Token& t) {
    return t.kind == Kind::word && one_of(t.name, {"is", "was", "now", "at", "of"});
  };
  while (i > 0 && (separator(tokens_[i - 1]) || filler(tokens_[i - 1]))) --i;
  if (i > 2 && (tokens_[i - 1].is(')') || tokens_[i - 1].is(']')) && is_word(i - 2) &&
      is_label_unit(tokens_[i - 2].name)) {
    p.unit = tokens_[i - 2].text;  // "memory (MB): 12"
    i -= tokens_[i - 3].kind == Kind::mark ? std::size_t{3} : std::size_t{2};
  }
  if (i > 0 && tokens_[i - 1].is('-') && i < n && tokens_[i].begin > tokens_[i - 1].end) --i;  // "Memory - 18.2GB"
  if (const auto moment = find_moment_start(i)) {
    const std::size_t last = is_word(i - 1) ? i - 1 : i - 2;
    p.moment = line_.substr(tokens_[*moment].begin, tokens_[last].end - tokens_[*moment].begin);
    p.words.emplace_back(tokens_[*moment].name);
    p.identifiers.emplace_back(tokens_[*moment].name);
    i = *moment;
  }
  p.first_token = i;
  p.words.reserve(typical_words), p.identifiers.reserve(typical_words);
  bool outside = false;
  while (i > 0 && p.identifiers.size() < max_label_words) {
    const Token& t = tokens_[i - 1];
    if (is_argument(i - 1)) {  // "memory_allocated(0)"
      p.device = index_number(t.number.value);
      p.device_at = t.begin;
      i -= 2;
      continue;
    }
    if (t.kind == Kind::number) {  // "GPU 0 memory", "cuda:0 memory"
      const std::size_t back = i >= 3 && (tokens_[i - 2].is(':') || tokens_[i - 2].is('-')) ? i - 3 : i - 2;
      if (i < 2 || !is_integer(i - 1) || !is_word(back) || !one_of(tokens_[back].name, {"gpu", "cuda", "device"}))
        break;
      p.device = index_number(t.number.value);
      p.device_at = t.begin;
      i = back + 1;
      continue;
    }
    if (t.kind == Kind::mark) {
      if (std::string_view("-/.()_").find(t.text[0]) == std::string_view::npos) break;
      // "Model loaded. Memory used: 5.6 GB", but not "Max. memory: 5.6 GB".
      const bool sentence_ends = t.is('.') && glued(i - 1) && !glued(i) && !p.identifiers.empty() && is_word(i - 2) &&
                                 !is_abbreviation(tokens_[i - 2].name);
      if (sentence_ends) break;
      --i;
      continue;
    }
    if (i >= 2 && is_number(i - 2) && (read_unit(t.text, glued(i - 1)) || one_of(t.name, {"c", "w", "mhz", "rpm"})))
      break;  // unit of the number before
    words_.clear();
    IdentifierWords identifier(t.text, t.name);
    while (const auto word = identifier.next()) words_.push_back(*word);
    if (!words_.empty() && is_label_unit(words_.back())) {
      const std::string_view unit = words_.back();
      p.unit = t.text.substr(t.text.size() - unit.size());
      std::erase(words_, unit);
    }
    p.rejected |= std::any_of(words_.begin(), words_.end(), rejects_label);
    const bool known = std::all_of(words_.begin(), words_.end(), [](std::string_view w) {
      return belongs_to_label(w) || (w.size() <= 2 && is_digit(w[0]));
    });
    if (!known) outside = true, p.firm = false;
    p.identifiers.insert(p.identifiers.begin(), t.name);
    if (!outside) {
      p.words.insert(p.words.begin(), words_.begin(), words_.end());
      if (p.end == 0) p.end = t.end;
      p.begin = t.begin;
      p.first_token = i - 1;
    }
    --i;
  }
  return p;
}

/// True for the second line of a bar that a terminal wrapped: "████| 640/640 [00:11<00:00". Its description is missing,
/// so that it may count anything.
bool FreeformReader::is_rest_of_bar() const {
  const std::string_view text = trimmed(line_);
  return text.starts_with("\xE2\x96");  // a block character
}

/// The rate of a bar with the total at token `total`.
void FreeformReader::read_rate(std::size_t total) {
  const std::size_t unit = line_.find("it/s", tokens_[total].begin);
  const std::size_t before =
      unit == line_.npos || unit == 0 ? line_.npos : line_.find_last_not_of("0123456789.", unit - 1);
  if (before == line_.npos || before + 1 == unit) return;
  std::size_t at = before + 1;
  const auto rate = read_number(line_, at);
  if (!rate || at != unit) return;
  out_.rate = rate->value;
  out_.rate_at = before + 1;
}

/// "desc:  5%|▌ | 12/240 [00:10<03:20". The description decides whether the bar counts steps, epochs or other work.
void FreeformReader::read_bar() {
  for (std::size_t i = 0; i + 4 < tokens_.size(); ++i) {
    if (!is_integer(i) || !is(i + 1, '/') || !is_integer(i + 2) || !is(i + 3, '[') || !is_number(i + 4)) continue;
    if (i == 0 || !(tokens_[i - 1].is('|') || tokens_[i - 1].is(']') || tokens_[i - 1].is('%'))) continue;
    LowerWords words;
    std::optional<std::size_t> epoch;
    for (std::size_t k = 0; k < i && !(is_number(k) && is(k + 1, '%')); ++k) {
      if (is_word(k)) words.push_back(tokens_[k].name);
      if (!words.empty() && words.back() == "epoch" && is_integer(k) && !epoch) {
        epoch = k;
        if (is(k + 1, '/') || fairseq_) out_.first_epoch = 1;
      }
    }
    // A bar without words may count anything, also where this line is slow: the next one may be faster.
    if (words.empty() && !is_rest_of_bar()) read_rate(i + 2);
    const auto mentions = [&](std::initializer_list<std::string_view> any) {
      return std::any_of(words.begin(), words.end(), [&](std::string_view w) { return one_of(w, any); });
    };
    if (mentions({"loading", "reading", "caching", "scanning", "downloading", "fetching", "tokenizing", "preprocessing",
                  "extracting", "indexing", "packing", "map", "filter", "saving", "converting"}) ||
        is_rest_of_bar()) {
      out_.other_work = true;
    } else if (std::any_of(words.begin(), words.end(), names_evaluation)) {
      out_.evaluation = true;
      set_step(i, i + 2);
    } else if (words.empty() && out_.rate && is_too_fast(*out_.rate, tokens_[i + 2].number.value)) {
      out_.other_work = true;
      out_.items = tokens_[i + 2].number.value;
      digits_matter_ = true;
    } else if (words.empty() || epoch || std::any_of(words.begin(), words.end(), names_training) ||
               (mentions({"fine"}) && mentions({"tuning", "tune"})) ||
               mentions({"step", "steps", "iter", "iters", "iteration", "iterations", "epoch", "epochs", "loss"})) {
      if (mentions({"epoch", "epochs"}) && !epoch) {  // the bar counts epochs
        epoch = i;
        out_.total = tokens_[i + 2].number.value;
      } else {
        set_step(i, i + 2);
        out_.over_epochs = epoch.has_value();
      }
      if (epoch) {
        out_.epoch = tokens_[*epoch].number.value;
        out_.epoch_at = tokens_[*epoch].begin;
      }
      out_.leads = true;
    } else {
      out_.other_work = true;
      const double done = tokens_[i].number.value;
      out_.calls = done < tokens_[i + 2].number.value ? done : 0;
      digits_matter_ = true;
    }
    return;
  }
}

/// Sets the step to the number at token `step`, out of the number at token `total`.
void FreeformReader::set_step(std::size_t step, std::optional<std::size_t> total) {
  out_.step = tokens_[step].number.value;
  out_.step_at = tokens_[step].begin;
  out_.total.reset();
  if (!total) return;
  out_.total = tokens_[*total].number.value;
  out_.total_at = tokens_[*total].begin;
}

/// "Epoch [1][50/225]", "Epoch: 1 [640/60000": the token of the step within the epoch, after the number of the epoch
/// at `n`.
std::optional<std::size_t> FreeformReader::find_step_in_epoch(std::size_t n) const {
  const std::size_t at = is(n + 1, ']') && is(n + 2, '[') ? n + 3 : is(n + 1, '[') ? n + 2 : 0;
  if (at == 0 || !is_integer(at) || !is(at + 1, '/') || !is_integer(at + 2)) return std::nullopt;
  // "[640/60000 (1%)]", as PyTorch's examples print it: samples, not steps.
  if (at == n + 2 && is(at + 3, '(') && is_number(at + 4) && is(at + 5, '%')) return std::nullopt;
  return at;
}

/// "# epoch: 50": a line in a list of parameters. Chainer's examples print such a list first.
bool FreeformReader::is_parameter() const {
  const std::size_t n = tokens_.size();
  return n >= 4 && tokens_[0].is('#') && is_word(1) && tokens_[n - 2].is(':') && is_number(n - 1);
}

/// "=== Step 3: Running the evaluation ===", "Step 5/12 : RUN make": a stage of a script, not a step of a training. A
/// training prints what it does in a step too, but its steps are not so few.
bool FreeformReader::is_stage() {
  constexpr double most_stages = 20;
  std::size_t n = 0;
  while (n < tokens_.size() && !is_number(n)) ++n;
  if (n == 0 || n == tokens_.size() || tokens_[n - 1].name != "step" || tokens_[n - 1].text == "step") return false;
  std::size_t title = n + 1;
  if (is(title, '/') && is_number(title + 1)) title += 2;
  const std::size_t marks = title;
  while (is(title, ']') || is(title, ':') || is(title, '.') || is(title, '-')) ++title;
  if (title == marks || !is_word(title) || !is_upper(tokens_[title].text[0])) return false;
  const bool command = one_of(tokens_[title].text, {"RUN", "COPY", "FROM", "ENV", "WORKDIR", "CMD", "ADD", "ARG"});
  if (!command && !tokens_[title].name.ends_with("ing")) return false;
  for (std::size_t later = title; later < tokens_.size() && !command; ++later)
    if (is_number(later)) return false;
  digits_matter_ = true;
  return command || tokens_[n].number.value <= most_stages;
}

/// "after 50 iterations": the number is before its word.
bool FreeformReader::counts_work_done(std::size_t n) const {
  return is_word(n - 1) && tokens_[n - 1].name == "after" && is_word(n + 1) && is_integer(n) &&
         (tokens_[n + 1].name == "iterations" || tokens_[n + 1].name == "steps");
}

/// "[40 step] loss 2.81", as several languages put it: the number is before its word, at the start of the line.
bool FreeformReader::is_before_step_word(std::size_t n) const {
  if (!is_integer(n) || !(n == 0 || (n == 1 && is(0, '['))) || !is_word(n + 1) || glued(n + 1)) return false;
  if (!one_of(tokens_[n + 1].name, {"step", "iter", "it"})) return false;
  const bool translated = line_.data() != printed_.data();
  return translated ||
         (n + 2 < tokens_.size() && tokens_[n + 2].kind == Kind::mark && !is(n + 2, '[') && !is(n + 2, '/'));
}

/// Finds step, iteration, batch and epoch by their words. The most reliable name wins (see step_rank()).
void FreeformReader::read_progress() {
  // The summary of wandb repeats, after the end, the last logged values.
  if (out_.step || out_.other_work || is_parameter() || line_.find("wandb: ") != line_.npos || is_stage()) return;
  int best = 0;
  if (out_.epoch) out_.total.reset();  // set by a bar that counts epochs
  for (std::size_t n = 0; n < tokens_.size(); ++n) {
    if (!is_number(n)) continue;
    if (best == 0 && (counts_work_done(n) || is_before_step_word(n))) {
      best = 1;
      set_step(n, std::nullopt);
      continue;
    }
    const NumberPhrase& p = phrase_before(n);
    if (p.identifiers.empty()) continue;
    const std::string_view name = p.identifiers.back();
    if (p.identifiers.front() == "total") continue;  // "Total training steps: 150"
    if (p.identifiers.size() > 1 && is_no_step(p.identifiers[p.identifiers.size() - 2]) && !ends_moment(n)) continue;
    if (name == "epoch") {
      if (!out_.epoch) {
        out_.epoch = tokens_[n].number.value;
        out_.epoch_at = tokens_[n].begin;
      }
      if (const auto at = find_step_in_epoch(n); at && best == 0) {
        set_step(*at, *at + 2);
        best = 1;
      }
      continue;
    }
    // "'global_step/max_steps': '20/438'"
    const bool paired = name == "max_steps" && p.identifiers.size() > 1 &&
                        p.identifiers[p.identifiers.size() - 2] == "global_step" && is_integer(n) && is(n + 1, '/') &&
                        is_integer(n + 2);
    if (paired) {
      best = global_rank;
      set_step(n, n + 2);
      continue;
    }
    const int rank = step_rank(name);
    if (rank <= best || !is_integer(n) || unit_after(n) || is(n + 1, '%')) continue;
    if (is_word(n + 1) && tokens_[n + 1].name == "per") continue;  // "batch 4 per rank" is a batch size
    best = rank;
    if (is(n + 1, '-') && is_integer(n + 2) && is(n + 3, ']')) {  // "Batch [50-100]": the last one is done
      set_step(n + 2, std::nullopt);
      continue;
    }
    const bool of = rank < global_rank && (is(n + 1, '/') || (is_word(n + 1) && tokens_[n + 1].text == "of"));
    set_step(n, of && is_integer(n + 2) ? std::optional(n + 2) : std::nullopt);
  }
  if (best == 0) read_leading_step();
  judge_line();
  out_.over_epochs = out_.step && out_.epoch && out_.total && !out_.evaluation;
  if (out_.over_epochs) out_.first_epoch = 1;
}

/// "[40/2000] loss 2.81": only at the start of a line of metrics, and with a total above the number of ranks in a job.
void FreeformReader::read_leading_step() {
  constexpr double min_total = 16;
  if (!is(0, '[') || !is_integer(1) || !is(2, '/') || !is_integer(3) || !is(4, ']') || !names_metrics()) return;
  if (tokens_[3].number.value < min_total || tokens_[1].number.value > tokens_[3].number.value) {
    digits_matter_ = true;
    return;
  }
  set_step(1, 3);
  out_.min_total = min_total;
  out_.leads = true;
}

/// Uses the words before the first number to judge the whole line.
void FreeformReader::judge_line() {
  std::size_t first = 0;
  while (first < tokens_.size() && !is_number(first)) ++first;
  for (std::size_t i = 0; i < std::min<std::size_t>(first, 6); ++i)
    out_.evaluation |= is_word(i) && names_evaluation(tokens_[i].name);
  if (first == tokens_.size() || is_prose() || !(out_.step || out_.epoch)) return;
  const NumberPhrase& p = phrase_before(first);
  const bool place = !p.identifiers.empty() && p.identifiers.size() <= 3 &&
                     (p.identifiers.back() == "epoch" || step_rank(p.identifiers.back()) > 0);
  out_.leads = place && (out_.total || first + 1 >= tokens_.size() || names_metrics());
}

void FreeformReader::add_value(const NumberPhrase& phrase, const Label& label, const GaugeValue& number,
                               const std::optional<Unit>& unit) {
  Reading r;
  r.metric = label.metric;
  r.kind = label.kind;
  r.value = number.value * (unit ? unit->bytes : 1);
  r.quantum = compute_quantum(unit ? unit->bytes : 1, number.decimals);
  if (unit) r.unit = std::string(unit->text), r.ambiguous_unit = unit->ambiguous;
  std::size_t begin = phrase.begin;  // a shorter translation begins after blanks
  while (begin > 0 && line_[begin - 1] == ' ' && printed_[begin - 1] != ' ') --begin;
  if (begin < phrase.end) r.label = std::string(printed_.substr(begin, std::min<std::size_t>(phrase.end - begin, 48)));
  const bool behind = of_record_ || number.at > static_cast<std::size_t>(part_.data() - line_.data());
  if (!part_.empty() && behind && !is_machine_metric(r.metric))
    r.label = std::string(part_) + (r.label.empty() ? "" : " ") + r.label;
  r.phase = out_.evaluation ? "evaluation" : std::string(phrase.moment);
  digits_matter_ |=
      std::any_of(r.label.begin(), r.label.end(), is_digit) || std::any_of(r.phase.begin(), r.phase.end(), is_digit);
  const bool host = is_host_metric(r.metric);
  FreeformValue value{.reading = std::move(r), .device = {}, .number_at = number.at, .factor = unit ? unit->bytes : 1};
  if (!host) value.device = phrase.device, value.device_at = phrase.device_at;
  out_.values.push_back(std::move(value));
}

/// The sequence length of the step. It is not memory, but memory depends on it.
bool FreeformReader::read_length(const NumberPhrase& p, std::size_t n) {
  const std::string_view name = p.identifiers.back();
  if (!out_.step || !one_of(name, {"seq", "seq_len", "seqlen", "sequence_length"}) || !is_integer(n) || unit_after(n))
    return false;
  if (tokens_[n].number.value < 1) return digits_matter_ = true, false;
  Reading r;
  r.metric = Metric::input_length;
  r.value = tokens_[n].number.value;
  r.quantum = 1;
  r.label = name;
  if (out_.evaluation) r.phase = "evaluation";
  digits_matter_ = true;
  out_.values.push_back({.reading = std::move(r), .device = {}, .number_at = tokens_[n].begin});
  return true;
}

/// A line without a step needs more evidence: its label itself must show a measurement. `alone` is true if other lines
/// of the same words must show that it is one: "GPU memory: 5.6 GB" may be what the machine has.
bool FreeformReader::is_plausible(const NumberPhrase& p, const Label& label, std::size_t n, bool of_total,
                                  bool& alone) const {
  const std::string_view name = p.identifiers.back();
  const bool setting = one_of(name, {"max_memory", "max_mem"}) ||
                       (p.words.size() == 2 && p.words[0] == "max" && (p.words[1] == "memory" || p.words[1] == "mem"));
  if (setting && (!(out_.step || out_.epoch) || is(n - 1, '='))) return false;
  if (label.metric == Metric::free && !is_about_device()) return false;
  if (out_.step || out_.epoch) return true;
  if (p.words.size() == 1 && is_integer(n) && one_of(p.words[0], {"mem", "vram", "gmem"}) && !of_total)
    return false;  // "mem: 64G" is the memory that a job requested
  // "-- overlap block 012  memory 8.4 GB": what is in use after a part of the work.
  const bool of_part = p.words.size() == 1 && p.words[0] == "memory" && !is_integer(n) && follows_part(p.first_token);
  const std::string_view printed = line_.substr(p.begin, p.end - p.begin);
  const std::size_t after_label = line_.find_first_not_of(' ', p.end);
  // "Reserved   : 210 MiB": an aligned list of facts.
  const bool aligned = after_label != line_.npos && after_label > p.end && line_[after_label] == ':';
  // "CPU: 41.2% | RAM: 11.78 GB": next to a load, it is not a list of what the machine has.
  const bool beside_load =
      p.words.size() == 1 && one_of(p.words[0], {"ram", "memory"}) && !is_integer(n) && prints_load();
  if (!p.firm || aligned || printed.find('/') != printed.npos) return false;
  if (label.usage || of_total || beside_load || of_part) return true;
  alone = label.metric == Metric::memory && (unit_after(n) || !p.unit.empty());
  return alone;
}

/// "Allocated 5242880 bytes for kv_cache with address …": one request of many, not what is in use.
bool FreeformReader::is_request(const NumberPhrase& p, std::size_t n) const {
  return p.words.size() == 1 && p.words[0] == "allocated" && n > 0 && is_word(n - 1) && is_word(n + 1) &&
         is_word(n + 2) && tokens_[n + 2].name == "for";
}

/// True if a part of the work and its number precede the token: "block 012", "chunk 3,". A layer is a part of a model.
bool FreeformReader::follows_part(std::size_t token) const {
  if (token > 0 && (is(token - 1, ',') || is(token - 1, ':') || is(token - 1, '|'))) --token;
  return token >= 2 && is_integer(token - 1) && is_word(token - 2) &&
         one_of(tokens_[token - 2].name,
                {"block", "chunk", "file", "item", "part", "piece", "record", "shard", "tile", "window"});
}

/// True if the line prints how busy the CPU is: "CPU usage: 41.2%".
bool FreeformReader::prints_load() const {
  constexpr std::size_t most_between = 4;  // tokens: "usage", ":"
  for (std::size_t i = 0; i + 2 < tokens_.size(); ++i) {
    if (!is_word(i) || !one_of(tokens_[i].name, {"cpu", "cpu_percent", "cpu_usage"})) continue;
    for (std::size_t k = i + 1; k <= i + most_between && k + 1 < tokens_.size(); ++k)
      if (is_number(k)) {
        if (is(k + 1, '%')) return true;
        break;
      }
  }
  return false;
}

/// True if all words of the line up to the number are those of a share in use, and nothing after the number belongs to
/// it: no "less", no "threshold".
bool FreeformReader::states_share(std::size_t n) const {
  for (std::size_t i = 0; i < n; ++i)
    if (is_word(i) && !one_of(tokens_[i].name, {"ram", "memory", "mem", "usage", "used", "use", "is", "at", "now",
                                                "current", "currently", "system", "host", "total"}))
      return false;
    else if (is(i, '<') || is(i, '>') || is(i, '+') || is(i, '~'))
      return false;
  return !is_word(n + 2);
}

/// True if the line is about what may be used at most.
bool FreeformReader::names_threshold() const {
  return std::any_of(tokens_.begin(), tokens_.end(), [](const Token& t) {
    return t.kind == Kind::word &&
           one_of(t.name, {"limit", "limits", "threshold", "thresholds", "quota", "max", "maximum", "alert", "alerts",
                           "above", "below", "exceeds", "exceed", "request", "requests", "target", "reserve"});
  });
}

/// The unit of the number at token `n`. Also reads "3.1/24.0 GB", "121.0MB / 6144.0MB" and a decimal comma, "18,2 GB".
std::optional<Unit> FreeformReader::unit_at(std::size_t n, GaugeValue& number, bool& of_total) {
  std::optional<Unit> unit = unit_after(n);
  if (!unit && is(n + 1, '/') && is_number(n + 2))
    unit = unit_after(n + 2), of_total = true;
  else if (unit && is(n + 2, '/') && is_number(n + 3))
    of_total = true;
  if (!unit && is(n + 1, ',') && glued(n + 1) && is_integer(n) && is_number(n + 2) && glued(n + 2) &&
      tokens_[n + 2].text.size() <= 2) {
    unit = unit_after(n + 2);
    number.decimals = static_cast<int>(tokens_[n + 2].text.size());
    number.value += tokens_[n + 2].number.value / std::pow(10, number.decimals);
    digits_matter_ = true;
  }
  return unit;
}

/// "alloc=8.0 reserved=9.0 (GB)", "mem [MB] alloc 8100 reserved 9000": a unit in brackets at the end of the line or
/// before a label belongs to all figures. One before a number, "memory (MB): 12", belongs to that number.
std::optional<Unit> FreeformReader::unit_of_line() const {
  std::optional<Unit> unit;
  for (std::size_t i = 0; i + 2 < tokens_.size(); ++i) {
    if (!(is(i, '(') && is(i + 2, ')')) && !(is(i, '[') && is(i + 2, ']'))) continue;
    if (!is_word(i + 1) || !is_label_unit(tokens_[i + 1].name)) continue;
    std::size_t next = i + 3;
    while (next < tokens_.size() && tokens_[next].kind == Kind::mark) ++next;
    const auto here = is_number(next) ? std::nullopt : read_unit(tokens_[i + 1].text, true);
    if (!here || (unit && unit->bytes != here->bytes)) return std::nullopt;
    unit = here;
  }
  return unit;
}

/// "GPU: 8.0GB used", "system: 9.0GB free": the word after the size names the metric.
std::optional<Label> FreeformReader::label_behind(const NumberPhrase& p, std::size_t at) const {
  const bool next = is_number(at + 1) || is(at + 1, ':') || is(at + 1, '=');  // it labels the next value
  if (p.words.size() != 1 || !is_word(at) || next) return std::nullopt;
  const bool device = one_of(p.words[0], {"gpu", "cuda", "vram"});
  if (!device && !one_of(p.words[0], {"system", "host", "ram"})) return std::nullopt;
  if (!one_of(tokens_[at].name, {"used", "free", "allocated", "alloc", "reserved", "cached"})) return std::nullopt;
  const std::string_view words[] = {p.words[0], tokens_[at].name};
  return read_label(words);
}

/// "epoch 3 uses 5.2 GiB of GPU memory", "needed at most 5.2 GiB of GPU memory": in a line with a position, the words
/// after the size name the metric. False for other numbers.
bool FreeformReader::read_amount_of_memory(std::size_t n) {
  const auto is_one = [&](std::size_t at, std::initializer_list<std::string_view> words) {
    return is_word(at) && one_of(tokens_[at].name, words);
  };
  if (!(out_.step || out_.epoch) || n == 0 || !is_one(n + 2, {"of"}) || !is_one(n + 3, {"gpu", "device", "host"}) ||
      !is_one(n + 4, {"memory"}))
    return false;
  const bool most = is_one(n - 1, {"most"});
  if (!most && !is_one(n - 1, {"uses", "used", "using"})) return false;
  const std::string_view words[] = {tokens_[n + 3].name, "memory", most ? "peak" : "used"};
  const auto label = read_label(words);
  const auto unit = unit_after(n);
  if (!label || !unit) return false;
  NumberPhrase phrase;
  phrase.begin = tokens_[n + 3].begin, phrase.end = tokens_[n + 4].end;
  add_value(phrase, *label, tokens_[n].number, unit);
  return true;
}

/// "GPU: 2.8/11.0 GB", "step 40 GPU 8.3 GB", "gpu_mib": two sizes after a device, or one in a step line, are its
/// memory, although no word names memory.
std::optional<Label> FreeformReader::find_label(const NumberPhrase& p, std::size_t n) {
  auto label = read_label(p.words);
  // "Allocated: 0.00 MB, Reserved: 0.00 MB, CPU: 2104.50 MB": next to values of the GPU, this is the memory of the
  // process itself.
  GaugeValue size = tokens_[n].number;
  bool whole_too = false;
  if (!label && p.words.size() == 1 && p.words[0] == "cpu" && !out_.values.empty() && unit_at(n, size, whole_too))
    return Label{Metric::host_rss, SeriesKind::sampled_gauge, true};
  if (!label && is_word(n + 1) && unit_after(n)) label = label_behind(p, n + 2);
  if (label || p.words.size() != 1 || !one_of(p.words[0], {"gpu", "cuda"})) return label;
  GaugeValue number = tokens_[n].number;
  bool of_total = false;
  const bool sized = unit_at(n, number, of_total) || !p.unit.empty();
  if (sized && (of_total || out_.step || out_.epoch)) label = Label{Metric::memory, SeriesKind::gauge, true};
  return label;
}

/// "Memory usage: 15364980736 bytes free": the word after the size names the metric.
bool FreeformReader::counts_free(std::size_t n) const {
  const auto is_free_word = [&](std::size_t at) {
    const bool labels_next = is_number(at + 1) || is(at + 1, ':') || is(at + 1, '=');
    return is_word(at) && !labels_next && one_of(tokens_[at].name, {"free", "available", "remaining", "left"});
  };
  const auto is_followed = [&](std::size_t at) {
    return is_free_word(at + 1) || (is_word(at + 1) && is_free_word(at + 2));
  };
  // "Memory: 32467540K/33484140K available": the kernel at its start.
  const std::size_t total = is(n + 1, '/') ? n + 2 : n + 3;
  const bool pair = (is(n + 1, '/') || is(n + 2, '/')) && is_number(total);
  return is_followed(n) || (pair && is_followed(total));
}

/// "VRAM 80.0 GB total, 79.4 GB free", "78.9 GB free of 80.0 GB": the word after the size, or those before it, say that
/// it is the whole, not what is in use.
bool FreeformReader::counts_whole(std::size_t n) const {
  if (n >= 4 && is_word(n - 1) && tokens_[n - 1].name == "of" && is_word(n - 2) &&
      one_of(tokens_[n - 2].name, {"free", "available", "left", "used"}) && is_number(n - 4) && unit_after(n - 4))
    return true;
  const std::size_t at = n + 2;  // after the unit
  const bool labels_next = is_number(at + 1) || is(at + 1, ':') || is(at + 1, '=');
  return is_word(at) && !labels_next && unit_after(n) && one_of(tokens_[at].name, {"total", "capacity", "installed"}) &&
         !(is_word(at + 1) && one_of(tokens_[at + 1].name, {"used", "usage", "allocated", "reserved"}));
}

/// The words that amounts of memory have as their keys in a list with a heading.
bool is_listed_key(std::string_view word) {
  return one_of(word, {"current", "peak", "used", "free", "available", "total", "allocated", "reserved", "active"});
}

/// True for the fields that psutil has for the RAM of a machine, and nothing else but a time: "Total: 125.6 GB,
/// Available: 98.4 GB, Used: 25.1 GB, Percent: 21.7%". A disk has no available memory next to its share in use.
bool FreeformReader::lists_machine() const {
  static constexpr auto fields = std::to_array<std::string_view>({"total", "available", "used", "percent"});
  std::array<bool, fields.size()> found{};
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (!is_word(i) || read_unit(tokens_[i].text, true)) continue;
    const std::string_view name = tokens_[i].name;
    const auto field = std::find(fields.begin(), fields.end(), name);
    const bool key = (is(i + 1, ':') || is(i + 1, '=')) && is_number(i + 2);
    if (field != fields.end() && key)
      found[static_cast<std::size_t>(field - fields.begin())] = true;
    else if (!one_of(name, {"timestamp", "time", "date", "t", "free", "memory", "ram", "mem", "system", "usage"}))
      return false;
  }
  return std::all_of(found.begin(), found.end(), [](bool f) { return f; });
}

/// Finds the heading of a list of keys. It must name memory and whose it is.
void FreeformReader::find_heading() {
  std::size_t key = 0;
  // "ram: used 20.1 GB, available 108.2 GB" as well.
  const auto is_key = [&](std::size_t i) {
    const bool ahead = (is(i + 1, ':') || is(i + 1, '=')) && is_number(i + 2);
    const bool behind = i > 0 && is(i - 1, ':') && is_number(i + 1);
    return (ahead || behind) && is_word(i) && is_listed_key(tokens_[i].name) && (ahead || unit_after(i + 1));
  };
  while (key < tokens_.size() && !is_key(key)) ++key;
  if (key == tokens_.size()) return;
  Heading heading;
  heading.from = key;
  if (lists_machine()) {
    heading.words = {"system", "memory"};
    heading_ = std::move(heading);
    return;
  }
  if (key == 0) return;
  for (std::size_t i = key; i > 0; --i) {
    const Token& t = tokens_[i - 1];
    if (t.kind == Kind::mark && std::string_view("|,;").find(t.text[0]) != std::string_view::npos) break;
    if (t.kind == Kind::number && i > 2 && is(i - 2, ':') && is_word(i - 3) &&
        one_of(tokens_[i - 3].name, {"gpu", "cuda", "device"})) {
      heading.device = index_number(t.number.value);
      heading.device_at = t.begin;
    }
    if (t.kind != Kind::word || t.name.ends_with("_device")) continue;
    if (!belongs_to_label(t.name)) break;
    heading.words.push_back(t.name);
  }
  const auto has = [&](std::initializer_list<std::string_view> any) {
    return std::any_of(heading.words.begin(), heading.words.end(), [&](std::string_view w) { return one_of(w, any); });
  };
  if (has({"memory", "mem", "ram", "vram"}) && has({"gpu", "cuda", "vram", "cpu", "ram", "host", "system", "node"}))
    heading_ = std::move(heading);
}

/// Finds the process that a record of a JSON log names: {"instance":"api-1","rss":98566144}.
void FreeformReader::find_part_of_record() {
  constexpr std::size_t longest = 40;  // bytes
  for (const std::string_view key : {"\"instance\":", "\"worker\":", "\"pod\":", "\"container\":", "\"hostname\":"}) {
    std::size_t at = line_.find(key);
    if (at == line_.npos) continue;
    at += key.size();
    if (at < line_.size() && line_[at] == ' ') ++at;
    if (at >= line_.size() || line_[at] != '"') continue;
    const std::size_t end = line_.find('"', ++at);
    if (end == line_.npos || end == at || end - at > longest) continue;
    part_ = line_.substr(at, end - at);
    of_record_ = true;
    return;
  }
}

/// Finds the part of the program that the line is about: "worker 3 | RSS: 812 MB".
void FreeformReader::find_part() {
  if (line_.starts_with('{')) find_part_of_record();
  for (std::size_t i = 0; i + 1 < tokens_.size() && part_.empty(); ++i) {
    if (!is_word(i)) continue;
    std::size_t last = i;
    if (is_integer(i + 1))
      last = i + 1;
    else if ((is(i + 1, '-') || is(i + 1, '#') || is(i + 1, ':')) && is_integer(i + 2) && !unit_after(i + 2))
      last = i + 2;
    const std::string_view text = line_.substr(tokens_[i].begin, tokens_[last].end - tokens_[i].begin);
    if (names_part(text)) part_ = text;
  }
}

/// Reads a value of a list with a heading; false if the number is none.
bool FreeformReader::read_headed(const NumberPhrase& p, std::size_t n) {
  if (!heading_ || n < heading_->from || p.words.size() != 1 || !is_listed_key(p.words[0])) return false;
  GaugeValue number = tokens_[n].number;
  bool of_total = false;
  std::optional<Unit> unit = unit_at(n, number, of_total);
  if (p.words[0] == "total") {
    if (unit) heading_->total = number.value * unit->bytes, digits_matter_ = true;
    return true;
  }
  LowerWords words = heading_->words;
  words.push_back(p.words[0]);
  const auto label = read_label(words);
  if (!label || of_total) return false;
  NumberPhrase phrase = p;
  phrase.device = heading_->device, phrase.device_at = heading_->device_at;
  const bool bare = !unit;
  add_value(phrase, *label, number, bare ? Unit{1, "", false} : *unit);
  FreeformValue& value = out_.values.back();
  if (bare) value.bare_digit = std::pow(10.0, -number.decimals);
  if (label->metric == Metric::memory) value.reading.label = "memory, " + std::string(p.words[0]);
  if (!is_free_metric(label->metric)) value.reading.capacity = heading_->total;
  return true;
}

/// "cuda:0 | 20114 MiB / 24576 MiB": a part and its whole after a GPU, without a word in between. Returns the number of
/// tokens that it took.
std::size_t FreeformReader::read_bare_pair(std::size_t n, std::optional<int> device, std::size_t device_at) {
  GaugeValue number = tokens_[n].number;
  bool of_total = false;
  const auto unit = device ? unit_at(n, number, of_total) : std::nullopt;
  if (!unit || !of_total || unit->bytes < static_cast<double>(MiB) / 2) return 0;
  const std::size_t total = is_number(n + 2) ? n + 2 : n + 3;
  NumberPhrase phrase;
  phrase.device = device, phrase.device_at = device_at;
  add_value(phrase, Label{Metric::memory, SeriesKind::gauge, true}, number, unit);
  out_.values.back().reading.capacity = tokens_[total].number.value * unit->bytes;
  digits_matter_ = true;  // the total is not read again for other lines of the same template
  return total - n;
}

/// For each number: a device, a share, a length, or a value. A value needs a known label, a plausible line, and a unit
/// from the line or from its digits.
void FreeformReader::read_values() {
  std::optional<int> device;
  std::size_t device_at = FreeformValue::none;
  const std::optional<Unit> line_unit = unit_of_line();
  find_heading();
  find_part();
  std::optional<NumberPhrase> before;  // the last value's, if it names a moment
  std::optional<Label> label_before;
  for (std::size_t n = 0; n < tokens_.size() && out_.values.size() < max_values; ++n) {
    if (const auto named = is_word(n) ? device_in_word(tokens_[n].name) : std::nullopt) {  // "[GPU1] memory 5.6 GB"
      device = named, device_at = FreeformValue::none;
      digits_matter_ = true;
      continue;
    }
    if (!is_number(n) || is_argument(n)) continue;
    const NumberPhrase& p = phrase_before(n);
    if (p.identifiers.empty()) {
      n += read_bare_pair(n, device, device_at);
      continue;
    }
    if (is(n + 1, '%')) {
      if (read_share(p, n, device))
        n += 3, digits_matter_ = true;
      else
        read_load_of_ram(p, n);
      continue;
    }
    const bool pair = is(n + 1, '/') && is_number(n + 2);  // "GPU 0: 21000/24576 MB"
    if (is_integer(n) && !pair && !unit_after(n) && one_of(p.identifiers.back(), {"gpu", "cuda", "device"})) {
      device = index_number(tokens_[n].number.value);
      device_at = tokens_[n].begin;
      continue;
    }
    if ((n > 0 && tokens_[n - 1].is('-') && glued(n)) || read_length(p, n))
      continue;  // a negative value is a difference
    if (read_headed(p, n) || read_amount_of_memory(n)) continue;
    if (p.words.empty() || p.rejected || (!p.firm && !out_.step)) continue;
    // "Memory before: 10.6 MB, after: 342.9 MB": the second moment is of the same memory.
    const bool moment_only = before && p.words.size() == 1 && p.identifiers.size() == 1 && names_moment(p.words[0]) &&
                             p.words[0] != before->words.back();
    const auto label = moment_only ? label_before : find_label(p, n);
    if (!label || counts_whole(n) || is_request(p, n) || (counts_free(n) && !is_free_metric(label->metric))) continue;
    GaugeValue number = tokens_[n].number;
    bool of_total = false;
    std::optional<Unit> unit = unit_at(n, number, of_total);
    if (unit) printed_unit_ = unit;
    if (!unit && !p.unit.empty()) unit = read_unit(p.unit, true);
    if (!unit) unit = line_unit;
    bool alone = false;
    if (!is_plausible(p, *label, n, of_total, alone)) continue;
    NumberPhrase phrase = p;
    if (moment_only) phrase.device = before->device, phrase.device_at = before->device_at;
    if (!phrase.device) phrase.device = device, phrase.device_at = device_at;
    digits_matter_ |= !unit;  // the digits decide the unit
    const std::size_t kept = out_.values.size() + 1;
    if (unit) {
      add_value(phrase, *label, number, unit);
    } else if (counts_bytes(phrase, *label, n)) {
      add_value(phrase, *label, number, Unit{1, "bytes", false});
    } else if (one_of(to_string(label->metric), {"allocated", "reserved", "max_allocated", "max_reserved"}) &&
               (!is_word(n + 1) || tokens_[n + 1].name == "and")) {
      unitless_.emplace_back(out_.values.size(), n);
      add_value(phrase, *label, number, std::nullopt);
    }
    if (alone && out_.values.size() == kept) out_.values.back().alone = true;
    if (moment_only && out_.values.size() == kept)
      out_.values.back().reading.label =
          std::string(printed_.substr(before->begin, before->end - before->begin - before->words.back().size())) +
          std::string(p.words[0]);
    if (p.words.size() > 1 && names_moment(p.words.back()) && p.end > 0) before = p, label_before = label;
    if (of_total) {
      const std::size_t total = is_number(n + 2) ? n + 2 : n + 3;
      if (unit && kept > 0 && out_.values.size() == kept)
        out_.values.back().reading.capacity = tokens_[total].number.value * unit->bytes;
      digits_matter_ = true;  // the total is not read again for other lines of the same template
    }
    if (of_total) n += is_number(n + 2) ? std::size_t{2} : std::size_t{3};
  }
  resolve_unitless();
  drop_ambiguous();
}

/// If a label occurs twice on a line, the values belong to two things, and nothing shows which is which: "Mem:2.1G
/// (Peak 3.0G) | … | Mem:1.2G". Drops both. A long line may hold several records of one thing, unless they are of
/// processes.
void FreeformReader::drop_ambiguous() {
  const auto is_pid = [](const Token& t) { return t.kind == Token::Kind::word && t.name == "pid"; };
  const auto same = [](const FreeformValue& a, const FreeformValue& b) {
    return a.device_at == FreeformValue::none && b.device_at == FreeformValue::none &&
           a.reading.metric == b.reading.metric && a.reading.label == b.reading.label;
  };
  const bool records = line_.size() > max_line_bytes && std::count_if(tokens_.begin(), tokens_.end(), is_pid) < 2;
  if (out_.values.size() < 2 || records) return;
  const std::vector<FreeformValue> all = out_.values;
  std::erase_if(out_.values, [&](const FreeformValue& value) {
    return std::count_if(all.begin(), all.end(), [&](const FreeformValue& other) { return same(value, other); }) > 1;
  });
}

/// "xpu memory at 45.2% of 11.93GB": a share, then its total.
bool FreeformReader::read_share(const NumberPhrase& p, std::size_t n, std::optional<int> device) {
  if (!is_word(n + 2) || tokens_[n + 2].text != "of" || !is_number(n + 3)) return false;
  const auto unit = unit_after(n + 3);
  if (!unit || p.words.empty() || p.rejected || !p.firm) return false;
  const auto label = read_label(p.words);
  bool alone = false;
  if (!label || !is_plausible(p, *label, n, true, alone)) return false;
  GaugeValue number = tokens_[n].number;
  const double total = tokens_[n + 3].number.value * unit->bytes;
  digits_matter_ = true;
  if (!(number.value <= 100)) return false;
  NumberPhrase here = p;
  if (!here.device) here.device = device;
  add_value(here, *label, number, Unit{total / 100, unit->text, unit->ambiguous});
  return true;
}

/// "CPU: 41.2% | RAM: 78.5%": next to the load of the CPU, per cent of RAM are those in use.
void FreeformReader::read_load_of_ram(const NumberPhrase& p, std::size_t n) {
  const GaugeValue& number = tokens_[n].number;
  const bool ram = p.firm && !p.rejected && !p.words.empty() && p.words.size() <= 2 &&
                   one_of(p.words[0], {"ram", "memory", "mem"}) &&
                   (p.words.size() == 1 || one_of(p.words[1], {"usage", "used", "use"}));
  // "RAM usage is 50%.": a whole sentence. A limit or a comparison has other words.
  const bool alone = ram && p.words.size() > 1 && states_share(n);
  if (!ram || (!prints_load() && !alone) || (is_integer(n) && names_threshold())) return;
  digits_matter_ = true;
  if (number.value > 100) return;
  if (lowered_.find("gpu") != lowered_.npos || lowered_.find("cuda") != lowered_.npos) return;
  add_value(p, Label{Metric::host_utilization, SeriesKind::sampled_gauge, true}, number, Unit{1, "%", false});
}

/// A large integer without a unit is in bytes if it is a multiple of the allocation size: 512 bytes for a GPU, a page
/// for a process. Most limits are such multiples as well, so the label must name the GPU or the process.
bool FreeformReader::counts_bytes(const NumberPhrase& p, const Label& label, std::size_t n) const {
  const double value = tokens_[n].number.value;
  if (!is_integer(n) || value < 16 * static_cast<double>(MiB) || is_word(n + 1)) return false;
  const bool device = std::any_of(p.words.begin(), p.words.end(), [](std::string_view w) {
    return one_of(w, {"gpu", "cuda", "device", "vram", "hbm", "xpu", "npu", "mps", "hip", "torch"});
  });
  const double piece = label.metric == Metric::host_rss ? page : label.metric == Metric::memory && device ? granule : 0;
  return piece > 0 && value / piece == std::floor(value / piece);
}

/// Gives the values without a unit the unit that follows from their digits, or drops them.
void FreeformReader::resolve_unitless() {
  if (unitless_.empty()) return;
  // "alloc 8.1, reserved 9.0 GB": the unit of the last figure is that of all.
  const auto unit = printed_unit_ ? printed_unit_ : infer_unit();
  for (auto it = unitless_.rbegin(); it != unitless_.rend(); ++it) {
    if (!unit) {
      out_.values.erase(out_.values.begin() + static_cast<std::ptrdiff_t>(it->first));
      continue;
    }
    Reading& r = out_.values[it->first].reading;
    r.value *= unit->bytes;
    r.quantum = compute_quantum(unit->bytes, tokens_[it->second].number.decimals);
    r.ambiguous_unit = unit->ambiguous;
  }
}

/// The unit of allocator values without a printed one. Every size is a multiple of 512 bytes, which separates 2^20
/// from 10^6 if enough digits are printed; a whole number is a multiple in every unit. A large integer is in bytes.
/// nullopt in all other cases.
std::optional<Unit> FreeformReader::infer_unit() const {
  for (const auto& [value, token] : unitless_) {
    const GaugeValue& n = tokens_[token].number;
    if (n.decimals == 0 && n.value >= static_cast<double>(MiB)) return Unit{1, "", false};
    if (n.decimals >= 3 && n.value != std::floor(n.value)) {
      const double binary = n.value * static_cast<double>(MiB) / granule, decimal = n.value * 1e6 / granule;
      if (std::abs(binary - std::round(binary)) < 1e-6) return Unit{static_cast<double>(MiB), "", false};
      if (n.decimals <= 6 && std::abs(decimal - std::round(decimal)) < 1e-6) return Unit{1e6, "", false};
    }
    if (n.decimals > 0 && n.value >= 1000) return Unit{static_cast<double>(MiB), "", true};  // no GPU has 1000 GB
    // "reserved memory is 17.9707": PyTorch reserves whole segments of 2 MiB.
    const bool cache = one_of(to_string(out_.values[value].reading.metric), {"reserved", "max_reserved"});
    const double segments = n.value * segments_of_gib;
    if (cache && n.decimals >= 4 && n.value >= 1 &&
        std::abs(segments - std::round(segments)) <= segments_of_gib / 2 * std::pow(10, -n.decimals) + 1e-9)
      return Unit{static_cast<double>(GiB), "", true};
  }
  return std::nullopt;
}

}  // namespace

FreeformLine read_freeform(std::string_view line) {
  const std::string english = in_english(line);
  const std::string_view read = english.empty() ? line : english;
  const LogHead head = log_head(read);
  FreeformLine out =
      FreeformReader(read.substr(head.length), line.substr(head.length), line.starts_with("| epoch ")).read();
  for (std::size_t* at : {&out.step_at, &out.total_at, &out.epoch_at, &out.rate_at}) *at += head.length;
  const std::optional<int> tagged = device_in_word(lower(head.tag));
  for (FreeformValue& value : out.values) {
    value.number_at += head.length;
    if (value.reading.phase.empty()) value.reading.phase = parse_phase(head.tag);
    if (tagged && !value.device && !is_machine_metric(value.reading.metric)) value.device = tagged;
    if (names_part(head.tag) && !is_machine_metric(value.reading.metric))
      value.reading.label = std::string(head.tag) + " " + value.reading.label;
    if (value.device_at != FreeformValue::none) value.device_at += head.length;
  }
  out.repeatable &= !head.by_time && !names_part(head.tag) && !tagged;
  out.bytes_examined = head.bytes_examined;
  return out;
}

void report_step(const FreeformLine& printed, EventSink& sink) {
  const auto whole = [](const std::optional<double>& x) { return x ? std::optional(whole_number(*x)) : std::nullopt; };
  if (printed.step || printed.epoch)
    sink.step({whole(printed.step), whole(printed.total), printed.epoch, steps_before(printed)});
}

void emit_step(const Match& m, EventSink& sink) {
  if (m.printed->calls) return sink.remark("run/calls", *m.printed->calls);
  if (m.printed->items) return sink.remark("run/items", *m.printed->items);
  report_step(*m.printed, sink);
}

namespace {

constexpr std::size_t bytes_ahead = 120, bytes_back = 16;  ///< bytes; labels of up to nine words are shorter

/// True for a part of an identifier, "mem" of "gpu_mem", in any case: part of a label, a unit, or a word between label
/// and number.
bool joins_label(std::string_view part) {
  std::array<char, 16> lowered{};
  if (part.size() > lowered.size()) return false;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (is_upper(part[i]) && i > 0 && is_lower(part[i - 1])) return true;  // several words in one: "maxMem"
    lowered[i] = lower(part[i]);
  }
  const std::string_view word(lowered.data(), part.size());
  return part.size() <= 2 || belongs_to_label(word) || is_label_unit(word) || word.starts_with("gpu") ||
         word.starts_with("cpu") || word.starts_with("cuda");
}

constexpr auto joins_phrase = [] {
  std::array<bool, 256> out{};
  for (const char c : std::string_view(" \t:=([{'\"~#-/.)]")) out[static_cast<unsigned char>(c)] = true;
  return out;
}();

/// True if a number follows the word at `at`, with only marks and words that satisfy `joins` in between.
template <typename Joins>
bool number_follows(std::string_view block, std::size_t at, Joins joins) {
  const std::string_view text = block.substr(at, bytes_ahead);
  std::size_t i = 0;
  while (i < text.size() && text[i] == ' ') ++i;  // an anchor may begin with a blank: " seq "
  while (i < text.size() && is_word_char(text[i])) ++i;
  if (i > 0 && is_digit(text[i - 1])) return true;  // "step12", "mem_0"
  while (i < text.size()) {
    const char c = text[i];
    if (is_digit(c)) return true;
    if (is_word_char(c)) {
      const std::size_t begin = i;
      for (; i < text.size() && is_word_char(text[i]); ++i)
        if (text[i] == '_' &&
            !joins(text.substr(begin, i - begin).substr(text.substr(begin, i - begin).rfind('_') + 1)))
          return false;
      const std::string_view word = text.substr(begin, i - begin);
      if (!joins(word.substr(word.rfind('_') + 1))) return false;
    } else if (!joins_phrase[static_cast<unsigned char>(c)]) {
      return false;
    } else {
      ++i;
    }
  }
  return true;  // too long to decide
}

}  // namespace

bool may_name_step(std::string_view block, std::size_t at) {
  std::size_t begin = at, end = at;
  while (begin > 0 && is_word_char(block[begin - 1]) && at - begin < bytes_back) --begin;
  while (end < block.size() && is_word_char(block[end]) && end - at < bytes_back) ++end;
  if (begin > 0 && block[begin - 1] == '.' && end < block.size() && block[end] == '(') return false;  // "sim.step(20)"
  std::array<char, 2 * bytes_back> lowered{};
  for (std::size_t i = begin; i < end; ++i) lowered[i - begin] = lower(block[i]);
  const std::string_view name(lowered.data(), end - begin);
  const bool named = name == "epoch" || step_rank(name) > 0;
  return named && number_follows(block, end, [](std::string_view word) {
           return word.size() <= 2 || joins_label(word) || one_of(word, {"was", "now", "WAS", "NOW", "Was", "Now"});
         });
}

bool may_name_memory(std::string_view block, std::size_t at) {
  if (at >= 2 && block[at - 1] == ' ' && lower(block[at - 2]) == 'b') return true;  // "8.0GB used"
  for (const std::string_view whose : {"b of gpu ", "b of device ", "b of host "})  // "5.2 GiB of GPU memory"
    if (at >= whose.size() && lower(block.substr(at - whose.size(), whose.size())) == whose) return true;
  bool moment = false;  // after such a word, any words may follow
  return number_follows(block, at, [&moment](std::string_view word) {
    moment |= one_of(word, {"after", "before", "After", "Before", "info", "Info"});
    return moment || joins_label(word);
  });
}

bool may_name_pair(std::string_view block, std::size_t at) {
  constexpr std::size_t label = 4, max_bytes = 24;  // "gpu:"
  const std::string_view text = block.substr(std::min(at + label, block.size()), max_bytes);
  const std::size_t slash = text.find('/'), number = text.find_first_of("0123456789");
  if (number == text.npos || text.find_first_not_of(" :=") < number) return false;
  const std::size_t unit = text.find_first_not_of("0123456789., ", number);
  if (unit != text.npos && std::string_view("gGmM").find(text[unit]) != std::string_view::npos) return true;
  return slash != text.npos && number < slash && text.find_first_not_of("0123456789. gGmMiIbB:") == slash;
}

bool may_precede_pair(std::string_view block, std::size_t at) {
  constexpr std::size_t most = 48;  // bytes
  const std::string_view text = block.substr(at, most).substr(0, block.substr(at, most).find('\n'));
  const std::size_t slash = text.find('/');
  if (slash == text.npos || slash == 0) return false;
  const std::size_t before = text.find_last_not_of(" gGmMkKiIbB", slash - 1),
                    after = text.find_first_not_of(' ', slash + 1);
  return before != text.npos && after != text.npos && is_digit(text[before]) && is_digit(text[after]);
}

bool may_end_bar(std::string_view block, std::size_t at) {
  const char before = at > 0 ? block[at - 1] : '\n';
  return is_digit(before) || before == '?' || before == ' ';
}

std::vector<std::size_t> number_offsets(const FreeformLine& form) {
  std::vector<std::size_t> places;
  if (form.step) places.push_back(form.step_at);
  if (form.total) places.push_back(form.total_at);
  if (form.epoch) places.push_back(form.epoch_at);
  if (form.rate) places.push_back(form.rate_at);
  for (const FreeformValue& v : form.values) {
    places.push_back(v.number_at);
    if (v.device_at != FreeformValue::none) places.push_back(v.device_at);
  }
  return places;
}

PrintedPosition read_position(std::span<const GaugeValue> numbers, const FreeformLine& form) {
  PrintedPosition out;
  const auto next = [&](bool is_printed) {
    return is_printed ? std::optional(numbers[out.numbers++].value) : std::nullopt;
  };
  out.step = next(form.step.has_value());
  out.total = next(form.total.has_value());
  out.epoch = next(form.epoch.has_value());
  out.rate = next(form.rate.has_value());
  if (form.over_epochs) {
    const double before = std::max(0.0, *out.epoch - form.first_epoch) * *out.total;
    *out.step += before;
    out.before = whole_number(before);
  }
  return out;
}

i64 steps_before(const FreeformLine& line) {
  return line.over_epochs ? whole_number(std::max(0.0, *line.epoch - line.first_epoch) * *line.total) : 0;
}

bool may_be_step(std::span<const GaugeValue> numbers, const FreeformLine& form) {
  const PrintedPosition place = read_position(numbers, form);
  if (place.rate && is_too_fast(*place.rate, place.total.value_or(0))) return false;
  return form.min_total == 0 ||
         (*place.total >= form.min_total && *place.step - to_double(place.before) <= *place.total);
}

void substitute_numbers(std::span<const GaugeValue> numbers, FreeformLine& form) {
  const PrintedPosition place = read_position(numbers, form);
  auto next = numbers.begin() + static_cast<std::ptrdiff_t>(place.numbers);
  form.step = place.step;
  form.total = place.total;
  form.epoch = place.epoch;
  for (FreeformValue& v : form.values) {
    v.reading.value = next->value * v.factor;
    v.reading.quantum = compute_quantum(v.factor, (next++)->decimals);
    if (v.device_at != FreeformValue::none) v.device = index_number((next++)->value);
  }
}

}  // namespace oomdoctor
