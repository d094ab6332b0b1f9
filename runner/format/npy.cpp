#include "format/npy.h"

#include <bit>
#include <charconv>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "config/text/source.h"
#include "format/mapped_file.h"

namespace ddp::format {
namespace {

constexpr std::size_t kMostExtents = 64;  // NumPy's own limit
constexpr const char* kSaveNumbers = "save numbers: numpy.save(file, array.astype(numpy.float32), allow_pickle=False)";

// Parses the Python dict of a header: texts, True and False, tuples of integers.
class DictReader {
 public:
  explicit DictReader(std::string_view text) : rest_(text) {}

  [[noreturn]] static void refuse() { throw std::runtime_error("its header does not describe an array"); }

  // Skips blanks and takes the next character if it is `c`.
  bool take(char c) {
    skip_blanks();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void require(char c) {
    if (!take(c)) refuse();
  }
  bool next_is(char c) {
    skip_blanks();
    return rest_.starts_with(c);
  }

  // A text without escapes: names of types have none.
  std::string text() {
    const char quote = next_is('"') ? '"' : '\'';
    require(quote);
    const std::size_t end = rest_.find(quote);
    if (end == std::string_view::npos || rest_.substr(0, end).find('\\') != std::string_view::npos) refuse();
    const std::string found(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return found;
  }

  bool boolean() {
    skip_blanks();
    for (const auto& [word, value] : {std::pair{"True", true}, std::pair{"False", false}}) {
      if (rest_.starts_with(word)) {
        rest_.remove_prefix(std::string_view(word).size());
        return value;
      }
    }
    refuse();
  }

  // "(3, 4)", "(3,)", "()". Python 2 wrote "(3L, 4L)".
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> numbers;
    require('(');
    while (!take(')')) {
      if (numbers.size() == kMostExtents) refuse();
      numbers.push_back(number());
      take('L');
      if (!take(',') && (numbers.size() == 1 || !next_is(')'))) refuse();
    }
    return numbers;
  }

  bool at_end() {
    skip_blanks();
    return rest_.empty();
  }

 private:
  void skip_blanks() {
    const std::size_t begin = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(begin == std::string_view::npos ? rest_.size() : begin);
  }

  std::int64_t number() {
    skip_blanks();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error == std::errc::result_out_of_range) throw std::runtime_error("its shape is too large");
    if (error != std::errc{} || value < 0) refuse();
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  std::string_view rest_;
};

struct Described {
  std::string type;
  bool fortran = false;
  std::vector<std::int64_t> shape;
};

Described read_dict(std::string_view text, const std::string& name) {
  DictReader reader(text);
  std::optional<std::string> type;
  std::optional<bool> fortran;
  std::optional<std::vector<std::int64_t>> shape;
  reader.require('{');
  while (!reader.take('}')) {
    const std::string key = reader.text();
    reader.require(':');
    if (key == "descr" && !type) {
      // A list of fields, or a type with its own shape.
      if (reader.next_is('[') || reader.next_is('(')) {
        throw usage_error("contains records (a structured dtype), which are not supported", name,
                          "save each field as a separate array");
      }
      type = reader.text();
    } else if (key == "fortran_order" && !fortran) {
      fortran = reader.boolean();
    } else if (key == "shape" && !shape) {
      shape = reader.tuple();
    } else {
      DictReader::refuse();
    }
    if (!reader.take(',') && !reader.next_is('}')) DictReader::refuse();
  }
  if (!reader.at_end() || !type || !fortran || !shape) DictReader::refuse();
  return {.type = *type, .fortran = *fortran, .shape = *shape};
}

// Type codes of NumPy's array protocol, without byte order.
const std::map<std::string_view, Element>& npy_types() {
  static const std::map<std::string_view, Element> known{
      {"b1", Element::boolean}, {"i1", Element::int8},    {"i2", Element::int16},   {"i4", Element::int32},
      {"i8", Element::int64},   {"u1", Element::uint8},   {"u2", Element::uint16},  {"u4", Element::uint32},
      {"u8", Element::uint64},  {"f2", Element::float16}, {"f4", Element::float32}, {"f8", Element::float64},
  };
  return known;
}

[[noreturn]] void refuse_type(const std::string& type, const std::string& name) {
  const std::string code = type.substr(type.find_first_not_of("<>|="));
  const std::map<char, const char*> others{{'O', "Python objects, which require unpickling"},
                                           {'c', "complex numbers"},
                                           {'f', "floats of a platform-dependent size"},
                                           {'S', "texts (bytes)"},
                                           {'U', "texts"},
                                           {'M', "dates"},
                                           {'m', "time differences"},
                                           {'V', "raw bytes without a type"}};
  const auto known = others.find(code.front());
  const std::string kind = known == others.end() ? "an unknown type" : known->second;
  throw usage_error("contains " + kind + " (dtype " + config::in_quotes(type) + ")", name, kSaveNumbers);
}

void set_type(NpyHeader& header, const std::string& type, const std::string& name) {
  const std::size_t order = type.find_first_not_of("<>|=");
  if (order == std::string::npos || order > 1) DictReader::refuse();
  const auto known = npy_types().find(std::string_view(type).substr(order));
  if (known == npy_types().end()) refuse_type(type, name);
  header.element = known->second;
  const char other = std::endian::native == std::endian::little ? '>' : '<';
  header.swapped = type.front() == other && size_of(header.element) > 1;
}

std::string_view header_text(std::string_view start, std::uint64_t& begin) {
  const std::size_t fixed = kNpyMagic.size() + 2;  // the version is two bytes
  if (start.size() < fixed || !start.starts_with(kNpyMagic))
    throw std::runtime_error("is not an .npy file, or cut off");
  const int version = static_cast<unsigned char>(start[kNpyMagic.size()]);
  if (version < 1 || version > 3 || start[kNpyMagic.size() + 1] != 0) {
    throw std::runtime_error("has an unknown version of the .npy format");
  }
  const std::size_t digits = version == 1 ? 2 : 4;
  std::uint64_t length = 0;
  if (start.size() < fixed + digits) throw std::runtime_error("is cut off in its header");
  for (std::size_t i = digits; i-- > 0;) length = length << 8 | static_cast<unsigned char>(start[fixed + i]);
  begin = fixed + digits + length;
  if (begin > kLargestNpyHeader) throw std::runtime_error("has a header too large for an array of numbers");
  if (start.size() < begin) throw std::runtime_error("is cut off in its header");
  return start.substr(fixed + digits, length);
}

}  // namespace

NpyHeader read_npy_header(std::string_view start, const std::string& name) try {
  NpyHeader header;
  Described described = read_dict(header_text(start, header.begin), name);
  set_type(header, described.type, name);
  header.fortran = described.fortran;
  header.shape = std::move(described.shape);
  header.bytes = bytes_of(header.shape, size_of(header.element));
  return header;
} catch (const Error&) {
  throw;
} catch (const std::exception& error) {
  throw usage_error(error.what(), name, "give a file that numpy.save wrote");
}

Array npy_array(std::string_view bytes, std::shared_ptr<const void> memory, const std::string& name) {
  NpyHeader header = read_npy_header(bytes, name);
  const std::uint64_t there = bytes.size() - header.begin;
  if (there != header.bytes) {
    throw usage_error("its header says " + std::to_string(header.bytes) + " bytes of numbers, but the file has " +
                          std::to_string(there),
                      name, "it is cut off or damaged; write it again with numpy.save");
  }
  Array array{.name = name, .element = header.element, .swapped = header.swapped};
  array.strides = dense_strides(header.shape, size_of(header.element), header.fortran);
  array.shape = std::move(header.shape);
  array.data = bytes.data() + header.begin;
  array.memory = std::move(memory);
  return array;
}

Array map_npy(const std::filesystem::path& file) try {
  const record::InputFile in(file);
  MappedFile mapped = map_file(in, file);
  return npy_array(mapped.bytes, std::move(mapped.memory), file.string());
} catch (const Error& error) {
  throw usage_error(error.summary(), error.where(), error.remedy());
}

}  // namespace ddp::format
