#include "report/select/query.h"

#include "base/error.h"
#include "catch.h"

namespace ddp::report {
namespace {

// "key comparison value" of each condition, or the error.
std::string conditions_in(const std::string& text) {
  try {
    std::string all;
    for (const Condition& c : parse_conditions(text)) all += c.key + " " + c.comparison + " " + c.value.dump() + "; ";
    return all;
  } catch (const Error& error) {
    return error.what();
  }
}

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a condition is a key, a comparison, and a number or a text") {
  CHECK(conditions_in("val_loss<0.3") == "val_loss < 0.3; ");
  CHECK(conditions_in("  val_loss   >=\t-2.5e-1 ") == "val_loss >= -0.25; ");
  CHECK(conditions_in("epochs==3") == "epochs = 3.0; ");
  CHECK(conditions_in("optimizer.name != sgd") == "optimizer.name != \"sgd\"; ");
  CHECK(conditions_in("note='two words < 3'") == "note = \"two words < 3\"; ");
  CHECK(conditions_in("note=\"it's\"") == "note = \"it's\"; ");
  CHECK(conditions_in("note=''") == "note = \"\"; ");
  CHECK(conditions_in("device_pool=[\"cpu\"]") == "device_pool = \"[\\\"cpu\\\"]\"; ");
}

TEST_CASE("a name or an id that looks like a number is a text, and so is a number in quotes") {
  CHECK(conditions_in("run_id=007") == "run_id = \"007\"; ");
  CHECK(conditions_in("name=3") == "name = \"3\"; ");
  CHECK(conditions_in("seed='3'") == "seed = \"3\"; ");
}

TEST_CASE("conditions are joined with and") {
  CHECK(conditions_in("val_loss>0.1 and epochs>3") == "val_loss > 0.1; epochs > 3.0; ");
  CHECK(conditions_in("name=android and note='a and b' and seed=1") ==
        "name = \"android\"; note = \"a and b\"; seed = 1.0; ");
}

TEST_CASE("an invalid condition is refused with its place and the remedy") {
  struct Case {
    const char* text;
    const char* place;
    const char* said;
  };
  for (const auto& [text, place, said] : {
           Case{"", "character 1", "a key is missing"},
           Case{" = ", "character 2", "a key is missing"},
           Case{"<3", "character 1", "a key is missing"},
           Case{"val_loss", "character 9", "a comparison is missing"},
           Case{"val loss<3", "character 5", "a comparison is missing"},
           Case{"val_loss<", "character 10", "a value is missing"},
           Case{"val_loss< and epochs>3", "character 11", "a value is missing"},
           Case{"val_loss=<0.5", "character 9", "write <="},
           Case{"val_loss=>0.5", "character 9", "write >="},
           Case{"val_loss!3", "character 9", "write !="},
           Case{"val_loss<>3", "character 9", "write !="},
           Case{"val_loss<<3", "character 9", "use one of < <= > >= = !="},
           Case{"0.1<val_loss<0.5", "character 13", "a value holds \"<\""},
           Case{"val_loss<abc", "character 10", "\"val_loss\" is a number, but \"abc\" is not"},
           Case{"epochs=3x", "character 8", "\"epochs\" is a number"},
           Case{"epochs='3'", "character 8", "without quotes"},
           Case{"steps<nan", "character 7", "is a number"},
           Case{"epochs>3 or epochs<1", "character 10", "not \"or\""},
           Case{"epochs>3 && epochs<1", "character 10", "join conditions with \"and\""},
           Case{"epochs>3 epochs<9", "character 10", "expected \"and\" or the end"},
           Case{"epochs>3 and", "character 13", "a key is missing"},
           Case{"name=two words", "character 10", "put quotes around a value"},
           Case{"note='open", "character 6", "does not end"},
           Case{"note='a'b", "character 9", "follows the quote"},
           Case{"note='é' x", "character 10", "expected \"and\""},
       }) {
    const std::string error = conditions_in(text);
    INFO(text << "\n" << error);
    CHECK(mentions(error, std::string("--where, ") + place + ": "));
    CHECK(mentions(error, said));
  }
}

}  // namespace ddp::report
