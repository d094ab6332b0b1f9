#pragma once

#include <array>

namespace ddp::config {

// A key at the top of a file that is short for one in a section.
struct ShortForm {
  const char* key;
  const char* section;
};
inline constexpr std::array<ShortForm, 2> kShortForms{{{"backend", "distributed"}, {"save_every", "checkpoint"}}};

// A section that a text may stand for, which is the value of one of its keys.
inline constexpr std::array<ShortForm, 1> kTextForms{{{"path", "init_from"}}};

// Two keys of which a file gives one. Where one is inherited, the other takes its place.
struct Alternatives {
  const char* section;  // they stand in; "": at the top
  const char* first;
  const char* second;
};
inline constexpr std::array<Alternatives, 3> kAlternatives{
    {{"", "epochs", "steps"}, {"", "batch_size", "global_batch_size"}, {"clip", "norm", "value"}}};

// The same of keys that config.toml writes both, one with a default that means nothing: check/scheduler_rules tells
// when both are given.
inline constexpr Alternatives kWarmups{"scheduler", "warmup_steps", "warmup"};

// A key that people look for, and that there is not.
struct AbsentKey {
  const char* section;  // it would stand in; "": at the top
  const char* key;
  const char* what;
  const char* remedy;
};
inline constexpr std::array<AbsentKey, 2> kAbsentKeys{
    {{"", "cuda_graph", "there is no \"cuda_graph\" yet: CUDA graphs need a GPU, and this version has run on none",
      "leave it out"},
     {"groups", "lr", "a group has no \"lr\", it has \"lr_scale\"",
      "lr_scale = 0.1 multiplies the learning rate that optimizer and scheduler give each step"}}};

}  // namespace ddp::config
