#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/option/option.h"
#include "datasets/files.h"
#include "format/table.h"

namespace ddp::datasets {

// The options of a table, whatever its format.
struct TableSection {
  config::Value path;
  config::Value target;
  std::vector<std::string> features;
  std::vector<std::string> drop;
  std::vector<std::string> categories;
  config::Value classes;
  std::string missing = "error";
  std::string normalise = "none";
  bool normalise_targets = false;

  void fields(config::Fields& f) {
    using config::Type;
    f(path_option("the file, or a list of files; a name with * takes all that match, sorted by name"), path);
    f({.name = "target",
       .doc = "the column to predict, or a list of columns",
       .required = true,
       .types = {Type::text, Type::list},
       .item = Type::text},
      target);
    f({.name = "features", .doc = "the columns to predict from; default: all other columns"}, features);
    f({.name = "drop", .doc = "columns to leave out"}, drop);
    f({.name = "categories", .doc = "columns of names: each becomes one column (0 or 1) a value"}, categories);
    f({.name = "classes",
       .doc = "the values of the target, in the order of the model's outputs; default: those of the training rows, "
              "sorted",
       .types = {Type::list}},
      classes);
    f({.name = "missing",
       .doc =
           "cells that are empty, NA, NaN, nan, null or None: an error, the mean of the training rows, 0, or the row "
           "is left out",
       .choices = {"error", "mean", "zero", "drop"}},
      missing);
    f({.name = "normalise",
       .doc = "numbers as StandardScaler or MinMaxScaler makes them, fitted on the training rows",
       .choices = {"none", "standard", "minmax"}},
      normalise);
    f({.name = "normalise_targets", .doc = "standardise targets that are numbers; predict undoes it"},
      normalise_targets);
  }
};

// A table in text, with one character between two cells.
struct CsvSection : TableSection {
  std::string delimiter;
  bool header = true;

  void fields(config::Fields& f) {
    TableSection::fields(f);
    f({.name = "delimiter", .doc = "the character between two cells; default: a comma, of .tsv files a tab"},
      delimiter);
    f({.name = "header", .doc = "the first line names the columns; else they are named 0, 1, …"}, header);
  }
};

// Whether the option `classes` names the classes of the target.
bool gives_classes(const TableSection& section);

// How the files of a table are read. Throws ddp::Error (usage) where the delimiter can be none.
format::TableOptions csv_options(const CsvSection& section);

// The same for a file to predict and the table dataset of the run: the name's ending says the format; where it says
// none, the file is of the dataset's own.
format::TableOptions table_options(const config::Component& dataset, const std::filesystem::path& file);

}  // namespace ddp::datasets
