#pragma once

#include <filesystem>
#include <vector>

#include "format/tar.h"

namespace ddp::images {

// Implements format::list_tar.
std::vector<format::TarMember> list_tar(const std::filesystem::path& file);

}  // namespace ddp::images
