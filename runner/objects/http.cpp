#include "objects/http.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <thread>

#include <httplib.h>

#include "base/error.h"
#include "base/text_number.h"
#include "base/url.h"

namespace ddp::objects {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstWait{100};
constexpr milliseconds kLongestWait{60'000};
constexpr milliseconds kHurry{2'000};

Error error_of(const Failure& failure, const std::string& url, std::int64_t attempts) {
  const std::string place = without_query(url);
  switch (failure.kind) {
    case Failure::Kind::passing:
      return usage_error(std::string(failure.what()) + (attempts > 1 ? ", " + std::to_string(attempts) + " times" : ""),
                         place, "try again later; loader.retries allows more attempts");
    case Failure::Kind::changed:
      return usage_error("the object has changed while it was read", place, "start again when it is complete");
    case Failure::Kind::missing:
      return usage_error("is not there: " + std::string(failure.what()), place);
    case Failure::Kind::refused:
      break;
  }
  return usage_error(failure.what(), place, "credentials and endpoints come from the environment: AWS_PROFILE, …");
}

using Clock = std::chrono::steady_clock;

constexpr time_t kConnectSeconds = 20;
constexpr time_t kSilentSeconds = 30;  // without a byte
// An answer may take a minute, and a second more for each of these bytes.
constexpr std::chrono::seconds kMinute{60};
constexpr std::size_t kSlowest = 16 << 10;
constexpr int kMostRedirects = 10;

struct Target {
  std::string server;  // "https://host:port"
  std::string path;    // with the query
};

Target target_of(const std::string& url) {
  const std::size_t begin = url.find("://") + 3;
  const std::size_t end = std::min(url.find_first_of("/?", begin), url.size());
  const std::string path = url.substr(end, url.find('#', end) - end);
  return {.server = url.substr(0, end), .path = path.starts_with('/') ? path : "/" + path};
}

// A thread's connection to the server that it asked last.
httplib::Client& client_of(const std::string& server) {
  thread_local std::string connected;
  thread_local std::unique_ptr<httplib::Client> client;
  if (client && connected == server) return *client;
  client = std::make_unique<httplib::Client>(server);
  if (!client->is_valid()) throw Failure(Failure::Kind::refused, "is no URL of a server");
  connected = server;
  client->set_connection_timeout(kConnectSeconds);
  client->set_read_timeout(kSilentSeconds);
  client->set_write_timeout(kSilentSeconds);
  client->set_keep_alive(true);
  client->set_tcp_nodelay(true);
  client->set_decompress(false);
  client->set_url_encode(false);
  // As the provider's own tools read it.
  if (const char* bundle = std::getenv("AWS_CA_BUNDLE")) client->set_ca_cert_path(bundle);
  return *client;
}

Answer answer_of(const httplib::Response& response) {
  Answer answer{.status = response.status};
  for (const auto& [name, value] : response.headers) {
    std::string low = name;
    std::transform(low.begin(), low.end(), low.begin(), [](unsigned char c) { return std::tolower(c); });
    answer.headers.emplace(low, value);
  }
  return answer;
}

Answer get_once(const std::string& url, const Headers& headers, const WantBody& want, const TakeBody& take) {
  const Target target = target_of(url);
  httplib::Client& client = client_of(target.server);
  httplib::Headers sent(headers.begin(), headers.end());
  sent.emplace("Accept-Encoding", "identity");
  Answer answer;
  bool wanted = false, too_slow = false;
  std::size_t taken = 0;
  std::exception_ptr failure;  // httplib must not see it
  const Clock::time_point begun = Clock::now();
  const auto result = client.Get(
      target.path, sent,
      [&](const httplib::Response& response) {
        try {
          answer = answer_of(response);
          wanted = want(answer);
        } catch (...) {
          failure = std::current_exception();
          return false;
        }
        return wanted;
      },
      [&](const char* data, std::size_t size) {
        taken += size;
        too_slow = Clock::now() - begun > kMinute + std::chrono::seconds(taken / kSlowest);
        if (too_slow) return false;
        try {
          take(data, size);
        } catch (...) {
          failure = std::current_exception();
          return false;
        }
        return true;
      });
  if (failure) std::rethrow_exception(failure);
  if (!result && (answer.status == 0 || wanted)) {
    throw Failure(Failure::Kind::passing,
                  too_slow             ? "the server sends too slowly"
                  : answer.status != 0 ? "the server's answer ends too early"
                                       : "the server cannot be reached (" + httplib::to_string(result.error()) + ")");
  }
  return answer;
}

std::string location(const std::string& from, const std::string& to) {
  if (is_url(to)) return to;
  const Target target = target_of(from);
  if (to.starts_with("//")) return from.substr(0, from.find("//")) + to;
  if (to.starts_with('/')) return target.server + to;
  const std::string path = without_query(target.path);
  return target.server + path.substr(0, path.rfind('/') + 1) + to;
}

bool redirects(int status) { return status == 301 || status == 302 || status == 303 || status == 307 || status == 308; }

}  // namespace

void with_retries(std::int64_t retries, const std::string& url, const std::function<void()>& attempt,
                  const std::function<bool()>& hurries) {
  const auto patience = Clock::now() + kHurry;
  const auto gives_up = [&] { return hurries && Clock::now() > patience && hurries(); };
  milliseconds wait = kFirstWait;
  for (std::int64_t done = 0;; ++done) {
    try {
      return attempt();
    } catch (const Failure& failure) {
      const auto again =
          Clock::now() + std::min<milliseconds>(kLongestWait, std::max<milliseconds>(wait, failure.wait));
      bool is_last = failure.kind != Failure::Kind::passing || done == retries;
      while (!is_last && Clock::now() < again) {
        std::this_thread::sleep_for(std::min<Clock::duration>(kFirstWait, again - Clock::now()));
        is_last = gives_up();
      }
      if (is_last) throw error_of(failure, url, done + 1);
      wait = std::min(2 * wait, kLongestWait);
    }
  }
}

std::string Answer::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

Answer get(const std::string& url, const Headers& headers, bool follows, const WantBody& want, const TakeBody& take) {
  std::string at = url;
  for (int done = 0; done <= kMostRedirects; ++done) {
    const Answer answer = get_once(
        at, headers, [&](const Answer& head) { return !(follows && redirects(head.status)) && want(head); }, take);
    if (!follows || !redirects(answer.status)) return answer;
    at = location(at, answer.header("location"));
    if (!at.starts_with("http://") && !at.starts_with("https://")) break;
  }
  throw Failure(Failure::Kind::refused, "the server redirects in circles");
}

Reply send(const std::string& method, const std::string& url, const Headers& headers, const std::string& body) {
  const Target target = target_of(url);
  httplib::Request request;
  request.method = method;
  request.path = target.path;
  request.headers = httplib::Headers(headers.begin(), headers.end());
  request.body = body;
  const auto result = client_of(target.server).send(request);
  if (!result) {
    throw Failure(Failure::Kind::passing, "the server cannot be reached (" + httplib::to_string(result.error()) + ")");
  }
  return {.head = answer_of(*result), .body = result->body};
}

std::string element(const std::string& body, const std::string& name) {
  const std::size_t begin = body.find("<" + name + ">");
  if (begin == body.npos) return "";
  const std::size_t text = begin + name.size() + 2;
  const std::size_t end = body.find('<', text);
  return end == body.npos ? "" : body.substr(text, end - text);
}

std::string code_of(const std::string& body) {
  const std::string code = element(body, "Code");
  const bool is_code =
      code.size() < 60 && std::all_of(code.begin(), code.end(), [](unsigned char c) { return std::isalnum(c); });
  return is_code ? code : "";
}

void require_success(const Answer& answer, const std::string& body) {
  using Kind = Failure::Kind;
  const int status = answer.status;
  if ((status >= 200 && status < 300) || status == 416) return;
  const std::string code = code_of(body);
  const std::string what = "the server answers " + std::to_string(status) + (code.empty() ? "" : " (" + code + ")");
  if (status == 404 || status == 410) throw Failure(Kind::missing, what);
  if (status == 412) throw Failure(Kind::changed, what);
  const bool passing = status == 408 || status == 425 || status == 429 || status >= 500;
  const auto wait = text_number<std::int64_t>(answer.header("retry-after")).value_or(0);
  const auto longest = std::chrono::duration_cast<std::chrono::seconds>(kLongestWait);
  throw Failure(passing ? Kind::passing : Kind::refused, what,
                std::chrono::seconds(std::clamp<std::int64_t>(wait, 0, longest.count())));
}

}  // namespace ddp::objects
