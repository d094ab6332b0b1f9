#include "objects/signature.h"

#include <cctype>
#include <string_view>

#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace ddp::objects {
namespace {

std::string hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) text += {kDigits[byte >> 4], kDigits[byte & 15]};
  return text;
}

std::string sha256(std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha256(), nullptr);
  return {reinterpret_cast<const char*>(digest), size};
}

std::string hmac(std::string_view key, std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
       text.size(), digest, &size);
  return {reinterpret_cast<const char*>(digest), size};
}

}  // namespace

std::string escaped(const std::string& path) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text;
  for (const unsigned char c : path) {
    if (std::isalnum(c) || c == '-' || c == '_' || c == '.' || c == '~' || c == '/') {
      text += static_cast<char>(c);
    } else {
      text += {'%', kDigits[c >> 4], kDigits[c & 15]};
    }
  }
  return text;
}

Headers signed_headers(const Credentials& credentials, const std::string& region, const std::string& host,
                       const std::string& path, const std::string& time, const Headers& more, const Request& request) {
  Headers headers = more;
  headers["host"] = host;
  headers["x-amz-content-sha256"] = hex(sha256(request.body));
  headers["x-amz-date"] = time;
  if (!credentials.token.empty()) headers["x-amz-security-token"] = credentials.token;
  std::string listed, names;
  for (const auto& [name, value] : headers) {
    listed += name + ":" + value + "\n";
    names += (names.empty() ? "" : ";") + name;
  }
  const std::string text = request.method + "\n" + path + "\n" + request.query + "\n" + listed + "\n" + names + "\n" +
                           headers.at("x-amz-content-sha256");
  const std::string day = time.substr(0, 8);
  const std::string scope = day + "/" + region + "/s3/aws4_request";
  const std::string to_sign = "AWS4-HMAC-SHA256\n" + time + "\n" + scope + "\n" + hex(sha256(text));
  const std::string key = hmac(hmac(hmac(hmac("AWS4" + credentials.secret, day), region), "s3"), "aws4_request");
  headers["authorization"] = "AWS4-HMAC-SHA256 Credential=" + credentials.key_id + "/" + scope +
                             ",SignedHeaders=" + names + ",Signature=" + hex(hmac(key, to_sign));
  return headers;
}

}  // namespace ddp::objects
