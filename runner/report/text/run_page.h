#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "report/select/row.h"
#include "report/text/table.h"

namespace ddp::report {

// Returns the lines of a confusion matrix with aligned columns: a line for each right class, with its name if `names`
// has one for each class.
std::string in_lines(const std::vector<std::vector<std::int64_t>>& matrix, const std::vector<std::string>& names);

// Prints the output of `show` for one run: its results and its files; for a sweep, its ranking. `row.run` names it.
void print_page(const Row& row, std::ostream& out, const Terminal& terminal);
void print_page_as_json(const Row& row, std::ostream& out);
// The metrics of a cross-validation, a line each.
void print_figures(const record::CrossValidation& cv, std::ostream& out, const Terminal& terminal);
config::Value show_schema();

// The table of `list`: its columns, and the cells of each row. A column may be empty.
struct ListTable {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};
// `with_curves`: with the curves of the losses, for a list that is not long; each reads a file.
ListTable list_table(const std::vector<Row>& rows, bool with_curves);

// Prints the output of `list`: a table of runs and sweeps in the given order.
// `columns`: keys, which stand in place of the usual columns.
void print_list(const std::vector<Row>& rows, std::ostream& out, const Terminal& terminal,
                const std::vector<std::string>& columns = {});
void print_list_as_json(const std::vector<Row>& rows, std::ostream& out);
config::Value list_schema();

}  // namespace ddp::report
