#pragma once

#include <string_view>

namespace ddp::report {

// The files of report/page as the build took them in (cmake/ReportPage.cmake).
struct PageText {
  std::string_view html;  // with @nonce@, @style@, @data@ and @script@ where those belong
  std::string_view style;
  std::string_view script;
};

extern const PageText kPageText;

}  // namespace ddp::report
