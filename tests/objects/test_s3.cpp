#include "catch.h"
#include "objects/s3.h"

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

// "Example: PUT Object", "Example: GET Bucket Lifecycle" and "Example: Get Bucket (List Objects)", ibidem.
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
  CHECK(signature("/", {}, {.query = "max-keys=2&prefix=J"}) ==
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST_CASE("a path keeps its slashes and unreserved characters") {
  CHECK(escaped("/a b/ü+~.csv") == "/a%20b/%C3%BC%2B~.csv");
  CHECK(escaped("a/b c", /*is_path=*/false) == "a%2Fb%20c");
}

// As "Sample Response" of ListObjectsV2 in S3's API reference.
TEST_CASE("a listing gives the keys, as far as its answer goes") {
  const auto answer = [](const std::string& encoding, const std::string& keys, const std::string& more = "") {
    return R"(<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">)"
           "<Name>quotes</Name><Prefix>E</Prefix>" +
           encoding + keys + more + "</ListBucketResult>";
  };
  const auto object = [](const std::string& key, const std::string& size) {
    return "<Contents><Key>" + key + "</Key><ETag>&quot;x&quot;</ETag><Size>" + size + "</Size></Contents>";
  };
  const std::string in_urls = "<EncodingType>url</EncodingType>";
  using Bytes = std::map<std::string, std::int64_t>;
  const Listing whole = listing_of(answer(in_urls, object("E/a+b%2Bc%26.csv", "205") + object("E%C3%BC%", "0")));
  CHECK(whole.bytes == Bytes{{"E/a b+c&.csv", 205}, {"Eü%", 0}});
  CHECK(whole.next.empty());
  // A server that does not know the parameter encoding-type.
  const std::string goes_on = "<IsTruncated>true</IsTruncated><NextContinuationToken>1&amp;lt;</NextContinuationToken>";
  const Listing first = listing_of(answer("", object("E+%2B&amp;amp;&#39;&#x26;&no;&#999;", "1"), goes_on));
  CHECK(first.bytes == Bytes{{"E+%2B&amp;'&&no;&#999;", 1}});
  CHECK(first.next == "1&lt;");

  const std::string right = answer(in_urls, object("E", "1"));
  CHECK_THROWS_AS(listing_of(""), Failure);
  CHECK_THROWS_AS(listing_of("<html></html>"), Failure);
  CHECK_THROWS_AS(listing_of(right.substr(0, right.size() - 5)), Failure);
  CHECK_THROWS_AS(listing_of(answer(in_urls, object("", "1"))), Failure);
  CHECK_THROWS_AS(listing_of(answer(in_urls, object("E", "-1"))), Failure);
  CHECK_THROWS_AS(listing_of(answer(in_urls, "", "<IsTruncated>true</IsTruncated>")), Failure);
}

}  // namespace ddp::objects
