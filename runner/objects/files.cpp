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

// with_retries alone tries again.
class NoRetries final : public arrow::fs::S3RetryStrategy {
 public:
  bool ShouldRetry(const AWSErrorDetail&, std::int64_t) override { return false; }
  std::int64_t CalculateDelayBeforeNextRetry(const AWSErrorDetail&, std::int64_t) override { return 0; }
};

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
  options->retry_strategy = std::make_shared<NoRetries>();
  options->connect_timeout = 20;
  options->request_timeout = 30;
  if (const std::string bundle = environment("AWS_CA_BUNDLE"); !bundle.empty()) options->tls_ca_file_path = bundle;
  auto files = arrow::fs::S3FileSystem::Make(*options);
  require(files.status());
  const std::string region = (*files)->region();
  return {.files = *files,
          .prefix = place.bucket + "/",
          .server = server_of(*options, region, place.bucket),
          .region = region.empty() ? "us-east-1" : region,
          .options = std::make_shared<const S3Options>(*options)};
}

std::string escaped_pattern(const std::string& key) {
  std::string pattern;
  for (const char c : key) {
    if (c == '?' || c == '[' || c == '\\') pattern += '\\';
    pattern += c;
  }
  return pattern;
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

std::vector<std::string> matching_keys(const Bucket& bucket, const Place& pattern) {
  const std::size_t star = pattern.key.find('*');
  const std::size_t slash = pattern.key.rfind('/', star);
  const std::string folder = slash == std::string::npos ? "" : pattern.key.substr(0, slash);
  arrow::fs::FileSelector selector;
  selector.base_dir = bucket.prefix + folder;
  while (selector.base_dir.ends_with('/')) selector.base_dir.pop_back();
  selector.allow_not_found = true;
  selector.recursive = pattern.key.find('/', star) != std::string::npos;
  const auto listed = bucket.files->GetFileInfo(selector);
  require(listed.status());
  const std::string wanted = escaped_pattern(pattern.key);
  std::vector<std::string> keys;
  for (const arrow::fs::FileInfo& info : *listed) {
    if (!info.IsFile() || !info.path().starts_with(bucket.prefix)) continue;
    const std::string key = info.path().substr(bucket.prefix.size());
    if (fnmatch(wanted.c_str(), key.c_str(), FNM_PATHNAME) == 0) keys.push_back(key);
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

}  // namespace ddp::objects
