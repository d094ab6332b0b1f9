#include <algorithm>
#include <atomic>
#include <ctime>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <arrow/buffer.h>
#include <arrow/filesystem/filesystem.h>
#include <arrow/io/interfaces.h>
#include <arrow/util/key_value_metadata.h>

#include "base/error.h"
#include "base/on_threads.h"
#include "base/text_number.h"
#include "base/url.h"
#include "config/text/source.h"
#include "format/object_store.h"
#include "objects/files.h"
#include "objects/http.h"

namespace ddp::objects {
namespace {

using config::Object;
using Kind = Failure::Kind;

constexpr std::int64_t kNanoseconds = 1'000'000'000;
constexpr std::size_t kMostOfError = 4096;  // bytes of the body of an error
constexpr std::int64_t kPiece = 8 << 20;    // bytes of a read or a write through Arrow
constexpr std::int64_t kPart = 64 << 20;    // bytes of a part of an object that is written
constexpr std::int64_t kMostParts = 10'000;
constexpr int kLookedAtOnce = 16;  // objects of a pattern

// "Sun, 06 Nov 1994 08:49:37 GMT"; 0: it is no such text, or centuries away.
std::int64_t nanoseconds_of(const std::string& date) {
  std::tm time{};
  std::int64_t nanoseconds = 0;
  const bool is_date = strptime(date.c_str(), "%a, %d %b %Y %H:%M:%S", &time) != nullptr &&
                       !__builtin_mul_overflow(timegm(&time), kNanoseconds, &nanoseconds);
  return is_date ? nanoseconds : 0;
}

// A part of an object as an answer describes it.
struct Part {
  std::int64_t begin = 0;
  std::int64_t bytes = 0;  // of the whole object; -1: unknown
};

// "bytes 0-0/1234", "bytes */0"
std::optional<Part> part_of(std::string_view range) {
  if (!range.starts_with("bytes ")) return {};
  range.remove_prefix(6);
  const std::size_t slash = range.rfind('/');
  if (slash == range.npos) return {};
  return Part{.begin = text_number<std::int64_t>(range.substr(0, range.find('-'))).value_or(0),
              .bytes = text_number<std::int64_t>(range.substr(slash + 1)).value_or(-1)};
}

bool is_weak(const std::string& etag) { return etag.starts_with("W/"); }

class Store final : public format::ObjectStore {
 public:
  explicit Store(std::int64_t retries) : retries_(retries) {}

  std::vector<Object> find(const std::string& url) override {
    const bool by_http = is_http(url);
    const Place place = by_http ? Place{} : place_of(url);
    std::vector<Object> found(1);
    found.front().url = url;
    if (!by_http && place.key.find('*') != std::string::npos) {
      found.clear();
      const std::size_t star = place.key.find('*');
      const bool is_deep = place.key.find('/', star) != std::string::npos;
      for (const auto& [key, bytes] : keys(url, place.key.substr(0, star), is_deep)) {
        if (!matches(place.key, key)) continue;
        if (key.find('?') != key.npos)
          throw usage_error("matches a key with \"?\", which begins a URL's query", config::printable(key));
        Object object;
        object.url = place.scheme + "://" + place.bucket + "/" + key + place.query;
        found.push_back(std::move(object));
      }
      if (found.empty()) throw usage_error("matches no object", without_query(url));
    }
    on_threads(std::ssize(found), kLookedAtOnce, [&](std::int64_t i) {
      Object& object = found[static_cast<std::size_t>(i)];
      object.given = url;
      look_at(object);
    });
    return found;
  }

  void read(const Object& object, std::int64_t begin, std::int64_t size, const Take& take) override {
    if (size == 0) return;
    std::int64_t taken = 0;
    bool is_first = true;
    with_retries(
        retries_, object.url,
        [&] {
          if (!std::exchange(is_first, false)) ++retried_;
          if (is_asked_here(object.url)) return read_by_http(object, begin, size, taken, take);
          read_by_arrow(object, begin, size, taken, take);
        },
        hurries_);
  }

  std::int64_t retries() const override { return retried_; }
  void hurry_when(std::function<bool()> holds) override { hurries_ = std::move(holds); }

