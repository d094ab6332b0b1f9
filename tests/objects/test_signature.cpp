#include "catch.h"
#include "objects/signature.h"

namespace ddp::objects {

// "Example: GET Object" of "Authenticating Requests: Using the Authorization Header" in S3's API reference.
TEST_CASE("a request is signed as in S3's documentation") {
  const Credentials of_example{.key_id = "AKIAIOSFODNN7EXAMPLE", .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
  const Headers headers = signed_headers(of_example, "us-east-1", "examplebucket.s3.amazonaws.com", "/test.txt",
                                         "20130524T000000Z", {{"range", "bytes=0-9"}});
  CHECK(headers.at("authorization") ==
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
        "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
        "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

// "Example: PUT Object" and "Example: GET Bucket Lifecycle", ibidem.
TEST_CASE("a body and a query are signed as in S3's documentation") {
  const Credentials of_example{.key_id = "AKIAIOSFODNN7EXAMPLE", .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
  const auto signature = [&](const std::string& path, const Headers& more, const Request& request) {
    const std::string all = signed_headers(of_example, "us-east-1", "examplebucket.s3.amazonaws.com", path,
                                           "20130524T000000Z", more, request)
                                .at("authorization");
    return all.substr(all.find("Signature=") + 10);
  };
  CHECK(signature("/test%24file.text",
                  {{"date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
                  {.method = "PUT", .body = "Welcome to Amazon S3."}) ==
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
  CHECK(signature("/", {}, {.query = "lifecycle="}) ==
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST_CASE("a path keeps its slashes and unreserved characters") {
  CHECK(escaped("/a b/ü+~.csv") == "/a%20b/%C3%BC%2B~.csv");
}

}  // namespace ddp::objects
