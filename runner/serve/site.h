#pragma once

#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "report/html/page.h"
#include "report/html/server.h"
#include "report/select/row.h"
#include "serve/feed.h"

namespace ddp::serve {

using Parameters = std::multimap<std::string, std::string>;

// The pages about a results folder: "/" is the list of runs and sweeps, with where, sort and limit as `list` takes
// them; "/report" is the report on a run, on several runs, or on a sweep, each named by a parameter `run`. Any thread
// may call it.
class Site {
 public:
  explicit Site(const report::ServerOptions& options);

  // Returns the data of a page; null if there is no such page, or no run of that name. A run is looked up by its name
  // in the list: a name is never a path.
  std::shared_ptr<Feed> find(const std::string& path, const Parameters& parameters);

 private:
  struct Rows {
    std::vector<report::Row> rows;
    std::vector<std::string> problems;
  };
  using Snapshot = std::shared_ptr<const Rows>;

  Snapshot rows();
  // Returns the folder of a run, a sweep or a trial, such as "name/sweep-id/trials/007"; empty if there is none.
  std::filesystem::path folder_of(const std::string& run);
  Feed::Read list_page(const Parameters& parameters);
  Feed::Read report_page(std::vector<std::filesystem::path> folders) const;
  config::Value list_data(const Rows& all, const Parameters& parameters) const;
  config::Value report_data(const std::vector<std::filesystem::path>& folders, report::Histories& histories) const;

  const std::filesystem::path results_;
  const std::string program_;
  const std::vector<std::string> metrics_;
  std::mutex mutex_;  // guards the members below
  report::Listing listing_;
  Pace pace_;
  Snapshot snapshot_;
  std::list<std::pair<std::string, std::shared_ptr<Feed>>> feeds_;  // the last used one is first
};

}  // namespace ddp::serve
