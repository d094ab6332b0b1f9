#include <malloc.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <system_error>
#include <thread>

#include <httplib.h>

#include "base/embedded.h"
#include "base/error.h"
#include "base/file_descriptor.h"
#include "report/html/page.h"
#include "report/html/server.h"
#include "serve/site.h"

namespace ddp::serve {

extern const std::span<const EmbeddedFile> kPageFiles;  // runner/serve/page

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostConnections = 128;  // each has a thread
constexpr int kMostStreams = 100;
constexpr std::size_t kLargestRequest = 16 << 10;  // bytes of its line and headers
constexpr std::chrono::seconds kPatience{10};      // for a whole request, and for each piece of an answer
constexpr const char* kAddress = "127.0.0.1";

// Of one request and its answer. httplib's own stream has a time limit for each byte, not for a request, and httplib
// has none for the number of headers.
class Connection : public httplib::Stream {
 public:
  explicit Connection(int socket) : socket_(socket) {}

  bool is_readable() const override { return waits_for(POLLIN, request_by_); }
  // The other side may have gone while nothing was to be written.
  bool is_writable() const override {
    pollfd state{.fd = socket_, .events = POLLRDHUP, .revents = 0};
    return poll(&state, 1, 0) == 0;
  }
  ssize_t read(char* data, std::size_t size) override {
    if (left_ == 0 || !is_readable()) return -1;
    const ssize_t taken = recv(socket_, data, std::min(size, left_), MSG_DONTWAIT);
    left_ -= static_cast<std::size_t>(std::max<ssize_t>(0, taken));
    return taken;
  }
  ssize_t write(const char* data, std::size_t size) override {
    const auto end = Clock::now() + kPatience;
    for (std::size_t done = 0; done < size;) {
      if (!waits_for(POLLOUT, end)) return -1;
      const ssize_t sent = send(socket_, data + done, size - done, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN && errno != EINTR) return -1;
      done += static_cast<std::size_t>(std::max<ssize_t>(0, sent));
    }
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  ::socket_t socket() const override { return socket_; }

 private:
  bool waits_for(short event, Clock::time_point end) const {
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
      pollfd state{.fd = socket_, .events = event, .revents = 0};
      const int found = left > 0 ? poll(&state, 1, static_cast<int>(left)) : 0;
      if (found >= 0 || errno != EINTR) return found > 0;
    }
  }

  const int socket_;
  const Clock::time_point request_by_ = Clock::now() + kPatience;
  std::size_t left_ = kLargestRequest;
};

// Runs each task at once, in the thread that accepts: the task starts a thread of its own.
class AtOnce : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> task) override { task(); }
  void shutdown() override {}
};

// Returns the next event of a page, "": there is none within a second.
std::string next_event(Feed& feed, std::int64_t& seen) {
  const std::string data = feed.next(seen);
  return data.empty() ? "" : "data: " + data + "\n\n";
}

void answer(httplib::Response& response, int status, const std::string& text) {
  response.status = status;
  response.set_content(text + "\n", "text/plain; charset=utf-8");
}

// A reset, which unread bytes would cause when the socket is closed, could overtake the answer.
void end_answer(int socket) {
  shutdown(socket, SHUT_WR);
  char unread[4096];
  while (recv(socket, unread, sizeof unread, MSG_DONTWAIT) > 0) {
  }
}

class Server : public httplib::Server {
 public:
  explicit Server(const report::ServerOptions& options);

 private:
  bool process_and_close_socket(socket_t socket) override;
  void converse(const FileDescriptor& socket);
  void respond(const httplib::Request& request, httplib::Response& response);
  // Returns whether the request is one that this server answers, else says why not.
  bool accepts(const httplib::Request& request, httplib::Response& response) const;
  void stream(std::shared_ptr<Feed> feed, httplib::Response& response);

  Site site_;
  int port_ = 0;
  std::atomic<int> connections_ = 0;
  std::atomic<int> streams_ = 0;
};

Server::Server(const report::ServerOptions& options) : site_(options) {
  new_task_queue = [] { return new AtOnce; };
  // httplib also lets other processes listen at the same port. The connections inherit the size of the buffer, which
  // holds what a slow reader has not taken.
  set_socket_options([](socket_t socket) {
    const int yes = 1;
    const int bytes = 64 << 10;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  });
  set_default_headers(
      {{"Content-Security-Policy",
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
       {"X-Content-Type-Options", "nosniff"},
       {"Cross-Origin-Resource-Policy", "same-origin"},
       {"Referrer-Policy", "no-referrer"},
       {"Cache-Control", "no-store"}});
  set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    respond(request, response);
    return HandlerResponse::Handled;
  });
  port_ = options.port == 0 ? bind_to_any_port(kAddress) : bind_to_port(kAddress, options.port) ? options.port : -1;
  if (port_ < 0) {
    throw usage_error("cannot listen at port " + std::to_string(options.port) + ": " + errno_text(errno), "--port",
                      "0 takes a free port");
  }
  options.listens(port_);
}

