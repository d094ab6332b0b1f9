#include "datasets/array_datasets.h"

namespace ddp::datasets {

TEST_CASE("the rows of files of a glob or a list follow each other in the order of names or of the list") {
  const ArrayFolder folder;
  folder.write("x-2.npy", npy_of<float>("<f4", "(1, 2)", {4, 5}));
  folder.write("x-1.npy", npy_of<float>("<f4", "(2, 2)", {0, 1, 2, 3}));
  folder.write("x-15.npy", npy_of<double>("<f8", "(0, 2)", {}));
  const std::string y = folder.write("y.npy", npy_of<std::int64_t>("<i8", "(3,)", {0, 1, 2}));
  const auto dataset = built("npy", {{"inputs", folder.path("x-*.npy")}, {"targets", y}});
  CHECK(at::equal(rows_of(*dataset, {2, 0, 1}).inputs.at(0).second,
                  at::tensor({4.F, 5.F, 0.F, 1.F, 2.F, 3.F}).view({3, 2})));
  CHECK(rows_of(*dataset, {0}).inputs.at(0).first == "x-1");
  CHECK(contains(build_error("npy", {{"inputs", folder.path("z*.npy")}, {"targets", y}}), "z*.npy: matches no file"));

  for (const bool pack : {false, true}) {
    const auto archive = [&](const std::string& name, float value, std::int64_t target) {
      return folder.write(name, ZipBytes()
                                    .add("x.npy", npy_of<float>("<f4", "(1, 1)", {value}), pack)
                                    .add("y.npy", npy_of<std::int64_t>("<i8", "(1,)", {target}), pack)
                                    .bytes());
    };
    const Value files{archive("b.npz", 7, 1), archive("a.npz", 8, 0)};
    const auto archives = built("npz", {{"path", files}, {"inputs", "x"}, {"targets", "y"}});
    CHECK(at::equal(rows_of(*archives, {0, 1}).inputs.at(0).second, at::tensor({7.F, 8.F}).view({2, 1})));
    CHECK(at::equal(rows_of(*archives, {0, 1}).targets.at(0).second, at::tensor({1, 0}, at::kLong)));
  }
}

TEST_CASE("arrays that do not belong together are refused with both names") {
  const ArrayFolder folder;
  const std::string x = folder.write("x.npy", inputs_file());
  const std::string y = folder.write("y.npy", npy_of<std::int64_t>("<i8", "(3,)", {0, 1, 2}));
  CHECK(contains(build_error("npy", {{"inputs", x}, {"targets", y}}),
                 folder.path("y.npy") + ": has 3 rows, but " + folder.path("x.npy") + " has 4"));
  folder.write("z-1.npy", inputs_file());
  folder.write("z-2.npy", npy_of<float>("<f4", "(1, 3)", {0, 1, 2}));
  const std::string shapes = build_error("npy", {{"inputs", folder.path("z-*.npy")}, {"targets", y}});
  CHECK(contains(shapes, "z-2.npy: has rows of shape [3]"));
  CHECK(contains(shapes, "z-1.npy have shape [2]"));
  folder.write("z-2.npy", npy_of<std::int32_t>("<i4", "(1, 2)", {0, 1}));
  CHECK(contains(build_error("npy", {{"inputs", folder.path("z-*.npy")}, {"targets", y}}), "shape [2], integers"));
}

TEST_CASE("arrays without samples are refused") {
  const ArrayFolder folder;
  const auto error = [&](const std::string& shape, const std::vector<float>& numbers) {
    const std::string x = folder.write("x.npy", npy_of("<f4", shape, numbers));
    return build_error("npy", {{"inputs", x}, {"targets", x}});
  };
  CHECK(contains(error("()", {1}), "holds one number without rows"));
  CHECK(contains(error("(0, 3)", {}), "x.npy: has no rows"));
  CHECK(contains(error("(1152921504606846975, 0)", {}), "they hold no number"));
  CHECK(build_error("npy", {{"inputs", Value::array()}, {"targets", "x"}}) ==
        "dataset.inputs: is empty\n  give a name or a list of names");
}

TEST_CASE("an unknown array name is refused with the names in the file") {
  const ArrayFolder folder;
  const std::string archive = folder.write("x.npz", ZipBytes().add("pixels.npy", inputs_file(), true).bytes());
  const std::string tensors = folder.path("x.safetensors");
  format::write_safetensors(tensors, {{"pixels", at::arange(4)}});
  for (const auto& [name, path] : {std::pair{"npz", archive}, std::pair{"safetensors", tensors}}) {
    const std::string error = build_error(name, {{"path", path}, {"inputs", "pixels"}, {"targets", "labels"}});
    CHECK(contains(error, path + ": has no array \"labels\""));
    CHECK(contains(error, "the arrays in it: pixels"));
  }
}

TEST_CASE("a damaged data file is an invalid input and not a failed training") {
  const ArrayFolder folder;
  for (const char* name : {"npz", "safetensors"}) {
    const std::string file = folder.write("damaged", "x");
    try {
      registry().build(name, {{"path", file}, {"inputs", "x"}, {"targets", "y"}}, Context{});
      FAIL("nothing was thrown");
    } catch (const Error& error) {
      CHECK(error.fault() == Fault::usage);
      CHECK(error.where() == file);
    }
  }
}

TEST_CASE("the number of classes follows from the largest one, and a negative one is refused with its row") {
  const ArrayFolder folder;
  const auto of_targets = [&](const std::string& shape, const std::vector<std::int64_t>& targets) {
    const std::string y = folder.write("y.npy", npy_of("<i8", shape, targets));
    return built("npy", {{"inputs", y}, {"targets", y}});
  };
  CHECK(of_targets("(3,)", {0, 6, -100})->facts().at("num_classes") == 7);
  CHECK(of_targets("(3, 1)", {0, 6, 1})->facts().at("num_classes") == 7);
  CHECK(at::equal(of_targets("(3, 1)", {0, 6, 1})->classes(), at::tensor({0, 6, 1}, at::kLong)));
  CHECK(of_targets("(2, 2)", {0, 6, 1, 9})->facts().at("num_classes") == 10);
  CHECK_FALSE(of_targets("(2, 2)", {0, 6, 1, 9})->classes().defined());
  const auto negative = of_targets("(3, 2)", {0, 6, -100, -1, 2, 2});
  CHECK(contains(error_of([&] { negative->facts(); }), "y.npy: row 1 has class -1"));
}

TEST_CASE("all targets are checked, and the first that is refused is named with its row, in any file format") {
  const ArrayFolder folder;
  std::vector<float> labels(700'000, 1);
  const auto check = [](const at::Tensor& targets) {
    if (targets.gt(1).any().item<bool>()) throw usage_error("a target is above 1", "loss", "remedy");
  };
  const auto error = [&](const std::string& kind) {
    Value options;
    if (kind == "npy") {
      options = {{"inputs", folder.write("y.npy", npy_of("<f4", "(350000, 2)", labels))},
                 {"targets", folder.path("y.npy")}};
    } else {
      format::write_safetensors(folder.path("y.safetensors"), {{"y", at::tensor(labels).view({350'000, 2})}});
      options = {{"path", folder.path("y.safetensors")}, {"inputs", "y"}, {"targets", "y"}};
    }
    return error_of([&] { built(kind, options)->check_targets(check); });
  };
  for (const char* kind : {"npy", "safetensors"}) {
    labels[699'998] = labels[600'001] = 1;
    CHECK(error(kind) == "");
    labels[699'998] = 2;
    CHECK(contains(error(kind), "row 349999: a target is above 1"));
    labels[600'001] = 2;
    const std::string first = error(kind);
    CHECK(contains(first, std::string("y.") + kind));
    CHECK(contains(first, ": row 300000: a target is above 1"));
  }
}

TEST_CASE("targets that the loss ignores are not classes and may be negative, in any file format") {
  const ArrayFolder folder;
  for (const std::int64_t ignored : {255, -1, -100}) {
    const std::vector<std::int64_t> targets{2, ignored, 1, ignored};
    const std::string y = npy_of("<i8", "(4,)", targets);
    const Value named{{"inputs", "x"}, {"targets", "y"}};
    Value npz = named;
    npz["path"] = folder.write("a.npz", ZipBytes().add("x.npy", inputs_file(), false).add("y.npy", y, false).bytes());
    Value safetensors = named;
    safetensors["path"] = folder.path("a.safetensors");
    format::write_safetensors(safetensors["path"].get<std::string>(),
                              {{"x", at::zeros({4, 2})}, {"y", at::tensor(targets, at::kLong)}});
    const Value npy{{"inputs", folder.write("x.npy", inputs_file())}, {"targets", folder.write("y.npy", y)}};
    for (const auto& [kind, options] : {std::pair{"npy", npy}, {"npz", npz}, {"safetensors", safetensors}}) {
      INFO(kind << " " << ignored);
      const auto dataset = built(kind, options, {.ignored_target = ignored});
      CHECK(dataset->facts().at("num_classes") == 3);
      CHECK(at::equal(dataset->classes(), at::tensor({2L, kNoClass, 1L, kNoClass}, at::kLong)));
      CHECK(at::equal(rows_of(*dataset, {0, 1, 2, 3}).targets.front().second, at::tensor(targets, at::kLong)));
    }
  }
  const std::string y = folder.write("y.npy", npy_of<std::int64_t>("<i8", "(2,)", {-1, -1}));
  const auto minus = built("npy", {{"inputs", y}, {"targets", y}});
  CHECK(contains(error_of([&] { minus->facts(); }), "ignore_index = -1"));
  const auto none = built("npy", {{"inputs", y}, {"targets", y}}, {.ignored_target = -1});
  CHECK_FALSE(none->facts().contains("num_classes"));
}

TEST_CASE("data unpacked by one rank is used by the other ranks") {
  const ArrayFolder folder;
  const std::string file =
      folder.write("p.npz", ZipBytes().add("x.npy", inputs_file(), true).add("y.npy", targets_file(), false).bytes());
  const Value options{{"path", file}, {"inputs", "x"}, {"targets", "y"}};
  const auto first = built("npz", options);
  const std::string held = folder.path("held");
  format::write_safetensors(held, first->held());
  // The packed bytes are damaged: only the held data is still intact.
  std::string damaged = ZipBytes().add("x.npy", inputs_file(), true).add("y.npy", targets_file(), false).bytes();
  damaged[40] ^= '\x55';
  folder.write("p.npz", damaged);
  Context context;
  context.held = format::map_safetensors(held);
  const auto other = built("npz", options, context);
  CHECK(at::equal(rows_of(*other, {0, 1, 2, 3}).inputs.at(0).second, at::tensor(kInputs).view({4, 2})));
  CHECK_FALSE(build_error("npz", options).empty());
}

}  // namespace ddp::datasets
