# Run by cmake --install: installs the headers that a component's file may include (docs/architecture.md, "Where things
# are added"), and their own includes, under the names that #include uses.
#   DDP_SOURCE     the repository      DDP_NLOHMANN   the folder that contains nlohmann/json.hpp
cmake_policy(SET CMP0057 NEW)  # IN_LIST
set(contracts
  base/error.h base/glob.h base/log.h base/paths.h config/option/option.h config/registry.h config/option/value.h
  models/model.h models/activations.h models/chain.h models/layers.h
  model/batch_sizes.h model/call.h model/next_token.h model/weights.h
  datasets/dataset.h datasets/arrays.h datasets/draws.h datasets/files.h datasets/histogram.h datasets/in_memory.h
  datasets/transform/transform.h datasets/transform/random_apply.h datasets/transform/arguments.h datasets/image/mix.h
  format/mapped_file.h format/npy.h format/npz.h format/safetensors.h format/table.h
  format/image.h
  tokenize/tokenizer.h tokenize/utf8.h
  train/loss/loss.h train/loss/classes.h train/metrics/metric.h train/optim/optimizer.h train/states/saved_state.h
  schedule/scheduler.h)

set(include "${CMAKE_INSTALL_PREFIX}/include/ddp-exp")
set(waiting ${contracts})
set(headers "")
while(waiting)
  list(POP_FRONT waiting header)
  if(header IN_LIST headers)
    continue()
  endif()
  list(APPEND headers "${header}")
  set(file "${DDP_SOURCE}/runner/${header}")
  if(header MATCHES "^(models|datasets)/")
    set(file "${DDP_SOURCE}/${header}")
  endif()
  get_filename_component(folder "${header}" DIRECTORY)
  file(INSTALL "${file}" DESTINATION "${include}/${folder}")
  file(STRINGS "${file}" lines REGEX "^#include \"")
  list(TRANSFORM lines REPLACE "^#include \"([^\"]*)\".*" "\\1")
  list(APPEND waiting ${lines})
endwhile()

# The only third-party library besides LibTorch whose headers these include: a user's machine may lack it.
file(INSTALL "${DDP_NLOHMANN}/nlohmann" DESTINATION "${include}/third_party")
