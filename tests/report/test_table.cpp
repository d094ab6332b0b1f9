#include <sstream>

#include "catch.h"
#include "lines.h"
#include "report/text/run_page.h"
#include "report/text/table.h"

namespace ddp::report {
namespace {

std::string printed_table(const Table& table, const Terminal& terminal) {
  std::ostringstream out;
  table.print(out, terminal);
  return out.str();
}

Table runs() {
  Table table({{.header = "run"},
               {.header = "loss", .right = true},
               {.header = "time", .right = true, .spare = 1},
               {.header = "curve", .spare = 2},
               {.header = "nothing"}});
  table.row({"basic/1", "0.5", "1 s", "▁▂▃", ""});
  table.row({"中文/2", "10.25", "", "", ""});
  return table;
}

}  // namespace

TEST_CASE("a text's width is its width on a terminal") {
  CHECK(text_width("") == 0);
  CHECK(text_width("abc") == 3);
  CHECK(text_width("▁█⣿│") == 4);
  CHECK(text_width("中文") == 4);
  CHECK(text_width("e\xcc\x81") == 1);  // an accent that combines with the preceding e
  CHECK(text_width("😀") == 2);
  CHECK(text_width("\xff\xfe") == 2);
}

TEST_CASE("a text is broken between words, and a word only if no line holds it") {
  CHECK(wrapped("", 4) == "\n");
  CHECK(wrapped("one two three four five six", 4, 24) == "one two three four\n    five six\n");
  CHECK(wrapped("of " + std::string(45, 'x') + " y", 0, 20) ==
        "of\n" + std::string(20, 'x') + "\n" + std::string(20, 'x') + "\nxxxxx y\n");
  CHECK(wrapped("文文文文文文文文文文文", 0, 21) == "文文文文文文文文文文\n文\n");
}

TEST_CASE("a text is cut between characters and is at most as wide as requested") {
  CHECK(clipped("abcdef", 6, "…") == "abcdef");
  CHECK(clipped("abcdef", 4, "…") == "abc…");
  CHECK(clipped("中文字", 4, "…") == "中…");
  CHECK(clipped("中文字", 5, "~") == "中文~");
  CHECK(clipped("abc", 0, "…").empty());
  CHECK(clipped("abc", 1, "...").empty());
  CHECK(clipped("sweep/007", 9, "…", /*keeps_end=*/true) == "sweep/007");
  CHECK(clipped("sweep/007", 5, "…", /*keeps_end=*/true) == "…/007");
  CHECK(clipped("中文/7", 4, "~", /*keeps_end=*/true) == "~/7");
}

TEST_CASE("columns are aligned and empty ones are left out") {
  CHECK(printed_table(runs(), {}) ==
        "run       loss  time  curve\n"
        "basic/1    0.5   1 s  ▁▂▃\n"
        "中文/2   10.25\n");
}

TEST_CASE("a narrow terminal loses the least important columns first and then the ends of long texts") {
  for (std::size_t width = 1; width < 40; ++width) {
    INFO(width);
    for (const std::string& line : lines_of(printed_table(runs(), {.width = width, .cuts = true}))) {
      INFO(line);
      if (width >= 13) CHECK(text_width(line) <= width);
    }
  }
  CHECK(printed_table(runs(), {.width = 20, .cuts = true}) ==
        "run       loss  time\n"
        "basic/1    0.5   1 s\n"
        "中文/2   10.25\n");
  CHECK(printed_table(runs(), {.width = 13, .cuts = true}) ==
        "run      loss\n"
        "basic…    0.5\n"
        "中文/2  10.25\n");
  CHECK(lines_of(printed_table(runs(), {.width = 13, .cuts = true, .utf8 = false})).at(1) == "basic~    0.5");
}

TEST_CASE("colour is used only on a terminal that has it") {
  Table table({{.header = "status", .colour = [](const std::string&) { return "31"; }}, {.header = "x"}});
  table.row({"failed", "1"});
  CHECK(printed_table(table, {}).find('\x1b') == std::string::npos);
  CHECK(printed_table(table, {.cuts = true, .colour = true}) == "status  x\n\x1b[31mfailed\x1b[0m  1\n");
}

TEST_CASE("a confusion matrix has a line for each right class, with its name if the data give one") {
  CHECK(in_lines({{2, 0}, {1, 10}}, {}) ==
        "class  predicted as   0   1\n"
        "0                     2   0\n"
        "1                     1  10");
  CHECK(in_lines({{2, 0}, {1, 10}}, {"no", "yes, with a long remark"}) ==
        "class  predicted as         0   1\n"
        "0 no                        2   0\n"
        "1 yes, with a long remark   1  10");
}

}  // namespace ddp::report
