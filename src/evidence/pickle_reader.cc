#include "evidence/pickle_reader.h"

#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/little_endian.h"

namespace oomdoctor {
namespace {

using enum SnapshotProblemKind;

/// The opcodes that the writers of snapshots use: Python's own pickler, and the one of torch's C++ code.
enum class Opcode : unsigned char {
  mark = '(',
  stop = '.',
  none = 'N',
  new_true = 0x88,
  new_false = 0x89,
  bin_int = 'J',
  bin_int1 = 'K',
  bin_int2 = 'M',
  long1 = 0x8a,
  long4 = 0x8b,
  bin_float = 'G',
  bin_unicode = 'X',
  short_bin_unicode = 0x8c,
  bin_unicode8 = 0x8d,
  empty_dict = '}',
  empty_list = ']',
  empty_tuple = ')',
  tuple = 't',
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  proto = 0x80,
  frame = 0x95,
  set_item = 's',
  set_items = 'u',
  append = 'a',
  appends = 'e',
  memoize = 0x94,
  bin_put = 'q',
  long_bin_put = 'r',
  bin_get = 'h',
  long_bin_get = 'j'
};

struct OpcodeName {
  unsigned char byte;
  std::string_view name;
};
/// All others, as Python's pickletools spells them, for the note.
constexpr auto refused_opcodes = std::to_array<OpcodeName>({{'0', "POP"},
                                                            {'1', "POP_MARK"},
                                                            {'2', "DUP"},
                                                            {'F', "FLOAT"},
                                                            {'I', "INT"},
                                                            {'L', "LONG"},
                                                            {'P', "PERSID"},
                                                            {'Q', "BINPERSID"},
                                                            {'R', "REDUCE"},
                                                            {'S', "STRING"},
                                                            {'T', "BINSTRING"},
                                                            {'U', "SHORT_BINSTRING"},
                                                            {'V', "UNICODE"},
                                                            {'b', "BUILD"},
                                                            {'c', "GLOBAL"},
                                                            {'d', "DICT"},
                                                            {'g', "GET"},
                                                            {'i', "INST"},
                                                            {'l', "LIST"},
                                                            {'o', "OBJ"},
                                                            {'p', "PUT"},
                                                            {'B', "BINBYTES"},
                                                            {'C', "SHORT_BINBYTES"},
                                                            {0x81, "NEWOBJ"},
                                                            {0x82, "EXT1"},
                                                            {0x83, "EXT2"},
                                                            {0x84, "EXT4"},
                                                            {0x8e, "BINBYTES8"},
                                                            {0x8f, "EMPTY_SET"},
                                                            {0x90, "ADDITEMS"},
                                                            {0x91, "FROZENSET"},
                                                            {0x92, "NEWOBJ_EX"},
                                                            {0x93, "STACK_GLOBAL"},
                                                            {0x96, "BYTEARRAY8"},
                                                            {0x97, "NEXT_BUFFER"},
                                                            {0x98, "READONLY_BUFFER"}});

constexpr std::size_t max_memo = 1 << 24;   ///< two for each event of a file of a gigabyte
constexpr std::size_t max_stack = 1 << 23;  ///< torch's C++ code puts all events on the stack before it makes the list
constexpr std::size_t max_marks = 64;       ///< open at a time: each is a level of nesting
constexpr int oldest_protocol = 2, newest_protocol = 5;

class PickleMachine {
 public:
  PickleMachine(ByteStream& in, SnapshotBuilder& out) : in_(in), out_(out) {}

  PickleResult run() {
    try {
      while (step()) continue;
      if (stack_.empty()) malformed("the stack is empty at STOP");
      return {stack_.back(), protocol_};
    } catch (SnapshotProblem& problem) {
      problem.offset = at_;
      throw;
    }
  }

 private:
  /// Executes one opcode; false after STOP.
  bool step();
  [[noreturn]] void refuse(unsigned char byte);
  /// "os.system": the callable that a refused opcode names; "" if it names none.
  std::string find_callable(unsigned char byte);
  std::string read_line();

