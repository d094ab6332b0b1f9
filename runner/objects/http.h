#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>

namespace ddp::objects {

// A request that failed.
struct Failure : std::runtime_error {
  enum class Kind { passing, refused, changed, missing };

  Failure(Kind of, const std::string& what, std::chrono::seconds wait_at_least = {})
      : std::runtime_error(what), kind(of), wait(wait_at_least) {}

  Kind kind;                  // passing: another attempt may succeed
  std::chrono::seconds wait;  // the server asks for it
};

// Calls `attempt` until it returns, or a failure is not passing, or `retries` more attempts have failed: waits 0.1 s,
// then twice as long each time, at most a minute. Gives up after two seconds if `hurries` returns true. Throws
// ddp::Error (usage) about the URL, of which the query is left out.
void with_retries(std::int64_t retries, const std::string& url, const std::function<void()>& attempt,
                  const std::function<bool()>& hurries = {});

using Headers = std::map<std::string, std::string>;

// The head of an answer. Names of headers are in lower case.
struct Answer {
  int status = 0;
  Headers headers = {};

  // "": the answer has no such header.
  std::string header(const std::string& name) const;
};

// Gets the head of an answer before its body; returns whether the body is wanted.
using WantBody = std::function<bool(const Answer& head)>;
using TakeBody = std::function<void(const char* data, std::size_t size)>;

// Sends a GET request and follows up to ten redirects, unless `follows` is false. Keeps the connection for the thread's
// next request. Throws Failure (passing) if the server cannot be reached, answers too slowly or ends too early.
Answer get(const std::string& url, const Headers& headers, bool follows, const WantBody& want, const TakeBody& take);

// An answer with its body.
struct Reply {
  Answer head;
  std::string body;
};

// Sends a request of another kind, with a body. Throws Failure like get().
Reply send(const std::string& method, const std::string& url, const Headers& headers, const std::string& body);

// The text of an element of an answer in XML: "<Code>NoSuchKey</Code>". "": it has none.
std::string element(const std::string& body, const std::string& name);

// The code of an error of S3: "NoSuchKey"; "": there is none of letters and digits alone. The server may send anything.
std::string code_of(const std::string& body);

// Throws the Failure of an answer that is neither 2xx nor 416; `body`: its beginning.
void require_success(const Answer& answer, const std::string& body);

}  // namespace ddp::objects
