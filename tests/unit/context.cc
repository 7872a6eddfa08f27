#include "read/context.h"

#include "catch.h"

namespace oomdoctor {

TEST_CASE("source code and prose are not program output", "[context]") {
  for (const char* line :
       {"    except MemoryError:", "        raise MemoryError(\"too big\")", "# MemoryError: see below",
        "    // std::bad_alloc", "if (status == CUBLAS_STATUS_ALLOC_FAILED) {", "logger.warning('CUDA out of memory')",
        "+    raise RuntimeError(message)", "src/loop.py:14:    raise MemoryError", "loop.py:15-  return None",
        "hint = \"out of memory\"", "from torch import cuda", "$ python train.py", "> raise Full"}) {
    CAPTURE(line);
    CHECK(is_program_text(line));
  }
  for (const char* line : {"MemoryError", "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED",
                           "from 3 workers one was Killed", "Killed", "if it happens again, ask", "#### step 4",
                           "job.log:: raise the limit", "worker 3:14: raise the limit", "loop:14: raise the limit",
                           "job.log:14 raise the limit", "limit = 4", " = \"\"", "from one to two"}) {
    CAPTURE(line);
    CHECK_FALSE(is_program_text(line));
  }
}

TEST_CASE("neighbouring lines are examined within bounds", "[context]") {
  const std::string text = "first\nsecond\nthird\nfourth\n";
  const Window window(text);
  const Line line = window.line_around(text.find("third"), 3);
  const Cursor cursor(window, line);
  CHECK(is_near(cursor, 1, 0, {"second"}));
  CHECK_FALSE(is_near(cursor, 1, 0, {"first"}));
  CHECK(is_near(cursor, 0, 1, {"fourth"}));
  CHECK(find_before(cursor, 2, "first")->number == 1);
  CHECK_FALSE(find_after(cursor, 5, "first"));
  CHECK(find_after(cursor, 5, "fourth")->number == 4);
  CHECK_FALSE(find_before(cursor, 1, "first"));
  CHECK(is_near(cursor, 0, 0, {"no", "third"}));
  CHECK_FALSE(is_near(cursor, 0, 0, {"second", "fourth"}));
}

TEST_CASE("the text between two others", "[context]") {
  CHECK(between("a <b> c", "<", ">") == "b");
  CHECK(between("> a <b>", "<", ">") == "b");
  CHECK(between("a [[b]] c", "[[", "]]") == "b");
  CHECK(between("a <b", "<", ">").empty());
  CHECK(between("a b>", "<", ">").empty());
}

TEST_CASE("leading numbers", "[context]") {
  CHECK(leading_integer("42kB") == 42);
  CHECK(leading_integer("kB") == 0);
}

TEST_CASE("a number ends at the end of its line", "[context]") {
  CHECK(number_on_line("buffer of size 4096", "of size ", "409617") == "4096");
  CHECK(number_on_line("buffer of size 4096 (again)", "of size ", "4096") == "4096");
  CHECK(number_on_line("buffer of", "of size ", "4096") == "4096");  // broken in front of the number
  CHECK(number_on_line("buffer of size ", "of size ", "4096") == "4096");
}

}  // namespace oomdoctor
