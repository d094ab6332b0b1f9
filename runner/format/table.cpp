#include "format/table.h"

#include <dlfcn.h>

#include "base/error.h"
#include "base/tables_library.h"
#include "format/table_entry.h"

namespace ddp::format {
namespace {

void* load_library(const std::filesystem::path& file) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw usage_error("cannot be loaded: " + std::string(dlerror()), file.filename().string(), how_to_get_tables());
  }
  return library;
}

// The loader takes a library that is loaded already for every later library that needs one of its name: so Arrow may
// have moved since libddp_tables.so was linked.
void* load_tables() {
  const std::filesystem::path file = tables_library();
  std::error_code unreadable;
  if (!std::filesystem::exists(file, unreadable)) {
    throw usage_error("is missing, and it reads and writes tables", file.string(), how_to_get_tables());
  }
  if (const std::filesystem::path arrow = arrow_folder(); !arrow.empty()) {
    for (const char* name : kArrowLibraries) load_library(arrow / name);
  }
  return load_library(file);
}

template <class Entry>
Entry tables_entry(const char* name) {
  static void* const library = load_tables();
  void* entry = dlsym(library, name);
  if (entry == nullptr) {
    throw usage_error("is of another build: it has no " + std::string(name), tables_library().string());
  }
  return reinterpret_cast<Entry>(entry);
}

}  // namespace

std::unique_ptr<TableFile> open_table(const std::filesystem::path& file, const TableOptions& options) {
  static const auto open = tables_entry<decltype(&ddp_open_table)>("ddp_open_table");
  return std::unique_ptr<TableFile>(open(&file, &options));
}

std::unique_ptr<TableWriter> open_table_writer(int descriptor, const std::vector<OutputColumn>& columns,
                                               const std::string& name) {
  static const auto open = tables_entry<decltype(&ddp_open_table_writer)>("ddp_open_table_writer");
  return std::unique_ptr<TableWriter>(open(descriptor, &columns, &name));
}

}  // namespace ddp::format
