#pragma once

#include <string>

#include "rank/task.h"

namespace ddp::rank {

// Returns the remedy for images that a trained model does not accept: the size of the images that the run trained with,
// and the setting that gives other images this size. The size is read from the run's own data; if they are gone, the
// remedy leaves it to the user. `dataset`: the section of the other images.
std::string remedy_for_image_size(const Task& task, const std::string& dataset = "dataset");

}  // namespace ddp::rank
