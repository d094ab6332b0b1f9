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

TEST_CASE("a path keeps its slashes and unreserved characters") {
  CHECK(escaped("/a b/ü+~.csv") == "/a%20b/%C3%BC%2B~.csv");
}

}  // namespace ddp::objects
