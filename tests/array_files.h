#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <zlib.h>

#include "packing.h"

namespace ddp {

// The bytes of numbers in this machine's representation.
template <class Number>
std::string bytes_of_numbers(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

inline std::string little_endian(std::uint64_t number, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i) & 0xff);
  return text;
}

// An .npy file with this dict, byte for byte as numpy.save writes it: the data starts at a multiple of 64 bytes.
inline std::string npy_file(const std::string& dict, const std::string& data, int version = 1) {
  const int digits = version == 1 ? 2 : 4;
  std::string header = dict;
  while ((8 + digits + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  return std::string("\x93NUMPY") + static_cast<char>(version) + '\0' + little_endian(header.size(), digits) + header +
         data;
}

// The dict that numpy.save writes.
inline std::string npy_dict(const std::string& type, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + type + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
}

template <class Number>
std::string npy_of(const std::string& type, const std::string& shape, const std::vector<Number>& numbers,
                   bool fortran = false) {
  return npy_file(npy_dict(type, shape, fortran), bytes_of_numbers(numbers));
}

// Bytes compressed as in a zip member: deflate without zlib's frame.
inline std::string deflated(const std::string& bytes) { return packed_bytes(bytes, 9, -MAX_WBITS); }

// A zip archive, made member by member as Python's zipfile does.
class ZipBytes {
 public:
  // `zip64`: writes sizes and offset to the zip64 extra field, as numpy.savez requests for local headers.
  ZipBytes& add(const std::string& name, const std::string& bytes, bool pack, bool zip64 = false) {
    const std::string packed = pack ? deflated(bytes) : bytes;
    const std::uint32_t crc = static_cast<std::uint32_t>(
        crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
    return add_raw(name, packed, crc, bytes.size(), pack ? 8 : 0, zip64);
  }

  ZipBytes& add_raw(const std::string& name, const std::string& packed, std::uint32_t crc, std::uint64_t size,
                    int method, bool zip64 = false, int flags = 0) {
    const auto sizes = [&](bool in_directory) {
      const std::string field = zip64 ? little_endian(1, 2) + little_endian(in_directory ? 24 : 16, 2) +
                                            little_endian(size, 8) + little_endian(packed.size(), 8) +
                                            (in_directory ? little_endian(bytes_.size(), 8) : "")
                                      : "";
      return std::pair{field, little_endian(zip64 ? 0xffffffff : packed.size(), 4) +
                                  little_endian(zip64 ? 0xffffffff : size, 4) + little_endian(name.size(), 2) +
                                  little_endian(field.size(), 2)};
    };
    const std::string common = little_endian(45, 2) + little_endian(flags, 2) + little_endian(method, 2) +
                               little_endian(0, 4) + little_endian(crc, 4);
    directory_ += "PK\x01\x02" + little_endian(45, 2) + common + sizes(true).second + little_endian(0, 2) +
                  little_endian(0, 8) + little_endian(zip64 ? 0xffffffff : bytes_.size(), 4) + name + sizes(true).first;
    bytes_ += "PK\x03\x04" + common + sizes(false).second + name + sizes(false).first + packed;
    ++members_;
    return *this;
  }

  // `zip64`: adds the end record of large archives.
  std::string bytes(bool zip64 = false, const std::string& comment = "") const {
    std::string end;
    if (zip64) {
      end = "PK\x06\x06" + little_endian(44, 8) + little_endian(45, 2) + little_endian(45, 2) + little_endian(0, 8) +
            little_endian(members_, 8) + little_endian(members_, 8) + little_endian(directory_.size(), 8) +
            little_endian(bytes_.size(), 8) + "PK\x06\x07" + little_endian(0, 4) +
            little_endian(bytes_.size() + directory_.size(), 8) + little_endian(1, 4);
    }
    const auto number = [&](std::uint64_t value, int size) {
      return little_endian(zip64 ? ~std::uint64_t{0} : value, size);
    };
    return bytes_ + directory_ + end + "PK\x05\x06" + little_endian(0, 4) + number(members_, 2) + number(members_, 2) +
           number(directory_.size(), 4) + number(bytes_.size(), 4) + little_endian(comment.size(), 2) + comment;
  }

 private:
  std::string bytes_;
  std::string directory_;
  std::uint64_t members_ = 0;
};

}  // namespace ddp
