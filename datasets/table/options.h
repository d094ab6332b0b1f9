#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/option/fields.h"
#include "datasets/files.h"
#include "datasets/table/scaler.h"
#include "datasets/table/value_names.h"
#include "format/table.h"

namespace ddp::datasets {

// The options of tables in all formats.
struct TableSection {
  config::Value path;
  config::Value target;
  std::vector<std::string> features;
  std::vector<std::string> drop;
  config::Value categories = config::Value::array();  // a list of columns; or a table of columns and their values
  config::Value classes;
  config::Value positive;
  std::string weights;
  std::vector<std::string> dates;
  std::string date_format;
  std::string missing = "error";
  bool missing_indicator = false;
  std::string missing_categories = "zero";
  std::string encode = "onehot";
  Scale::Kind normalise = Scale::Kind::none;
  bool normalise_targets = false;
  TargetTransform target_transform = TargetTransform::none;

  void fields(config::Fields& f) {
    using config::Type;
    f(path_option("file or list of files; a name with * means all matching files, sorted by name"), path);
    f({.name = "target",
       .doc = "column to predict, or a list of columns",
       .aliases = {"label", "labels", "target_column", "label_column"},
       .required = true,
       .types = {Type::text, Type::list},
       .item = Type::text},
      target);
    f({.name = "features", .doc = "input columns; default: all other columns"}, features);
    f({.name = "drop", .doc = "columns to leave out"}, drop);
    f({.name = "categories",
       .doc = "columns of names: each becomes one column (0 or 1) per value; a table fixes the values of a column: "
              "{ city = [\"a\", \"b\"] }",
       .aliases = {"categorical", "cat_features", "categorical_features"},
       .types = {Type::list, Type::table},
       .item = Type::text},
      categories);
    f({.name = "classes",
       .doc = "values of the target, in the order of the model's outputs; default: the sorted values of the training "
              "rows",
       .types = {Type::list}},
      classes);
    f({.name = "positive",
       .doc = "of two classes the one that precision, recall, f1 and average_precision look for; default: the last",
       .aliases = {"pos_label"},
       .types = {Type::text, Type::integer}},
      positive);
    f({.name = "weights", .doc = "column with the weight of each row in the loss, which is no feature"}, weights);
    f({.name = "dates",
       .doc = "columns of dates: each becomes the days since 1970, and its year, month, day, weekday and hour where "
              "they vary",
       .aliases = {"parse_dates", "date_columns"}},
      dates);
    f({.name = "date_format", .doc = "how dates are written, as for strftime; default: ISO 8601"}, date_format);
    f({.name = "missing",
       .doc = "treatment of missing cells: stop with an error, use the mean of the training rows, use 0, or drop the "
              "row",
       .choices = {"error", "mean", "zero", "drop"}},
      missing);
    f({.name = "missing_indicator", .doc = "a further input, 0 or 1, tells which cells of a column were filled"},
      missing_indicator);
    f({.name = "missing_categories",
       .doc = "a blank category: all its inputs are 0, or it is a value of its own, behind the others",
       .choices = {"zero", "value"}},
      missing_categories);
    f({.name = "encode",
       .doc = "categories: an input of 0 or 1 for each value; or their numbers from 1 in a second input of the model, "
              "with 0 for an unknown or blank one",
       .choices = {"onehot", "index"}},
      encode);
    f({.name = "normalise",
       .doc =
           "scaling of numbers: StandardScaler, MinMaxScaler or QuantileTransformer to a normal distribution, fitted "
           "on the training rows",
       .aliases = {"normalize", "standardize", "scaler"},
       .choices = {"none", "standard", "minmax", "quantile"}},
      normalise);
    f({.name = "normalise_targets", .doc = "standardise targets that are numbers; predict undoes it"},
      normalise_targets);
    f({.name = "target_transform",
       .doc = "logarithm of targets that are numbers, before normalise_targets; predict undoes it",
       .choices = {"none", "log1p", "log"}},
      target_transform);
  }
};

// The options of a text table with one character between cells.
struct CsvSection : TableSection {
  std::string delimiter;
  std::string decimal = ".";
  std::string thousands;
  bool header = true;
  std::vector<std::string> missing_values = format::usual_missing_values();

  void fields(config::Fields& f) {
    TableSection::fields(f);
    f({.name = "delimiter",
       .doc = "character between two cells; default: a comma, in .tsv files a tab",
       .aliases = {"sep", "separator"}},
      delimiter);
    f({.name = "decimal", .doc = "character before the fraction of a number", .choices = {".", ","}}, decimal);
    f({.name = "thousands",
       .doc = "character between groups of three digits: \".\", \",\", \" \" or \"'\"; default: none"},
      thousands);
    f({.name = "header", .doc = "the first line names the columns; otherwise their names are 0, 1, …"}, header);
    f({.name = "missing_values", .doc = "cells that are missing; in quotes only if they are empty, or of numbers"},
      missing_values);
  }
};

// The columns that the option `categories` names.
std::vector<std::string> category_columns(const TableSection& section);
// The values that it fixes for a column; empty: those of the training rows. Throws ddp::Error (usage) if they are no
// list of different texts or numbers.
std::vector<std::string> given_categories(const TableSection& section, const std::string& column);

// The classes that the option `classes` names, as text.
std::vector<std::string> given_classes(const TableSection& section);
// The place of the class that the option `positive` names among these; -1: without the option. Throws ddp::Error
// (usage) if it is none of two classes.
std::int64_t positive_class(const config::Value& positive, const ValueNames& classes);

// Returns the options for reading the files of a CSV table, and of another one. Throws ddp::Error (usage) if the
// delimiter, the way of numbers or that of dates is invalid.
format::TableOptions csv_options(const CsvSection& section);
format::TableOptions options_of(const TableSection& section, const std::string& format);

// Returns the options for reading an input file of a prediction; `dataset` is the run's table dataset. The name's
// ending decides the format; without a known ending, the file has the dataset's format.
format::TableOptions table_options(const config::Component& dataset, const std::filesystem::path& file);

}  // namespace ddp::datasets
