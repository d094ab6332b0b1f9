#include "objects/files.h"

#include <fnmatch.h>
#include <algorithm>
#include <cstdlib>

#include <arrow/filesystem/filesystem.h>
#include <arrow/filesystem/s3fs.h>

#include "base/url.h"
#include "config/text/source.h"
#include "objects/http.h"

namespace ddp::objects {
namespace {

using arrow::fs::S3Options;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// "http://localhost:9000"; "": the provider's own.
std::string given_endpoint() {
  const std::string of_s3 = environment("AWS_ENDPOINT_URL_S3");
  std::string endpoint = of_s3.empty() ? environment("AWS_ENDPOINT_URL") : of_s3;
  while (endpoint.ends_with('/')) endpoint.pop_back();
  return endpoint;
}

// Where requests for the bucket's objects go.
std::string server_of(const S3Options& options, const std::string& region, const std::string& bucket) {
  const bool has_endpoint = !options.endpoint_override.empty();
  const std::string host = has_endpoint ? options.endpoint_override
                                        : "s3." + region + ".amazonaws.com" + (region.starts_with("cn-") ? ".cn" : "");
  // A certificate of *.s3.… does not hold for a name with dots.
  const bool in_host = options.force_virtual_addressing || (!has_endpoint && bucket.find('.') == std::string::npos);
  return options.scheme + "://" + (in_host ? bucket + "." + host : host + "/" + bucket);
}

Bucket open_s3(const Place& place) {
  require(arrow::fs::EnsureS3Initialized());
  std::string uri = "s3://" + place.bucket + place.query;
  const std::string endpoint = given_endpoint();
  if (!endpoint.empty() && place.query.find("endpoint_override=") == std::string::npos) {
    const std::size_t slashes = endpoint.find("://");
    const std::string scheme = slashes == endpoint.npos ? "https" : endpoint.substr(0, slashes);
    uri += std::string(place.query.empty() ? "?" : "&") + "scheme=" + scheme +
           "&endpoint_override=" + (slashes == endpoint.npos ? endpoint : endpoint.substr(slashes + 3));
  }
  auto options = S3Options::FromUri(uri);
  require(options.status());
  if (options->GetAccessKey().empty()) options->ConfigureAnonymousCredentials();
  // It finds the region, in the environment and the profile too. The requests are our own: Arrow's cannot ask for an
  // ETag, and an error without XML ends the process.
  const auto files = arrow::fs::S3FileSystem::Make(*options);
  require(files.status());
  const std::string region = (*files)->region();
  return {.server = server_of(*options, region, place.bucket),
          .region = region.empty() ? "us-east-1" : region,
          .options = std::make_shared<const S3Options>(*options)};
}

}  // namespace

void require(const arrow::Status& status) {
  if (status.ok()) return;
  const std::string what = config::printable(without_queries(status.message().substr(0, status.message().find('\n'))));
  bool is_refused = !status.IsIOError();
  for (const char* sign : {"PERMISSION_DENIED", "UNAUTHENTICATED", "ACCESS_DENIED", "AuthenticationFailed",
                           "AuthorizationFailure", "status 401", "status 403"}) {
    is_refused = is_refused || what.find(sign) != std::string::npos;
  }
  throw Failure(is_refused ? Failure::Kind::refused : Failure::Kind::passing, what);
}

Place place_of(const std::string& url) {
  const std::size_t begin = url.find("://") + 3;
  const std::size_t query = std::min(url.find('?'), url.size());
  const std::size_t slash = std::min(url.find('/', begin), query);
  return {.scheme = url.substr(0, begin - 3),
          .bucket = url.substr(begin, slash - begin),
          .key = slash < query ? url.substr(slash + 1, query - slash - 1) : "",
          .query = url.substr(query)};
}

Bucket open_bucket(const Place& place) {
  if (place.bucket.empty()) throw Failure(Failure::Kind::refused, "the URL names no bucket");
  if (place.scheme == "s3") return open_s3(place);
  std::string prefix, query = place.query;
  // Google's client tries again by itself for so long.
  if (place.scheme == "gs" && query.find("retry_limit_seconds=") == std::string::npos) {
    query += (query.empty() ? "?" : "&") + std::string("retry_limit_seconds=1");
  }
  auto files = arrow::fs::FileSystemFromUri(place.scheme + "://" + place.bucket + "/" + query, &prefix);
  require(files.status());
  return {.files = *files, .prefix = prefix.ends_with('/') ? prefix : prefix + "/"};
}

Credentials credentials_of(const Bucket& bucket) {
  const S3Options& options = *bucket.options;
  for (;;) {
    Credentials now{
        .key_id = options.GetAccessKey(), .secret = options.GetSecretKey(), .token = options.GetSessionToken()};
    // They may be renewed between two of these calls.
    if (now.key_id == options.GetAccessKey()) return now;
  }
}

bool matches(const std::string& pattern, const std::string& key) {
  std::string escaped;
  for (const char c : pattern) {
    if (c == '?' || c == '[' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return fnmatch(escaped.c_str(), key.c_str(), FNM_PATHNAME) == 0;
}

}  // namespace ddp::objects
