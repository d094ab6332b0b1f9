#include "objects/s3.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/text_number.h"

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

// "a%2Fb+c" -> "a/b c"
std::string from_url(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escaped = text[i] == '%' && i + 2 < text.size() &&
                            std::isxdigit(static_cast<unsigned char>(text[i + 1])) &&
                            std::isxdigit(static_cast<unsigned char>(text[i + 2]));
    if (is_escaped) {
      plain += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      plain += text[i] == '+' ? ' ' : text[i];
    }
  }
  return plain;
}

// The character of "amp", "#38" or "#x26". Servers write other characters than those of ASCII as they are.
std::optional<char> character_of(std::string_view reference) {
  constexpr std::pair<std::string_view, char> kNamed[] = {
      {"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};
  for (const auto& [name, character] : kNamed) {
    if (name == reference) return character;
  }
  if (!reference.starts_with('#')) return {};
  const bool is_hex = reference.starts_with("#x");
  const std::string_view digits = reference.substr(is_hex ? 2 : 1);
  int code = 0;
  const auto end = std::from_chars(digits.begin(), digits.end(), code, is_hex ? 16 : 10);
  if (end.ptr != digits.end() || end.ec != std::errc{} || code <= 0 || code > 127) return {};
  return static_cast<char>(code);
}

// "a&amp;b" -> "a&b"
std::string from_xml(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t end = text[i] == '&' ? text.find(';', i) : text.npos;
    const auto character =
        end == text.npos ? std::nullopt : character_of(std::string_view(text).substr(i + 1, end - i - 1));
    plain += character.value_or(text[i]);
    if (character) i = end;
  }
  return plain;
}

}  // namespace

std::string escaped(const std::string& text, bool is_path) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string result;
  for (const unsigned char c : text) {
    if (std::isalnum(c) || c == '-' || c == '_' || c == '.' || c == '~' || (is_path && c == '/')) {
      result += static_cast<char>(c);
    } else {
      result += {'%', kDigits[c >> 4], kDigits[c & 15]};
    }
  }
  return result;
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

Listing listing_of(const std::string& body) {
  constexpr std::string_view kBegin = "<Contents>", kEnd = "</Contents>";
  bool is_right = body.find("<ListBucketResult") != body.npos && body.find("</ListBucketResult>") != body.npos;
  Listing listing;
  // Keys may have characters that XML has not; not each server escapes them as it is asked to.
  const bool has_escapes = element(body, "EncodingType") == "url";
  for (std::size_t at = 0; (at = body.find(kBegin, at)) != body.npos;) {
    const std::size_t end = std::min(body.find(kEnd, at), body.size());
    const std::string object = body.substr(at, end - at);
    const std::string key = from_xml(element(object, "Key"));
    const auto bytes = text_number<std::int64_t>(element(object, "Size"));
    is_right = is_right && !key.empty() && bytes.value_or(-1) >= 0;
    listing.bytes[has_escapes ? from_url(key) : key] = bytes.value_or(0);
    at = end;
  }
  const bool goes_on = element(body, "IsTruncated") == "true";
  if (goes_on) listing.next = from_xml(element(body, "NextContinuationToken"));
  if (!is_right || goes_on == listing.next.empty()) {
    throw Failure(Failure::Kind::passing, "the server's answer is no listing of a bucket");
  }
  return listing;
}

}  // namespace ddp::objects
