#pragma once

#include <memory>
#include <string>

#include "objects/s3.h"

#include <arrow/status.h>

namespace arrow::fs {
class FileSystem;
struct S3Options;
}  // namespace arrow::fs

namespace ddp::objects {

// Throws the Failure of an error of Arrow. Its messages have several lines, and may contain whole URLs.
void require(const arrow::Status& status);

// The place of an object in a bucket or a container.
struct Place {
  std::string scheme;  // "s3"
  std::string bucket;
  std::string key;
  std::string query;  // with "?"; "": none
};
Place place_of(const std::string& url);

// How the objects of a bucket are reached.
struct Bucket {
  // Of gs and abfs: Arrow asks.
  std::shared_ptr<arrow::fs::FileSystem> files = {};
  std::string prefix = {};  // of the paths in `files`: "container/"

  // Of S3: where its requests go ("https://bucket.s3.eu-west-1.amazonaws.com", "http://localhost:9000/bucket"), and how
  // they are signed.
  std::string server = {};
  std::string region = {};
  std::shared_ptr<const arrow::fs::S3Options> options = {};
};

// Opens the bucket of a URL. Credentials, regions and endpoints are those of the provider's own tools. Throws Failure.
Bucket open_bucket(const Place& place);

// The credentials of a bucket of S3, now: they may have been renewed.
Credentials credentials_of(const Bucket& bucket);

// Does a key match a pattern? "*" stands for any characters but "/".
bool matches(const std::string& pattern, const std::string& key);

}  // namespace ddp::objects
