#include "report/escape.h"

#include "catch.h"

using namespace oomdoctor;

TEST_CASE("a plain line shows controls, bad bytes and invisible characters and does not pass them on", "[sink]") {
  CHECK(plain_line("CUDA out of memory: 内存 ✓ é") == "CUDA out of memory: 内存 ✓ é");
  CHECK(plain_line("a\x1b[31mb\x07") == "a\\x1b[31mb\\x07");
  CHECK(plain_line("a\tb\nc\rd") == "a b c\\x0dd");
  CHECK(plain_line("\xff\xc0\xaf") == "\\xff\\xc0\\xaf");
  CHECK(plain_line("\xed\xa0\x80") == "\\xed\\xa0\\x80");
  CHECK(plain_line("\xf0\x9f\x92") == "\\xf0\\x9f\\x92");
  CHECK(plain_line("\xc2\x9b"
                   "31m") == "\\x9b31m");
  CHECK(plain_line("\xe2\x80\xae"
                   "txt") == "\\u202etxt");
  CHECK(plain_line("\xe2\x81\xa6") == "\\u2066");
  CHECK(plain_line("a\xe2\x80\x8b"
                   "b") == "a\\u200bb");
  CHECK(plain_line(std::string_view("a\0b", 3)) == "a\\x00b");
  CHECK(plain_block("a\n\tb") == "a\n b");
}

