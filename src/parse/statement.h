// What a line says about a failure for want of memory, whoever wrote it: is it a program that speaks of itself, how
// much was asked for, how much was there, of which memory. The words are those of lexicon.txt.
//
// A line states a failure where a trigger stands in it and nothing in front of the trigger makes it a condition, a
// negation, advice or a name, and where something shows that it is the statement of a program: a level, the class of an
// exception, a place in a source, a status, a size that was asked for or was free, or that it says nothing else. Where
// neither is the case, the line is unclear, and is said to be.
#pragma once

#include <optional>
#include <string_view>

#include "model/event.h"
#include "parse/window.h"

namespace oomdoctor {

enum class Voice { other, unclear, statement };

struct Statement {
  Voice voice = Voice::other;
  bool handled = false;         ///< the words say that the program goes on
  bool killed = false;          ///< a process was ended
  bool status = false;          ///< the trigger is a status or the class of an exception
  bool bare = false;            ///< nothing but the name of an exception or a status
  std::optional<OomKind> kind;  ///< nothing where the words leave it open
  std::optional<int> device;
  std::optional<i64> pid;
  std::optional<Bytes> asked, free, used, allocated, reserved, unallocated, total, limit;
};

/// `text`: a cleaned line, or a few lines of one message, parted by blanks.
Statement read_statement(std::string_view text);

/// The statement that begins on the line of the cursor, with the lines behind it that go on with it.
Statement read_statement(const Cursor& cursor);

/// The line is the text of a program or of a manual and quotes a message: its neighbours are no lines of a log.
bool is_quoted_in_text(const Cursor& cursor);

}  // namespace oomdoctor