  void write(const std::string& url, std::int64_t size, const Give& give) override {
    if (!is_asked_here(url)) return write_by_arrow(url, size, give);
    const std::int64_t of_part = std::max(kPart, size / kMostParts + 1);
    const auto part = [&](std::int64_t begin) {
      std::string bytes(static_cast<std::size_t>(std::min(of_part, size - begin)), '\0');
      give(begin, bytes.data(), bytes.size());
      return bytes;
    };
    if (size <= of_part) return void(send(url, {.method = "PUT", .body = part(0)}));
    const std::string upload =
        "uploadId=" +
        escaped(element(send(url, {.method = "POST", .query = "uploads="}).body, "UploadId"), /*is_path=*/false);
    try {
      std::string parts;
      for (std::int64_t number = 1, begin = 0; begin < size; ++number, begin += of_part) {
        const std::string name = std::to_string(number);
        const Reply reply =
            send(url, {.method = "PUT", .query = "partNumber=" + name + "&" + upload, .body = part(begin)});
        parts += "<Part><PartNumber>" + name + "</PartNumber><ETag>" + reply.head.header("etag") + "</ETag></Part>";
      }
      const std::string all = "<CompleteMultipartUpload>" + parts + "</CompleteMultipartUpload>";
      const Reply reply = send(url, {.method = "POST", .query = upload, .body = all});
      // This answer can be 200 and an error.
      if (element(reply.body, "ETag").empty()) {
        const std::string code = code_of(reply.body);
        throw usage_error("the server did not join the parts" + (code.empty() ? "" : " (" + code + ")"),
                          without_query(url));
      }
    } catch (const Error&) {
      try {
        send(url, {.method = "DELETE", .query = upload});  // otherwise the parts stay
      } catch (const Error&) {                             // the first error tells
      }
      throw;
    }
  }

  std::map<std::string, std::int64_t> list(const std::string& folder) override {
    const Place place = place_of(folder);
    std::string prefix = place.key;
    while (prefix.ends_with('/')) prefix.pop_back();
    if (!prefix.empty()) prefix += '/';
    std::map<std::string, std::int64_t> found;
    for (const auto& [key, bytes] : keys(folder, prefix, /*is_deep=*/true)) found[key.substr(prefix.size())] = bytes;
    return found;
  }

  void remove(const std::string& url) override {
    if (is_asked_here(url)) return void(send(url, {.method = "DELETE"}));
    in_bucket(url, [&](arrow::fs::FileSystem& files, const std::string& path) {
      const auto info = files.GetFileInfo(path);
      require(info.status());
      if (info->IsFile()) require(files.DeleteFile(path));
    });
  }

 private:
  // Returns the keys that begin with `prefix` in the bucket of a URL, and their bytes; `is_deep`: those with a further
  // "/" too.
  std::map<std::string, std::int64_t> keys(const std::string& url, const std::string& prefix, bool is_deep) {
    const Place place = place_of(url);
    const std::string bucket = place.scheme + "://" + place.bucket + "/" + place.query;
    std::map<std::string, std::int64_t> found;
    const auto add = [&](const std::string& key, std::int64_t bytes) {
      // A key that ends with "/" is a folder that a tool made.
      if (key.starts_with(prefix) && !key.ends_with('/')) found[key] = bytes;
    };
    if (!is_asked_here(url)) {
      with_retries(retries_, url, [&] {
        const Bucket& opened = bucket_of(place);
        arrow::fs::FileSelector selector;
        selector.base_dir = opened.prefix + prefix.substr(0, prefix.rfind('/') + 1);
        while (selector.base_dir.ends_with('/')) selector.base_dir.pop_back();
        selector.allow_not_found = true;
        selector.recursive = is_deep;
        const auto listed = opened.files->GetFileInfo(selector);
        require(listed.status());
        found.clear();
        for (const arrow::fs::FileInfo& info : *listed) {
          if (!info.IsFile() || !info.path().starts_with(opened.prefix)) continue;
          add(info.path().substr(opened.prefix.size()), info.size());
        }
      });
      return found;
    }
    std::set<std::string> tokens;
    for (std::string token;;) {
      const std::string query = (token.empty() ? "" : "continuation-token=" + escaped(token, /*is_path=*/false) + "&") +
                                (is_deep ? "" : "delimiter=%2F&") +
                                "encoding-type=url&list-type=2&prefix=" + escaped(prefix, /*is_path=*/false);
      Listing page;
      with_retries(retries_, url, [&] { page = listing_of(send_once(bucket, {.query = query}).body); });
      for (const auto& [key, bytes] : page.bytes) add(key, bytes);
      if (page.next.empty()) return found;
      token = page.next;
      if (!tokens.insert(token).second) {
        throw usage_error("the server's listing of the bucket has no end", without_query(url));
      }
    }
  }

  // Calls `use` with the file system and the path of an object or a folder, as often as requests may be tried.
  void in_bucket(const std::string& url, const std::function<void(arrow::fs::FileSystem&, const std::string&)>& use) {
    with_retries(retries_, url, [&] {
      const Place place = place_of(url);
      const Bucket& bucket = bucket_of(place);
      std::string path = bucket.prefix + place.key;
      while (path.ends_with('/')) path.pop_back();
      use(*bucket.files, path);
    });
  }

