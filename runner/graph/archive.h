#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>
#include <nlohmann/json.hpp>

#include "format/mapped_file.h"
#include "format/zip.h"

namespace ddp::graph {

// The remedy for a file that is damaged or no such archive.
inline constexpr const char* kExportAgain = "export the model again: python/export_model.py, or torch.export.save";

// A file that torch.export.save wrote (torch/export/pt2_archive): a zip archive of stored members in one folder. It is
// untrusted data: nothing of it is executed, unpickled or decompressed, so memory stays within the file's size.
class Archive {
 public:
  // Throws ddp::Error (usage) if the file cannot be read or is not such an archive.
  explicit Archive(const std::filesystem::path& file);

  bool has(const std::string& member) const { return members_.contains(member); }
  const std::map<std::string, format::ZipMember>& members() const { return members_; }
  // The bytes of a member; its checksum is verified. The name excludes the folder. Throws std::runtime_error if the
  // member is missing or damaged.
  std::string_view bytes(const std::string& member) const;
  nlohmann::json json(const std::string& member) const;

 private:
  format::MappedFile mapped_;
  std::map<std::string, format::ZipMember> members_;
};

// The scalar type with this code in an archive (torch/_export/serde/schema.py, ScalarType). Throws std::runtime_error
// for a type that ddp-exp does not train with.
c10::ScalarType scalar_type(std::int64_t code);

// The programs of an archive: the model, and the one that draws its weights, which takes nothing and returns them by
// their names. python/export_model.py adds it.
inline constexpr const char* kModel = "model";
inline constexpr const char* kInit = "init";

// The tensors of a program, on the CPU.
struct Weights {
  // Parameters, buffers and constants by their names in Python. Names of one tied weight share one tensor.
  std::map<std::string, at::Tensor> tensors = {};
  // The bytes of these tensors, by the member that they were read from.
  std::map<std::string, at::Tensor> members = {};
};

// A member that python/export_model.py adds: what it was told and has found out, a JSON object. "arguments": of
// forward, a list of {"name", "values"}; "answers_next": see model::GivesOutputs; "compares_samples": is the loss of a
// batch neither a mean nor a sum over samples? "skips_empty": see CallList. "fixed_weights": why no program of the
// archive draws the weights.
inline constexpr const char* kFacts = "extra/ddp-exp.json";

// A member of an archive without weights, as write_graph() writes it: the sizes of the members that it lacks, by their
// names.
inline constexpr const char* kLacking = "extra/lacking.json";

// The member of one of the programs of an archive.
std::string member_of_graph(const std::string& program);

// Returns the tensors of one of the programs of an archive. Throws std::runtime_error if a tensor is pickled, exceeds
// its member, or has a type that ddp-exp does not train with. Members that kLacking names are zeros.
Weights read_weights(const Archive& archive, const std::string& program);

}  // namespace ddp::graph
