#pragma once

#include <filesystem>
#include <vector>

#include "format/tar.h"

namespace ddp::images {

// What format::list_tar returns, and throws.
std::vector<format::TarMember> list_tar(const std::filesystem::path& file);

}  // namespace ddp::images
