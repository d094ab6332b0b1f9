#include "base/url.h"

#include <algorithm>
#include <array>

namespace ddp {
namespace {

constexpr std::array<std::string_view, 5> kSchemes = {"s3://", "gs://", "abfs://", "http://", "https://"};
constexpr std::string_view kAfterScheme = "://";
constexpr std::size_t kLongestName = 200;  // bytes; file systems allow 255

std::string_view path_and_host(std::string_view url) {
  url = url.substr(0, url.find('?'));
  return url.substr(url.find(kAfterScheme) + kAfterScheme.size());
}

}  // namespace

bool is_url(std::string_view text) {
  return std::any_of(kSchemes.begin(), kSchemes.end(), [&](auto scheme) { return text.starts_with(scheme); });
}

bool has_url_form(std::string_view text) {
  const std::size_t colon = text.find(kAfterScheme);
  return colon != text.npos && colon + 1 == text.find('/');
}

std::string without_query(std::string_view url) { return std::string(url.substr(0, url.find('?'))); }

std::string url_below(std::string_view folder, const std::string& name) {
  std::string path = is_url(folder) ? without_query(folder) : std::string(folder);
  const std::string query(folder.substr(path.size()));
  while (path.ends_with('/')) path.pop_back();
  return path + (name.empty() ? "" : "/") + name + query;
}

std::string without_queries(std::string text) {
  for (std::size_t at = text.find(kAfterScheme); at != text.npos; at = text.find(kAfterScheme, at + 1)) {
    const std::size_t end = std::min(text.find_first_of(" \t\n\"'", at), text.size());
    const std::size_t query = text.find('?', at);
    if (query < end) text.erase(query, end - query);
  }
  return text;
}

bool is_signed(std::string_view url) {
  const std::string_view query = url.substr(std::min(url.find('?'), url.size()));
  return query.find("ignature=") != query.npos || query.find("sig=") != query.npos;
}

bool has_user(std::string_view url) {
  const std::string_view rest = path_and_host(url);
  const std::string_view host = rest.substr(0, rest.find('/'));
  const std::size_t at = host.rfind('@');
  if (at == host.npos) return false;
  const bool may_be_none = url.starts_with("abfs") || url.starts_with("gs://anonymous@");
  return !may_be_none || host.substr(0, at).find(':') != host.npos;
}

std::string file_name_of(std::string_view url) {
  const std::string_view rest = path_and_host(url);
  const std::size_t slash = rest.rfind('/');
  std::string name(slash == rest.npos ? "" : rest.substr(slash + 1));
  // The end decides the format.
  if (name.size() > kLongestName) name.erase(0, name.size() - kLongestName);
  for (char& c : name) {
    if (c == '\0') c = '_';
  }
  return name.empty() || name == "." || name == ".." ? "object" : name;
}

}  // namespace ddp
