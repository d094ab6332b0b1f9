#pragma once

#include <string>

#include "config/value.h"

namespace ddp::report {

// Returns the data of report/html/page_data.h or of `plan --preview` (commands/look/preview) as one self-contained HTML
// file: style and script are inside, nothing is loaded, and its Content-Security-Policy blocks everything else. No text
// of the data can end its element.
std::string page(const config::Value& data);

}  // namespace ddp::report
