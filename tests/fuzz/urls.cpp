// Answers of a server, and files of the cache folder. The first byte selects: an answer of HTTP about an object, a
// listing of S3, a piece of an object, or the index of a text.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/installation.h"
#include "base/paths.h"
#include "format/object_store.h"
#include "format/table.h"
#include "objects/s3.h"
#include "record/file/input_file.h"
#include "record/file/kept_value.h"
#include "target.h"

namespace ddp::fuzz {
namespace {

// Gives the same answer to every request, on loopback.
class Server {
 public:
  Server() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    socklen_t size = sizeof address;
    require(bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0 && listen(listener_, 64) == 0 &&
                getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0,
            "a server can listen");
    url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    std::thread([this] { serve(); }).detach();
  }

  void answer_with(std::string answer) {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
  }

  std::string url;

 private:
  [[noreturn]] void serve() {
    for (;;) {
      const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      std::string request(65536, '\0');
      std::size_t got = 0;
      for (ssize_t more = 1; more > 0 && std::string_view(request).substr(0, got).find("\r\n\r\n") == request.npos;) {
        more = recv(client, request.data() + got, request.size() - got, 0);
        got += more > 0 ? static_cast<std::size_t>(more) : 0;
      }
      {
        const std::lock_guard lock(mutex_);
        send(client, answer_.data(), answer_.size(), MSG_NOSIGNAL);
      }
      close(client);
    }
  }

  const int listener_;
  std::mutex mutex_;  // guards answer_
  std::string answer_;
};

Server& server() {
  static Server* const one = [] {
    const std::string folder = scratch_folder().string();
    auto* made = new Server;  // its thread ends with the process
    setenv("XDG_CACHE_HOME", folder.c_str(), 1);
    setenv("HOME", folder.c_str(), 1);
    return made;
  }();
  return *one;
}

// An answer that redirects could name a server elsewhere.
bool stays_here(std::string answer) {
  std::transform(answer.begin(), answer.end(), answer.begin(), [](unsigned char c) { return std::tolower(c); });
  return answer.find("location") == answer.npos;
}

void find_and_read(const std::string& url) {
  const std::unique_ptr<format::ObjectStore> store(ddp_open_object_store(/*retries=*/0));
  for (const config::Object& object : store->find(url)) {
    require(object.bytes >= 0, "an object that is found has a size");
    const std::int64_t asked = std::min<std::int64_t>(object.bytes, 1000);
    std::int64_t taken = 0;
    store->read(object, 0, asked, [&](const char*, std::size_t more) { taken += static_cast<std::int64_t>(more); });
    require(taken == asked, "a read gives as many bytes as were asked for");
  }
}

void read_listing(const std::string& body) {
  try {
    for (const auto& [key, bytes] : objects::listing_of(body).bytes) require(bytes >= 0, "an object has a size");
  } catch (const objects::Failure&) {
  }
}

constexpr std::size_t kHash = 16;

void read_piece(const std::string& kept) {
  config::Object object;
  object.url = object.file = server().url;
  object.etag = "x";
  object.bytes = static_cast<std::int64_t>(std::max(kept.size(), kHash + 1) - kHash);
  const std::filesystem::path folder = scratch_folder() / "objects";
  const std::shared_ptr<format::ObjectCache> cache(ddp_open_object_cache(&folder, /*limit=*/1 << 20, /*retries=*/0));
  scratch_file("objects/pieces/" + record::hash_hex(object.content()) + "-0", kept);
  std::string bytes(static_cast<std::size_t>(object.bytes), '\0');
  cache->open(object)->read(0, object.bytes, bytes.data());
  require(bytes + record::hash_hex(bytes) == kept, "a piece from the cache has its checksum");
}

class Text final : public format::Bytes {
 public:
  std::int64_t size() const override { return std::ssize(kText); }
  std::string identity() const override { return "text"; }
  void read(std::int64_t begin, std::int64_t size, void* out) const override {
    require(begin >= 0 && size >= 0 && begin + size <= std::ssize(kText), "a read lies within the text");
    std::memcpy(out, kText.data() + begin, static_cast<std::size_t>(size));
  }

 private:
  static constexpr std::string_view kText = "{\"a\": 1, \"b\": \"x\"}\n{\"a\": 2.5}\n{\"b\": \"\\u00e4\"}\n";
};

constexpr std::string_view kSoundIndex =
    R"({"names":["a","b"],"kinds":["number","text"],"infinite":{},"beyond":{},"large":{},"repeated":{},"is_clean":true,)"
    R"("blocks":{"begins":[0,19],"rows":[1,2]}})";

void read_by_index(const std::string& index) {
  const config::Value value = config::Value::parse(index, nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) return;
  record::keep_value("indexes", record::hash_hex(std::string("jsonl 4") + '\0' + "text"), value, 10);
  format::TableOptions options{.format = "jsonl"};
  options.open = [](const std::filesystem::path&) { return std::make_shared<const Text>(); };
  const std::filesystem::path file = "text.jsonl";
  const std::unique_ptr<format::TableFile> table(ddp_open_table(&file, &options));
  std::vector<format::WantedColumn> wanted;
  for (const format::ColumnInfo& column : table->columns()) wanted.push_back({column.name, column.type});
  const auto blocks = std::ssize(table->blocks());
  require(index != kSoundIndex || blocks == 2, "an index from the cache folder is used");
  for (std::int64_t block = 0; block < std::min<std::int64_t>(blocks, 10); ++block) {
    table->read(wanted, block);
    for (format::TableChunk chunk; table->next(chunk);) {
      require(chunk.rows <= 3, "a block has no more rows than the text");
    }
  }
}

}  // namespace
}  // namespace ddp::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ddp;
  if (size == 0) return 0;
  const std::string rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool is_asked = data[0] % 4 == 0 && fuzz::stays_here(rest);
  fuzz::server().answer_with(is_asked ? rest : "");
  try {
    if (is_asked) fuzz::find_and_read(fuzz::server().url + "/table.csv");
    if (data[0] % 4 == 1) fuzz::read_listing(rest);
    if (data[0] % 4 == 2) fuzz::read_piece(rest);
    if (data[0] % 4 == 3) fuzz::read_by_index(rest);
  } catch (const Error& error) {
    fuzz::require(fuzz::is_showable(error.what()), "an error can be shown");
  }
  return 0;
}
