#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <archive.h>
#include <archive_entry.h>

#include "catch.h"
#include "errors.h"
#include "format/image.h"
#include "scratch_folder.h"
#include "words.h"

namespace ddp {
namespace {

namespace fs = std::filesystem;
struct Member {
  std::string name;
  std::string content;
  unsigned type = AE_IFREG;
  std::string link_to = {};  // a hard link to this name
};

void add(archive* tar, const Member& member) {
  archive_entry* entry = archive_entry_new();
  archive_entry_set_pathname(entry, member.name.c_str());
  archive_entry_set_filetype(entry, member.type);
  archive_entry_set_perm(entry, 0644);
  archive_entry_set_mtime(entry, 1, member.name.size() > 90 ? 500 : 0);
  if (!member.link_to.empty()) archive_entry_set_hardlink(entry, member.link_to.c_str());
  if (member.type == AE_IFLNK) archive_entry_set_symlink(entry, "elsewhere");
  archive_entry_set_size(entry, static_cast<la_int64_t>(member.content.size()));
  REQUIRE(archive_write_header(tar, entry) >= ARCHIVE_WARN);  // a warning comes from names that this locale lacks
  archive_write_data(tar, member.content.data(), member.content.size());
  archive_entry_free(entry);
}

// `set_format`: a function of libarchive.
void write_tar(const fs::path& file, int (*set_format)(archive*), const std::vector<Member>& members) {
  archive* tar = archive_write_new();
  set_format(tar);
  REQUIRE(archive_write_open_filename(tar, file.c_str()) == ARCHIVE_OK);
  for (const Member& member : members) add(tar, member);
  REQUIRE(archive_write_close(tar) == ARCHIVE_OK);
  archive_write_free(tar);
}

std::string refusal_of_tar(const fs::path& file) {
  return error_of([&] { format::list_tar(*format::open_local(file), file.string()); });
}

const std::vector<Member> kMembers = {
    {.name = "a/1.jpg", .content = std::string(1000, 'j')},
    {.name = "a/1.cls", .content = "3"},
    {.name = "empty", .content = ""},
    {.name = "b/" + std::string(90, 'n') + "/2.png", .content = std::string(512, 'p')},
    {.name = "last", .content = std::string(513, 'l')}};

}  // namespace

TEST_CASE("the members of a tar archive lie at the listed places, in every format") {
  const ScratchFolder scratch;
  const std::vector<std::pair<std::string, int (*)(archive*)>> formats = {{"ustar", archive_write_set_format_ustar},
                                                                          {"pax", archive_write_set_format_pax},
                                                                          {"gnutar", archive_write_set_format_gnutar},
                                                                          {"v7", archive_write_set_format_v7tar}};
  for (const auto& [name, set_format] : formats) {
    INFO(name);
    std::vector<Member> members = kMembers;
    if (name == "pax" || name == "gnutar") {
      members.push_back(
          {.name = std::string(200, 'd') + "/" + std::string(150, 'f') + ".webp", .content = "long name"});
      members.push_back({.name = "na\xc3\xafve.jpg", .content = "a name in UTF-8"});
    }
    if (name == "v7") members.erase(members.begin() + 3);  // its names have up to 99 bytes
    const fs::path file = scratch.folder() / (name + ".tar");
    write_tar(file, set_format, members);
    const std::string bytes = scratch.read(file);
    const std::vector<format::TarMember> listed = format::list_tar(*format::open_local(file), file.string());
    REQUIRE(listed.size() == members.size());
    for (std::size_t i = 0; i < members.size(); ++i) {
      CHECK(listed[i].name == members[i].name);
      CHECK(bytes.substr(static_cast<std::size_t>(listed[i].offset), static_cast<std::size_t>(listed[i].size)) ==
            members[i].content);
    }
  }
}

TEST_CASE("folders and links in a tar archive are not members") {
  const ScratchFolder scratch;
  write_tar(scratch.folder() / "links.tar", archive_write_set_format_pax,
            {{.name = "folder", .content = "", .type = AE_IFDIR},
             {.name = "folder/1.jpg", .content = "picture"},
             {.name = "again.jpg", .content = "", .link_to = "folder/1.jpg"},
             {.name = "symbolic.jpg", .content = "", .type = AE_IFLNK}});
  const std::vector<format::TarMember> listed =
      format::list_tar(*format::open_local(scratch.folder() / "links.tar"), "links.tar");
  REQUIRE(listed.size() == 1);
  CHECK(listed[0].name == "folder/1.jpg");
}

TEST_CASE("a tar archive that is compressed, truncated or invalid is refused by its name") {
  const ScratchFolder scratch;
  const fs::path file = scratch.folder() / "images.tar";
  write_tar(file, archive_write_set_format_pax, kMembers);
  const std::string bytes = scratch.read(file);
  const auto refused = [&](const std::string& content) {
    scratch.write(file, content);
    return refusal_of_tar(file);
  };
  CHECK(contains(refused("\x1f\x8b\x08 and so on"), "images.tar"));
  CHECK(contains(refused("\x1f\x8b\x08 and so on"), "decompress it first"));
  CHECK(contains(refused("\x28\xb5\x2f\xfd and so on"), "decompress it first"));
  CHECK(contains(refused(std::string(3000, 'x')), "images.tar"));
  CHECK(contains(refused(""), "images.tar"));
  for (const std::size_t end : {std::size_t{700}, std::size_t{1500}, std::size_t{1600}}) {
    INFO(end);
    CHECK(contains(refused(bytes.substr(0, end)), "images.tar"));
  }
  const std::size_t last = bytes.find("lll");
  CHECK(contains(refused(bytes.substr(0, last + 512)), "it ends within \"last\""));
  CHECK(contains(refusal_of_tar(scratch.folder() / "none.tar"), "none.tar"));
  CHECK(contains(refusal_of_tar(scratch.folder()), scratch.folder().string()));
}

TEST_CASE("a sparse file in a tar archive is refused since its bytes do not lie there contiguously") {
  const ScratchFolder scratch;
  {
    std::ofstream hole(scratch.folder() / "hole", std::ios::binary);
    hole.seekp(1 << 20);
    hole << "end";
  }
  const std::string command =
      "tar -C " + scratch.folder().string() + " --sparse -cf " + scratch.folder().string() + "/sparse.tar hole";
  REQUIRE(std::system(command.c_str()) == 0);
  CHECK(contains(refusal_of_tar(scratch.folder() / "sparse.tar"), "sparse file"));
  CHECK(contains(refusal_of_tar(scratch.folder() / "sparse.tar"), "hole"));
}

}  // namespace ddp