  void write_by_arrow(const std::string& url, std::int64_t size, const Give& give) {
    std::vector<char> piece(static_cast<std::size_t>(std::min(kPiece, size)));
    in_bucket(url, [&](arrow::fs::FileSystem& files, const std::string& path) {
      const auto out = files.OpenOutputStream(path);
      require(out.status());
      try {
        for (std::int64_t done = 0; done < size; done += kPiece) {
          const std::int64_t next = std::min(kPiece, size - done);
          give(done, piece.data(), static_cast<std::size_t>(next));
          require((*out)->Write(piece.data(), next));
        }
      } catch (...) {
        // Its destructor would put a part in place.
        [[maybe_unused]] const arrow::Status aborted = (*out)->Abort();
        throw;
      }
      require((*out)->Close());
    });
  }

  static bool is_http(const std::string& url) { return url.starts_with("http://") || url.starts_with("https://"); }

  // Do requests go out without Arrow?
  static bool is_asked_here(const std::string& url) { return is_http(url) || url.starts_with("s3://"); }

  const Bucket& bucket_of(const Place& place) {
    const std::lock_guard lock(opening_);
    const std::string key = place.scheme + "://" + place.bucket + place.query;
    auto found = buckets_.find(key);
    if (found == buckets_.end()) found = buckets_.emplace(key, open_bucket(place)).first;
    return found->second;
  }

  // Sends a GET request with these headers, signed if it goes to S3.
  Answer ask(const std::string& url, const Headers& headers, const WantBody& want, const TakeBody& take) {
    if (is_http(url)) return get(url, headers, /*follows=*/true, want, take);
    const auto [target, all] = for_s3(url, headers, {});
    return get(target, all, /*follows=*/false, want, take);
  }

  // Sends a request to S3 until it succeeds.
  Reply send(const std::string& url, const Request& request) {
    Reply reply;
    with_retries(retries_, url, [&] { reply = send_once(url, request); });
    return reply;
  }

  Reply send_once(const std::string& url, const Request& request) {
    const auto [target, headers] = for_s3(url, {}, request);
    Reply reply;
    if (request.method == "GET") {
      const auto take = [&](const char* data, std::size_t size) { reply.body.append(data, size); };
      reply.head = get(
          target, headers, /*follows=*/false, [](const Answer&) { return true; }, take);
    } else {
      reply = objects::send(request.method, target, headers, request.body);
    }
    require_success(reply.head, reply.body);
    return reply;
  }

  // Returns where a request about an object of S3 goes, and its headers, signed.
  std::pair<std::string, Headers> for_s3(const std::string& url, Headers headers, const Request& request) {
    const Place place = place_of(url);
    const Bucket& bucket = bucket_of(place);
    const std::string path = escaped("/" + place.key);
    const Credentials credentials = credentials_of(bucket);
    if (!credentials.key_id.empty()) {
      char now[20];
      const std::time_t time = std::time(nullptr);
      std::tm utc{};
      std::strftime(now, sizeof now, "%Y%m%dT%H%M%SZ", gmtime_r(&time, &utc));
      const std::size_t host = bucket.server.find("://") + 3;
      const std::size_t slash = std::min(bucket.server.find('/', host), bucket.server.size());
      headers = signed_headers(credentials, bucket.region, bucket.server.substr(host, slash - host),
                               bucket.server.substr(slash) + path, now, headers, request);
    }
    return {bucket.server + path + (request.query.empty() ? "" : "?") + request.query, headers};
  }

  // Fills in what the server says of an object.
  void look_at(Object& object) {
    with_retries(retries_, object.url, [&] {
      if (!is_asked_here(object.url)) return look_by_arrow(object);
      std::string body;
      // A GET of one byte, because a signed URL allows no HEAD.
      const Answer answer = ask(
          object.url, {{"range", "bytes=0-0"}}, [](const Answer& head) { return head.status >= 400; },
          [&](const char* data, std::size_t size) { body.append(data, std::min(size, kMostOfError - body.size())); });
      require_success(answer, body);
      const auto part = part_of(answer.header("content-range"));
      object.has_ranges = answer.status == 206 || answer.status == 416;
      object.bytes = object.has_ranges ? (part ? part->bytes : 0)
                                       : text_number<std::int64_t>(answer.header("content-length")).value_or(-1);
      if (object.bytes < 0) throw Failure(Kind::refused, "the server does not tell the size");
      object.etag = answer.header("etag");
      const std::string version = answer.header("x-amz-version-id");
      object.version = version == "null" ? "" : version;
      object.modified = nanoseconds_of(answer.header("last-modified"));
    });
  }

