// summary.json of a run or a sweep, as list and show print it.
#include <sstream>

#include "base/error.h"
#include "report/text/run_page.h"
#include "target.h"

namespace ddp::fuzz {
namespace {

void require_showable(const std::string& text, std::string_view promise) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) require(is_showable(line), promise);
}

// Requires that the text of a row is safe for a terminal.
void look_at(const report::Row& row) {
  for (const bool utf8 : {false, true}) {
    const report::Terminal terminal{.width = 80, .cuts = true, .utf8 = utf8};
    std::ostringstream list, page;
    report::print_list({row}, list, terminal);
    report::print_page(row, page, terminal);
    require_showable(list.str(), "a list is fit for a terminal");
    require_showable(page.str(), "a page is fit for a terminal");
  }
  std::ostringstream json;
  report::print_page_as_json(row, json);
  require(config::Value::accept(json.str()), "output as JSON is JSON");
  for (const std::string& key : report::row_keys({"train_loss", "val_loss", "val_accuracy"}))
    report::value_of(row, key);
}

}  // namespace
}  // namespace ddp::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ddp;
  fuzz::scratch_file("summary.json", {reinterpret_cast<const char*>(data), size});
  const auto& folder = fuzz::scratch_folder();
  try {
    fuzz::look_at({.run = "a/1", .what = report::read_run(folder)});
    fuzz::look_at({.run = "a/1", .what = report::read_sweep(folder)});
  } catch (const Error& error) {
    fuzz::require(fuzz::is_showable(error.what()), "an error is fit for a terminal");
  }
  return 0;
}
