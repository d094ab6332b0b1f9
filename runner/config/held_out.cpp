#include "config/experiment.h"

// The sections that hold rows out, and those that are fitted to held-out rows or vary them.
namespace ddp::config {
namespace {

constexpr double kMostRows = 1e9;  // the limit of their numbers

void add_share(Fields& f, HeldOut& h) {
  f({.name = "dataset",
     .doc = "separate data instead of split: keys that override [dataset]",
     .component_kind = "dataset"},
    h.dataset);
  f({.name = "split",
     .doc = "share of the dataset to hold out",
     .aliases = {"val_split", "validation_split", "val_size", "test_size"},
     .range = from_below(0, 1)},
    h.split);
  f({.name = "stratify", .doc = "hold out the same share of each class"}, h.stratify);
  f({.name = "by", .doc = "column that groups rows: rows with equal values are held out together"}, h.by);
}

void add_batch_size(Fields& f, HeldOut& h) {
  f({.name = "batch_size",
     .doc = "samples per batch; default: batch_size at the start of the run",
     .aliases = {"eval_batch_size", "per_device_eval_batch_size"},
     .range = between(1, kMostRows)},
    h.batch_size);
}

}  // namespace

void Validation::fields(Fields& f) {
  add_share(f, *this);
  f({.name = "seed", .doc = "seed of the choice of held-out samples", .range = at_least(0)}, seed);
  f({.name = "known_rows",
     .doc = "rows were added after a split: the numbers of rows before; each part is split by itself",
     .range = at_least(1)},
    known_rows);
  f({.name = "last",
     .doc = "share of the rows to hold out in place of split: the last ones in the order of the file, or of `order`",
     .range = from_below(0, 1)},
    last);
  f({.name = "order", .doc = "column of numbers or dates in whose order `last` holds out"}, order);
  f({.name = "every",
     .doc = "epochs between validations, or steps: \"250 steps\"",
     .aliases = {"eval_interval", "eval_steps", "eval_every", "val_check_interval", "check_val_every_n_epoch"},
     .range = between(1, kMostRows),
     .types = {Type::integer, Type::text}},
    every);
  add_batch_size(f, *this);
}

void Folds::fields(Fields& f) {
  f({.name = "k", .doc = "number of folds", .aliases = {"n_splits", "n_folds", "folds"}, .range = between(2, 10000)},
    k);
  f({.name = "repeats",
     .doc = "number of times that all folds are trained, each time from another permutation (1)",
     .aliases = {"n_repeats"},
     .range = between(1, 10000)},
    repeats);
  f({.name = "seed",
     .doc = "seed of the first permutation of the rows (0)",
     .aliases = {"random_state"},
     .range = at_least(0)},
    seed);
  f({.name = "stratify", .doc = "the same share of each class in each fold"}, stratify);
  f({.name = "by", .doc = "column that groups rows: rows with equal values are in one fold", .aliases = {"groups"}},
    by);
  f({.name = "order",
     .doc = "column of numbers or dates in whose order folds follow each other: a run trains on rows before its fold"},
    order);
  f({.name = "gap", .doc = "rows between training and a fold of `order` (0)", .range = between(0, kMostRows)}, gap);
  f({.name = "fold", .doc = "the fold that a run holds out, from 0; `ddp-exp cv` trains all", .range = at_least(0)},
    fold);
  f({.name = "repeat", .doc = "the repeat that the fold is of, from 0", .range = at_least(0)}, repeat);
}

void Repeat::fields(Fields& f) {
  f({.name = "seeds",
     .doc = "number of seeds that `ddp-exp cv` trains, from `seed` on, or a list of them",
     .types = {Type::integer, Type::list},
     .item = Type::integer},
    seeds);
  f({.name = "vary", .doc = "keys that are set to a run's seed (\"seed\", \"sampler_seed\")"}, vary);
}

Period Validation::period() const {
  if (every.is_number_integer()) return {.epochs = every.get<std::int64_t>()};
  return {.steps = steps_in(every.get<std::string>()).value_or(1)};
}

void Test::fields(Fields& f) {
  add_share(f, *this);
  f({.name = "seed",
     .doc = "seed of the choice of test samples, which are drawn before those of validation; \"validation\": after "
            "them, with validation.seed, as in runs of former versions",
     .range = at_least(0),
     .types = {Type::integer, Type::text}},
    seed);
  add_batch_size(f, *this);
}

void Decide::fields(Fields& f) {
  f({.name = "threshold",
     .doc = "predict gives the positive class to rows with at least this probability of it; \"f1\", "
            "\"balanced_accuracy\": the threshold with the best value on the validation",
     .range = from_below(0, 1),
     .choices = {kF1, kBalancedAccuracy},
     .types = {Type::number, Type::text}},
    threshold);
  f({.name = "calibrate",
     .doc = "how the validation corrects the probabilities of predict: temperature: logits are divided by a number; "
            "isotonic: by steps that rise",
     .choices = {"none", "temperature", "isotonic"}},
    calibrate);
}

}  // namespace ddp::config