  [[noreturn]] void malformed(std::string text) const { throw SnapshotProblem{snapshot_malformed, std::move(text)}; }
  [[noreturn]] void beyond_limit(std::string text) const { throw SnapshotProblem{snapshot_limit, std::move(text)}; }

  void need(std::size_t size) {
    if (!in_.ensure(size)) throw SnapshotProblem{snapshot_cut, "the file is cut: it ends before the pickle does"};
  }

  template <class Int>
  Int take() {
    need(sizeof(Int));
    const Int value = read_little_endian<Int>({in_.data(), sizeof(Int)});
    in_.skip(sizeof(Int));
    return value;
  }

  void push(SnapshotValue value) {
    if (stack_.size() >= max_stack) beyond_limit("its stack is longer than that of any snapshot: length");
    stack_.push_back(value);
  }

  void push_text(u64 size, const char* opcode) {
    if (size > SnapshotLimits::text_bytes)
      beyond_limit(fmt::format("a text of {} has a length of {} bytes", opcode, size));
    const auto length = static_cast<std::size_t>(size);
    need(length);
    push(out_.text({in_.data(), length}));
    in_.skip(length);
  }

  /// An integer of `size` bytes in two's complement.
  void push_long(std::size_t size) {
    need(size);
    const char* const bytes = in_.data();
    const bool negative = size > 0 && (bytes[size - 1] & 0x80) != 0;
    u64 value = negative ? ~u64{0} : 0;
    bool fits = true;
    for (std::size_t i = size; i-- > 0;) {
      const auto byte = static_cast<unsigned char>(bytes[i]);
      if (i >= 8)
        fits &= byte == (negative ? 0xff : 0);
      else
        value = value << 8 | byte;
    }
    const bool sign_bit = value >> 63 != 0;
    if (!fits || (negative && !sign_bit && size >= 8))
      push({0, ValueTag::too_wide});
    else
      push(sign_bit && !negative ? SnapshotValue::of_wide(value) : SnapshotValue::of_integer(static_cast<i64>(value)));
    in_.skip(size);
  }

  void put(u64 index) {
    if (index >= max_memo) beyond_limit("it has more memo entries than any snapshot");
    if (stack_.empty()) malformed("the stack is empty where the memo takes a value");
    // A few bytes that unpack to gigabytes would fill the memo with one value.
    if (at_ == end_of_put_) malformed("it puts one value into the memo twice");
    end_of_put_ = in_.offset();
    const auto place = static_cast<std::size_t>(index);
    if (place == memo_bits_.size()) {
      memo_bits_.push_back(stack_.back().bits);
      memo_tags_.push_back(static_cast<unsigned char>(stack_.back().tag));
      return;
    }
    if (place > memo_bits_.size()) {
      memo_bits_.resize(place + 1);
      memo_tags_.resize(place + 1, unset);
    }
    memo_bits_[place] = stack_.back().bits;
    memo_tags_[place] = static_cast<unsigned char>(stack_.back().tag);
  }

  void get(u64 index, const char* opcode) {
    const auto place = static_cast<std::size_t>(index);
    if (index >= memo_tags_.size() || memo_tags_[place] == unset)
      malformed(fmt::format("{} asks for memo entry {}, which was never set", opcode, index));
    push({memo_bits_[place], static_cast<ValueTag>(memo_tags_[place])});
  }

  std::size_t pop_mark(const char* opcode) {
    if (marks_.empty()) malformed(fmt::format("{} without a MARK", opcode));
    const std::size_t mark = marks_.back();
    marks_.pop_back();
    return mark;
  }

  /// The container below the values from `first` on.
  SnapshotValue target(std::size_t first, ValueTag tag, const char* opcode) const {
    if (first == 0 || stack_[first - 1].tag != tag)
      malformed(
          fmt::format("{} has no {} below its values on the stack", opcode, tag == ValueTag::dict ? "dict" : "list"));
    return stack_[first - 1];
  }

