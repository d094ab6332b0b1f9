#include "report/html/page.h"

#include <algorithm>
#include <array>
#include <random>
#include <string_view>
#include <utility>

#include "base/embedded.h"

namespace ddp::report {

extern const std::span<const EmbeddedFile> kPageFiles;  // runner/report/html/page

namespace {

std::string_view page_file(std::string_view name) {
  const auto is_it = [name](const EmbeddedFile& file) { return file.name == name; };
  return std::find_if(kPageFiles.begin(), kPageFiles.end(), is_it)->text;
}

// All scripts contain only definitions, except main.js, which comes last.
std::string all_scripts() {
  std::string script;
  for (const EmbeddedFile& file : kPageFiles) {
    if (file.name.ends_with(".js") && file.name != "main.js") script.append(file.text) += '\n';
  }
  return script.append(page_file("main.js"));
}

// Escapes JSON for <script type="application/json">: "<" could begin "</script>" or "<!--" there; older JavaScript
// takes U+2028 and U+2029 for line ends.
std::string escaped(const config::Value& data) {
  const std::string json = data.dump(-1, ' ', false, config::Value::error_handler_t::replace);
  std::string text;
  text.reserve(json.size() + json.size() / 64);
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest(json.data() + i, json.size() - i);
    if (json[i] == '<') {
      text += "\\u003c";
    } else if (rest.starts_with("\u2028") || rest.starts_with("\u2029")) {
      text += rest.starts_with("\u2028") ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      text += json[i];
    }
  }
  return text;
}

std::string all_styles() {
  std::string style;
  for (const EmbeddedFile& file : kPageFiles) {
    if (file.name.ends_with(".css")) style.append(file.text) += '\n';
  }
  return style;
}

// Returns a random nonce: the page runs only the style and script that carry it, and the data's author cannot know it.
std::string new_nonce() {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::random_device entropy;
  std::string nonce;
  for (int i = 0; i < 32; ++i) nonce += kDigits[entropy() % 16];
  return nonce;
}

}  // namespace

std::string page(const config::Value& data) {
  const std::string json = escaped(data);
  const std::string nonce = new_nonce();
  const std::string script = all_scripts();
  const std::string style = all_styles();
  const std::array<std::pair<std::string_view, std::string_view>, 4> parts = {
      {{"@nonce@", nonce}, {"@style@", style}, {"@data@", json}, {"@script@", script}}};
  std::string text;
  text.reserve(json.size() + style.size() + script.size() + 4096);
  // One pass over the page: inserted text is not scanned again.
  for (std::string_view rest = page_file("report.html"); !rest.empty();) {
    const auto* part = parts.begin();
    while (part != parts.end() && !rest.starts_with(part->first)) ++part;
    text += part != parts.end() ? part->second : rest.substr(0, 1);
    rest.remove_prefix(part != parts.end() ? part->first.size() : 1);
  }
  return text;
}

}  // namespace ddp::report
