#include "datasets/files.h"

#include "base/error.h"
#include "base/glob.h"
#include "config/text/source.h"

namespace ddp::datasets {

config::Option path_option(const std::string& doc) {
  return {.name = "path",
          .doc = doc,
          .aliases = {"data_dir", "data_path", "root", "file", "filename"},
          .required = true,
          .path = true,
          .types = {config::Type::text, config::Type::list},
          .item = config::Type::text};
}

std::vector<std::string> one_or_more(const config::Value& option, const std::string& key) {
  std::vector<std::string> texts;
  if (option.is_string()) texts.push_back(option.get<std::string>());
  if (option.is_array()) texts = option.get<std::vector<std::string>>();
  if (texts.empty()) throw usage_error("is empty", key, "give a name or a list of names");
  return texts;
}

std::vector<std::filesystem::path> paths_of(const config::Value& option, const std::string& key) {
  std::vector<std::filesystem::path> paths;
  for (const std::string& path : one_or_more(option, key)) {
    const auto matches = matching_paths(path);
    if (matches.empty()) throw usage_error("matches no file", path, "see " + key);
    paths.insert(paths.end(), matches.begin(), matches.end());
  }
  return paths;
}

std::vector<std::filesystem::path> files_of(const config::Value& option, const std::string& key,
                                            const std::vector<std::string>& endings) {
  std::vector<std::filesystem::path> files = paths_of(option, key);
  std::error_code none;
  for (const std::filesystem::path& file : files) {
    if (!std::filesystem::is_directory(file, none)) continue;
    throw usage_error("is a folder, not a file", file.string(),
                      config::printable(files_of_folder_in_words(file.string(), endings)));
  }
  return files;
}

std::string files_in_words(const std::vector<std::filesystem::path>& files) {
  const std::string first = files.front().string();
  return files.size() == 1 ? first : first + " and " + std::to_string(files.size() - 1) + " more";
}

}  // namespace ddp::datasets
