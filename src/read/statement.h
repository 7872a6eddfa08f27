// Reads a report of an out-of-memory failure in any wording: whether a program reports its own failure, which sizes it
// names, and which memory it means. lexicon.txt defines the words.
//
// A line is a statement if it contains a trigger, and nothing before the trigger makes it a condition, a negation,
// advice or a name. In addition, something must show that a program printed it: a level, an exception class, a
// position in a source file, a status, a requested or free size, or that the line contains nothing else. A line with a
// trigger but without such a sign is unclear. The report then names it as unclear.
#pragma once

#include <optional>
#include <string_view>

#include "model/event.h"
#include "read/window.h"

namespace oomdoctor {

/// other: no failure; unclear: nothing shows that a program printed it; statement: a program reports a failure.
enum class Voice { other, unclear, statement };

/// The result of reading one message. Sizes that the text does not name are absent.
struct Statement {
  Voice voice = Voice::other;
  bool handled = false;         ///< the text shows that the program goes on
  bool killed = false;          ///< a process was killed
  bool status = false;          ///< the trigger is a status or an exception class
  bool of_machine = false;      ///< the size in use is that of the whole machine, not of a process
  bool guessed = false;         ///< memory is only a possible reason: "probably killed for memory"
  bool bare = false;            ///< only the name of an exception or a status
  std::optional<OomKind> kind;  ///< absent if the words do not decide it
  std::optional<int> device;
  std::optional<i64> pid;
  std::optional<Bytes> asked, free, used, allocated, reserved, unallocated, total, limit;
};

/// Reads `text`: a cleaned line, or several lines of one message joined by blanks.
Statement read_statement(std::string_view text);

/// Reads the statement that begins on the current line, with up to three lines that continue it.
Statement read_statement(const Cursor& cursor);

/// True if the line is code that raises or catches the failure: "raise OutOfMemoryError(…", and "446 except …:" of a
/// notebook's traceback.
bool is_raised_in_code(std::string_view body);

/// True if the line is an entry of a catalogue of messages, in JSON: the line above or below has the same form.
bool is_catalogue_entry(const Cursor& cursor);

/// True if the line is part of a patch: the header of a hunk is above, and each line since then begins as in one.
bool is_in_patch(const Cursor& cursor);

/// True if the line is an example in a manual: a sentence about the reader introduces it, and one gives advice.
/// Reports of a failure speak of their writer.
bool is_manual_example(const Cursor& cursor);

/// True if all words of the failure are in back ticks, in an item of a list that speaks of no failure of its
/// writer: "- **`CUDA out of memory.`** – lower `--batch-size`".
bool is_in_back_ticks(const Cursor& cursor);

/// True if the line is in an indented block that a sentence with "::" at its end introduces, as reStructuredText has
/// it, and nobody writes of a failure of his own.
bool is_in_literal_block(const Cursor& cursor);

/// True if the line is part of program code or of a manual that quotes a message: its neighbours are not lines of a
/// log. A message in a program's exact form below prose may be the end of a program that printed sentences. So prose
/// has to enclose or introduce it.
bool is_quoted_in_text(const Cursor& cursor, bool exact);

}  // namespace oomdoctor
