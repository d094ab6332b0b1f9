#include "dist/peer_error.h"

#include <initializer_list>
#include <string_view>

#include <c10/util/Exception.h>

#include "base/block_pipe.h"

namespace ddp::dist {
namespace {

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  for (const auto word : words) {
    if (text.find(word) != std::string_view::npos) return true;
  }
  return false;
}

// Gloo throws gloo::IoException both for a closed connection and for a timeout, and c10d's sockets throw
// c10::DistNetworkError for both. In LibTorch 2.11 only the text of the exception distinguishes the two.
PeerTrouble trouble_in_text(std::string_view text) {
  if (has_any(text,
              {"Connection closed by peer", "Connection reset by peer", "Connection was likely closed", "Broken pipe"}))
    return PeerTrouble::lost;
  if (has_any(text, {"Timed out", "timed out", "imeout after"})) return PeerTrouble::late;
  return PeerTrouble::none;
}

}  // namespace

PeerTrouble peer_trouble(const std::exception& error) {
  if (dynamic_cast<const PeerLost*>(&error) != nullptr) return PeerTrouble::lost;
  if (dynamic_cast<const OtherEndGone*>(&error) != nullptr) return PeerTrouble::lost;
  if (dynamic_cast<const PeerLate*>(&error) != nullptr) return PeerTrouble::late;
  if (dynamic_cast<const Error*>(&error) != nullptr) return PeerTrouble::none;
  const auto* torch = dynamic_cast<const c10::Error*>(&error);
  return trouble_in_text(torch != nullptr ? torch->what_without_backtrace() : error.what());
}

}  // namespace ddp::dist
