#include "commands/look/preview.h"

#include <ctime>
#include <string>

#include "base/error.h"
#include "base/own_command.h"
#include "commands/use/unnamed_output.h"
#include "launch/library/version.h"
#include "launch/start/held_data.h"
#include "record/file/atomic_file.h"
#include "record/summary.h"
#include "report/html/page.h"

namespace ddp::commands {
namespace fs = std::filesystem;

void require_page_name(const fs::path& page, const std::string& option) {
  refuse_folder(page, "page.html");
  require_folder_of(page);
  if (page.extension() == ".html") return;
  throw usage_error("cannot be the name of a page: it must end in .html", page.string(),
                    "for example " + option + " " + path_word(fs::path(page).replace_extension(".html")));
}

void write_preview(const fs::path& page, const Prepared& prepared, const config::Value& description) {
  const auto& e = prepared.plan.experiment;
  const config::Value data = {{"version", 1},
                              {"kind", "preview"},
                              {"name", e.name},
                              {"dataset", e.dataset.name},
                              {"written", record::timestamp(std::time(nullptr))},
                              {"program", std::string("ddp-exp ") + launch::kVersion},
                              {"problems", prepared.warnings},
                              {"data", description},
                              {"preview", launch::preview_data(*prepared.library, prepared.plan, prepared.data)}};
  try {
    record::write_atomically(page, report::page(data));
  } catch (const Error& error) {
    throw usage_error(error.summary(), error.where(), "use another file: --preview FILE.html");
  }
}

}  // namespace ddp::commands
