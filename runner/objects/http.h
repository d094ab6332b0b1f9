#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace ddp::objects {

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

// Throws the Failure of an answer that is neither 2xx nor 416; `body`: its beginning.
void require_success(const Answer& answer, const std::string& body);

}  // namespace ddp::objects
