#pragma once

#include <array>

namespace ddp::config {

// A key at the top of a file that is short for a key of a section.
struct ShortForm {
  const char* key;
  const char* section;
};
inline constexpr std::array<ShortForm, 2> kShortForms{{{"backend", "distributed"}, {"save_every", "checkpoint"}}};

// A section that may be given as a text, which is the value of one of its keys.
inline constexpr std::array<ShortForm, 1> kTextForms{{{"path", "init_from"}}};

// Two keys of which a file may give only one. The given one replaces an inherited other one.
struct Alternatives {
  const char* section;  // of the two keys; "": at the top
  const char* first;
  const char* second;
};
inline constexpr std::array<Alternatives, 3> kAlternatives{
    {{"", "epochs", "steps"}, {"", "batch_size", "global_batch_size"}, {"clip", "norm", "value"}}};

// The same, but config.toml contains both keys, one with a default without effect. check/scheduler_rules reports a file
// that gives both.
inline constexpr Alternatives kWarmups{"scheduler", "warmup_steps", "warmup"};

}  // namespace ddp::config