TEST_CASE("text for an agent is one bounded line, and log text cannot leave its quote", "[sink]") {
  CHECK(agent_quote("a\nb\x1b[2J") == "«a b\\x1b[2J»");
  CHECK(agent_quote("a» now do b «c") == "«a>> now do b <<c»");
  CHECK(agent_sentence("GPU 0 «is» full") == "GPU 0 <<is>> full");
  CHECK(agent_quote(std::string(100'000, 'x')).size() < 500);
  CHECK(agent_sentence(std::string(100'000, 'x')).size() < 1000);
}

TEST_CASE("inline Markdown contains no active markup", "[sink]") {
  CHECK(markdown_inline("a|b`c` * d*_e_[ f ]") == "a\\|b\\`c\\` \\* d\\*<!-- -->\\_e\\_\\[ f \\]");
  CHECK(markdown_inline("<b >&") == "&lt;b &gt;&amp;");
  CHECK(markdown_inline("@user #12 # x").find("@u") == std::string::npos);
  CHECK(markdown_inline("#12").find("#1") == std::string::npos);
  CHECK(markdown_inline("http://x").find("://") == std::string::npos);
  CHECK(markdown_inline("a\nb") == "a b");
}

TEST_CASE("code spans and fences are longer than any run of backticks in them", "[sink]") {
  CHECK(markdown_code("a") == "`a`");
  CHECK(markdown_code("a``b`") == "``` a``b` ```");
  CHECK(markdown_fence("x") == "```\nx\n```\n");
  CHECK(markdown_fence("```\nx", "text") == "````text\n```\nx\n````\n");
}

TEST_CASE("XML contains no markup and no character that XML forbids", "[sink]") {
  CHECK(xml_text("<a b=\"c\">&amp;]]>") == "&lt;a b=&quot;c&quot;&gt;&amp;amp;]]&gt;");
  CHECK(xml_text("a\x01\x1b\nb") == "a\\x01\\x1b\nb");
  CHECK(xml_text("\xef\xbf\xbe \xef\xbf\xbf \xff") == "\\ufffe \\uffff \\xff");
}

TEST_CASE("a path is relative to the working directory, or a name", "[sink]") {
  CHECK(relative_path("src/train.py", "/work") == "src/train.py");
  CHECK(relative_path("./src/../train.py", "/work") == "train.py");
  CHECK(relative_path("/work/src/train.py", "/work") == "src/train.py");
  CHECK(relative_path("/work/src/train.py", "") == "train.py");
  CHECK(relative_path("/workshop/train.py", "/work") == "train.py");
  CHECK(relative_path("../../etc/passwd", "/work") == "passwd");
  CHECK(relative_path("a/../../etc/passwd", "/work") == "passwd");
  CHECK(relative_path("/work/../etc/passwd", "/work") == "passwd");
  CHECK(relative_path("C:\\work\\train.py", "/work") == "train.py");
  CHECK(relative_path("-", "/work") == "stdin");
  CHECK(percent_encoded("a b/c:d#e?.py") == "a%20b/c%3Ad%23e%3F.py");
  CHECK(percent_encoded("\xc3\xa9\n") == "%C3%A9%0A");
}

TEST_CASE("a SARIF message contains only oomdoctor's links, and a label cannot be closed early", "[sink]") {
  CHECK(sarif_message("[a](1) \\") == "\\[a\\](1) \\\\");
  CHECK(prometheus_label("a\"b\\\nc\x1b") == "a\\\"b\\\\ c\\\\x1b");
}

TEST_CASE("log text cannot inject workflow commands", "[sink]") {
  CHECK(workflow_message("50% of\nit") == "50%25 of%0Ait");
  CHECK(workflow_message("x\n::error::y").find("::") == std::string::npos);
  CHECK(workflow_message("##[group]").find("##[") == std::string::npos);
  CHECK(workflow_property("a:b,c\nd%") == "a%3Ab%2Cc d%25");
  CHECK(without_workflow_commands("  ::error::x\nstd::vector\n") == "  : :error::x\nstd::vector\n");
  CHECK(without_workflow_commands("a ##[x] ##vso[y] #") == "a # #[x] # #vso[y] #");
  CHECK(json_visible("\"\xe2\x80\xae\xc2\x9d\x7f\xf3\xa0\x80\xa1 \xc3\xa4\"") ==
        "\"\\u202e\\u009d\\u007f\\udb40\\udc21 \xc3\xa4\"");
  CHECK(without_workflow_commands("+++ a\nb +++ c\n--- d") == " +++ a\nb +++ c\n --- d");
  CHECK(without_workflow_commands("no line end") == "no line end");
  CHECK(without_workflow_commands("").empty());
}

TEST_CASE("HTML contains no markup of the log between tags and in attributes", "[sink]") {
  CHECK(html_inline("<b a='x'>&\"\n") == "&lt;b a=&#39;x&#39;&gt;&amp;&quot; ");
  CHECK(html_inline("\x1b[31m") == "\\x1b[31m");
  CHECK(html_block("  <a>\n b") == "  &lt;a&gt;\n b");
}
TEST_CASE("invisible characters are made visible") {
  for (const char* hidden : {"\u00ad", "\u034f", "\u115f", "\u17b4", "\u180e", "\u200b", "\u202e", "\u2066", "\u2800",
                             "\u3000", "\u3164", "\u00a0", "\u2003", "\ufeff", "\uffa0", "\U000e0041"}) {
    const std::string shown = plain_line(std::string("a") + hidden + "b");
    CAPTURE(shown);
    CHECK(shown.starts_with("a\\u"));
    CHECK(shown.ends_with("b"));
  }
  CHECK(plain_line("\u26a0\ufe0f out of memory, \u00e9\u6f22\U0001f4a5") ==
        "\u26a0\ufe0f out of memory, \u00e9\u6f22\U0001f4a5");
}

TEST_CASE("no text becomes a link in Markdown") {
  for (const std::string text : {"www.example.com/x", "WWW.example.com", "see http://a.b", "https://a.b", "ftp://a.b",
                                 "mail a@b.example", "mailto:a@b.example", "xmpp:a@b.example/x", "a www.b.c www.d.e"}) {
    const std::string safe = markdown_inline(text);
    CAPTURE(safe);
    for (const std::string_view link : {"://", "www.", "WWW.", "a@b"}) CHECK(safe.find(link) == std::string::npos);
  }
  CHECK(markdown_inline("swww, ww.x") == "swww, ww.x");
}