  void set_items(std::size_t first, const char* opcode) {
    const SnapshotValue dict = target(first, ValueTag::dict, opcode);
    if ((stack_.size() - first) % 2 != 0) malformed(fmt::format("{} has a key without a value: an odd number", opcode));
    out_.set_items(dict, std::span(stack_).subspan(first));
    stack_.resize(first);
  }

  void append(std::size_t first, const char* opcode) {
    const SnapshotValue list = target(first, ValueTag::list, opcode);
    out_.append(list, std::span(stack_).subspan(first));
    stack_.resize(first);
  }

  void make_tuple(std::size_t first) {
    const SnapshotValue tuple = out_.tuple(std::span(stack_).subspan(first));
    stack_.resize(first);
    push(tuple);
  }

  std::size_t top(std::size_t values, const char* opcode) const {
    if (stack_.size() < values + (marks_.empty() ? 0 : marks_.back()))
      malformed(fmt::format("the stack is empty at {}", opcode));
    return stack_.size() - values;
  }

  static constexpr unsigned char unset = 0xff;

  ByteStream& in_;
  SnapshotBuilder& out_;
  std::int64_t at_ = 0;  ///< of the opcode
  int protocol_ = 0;
  std::vector<SnapshotValue> stack_;
  std::vector<std::size_t> marks_;
  // The memo, in two vectors because a value with its tag takes 16 bytes.
  std::vector<u64> memo_bits_;
  std::vector<unsigned char> memo_tags_;
  std::size_t memoized_ = 0;
  std::int64_t end_of_put_ = -1;  ///< after the last opcode that filled the memo
};

bool PickleMachine::step() {
  at_ = in_.offset();
  const auto byte = take<unsigned char>();
  switch (static_cast<Opcode>(byte)) {
    case Opcode::bin_get:
      get(take<std::uint8_t>(), "BINGET");
      return true;
    case Opcode::long_bin_get:
      get(take<std::uint32_t>(), "LONG_BINGET");
      return true;
    case Opcode::memoize:
      put(memoized_++);
      return true;
    case Opcode::bin_put:
      put(take<std::uint8_t>());
      return true;
    case Opcode::long_bin_put:
      put(take<std::uint32_t>());
      return true;
    case Opcode::none:
      push({});
      return true;
    case Opcode::new_true:
      push(SnapshotValue::of_truth(true));
      return true;
    case Opcode::new_false:
      push(SnapshotValue::of_truth(false));
      return true;
    case Opcode::bin_int:
      push(SnapshotValue::of_integer(take<std::int32_t>()));
      return true;
    case Opcode::bin_int1:
      push(SnapshotValue::of_integer(take<std::uint8_t>()));
      return true;
    case Opcode::bin_int2:
      push(SnapshotValue::of_integer(take<std::uint16_t>()));
      return true;
    case Opcode::long1:
      push_long(take<std::uint8_t>());
      return true;
    case Opcode::long4: {
      constexpr std::int32_t longest = 255;
      const auto size = take<std::int32_t>();
      if (size < 0) malformed("LONG4 has a negative length");
      if (size > longest) beyond_limit(fmt::format("a number of LONG4 has a length of {} bytes", size));
      push_long(static_cast<std::size_t>(size));
      return true;
    }
    case Opcode::bin_float: {
      need(8);
      u64 bits = 0;
      for (int i = 0; i < 8; ++i) bits = bits << 8 | static_cast<unsigned char>(in_.data()[i]);
      in_.skip(8);
      push({bits, ValueTag::real});
      return true;
    }
    case Opcode::short_bin_unicode:
      push_text(take<std::uint8_t>(), "SHORT_BINUNICODE");
      return true;
    case Opcode::bin_unicode:
      push_text(take<std::uint32_t>(), "BINUNICODE");
      return true;
    case Opcode::bin_unicode8:
      push_text(take<std::uint64_t>(), "BINUNICODE8");
      return true;
    case Opcode::empty_dict:
      push(out_.empty_dict());
      return true;
    case Opcode::empty_list:
      push(out_.empty_list());
      return true;
    case Opcode::empty_tuple:
      push(out_.empty_list());
      return true;
    case Opcode::tuple:
      make_tuple(pop_mark("TUPLE"));
      return true;
    case Opcode::tuple1:
      make_tuple(top(1, "TUPLE1"));
      return true;
    case Opcode::tuple2:
      make_tuple(top(2, "TUPLE2"));
      return true;
    case Opcode::tuple3:
      make_tuple(top(3, "TUPLE3"));
      return true;
    case Opcode::mark:
      if (marks_.size() >= max_marks) beyond_limit("its MARKs are nested deeper than in any snapshot");
      marks_.push_back(stack_.size());
      return true;
    case Opcode::set_item:
      set_items(top(2, "SETITEM"), "SETITEM");
      return true;
    case Opcode::set_items:
      set_items(pop_mark("SETITEMS"), "SETITEMS");
      return true;
    case Opcode::append:
      append(top(1, "APPEND"), "APPEND");
      return true;
    case Opcode::appends:
      append(pop_mark("APPENDS"), "APPENDS");
      return true;
    case Opcode::proto: {
      protocol_ = take<std::uint8_t>();
      if (protocol_ < oldest_protocol || protocol_ > newest_protocol)
        throw SnapshotProblem{snapshot_refused, fmt::format("it has the unknown pickle protocol {}", protocol_)};
      return true;
    }
    case Opcode::frame:
      take<std::uint64_t>();
      return true;  // only a hint for buffers
    case Opcode::stop:
      return false;
  }
  refuse(byte);
}

std::string PickleMachine::read_line() {
  constexpr std::size_t longest = 80;
  std::string line;
  while (line.size() < longest && in_.ensure(1)) {
    const char c = *in_.data();
    in_.skip(1);
    if (c == '\n') break;
    line += c > 0x20 && c < 0x7f ? c : '?';
  }
  return line;
}

std::string PickleMachine::find_callable(unsigned char byte) {
  constexpr unsigned char global = 'c', inst = 'i', stack_global = 0x93;
  if (byte == global || byte == inst) {
    const std::string module = read_line();
    return module + "." + read_line();
  }
  if (byte != stack_global || stack_.size() < 2) return "";
  std::string name;
  for (const SnapshotValue part : {stack_[stack_.size() - 2], stack_.back()}) {
    if (!name.empty()) name += '.';
    for (const char c : out_.text_of(part).substr(0, 80)) name += c > 0x20 && c < 0x7f ? c : '?';
  }
  return name == "." ? "" : name;
}

void PickleMachine::refuse(unsigned char byte) {
  for (const OpcodeName& opcode : refused_opcodes) {
    if (opcode.byte != byte) continue;
    const std::string callable = find_callable(byte);
    const std::string what = callable.empty() ? std::string(opcode.name) : fmt::format("{} {}", opcode.name, callable);
    if (out_.saw_snapshot())
      throw SnapshotProblem{snapshot_refused, fmt::format("the pickle has {}, which no snapshot needs", what)};
    throw SnapshotProblem{not_a_snapshot, fmt::format("it is another pickle: it has {}", what)};
  }
  throw SnapshotProblem{snapshot_refused, fmt::format("the pickle has the unknown opcode {:#04x}", byte)};
}

}  // namespace

PickleResult read_pickle(ByteStream& in, SnapshotBuilder& out) { return PickleMachine(in, out).run(); }

bool begins_pickle(std::string_view first) {
  constexpr unsigned char printable = 0x20;  // "\x80" is also the euro sign of old Windows texts
  return first.size() >= 2 && static_cast<unsigned char>(first[0]) == 0x80 &&
         static_cast<unsigned char>(first[1]) > 1 && static_cast<unsigned char>(first[1]) < printable;
}

}  // namespace oomdoctor
