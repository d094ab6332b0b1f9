#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "commands/commands.h"
#include "commands/options.h"
#include "config/text/source.h"
#include "record/run_directory.h"
#include "record/summary.h"
#include "record/tags.h"
#include "report/select/row.h"
#include "report/text/table.h"
#include "report/text/words.h"

namespace ddp::commands {
namespace {

struct TagOptions {
  std::vector<std::string> words;  // runs, +TAG and -TAG
  std::string results = "results";
  record::TagChange change;
  const CLI::App* verb = nullptr;  // has the -TAG among its remaining words
};

bool names_run(const std::string& results, const std::string& word) try {
  record::RunDirectory::find(results, word);
  return true;
} catch (const Error&) {
  return false;
}

// Takes +TAG and -TAG out of the words.
void take_changes(TagOptions& o) {
  for (const std::string& word : o.verb->remaining()) o.words.push_back(word);
  std::erase_if(o.words, [&](const std::string& word) {
    if (!word.starts_with('+') && !word.starts_with('-')) return false;
    const std::string name = word.substr(1);
    record::require_tag(name);
    (word.starts_with('+') ? o.change.added : o.change.removed).push_back(name);
    return true;
  });
  if (o.words.empty()) throw usage_error("no run is named", "tag");
  // A word behind a run that names no run is a tag: `tag RUN good`.
  for (std::size_t i = o.words.size(); i-- > 1;) {
    if (names_run(o.results, o.words[i])) continue;
    record::require_tag(o.words[i]);
    o.change.added.push_back(o.words[i]);
    o.words.erase(o.words.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void tag(TagOptions o) {
  take_changes(o);
  std::vector<record::RunDirectory> runs;
  for (const std::string& name : o.words) runs.push_back(record::RunDirectory::find(o.results, name));
  report::Table table({{.header = "run"}, {.header = "tags"}, {.header = "note"}});
  for (const record::RunDirectory& run : runs) {
    const record::Tags now = o.change.empty() ? record::read_tags(run) : record::change_tags(run, o.change);
    if (!o.change.empty()) record::renew_tags(run);
    table.row({report::name_of(run.path(), o.results), report::joined(now.names, " "), config::printable(now.note)});
  }
  table.print(std::cout, report::terminal_of_stdout());
}

void add_tag_command(CLI::App& verb, TagOptions& options) {
  options.verb = &verb;
  completes(verb.add_option("RUN", options.words, std::string(kRunInWords) + "; +TAG adds a tag, -TAG removes one")
                ->required(),
            completion::runs);
  verb.add_option("--note", options.change.note, "the new note; \"\" removes it");
  add_results(verb, options.results);
  verb.set_help_flag("--help", "show this help");  // -h removes the tag "h"
  verb.allow_extras();                             // -TAG
}

const bool tag_registered =
    register_verb(105, "tag", "print or change the tags and the note of runs and sweeps", add_tag_command, tag,
                  {.examples = {"tag basic +good -doubtful", "tag basic --note 'with the new data'", "tag basic"}});

}  // namespace
}  // namespace ddp::commands
