#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "objects/http.h"

namespace ddp::objects {

struct Credentials {
  std::string key_id = {};  // "": none, and requests are not signed
  std::string secret = {};
  std::string token = {};  // of a session
};

// Returns a text of a URL with each byte escaped that is no letter, digit, "-", "_", "." or "~"; "/" stays in a path,
// but not in a query.
std::string escaped(const std::string& text, bool is_path = true);

// The parts of a request that are signed besides its headers.
struct Request {
  std::string method = "GET";
  std::string query = {};  // escaped, its names sorted: "partNumber=1&uploadId=…", "uploads="
  std::string body = {};
};

// Returns the headers of a signed request to S3: AWS Signature Version 4 ("Authenticating Requests:
// Using the Authorization Header" of S3's API reference). `path`: escaped; `time`: "20130524T000000Z"; `more`: further
// headers to sign, with names in lower case.
Headers signed_headers(const Credentials& credentials, const std::string& region, const std::string& host,
                       const std::string& path, const std::string& time, const Headers& more,
                       const Request& request = {});

// The keys of a bucket that begin with a prefix, as one answer lists them.
struct Listing {
  std::map<std::string, std::int64_t> bytes = {};  // of each object
  std::string next = {};                           // continues the listing; "": this is its end
};

// Reads an answer to ListObjectsV2. Throws Failure (passing) if it is none.
Listing listing_of(const std::string& body);

}  // namespace ddp::objects
