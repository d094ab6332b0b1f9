#include "catch.h"
#include "config/difference.h"
#include "config/text/json_text.h"

namespace ddp::config {
namespace {

// Returns the error of the reading; "" if it succeeds.
template <class Read>
std::string wrong(Read read) {
  try {
    read();
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

std::string wrong_text(const std::string& text) {
  const std::string in_order = wrong([&] { parse_value(text); });
  CHECK(wrong([&] { parse_json(text); }) == in_order);
  return in_order;
}

}  // namespace

TEST_CASE("JSON from outside is read or refused with a plain reason") {
  CHECK(parse_value("{\"b\":[1,2.5,{\"c\":null}],\"a\":\"\\u00e4\"}").dump() ==
        "{\"b\":[1,2.5,{\"c\":null}],\"a\":\"\xc3\xa4\"}");
  CHECK(wrong_text(std::string(32, '[') + std::string(32, ']')).empty());
  CHECK(wrong_text(std::string(33, '[') + std::string(33, ']')) == "it is nested deeper than 32");
  CHECK(wrong_text(std::string(1 << 20, '[')) == "it is nested deeper than 32");
  CHECK(wrong_text("{\"a\":1,\"b\":{\"a\":2,\"c\":3}}").empty());
  CHECK(wrong_text("[{\"a\":1},{\"a\":2}]").empty());
  CHECK(wrong_text("{\"a\":{\"b\":1},\"c\":2,\"a\":3}") == "it has the key \"a\" twice");
  CHECK(wrong_text("{\"\\u001b[31m\":1,\"\\u001b[31m\":2}") == "it has the key \"?[31m\" twice");
  for (const char* text : {"", "{", "{\"a\"}", "[1,]", "nul", "\"\xff\"", "1e999", "{}{}", "'a'"}) {
    INFO(text);
    CHECK(wrong_text(text) == "it is not JSON");
  }
}

TEST_CASE("an ordered object has a bounded number of keys") {
  std::string text = "{\"x\":0";
  for (int i = 0; i < 200'000; ++i) text += ",\"" + std::to_string(i) + "\":0";
  text += "}";
  CHECK(wrong([&] { parse_value(text); }) == "it has too many keys");
  CHECK(parse_json(text).size() == 200'001);
}

TEST_CASE("a member of an object has the requested type") {
  const auto json = parse_json(
      "{\"n\":3,\"minus\":-3,\"half\":0.5,\"big\":9223372036854775808,\"huge\":1e300,\"t\":\"x\",\"none\":null}");
  CHECK(count_member(json, "n") == 3);
  CHECK(number_member(json, "half") == 0.5);
  CHECK(number_member(json, "n") == 3);
  CHECK(text_member(json, "t") == "x");
  CHECK(wrong([&] { count_member(json, "gone"); }) == "\"gone\" is missing");
  CHECK(wrong([&] { count_member(json, "minus"); }) == "\"minus\" is not a whole number of at least 0");
  CHECK(wrong([&] { count_member(json, "half"); }) == "\"half\" is not a whole number of at least 0");
  CHECK(wrong([&] { count_member(json, "huge"); }) == "\"huge\" is not a whole number of at least 0");
  CHECK(wrong([&] { count_member(json, "t"); }) == "\"t\" is not a whole number of at least 0");
  CHECK(wrong([&] { count_member(json, "big"); }) == "\"big\" is too large");
  CHECK(wrong([&] { count_member(json, "n", 2); }) == "\"n\" is too large");
  CHECK(wrong([&] { number_member(json, "t"); }) == "\"t\" is not a number");
  CHECK(wrong([&] { text_member(json, "n"); }) == "\"n\" is not a text");
  CHECK(wrong([&] { member(json.at("n"), "x"); }) == "no object has the key \"x\"");
}

TEST_CASE("the first difference of two values is named by its place in text that is safe for a terminal") {
  const auto differs = [](const std::string& first, const std::string& second) {
    const auto found = first_difference(parse_value(first), parse_value(second));
    return found ? found->key + ": " + found->first + " / " + found->second : "";
  };
  CHECK(differs("{\"a\":1,\"b\":[1,{\"c\":2}]}", "{\"b\":[1,{\"c\":2}],\"a\":1}").empty());
  CHECK(differs("{\"a\":1,\"b\":[1,{\"c\":2}]}", "{\"b\":[1,{\"c\":3}],\"a\":1}") ==
        "b: [1,{\"c\":2}] / [1,{\"c\":3}]");
  CHECK(differs("{\"a\":1}", "{}") == "a: 1 / missing");
  CHECK(differs("{}", "{\"a\":\"x\"}") == "a: missing / \"x\"");
  CHECK(differs("{\"a\":[1]}", "{\"a\":[1,2]}") == "a: [1] / [1,2]");
  CHECK(differs("{\"a\":[]}", "{\"a\":{}}") == "a: [] / {}");
  CHECK(differs("1", "1.5") == ": 1 / 1.5");
  const std::string hostile = differs("{}", "{\"\\u007f\\u009b31m\":\"" + std::string(1 << 20, 'x') + "\"}");
  CHECK(hostile.starts_with("??31m: missing / \"xxx"));
  CHECK(hostile.size() < 300);
}

}  // namespace ddp::config
