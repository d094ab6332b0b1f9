#include "catch.h"
#include "scratch.h"

namespace ddp::config {

TEST_CASE("the schema knows every key, its type, its default and its limits") {
  const Value all = schema(sample_components());
  CHECK(all["$schema"] == "http://json-schema.org/draft-04/schema#");
  CHECK(all["additionalProperties"] == false);
  for (const Option& option : describe<Experiment>()) CHECK(all["properties"].contains(option.name));
  const Value& keys = all["properties"];
  CHECK(keys["seed"]["type"] == "integer");
  CHECK(keys["seed"]["default"] == 42);
  CHECK(keys["seed"]["minimum"] == 0);
  CHECK(keys["loader"]["additionalProperties"] == false);
  const Value& split = keys["validation"]["properties"]["split"];
  CHECK(split["maximum"] == 1);
  CHECK(split["exclusiveMaximum"] == true);
  CHECK(keys["parallel"]["enum"] == Value::array({"data_parallel", "ddp", "single"}));
  CHECK(keys["extends"]["type"] == "string");
  const Value names = Value::array({"", "val_loss", "val_accuracy", "val_auroc", "val_error_rate", "train_loss"});
  const Value& metric = keys["checkpoint"]["properties"]["metric"]["anyOf"];
  CHECK(metric[0]["enum"] == names);
  CHECK(metric[1]["pattern"] == "^val_top[1-9][0-9]{0,8}$");
  CHECK(keys["metrics"]["items"]["anyOf"][1]["pattern"] == "^top[1-9][0-9]{0,8}$");
}

TEST_CASE("the schema knows short forms and which keys exclude each other") {
  const Value all = schema(sample_components());
  CHECK(all["properties"]["backend"]["enum"] == all["properties"]["distributed"]["properties"]["backend"]["enum"]);
  CHECK(all["properties"]["save_every"]["minimum"] == 0);
  CHECK(contains(all["allOf"].dump(), R"({"not":{"required":["epochs","steps"]}})"));
  CHECK(all["anyOf"].dump() == R"([{"required":["model","dataset"]},{"required":["extends"]}])");
}

TEST_CASE("the schema knows each component by its name with its own options") {
  const Value forms = schema(sample_components())["properties"]["model"]["anyOf"];
  CHECK(forms[0] == Value{{"type", "string"}, {"enum", {"linear", "mlp", "sequential"}}});
  const Value& mlp = forms[2];
  CHECK(mlp["properties"]["name"]["enum"] == Value::array({"mlp"}));
  CHECK(mlp["properties"]["hidden"]["items"] == Value{{"type", "integer"}, {"minimum", 1}});
  CHECK(mlp["additionalProperties"] == false);
  const Value& layers = forms[3]["properties"]["layers"]["items"]["anyOf"];
  CHECK(layers[1]["properties"]["type"]["enum"] == Value::array({"Conv2d"}));
  CHECK(layers[1]["required"] == Value::array({"type"}));
  CHECK(layers[1]["properties"]["kernel_size"]["anyOf"].size() == 2);
}

}  // namespace ddp::config
