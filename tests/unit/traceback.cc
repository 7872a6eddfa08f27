#include "read/traceback.h"

#include "catch.h"

namespace oomdoctor {
namespace {

/// The frames that belong to the line with `message`.
std::vector<Frame> frames_at(const std::string& text, std::string_view message) {
  const Window window(text);
  const Line line = window.line_around(text.find(message), 1);
  return read_traceback(Cursor(window, line));
}

std::string words_of(const std::vector<Frame>& frames) {
  std::string out;
  for (const Frame& f : frames)
    out +=
        f.file + ":" + std::to_string(f.line) + " " + f.function + " | " + f.code + (f.library ? " (library)\n" : "\n");
  return out;
}

}  // namespace

TEST_CASE("a frame of Cython has its own line", "[traceback]") {
  const std::string text =
      "OutOfMemoryError                          Traceback (most recent call last)\n"
      "File lib/pool/memory.pyx:1428, in lib.pool.memory.Pool.malloc()\n"
      "\n"
      "OutOfMemoryError: here\n";
  CHECK(words_of(frames_at(text, "here")) == "lib/pool/memory.pyx:1428 lib.pool.memory.Pool.malloc |  (library)\n");
}

TEST_CASE("the interpreter's traceback is above the message", "[traceback]") {
  const std::string text =
      "step 3\n"
      "Traceback (most recent call last):\n"
      "  File \"/home/u/train.py\", line 97, in main\n"
      "    loss = step(batch)\n"
      "  File \"/opt/venv/lib/python3.10/site-packages/torch/nn/functional.py\", line 1500, in relu\n"
      "    return torch.relu(input)\n"
      "torch.OutOfMemoryError: here\n";
  const std::string expected =
      "/home/u/train.py:97 main | loss = step(batch)\n"
      "/opt/venv/lib/python3.10/site-packages/torch/nn/functional.py:1500 relu | return torch.relu(input) (library)\n";
  CHECK(words_of(frames_at(text, "here")) == expected);
  std::string crlf;
  for (const char c : text) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  CHECK(words_of(frames_at(crlf, "here")) == expected);
}

TEST_CASE("markers under the code are not part of the code", "[traceback]") {
  const std::string text =
      "Traceback (most recent call last):\n"
      "  File \"a.py\", line 4, in f\n"
      "    y = model(x) + model(z)\n"
      "        ~~~~~^^^\n"
      "  File \"b.py\", line 5, in forward\n"
      "    return self.layer(\n"
      "           ^^^^^^^^^^^\n"
      "        x, mask\n"
      "        ^^^^^^^\n"
      "    )\n"
      "    ^\n"
      "OutOfMemoryError: here\n";
  CHECK(words_of(frames_at(text, "here")) ==
        "a.py:4 f | y = model(x) + model(z)\nb.py:5 forward | return self.layer(\n");
}

TEST_CASE("the traceback of a process that quotes a worker's error is not the worker's", "[traceback]") {
  const std::string waiting =
      "Traceback (most recent call last):\n"
      "  File \"/app/pool.py\", line 48, in wait\n"
      "    raise RuntimeError(\n";
  CHECK(frames_at(waiting + "RuntimeError: Worker failed with error 'CUDA out of memory.'\n", "Worker").empty());
  CHECK(frames_at(waiting + "RuntimeError: it failed with error code 12\n", "code 12").size() == 1);
}

TEST_CASE("frames without printed code", "[traceback]") {
  const std::string text =
      "Traceback (most recent call last):\n"
      "  File \"a.py\", line 4, in <module>\n"
      "  File \"b.py\", line 5, in f\n"
      "MemoryError: here\n";
  CHECK(words_of(frames_at(text, "here")) == "a.py:4 <module> | \nb.py:5 f | \n");
}

TEST_CASE("each of several chained exceptions has its own traceback", "[traceback]") {
  const std::string text =
      "Traceback (most recent call last):\n"
      "  File \"first.py\", line 1, in f\n"
      "    g()\n"
      "RuntimeError: inner\n"
      "\n"
      "During handling of the above exception, another exception occurred:\n"
      "\n"
      "Traceback (most recent call last):\n"
      "  File \"second.py\", line 2, in h\n"
      "    i()\n"
      "RuntimeError: outer\n";
  CHECK(words_of(frames_at(text, "inner")) == "first.py:1 f | g()\n");
  CHECK(words_of(frames_at(text, "outer")) == "second.py:2 h | i()\n");
}

TEST_CASE("a logger prints the message first", "[traceback]") {
  const std::string text =
      "ERROR: training failed: here\n"
      "Traceback (most recent call last):\n"
      "  File \"a.py\", line 4, in f\n"
      "    g()\n"
      "  File \"b.py\", line 5, in g\n"
      "    h()\n"
      "    ^^^\n"
      "RuntimeError: again\n"
      "  File \"other.py\", line 9, in later\n";
  CHECK(words_of(frames_at(text, "here")) == "a.py:4 f | g()\nb.py:5 g | h()\n");
}

TEST_CASE("lines after the end of a traceback do not belong to it", "[traceback]") {
  const std::string other = "Traceback (most recent call last):\n  File \"b.py\", line 7, in g\n    h()\n";
  CHECK(frames_at("torch.OutOfMemoryError: here\n" + other, "here").empty());
  CHECK(words_of(frames_at("step 4 failed: here\n" + other, "here")) == "b.py:7 g | h()\n");
}

TEST_CASE("IPython's frames have the line number of the arrow", "[traceback]") {
  const std::string text =
      "/home/u/norm.py in forward(self, x)\n"
      "    134         y = self.scale\n"
      "    135 \n"
      "--> 136         x = batch_norm(\n"
      "    137             x, y)\n"
      "\n"
      "File /home/u/net.py:20, in Net.run(self)\n"
      "     19     z = 0\n"
      "---> 20     return self.norm(x)\n"
      "\n"
      "RuntimeError: here\n";
  CHECK(words_of(frames_at(text, "here")) ==
        "/home/u/norm.py:136 forward | x = batch_norm(\n/home/u/net.py:20 Net.run | return self.norm(x)\n");
}

TEST_CASE("tags separate the tracebacks of several ranks line by line", "[traceback]") {
  const std::string text =
      "[rank0]: Traceback (most recent call last):\n"
      "[rank1]: Traceback (most recent call last):\n"
      "[rank0]:   File \"zero.py\", line 1, in f\n"
      "[rank1]:   File \"one.py\", line 2, in g\n"
      "[rank0]:     a()\n"
      "[rank1]:     b()\n"
      "[rank1]: RuntimeError: second\n"
      "[rank0]: RuntimeError: first\n";
  CHECK(words_of(frames_at(text, "first")) == "zero.py:1 f | a()\n");
  CHECK(words_of(frames_at(text, "second")) == "one.py:2 g | b()\n");
}

TEST_CASE("a message alone has no frames, and the number of frames is limited", "[traceback]") {
  CHECK(frames_at("step 1\nstep 2\nhere\nstep 3\n", "here").empty());
  CHECK(frames_at("here", "here").empty());
  std::string deep = "Traceback (most recent call last):\n";
  for (int i = 0; i < 500; ++i) deep += "  File \"r.py\", line " + std::to_string(i) + ", in f\n    f()\n";
  const auto frames = frames_at(deep + "MemoryError: here\n", "here");
  REQUIRE(frames.size() == 64);
  CHECK(frames.back().line == 499);  // the innermost frames stay
}

TEST_CASE("where a library fails in a thread, the handler of its exception has the user's frames", "[traceback]") {
  const std::string failed =
      "Traceback (most recent call last):\n"
      "  File \"/v/site-packages/torch/nn/modules/linear.py\", line 114, in forward\n"
      "    return F.linear(x)\n"
      "RuntimeError: here\n"
      "\n";
  const std::string raised =
      "\n"
      "Traceback (most recent call last):\n"
      "  File \"fit.py\", line 61, in main\n"
      "    out = model(x)\n"
      "  File \"/v/site-packages/torch/nn/parallel.py\", line 9, in forward\n"
      "    gather()\n"
      "  File \"fit.py\", line 12, in guarded\n"
      "    raise StepFailed() from error\n"
      "StepFailed\n";
  const std::string own = "/v/site-packages/torch/nn/modules/linear.py:114 forward | return F.linear(x) (library)\n";
  const std::string both = "fit.py:61 main | out = model(x)\n" + own;
  CHECK(words_of(frames_at(failed + "During handling of the above exception, another exception occurred:\n" + raised,
                           "here")) == both);
  CHECK(words_of(frames_at(failed + "The above exception was the direct cause of the following exception:\n" + raised,
                           "here")) == both);
  CHECK(words_of(frames_at(failed + raised, "here")) == own);
}

TEST_CASE("library files", "[traceback]") {
  for (const char* file : {"/x/site-packages/a.py", "/usr/lib/python3/dist-packages/b.py",
                           "/usr/lib/python3.10/runpy.py", "<frozen runpy>", "/src/torch/nn/module.py",
                           "/opt/venv/bin/torchrun", "C:\\env\\Scripts\\accelerate.exe\\__main__.py"})
    CHECK(is_library_file(file));
  for (const char* file : {"train.py", "/home/u/torchmodel/train.py", "/workspace/lib/net.py", "/home/u/bin/train.py"})
    CHECK_FALSE(is_library_file(file));
}

TEST_CASE("several processes of a job write at once: the frames after the message belong to it", "[traceback]") {
  const std::string text =
      "  File \"/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py\", line 1145, in to\n"
      "torch.OutOfMemoryError: here\n"
      "    return self._apply(convert)\n"
      "  File \"/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py\", line 797, in _apply\n"
      "    module._apply(fn)\n"
      "torch.OutOfMemoryError: there\n";
  CHECK(words_of(frames_at(text, "here")) ==
        "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py:1145 to |  (library)\n"
        "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py:797 _apply |  (library)\n");
  // Frames with a header of their own belong to another failure.
  CHECK(frames_at("torch.OutOfMemoryError: here\nTraceback (most recent call last):\n  File \"a.py\", line 1, in f\n",
                  "here")
            .empty());
  // Those of another exception as well.
  CHECK(frames_at("torch.OutOfMemoryError: here\n$ python a.py\n  File \"a.py\", line 1\n    def main(:\n"
                  "SyntaxError: invalid syntax\n",
                  "here")
            .empty());
}

TEST_CASE("the frames of a launcher say nothing of the failure, also without their last line", "[traceback]") {
  CHECK(
      frames_at(
          "failed (exitcode: -9) here\nTraceback (most recent call last):\n"
          "  File \"/opt/venv/lib/python3.11/site-packages/torch/distributed/launcher/api.py\", line 134, in __call__\n"
          "    return launch_agent(self._config, self._entrypoint, list(args))\n",
          "here")
          .empty());
  CHECK(frames_at("a worker was restarted here\nTraceback (most recent call last):\n  File \"/home/u/run.py\", line "
                  "41, in main\n"
                  "    total = client.gather(parts)\n"
                  "  File \"/opt/venv/lib/python3.11/site-packages/distributed/client.py\", line 1851, in _gather\n"
                  "    raise exception.with_traceback(traceback)\n",
                  "here")
            .empty());
}

TEST_CASE("a traceback below the message that ends with another exception is not its own", "[traceback]") {
  const std::string below =
      "no room here\nTraceback (most recent call last):\n  File \"/home/u/run.py\", line 41, in main\n"
      "    mean = total / seen\n";
  CHECK(frames_at(below + "ZeroDivisionError: division by zero\n", "here").empty());
  CHECK(frames_at(below + "torch.OutOfMemoryError: CUDA out of memory\n", "here").size() == 1);
}

}  // namespace oomdoctor
