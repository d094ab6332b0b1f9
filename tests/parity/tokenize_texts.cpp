// Encodes and decodes texts for test_tokenizers.py.
//   tokenize_texts TOKENIZER TEXTS OUT      a tokenizer, kept as in preprocessing.json; TEXTS is a JSON list
//   tokenize_texts TOKENIZER TEXT           prints the processor's seconds for encoding
// OUT gets the JSON list [[ids, decoded], …]; bytes that are no UTF-8 are replaced.
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "base/error.h"
#include "tokenize/tokenizer.h"

namespace ddp::tokenize {
namespace {

std::string content_of(const char* file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void run(int argc, char** argv) {
  const NamedTokenizer made = make_tokenizer(argv[1], Text());
  const auto kept = tokenizer_from_json(config::Value::parse(to_json(made).dump())).tokenizer;
  const std::string text = content_of(argv[2]);
  if (argc == 3) {
    const std::clock_t begin = std::clock();
    const std::size_t count = encode_all(*kept, {.bytes = text, .sources = {}}).size();
    std::cout << static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC << " " << count << "\n";
    return;
  }
  config::Value results = config::Value::array();
  for (const auto& one : config::Value::parse(text)) {
    const auto bytes = one.get<std::string>();
    const auto ids = encode_all(*kept, {.bytes = bytes, .sources = {}});
    results.push_back({ids, kept->decode(ids)});
  }
  std::ofstream(argv[3]) << results.dump(-1, ' ', false, config::Value::error_handler_t::replace);
}

}  // namespace
}  // namespace ddp::tokenize

int main(int argc, char** argv) try {
  ddp::tokenize::run(argc, argv);
  return 0;
} catch (const ddp::Error& error) {
  std::cerr << error.what() << "\n";
  return error.exit_code();
}
