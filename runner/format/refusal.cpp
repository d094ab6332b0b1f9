#include "format/refusal.h"

#include <exception>

#include <c10/util/Exception.h>

#include "base/error.h"

namespace ddp::format {

void throw_refusal(const std::string& where, const std::string& remedy) try { throw; } catch (const Error&) {
  throw;
} catch (const c10::Error& error) {
  throw usage_error(error.msg(), where, remedy);
} catch (const std::exception& error) {
  throw usage_error(error.what(), where, remedy);
}

}  // namespace ddp::format