  // Reads on from the byte that the last attempt reached.
  void read_by_http(const Object& object, std::int64_t begin, std::int64_t size, std::int64_t& taken,
                    const Take& take) {
    Headers headers;
    const std::int64_t from = object.has_ranges ? begin + taken : 0;
    if (object.has_ranges) {
      headers["range"] = "bytes=" + std::to_string(from) + "-" + std::to_string(begin + size - 1);
    }
    if (!object.etag.empty() && !is_weak(object.etag)) headers["if-match"] = object.etag;
    std::string body;
    std::int64_t skipped = begin + taken - from;  // bytes that another attempt has taken
    bool is_data = false;
    const Answer answer = ask(
        object.url, headers,
        [&](const Answer& head) {
          is_data = head.status < 300;
          if (is_data) require_part(object, from, begin + size - from, head);
          return true;
        },
        [&](const char* data, std::size_t bytes) {
          if (!is_data) return void(body.append(data, std::min(bytes, kMostOfError - body.size())));
          const auto skip = std::min(skipped, static_cast<std::int64_t>(bytes));
          skipped -= skip;
          const auto rest = static_cast<std::int64_t>(bytes) - skip;
          if (rest > size - taken) throw Failure(Kind::passing, "the server sends more than it was asked for");
          taken += rest;
          if (rest > 0) take(data + skip, static_cast<std::size_t>(rest));
        });
    require_success(answer, body);
    if (answer.status == 416) throw Failure(Kind::changed, "");
    if (taken < size) throw Failure(Kind::passing, "the server's answer ends too early");
  }

  // Throws if an answer has another part than these bytes, or is about another version of the object.
  static void require_part(const Object& object, std::int64_t from, std::int64_t bytes, const Answer& head) {
    const bool is_same = object.etag.empty() ? nanoseconds_of(head.header("last-modified")) == object.modified
                                             : head.header("etag") == object.etag;
    const auto part = part_of(head.header("content-range"));
    const bool has_other_size = part && part->bytes != object.bytes;
    if (!is_same || has_other_size) {
      throw Failure(Kind::passing, "the server sends another version of the object");
    }
    const auto length = text_number<std::int64_t>(head.header("content-length"));
    const bool is_part = !object.has_ranges || (head.status == 206 && part && part->begin == from);
    if (!is_part || length.value_or(bytes) != bytes) {
      throw Failure(Kind::passing, "the server sends another part than it was asked for");
    }
  }

  arrow::fs::FileInfo require_file(const Object& object) {
    const Place place = place_of(object.url);
    const Bucket& bucket = bucket_of(place);
    const auto info = bucket.files->GetFileInfo(bucket.prefix + place.key);
    require(info.status());
    if (!info->IsFile()) throw Failure(Kind::missing, place.key);
    return *info;
  }

  std::shared_ptr<arrow::io::RandomAccessFile> open(const Object& object) {
    const Place place = place_of(object.url);
    const Bucket& bucket = bucket_of(place);
    require_file(object);
    const auto file = bucket.files->OpenInputFile(bucket.prefix + place.key);
    require(file.status());
    return *file;
  }

  static std::string etag_of(arrow::io::RandomAccessFile& file) {
    const auto metadata = file.ReadMetadata();
    require(metadata.status());
    if (*metadata == nullptr) return "";
    for (const char* key : {"ETag", "etag", "generation"}) {
      if (const auto value = (*metadata)->Get(key); value.ok()) return *value;
    }
    return "";
  }

  void look_by_arrow(Object& object) {
    const auto file = open(object);
    const auto size = file->GetSize();
    require(size.status());
    object.bytes = *size;
    object.etag = etag_of(*file);
    object.modified = require_file(object).mtime().time_since_epoch().count();
  }

  // Arrow's requests cannot ask for an ETag: what was read counts only if the object is the same afterwards.
  void read_by_arrow(const Object& object, std::int64_t begin, std::int64_t size, std::int64_t& taken,
                     const Take& take) {
    const auto file = open(object);
    while (taken < size) {
      const auto bytes = file->ReadAt(begin + taken, std::min(kPiece, size - taken));
      require(bytes.status());
      if ((*bytes)->size() == 0) throw Failure(Kind::passing, "the server's answer ends too early");
      taken += (*bytes)->size();
      take(reinterpret_cast<const char*>((*bytes)->data()), static_cast<std::size_t>((*bytes)->size()));
    }
    if (etag_of(*open(object)) != object.etag) throw Failure(Kind::changed, "");
  }

  const std::int64_t retries_;
  std::function<bool()> hurries_ = {};
  std::atomic<std::int64_t> retried_{0};
  std::mutex opening_;  // guards buckets_, whose values stay where they are
  std::map<std::string, Bucket> buckets_;
};

}  // namespace
}  // namespace ddp::objects

ddp::format::ObjectStore* ddp_open_object_store(std::int64_t retries) { return new ddp::objects::Store(retries); }
