#include <string>

#include "catch.h"
#include "lines.h"
#include "report/html/page.h"
#include "words.h"

namespace ddp::report {
namespace {

std::string data_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const std::size_t from = page.find(begin);
  REQUIRE(from != std::string::npos);
  return page.substr(from + begin.size(), page.find("</script>", from) - from - begin.size());
}

}  // namespace

TEST_CASE("no text of the data can end its element, and all of it reads back from there") {
  const std::string hostile = "</script><script>alert(1)</script><!--<script>\"'&\u2028\u2029@script@@nonce@@data@";
  const config::Value data = {{"version", 1}, {hostile, hostile}};
  const std::string text = page(data);
  const std::string inside = data_of(text);
  CHECK(inside.find('<') == std::string::npos);
  CHECK_FALSE(contains(inside, "\u2028"));
  CHECK_FALSE(contains(inside, "\u2029"));
  CHECK(config::Value::parse(inside) == data);
  const std::string harmless = page({{"version", 1}});
  CHECK(count(text, "<script") == count(harmless, "<script"));
  CHECK(count(text, "</script") == count(harmless, "</script"));
}

TEST_CASE("bytes that are not UTF-8 are shown as replacement characters") {
  CHECK(data_of(page({{"name", "a\xff\xc3(b"}})) == "{\"name\":\"a\\ufffd\\ufffd(b\"}");
}

TEST_CASE("a page allows only its own style and script, by a nonce that is new on each page") {
  const std::string first = page({{"version", 1}}), second = page({{"version", 1}});
  const auto policy = [](const std::string& text) {
    const std::size_t from = text.find("Content-Security-Policy");
    return text.substr(from, text.find('\n', from) - from);
  };
  CHECK(contains(policy(first), "default-src 'none'; style-src 'nonce-"));
  CHECK_FALSE(contains(policy(first), "unsafe"));
  CHECK(policy(first) != policy(second));
  CHECK(first.find("http-equiv") < first.find("<style"));
  CHECK(count(first, "<script") == 2);
}

}  // namespace ddp::report
