#pragma once

#include <string>

#include "config/value.h"

namespace ddp::report {

// The data of report/html/page_data.h, or those of `plan --preview` (commands/look/preview), as one HTML file that
// needs nothing else: style and script are in it, nothing is loaded, and its Content-Security-Policy lets nothing else
// run. No text of the data can end the element that it is in.
std::string page(const config::Value& data);

}  // namespace ddp::report