// One request for each connection, so that nobody holds one that does not use it.
bool Server::process_and_close_socket(socket_t socket) {
  auto connection = std::make_shared<FileDescriptor>(socket);
  if (connections_ < kMostConnections) try {
      ++connections_;
      std::thread([this, connection] {
        converse(*connection);
        --connections_;
      }).detach();
      return true;
    } catch (const std::system_error&) {  // no thread is left
      --connections_;
    }
  constexpr std::string_view kBusy = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\n\r\n";
  const bool sent = Connection(socket).write(kBusy.data(), kBusy.size()) > 0;
  end_answer(socket);
  return sent;
}

void Server::converse(const FileDescriptor& socket) {
  Connection connection(socket.get());
  bool closed = false;
  // Ranges could make an answer many times larger than a page, and compressing takes longer than a local connection.
  try {
    process_request(connection, /*close_connection=*/true, closed, [](httplib::Request& request) {
      request.ranges.clear();
      request.headers.erase("Accept-Encoding");
    });
  } catch (const std::exception&) {  // the stream of a page that cannot be read, or too little memory: it ends here
  }
  end_answer(socket.get());
}

bool Server::accepts(const httplib::Request& request, httplib::Response& response) const {
  // A page of another site may reach this port under a name of its own, but not under these.
  const std::string host = request.get_header_value("Host");
  const std::string port = ":" + std::to_string(port_);
  if (request.get_header_value_count("Host") != 1 || (host != kAddress + port && host != "localhost" + port)) {
    answer(response, 403,
           "this server answers to " + (kAddress + port) + " and localhost" + port +
               "; forward the same port: ssh -L " + port.substr(1) + ":" + kAddress + port + " HOST");
  } else if (request.method != "GET" && request.method != "HEAD") {
    response.set_header("Allow", "GET, HEAD");
    answer(response, 405, "this server only reads");
  } else if (request.has_header("Transfer-Encoding") || request.get_header_value("Content-Length", 0) > "0") {
    answer(response, 413, "this server takes no content");
  } else {
    return true;
  }
  return false;
}

void Server::respond(const httplib::Request& request, httplib::Response& response) try {
  static const std::string kEvents = "/events";
  if (!accepts(request, response)) return;
  if (request.path == "/favicon.ico") {
    response.status = 204;
    return;
  }
  const bool events = request.path.starts_with(kEvents + "/");
  const auto feed = site_.find(events ? request.path.substr(kEvents.size()) : request.path, request.params);
  if (!feed) return answer(response, 404, "there is no such page, or no such run");
  if (events) return stream(feed, response);
  response.set_content(report::page(feed->now(), kPageFiles), "text/html; charset=utf-8");
} catch (const std::exception& error) {
  answer(response, 400, error.what());
}

void Server::stream(std::shared_ptr<Feed> feed, httplib::Response& response) {
  if (++streams_ > kMostStreams) {
    --streams_;
    response.set_header("Retry-After", "5");
    return answer(response, 503, std::to_string(kMostStreams) + " pages are open already");
  }
  const std::shared_ptr<void> counted(nullptr, [this](void*) { --streams_; });
  const auto provider = [counted, feed = std::move(feed), seen = std::int64_t{0}](std::size_t,
                                                                                  httplib::DataSink& sink) mutable {
    const std::string event = next_event(*feed, seen);
    return event.empty() ? sink.is_writable() : sink.write(event.data(), event.size());
  };
  response.set_chunked_content_provider("text/event-stream", provider);
}

// Blocks the signals for this thread and those that it starts.
sigset_t stop_signals_blocked() {
  sigset_t stops;
  sigemptyset(&stops);
  for (const int stop : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&stops, stop);
  pthread_sigmask(SIG_BLOCK, &stops, nullptr);
  return stops;
}

}  // namespace

}  // namespace ddp::serve

void ddp_serve(const ddp::report::ServerOptions* options) {
  const sigset_t stops = ddp::serve::stop_signals_blocked();
  setpriority(PRIO_PROCESS, 0, 10);  // runs that train on this machine come first
  mallopt(M_ARENA_MAX, 1);           // an arena for each connection would keep memory
  ddp::serve::Server server(*options);
  std::thread listening([&server] {
    server.listen_after_bind();
    std::_Exit(1);
  });
  int stop = 0;
  sigwait(&stops, &stop);
  // It only reads: there is nothing to end in order.
  std::_Exit(0);
}
