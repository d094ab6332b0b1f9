#include "launch/library/compile.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <list>
#include <sstream>

#include "base/error.h"
#include "base/installation.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/paths.h"
#include "config/option/fields.h"
#include "launch/library/libtorch.h"
#include "launch/library/plugin_cache.h"
#include "launch/process/child.h"
#include "launch/process/program.h"
#include "launch/process/stop_signals.h"
#include "record/file/atomic_file.h"
#include "record/file/input_file.h"

namespace ddp::launch {
namespace fs = std::filesystem;
namespace {

// A finished command: its exit code (128 + the signal that ended it), and its whole output.
struct Ended {
  int code = 0;
  std::string output;
};

// Replaces this process by the program; returns only if that fails.
int become(const std::vector<std::string>& command, const fs::path& temporary) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  setenv("TMPDIR", temporary.c_str(), 1);
  std::vector<char*> words;
  for (const auto& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words.front(), words.data());
  const std::string why = command.front() + ": " + errno_text(errno) + "\n";
  write_all(STDERR_FILENO, why.data(), why.size(), "stderr");
  return 127;
}

std::string text_in(int file) {
  std::string text(static_cast<std::size_t>(lseek(file, 0, SEEK_END)), '\0');
  const ssize_t size = pread(file, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, size)));
  return text;
}

// A running command. It leads a process group, which the destructor kills unless the command has ended.
class Running {
 public:
  Running(std::size_t number, const std::vector<std::string>& command, const fs::path& temporary)
      : number_(number), output_(memfd_create("said", MFD_CLOEXEC)) {
    if (!output_) throw training_error("cannot keep a compiler's output: " + errno_text(errno));
    child_ = fork_child({.descriptors = {}, .output = output_.get(), .supervises = true},
                        [&] { return become(command, temporary); });
  }
  ~Running() {
    if (child_.pid < 0) return;
    kill(-child_.pid, SIGKILL);
    kill(child_.pid, SIGKILL);  // it may not lead its group yet
    waitpid(child_.pid, nullptr, 0);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  std::size_t number() const { return number_; }
  int pidfd() const { return child_.pidfd.get(); }
  // Call it when the pidfd is readable.
  Ended end() {
    int status = 0;
    waitpid(std::exchange(child_.pid, -1), &status, 0);
    return {.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status),
            .output = text_in(output_.get())};
  }

 private:
  const std::size_t number_;
  const FileDescriptor output_;
  Child child_;
};

// Runs commands concurrently, at most one per core, and returns their results in order. Their temporary files go to
// `temporary`. If this process receives a stop signal, kills them with all their children and throws Stopped. Throws
// ddp::Error (training) if a command cannot be started.
std::vector<Ended> run_commands(const std::vector<std::vector<std::string>>& commands, const fs::path& temporary) {
  const BlockedStopSignals blocked;
  const sigset_t set = stop_signal_set();
  const FileDescriptor signals(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) throw training_error("cannot watch compilers: " + errno_text(errno));
  std::vector<Ended> ended(commands.size());
  std::list<Running> running;
  for (std::size_t next = 0; next < commands.size() || !running.empty();) {
    for (; next < commands.size() && std::ssize(running) < usable_cores(); ++next) {
      running.emplace_back(next, commands[next], temporary);
    }
    std::vector<pollfd> watched{{.fd = signals.get(), .events = POLLIN, .revents = 0}};
    for (const Running& one : running) watched.push_back({.fd = one.pidfd(), .events = POLLIN, .revents = 0});
    poll(watched.data(), watched.size(), -1);
    auto place = watched.begin();
    running.remove_if([&](Running& one) {
      const bool has_ended = (++place)->revents != 0;
      if (has_ended) ended[one.number()] = one.end();
      return has_ended;
    });
    signalfd_siginfo heard{};
    if (read(signals.get(), &heard, sizeof heard) == sizeof heard) {
      throw Stopped(128 + static_cast<int>(heard.ssi_signo),
                    "stopped by a signal while compiling; nothing was started");
    }
  }
  return ended;
}

constexpr const char* kHeader = "ddp.h";
constexpr const char* kHeadersPrefix = "headers-";
constexpr std::size_t kMostHeaders = 2;  // half a gigabyte each

std::string text_of_header(const Sdk& sdk) {
  std::string text;
  for (const std::string& header : sdk.precompile) text += "#include " + header + "\n";
  return text;
}

std::string key_of(const Sdk& sdk) {
  std::string all = build_id() + '\n' + sdk.identity + '\n' + text_of_header(sdk);
  for (const std::string& word : sdk.command()) all += word + '\n';
  return record::hash_hex(all);
}

// Returns whether the header exists, and marks it as used.
bool was_made(const fs::path& folder) {
  std::error_code none;
  if (!fs::exists(folder / kHeader, none)) return false;
  note_use(folder);
  return true;
}

// Returns the precompiled header that every source begins with: the build's, or one in this folder of the cache, which
// is made if it is missing (about 20 s, once for each build of this program). Empty: nothing can be precompiled. Throws
// ddp::Error, and Stopped.
fs::path precompiled_header(const Sdk& sdk, const fs::path& cache) {
  if (!sdk.precompiled.empty()) return sdk.precompiled;
  // Clang stores the path of a precompiled header, so it would not work after the folder is renamed.
  if (sdk.precompile.empty() || sdk.identity.find("clang") != std::string::npos) return {};
  const fs::path folder = cache / (kHeadersPrefix + key_of(sdk));
  if (was_made(folder)) return folder / kHeader;
  const FileDescriptor lock = lock_entry(folder);
  if (was_made(folder)) return folder / kHeader;
  log::info("compiling the headers of ddp-exp, once for this build");
  const UnfinishedFolder made(folder);
  record::write_atomically(made.path() / kHeader, text_of_header(sdk));
  std::vector<std::string> command = sdk.command();
  command.insert(command.end(), {"-x", "c++-header", "-o", (made.path() / kHeader).string() + ".gch",
                                 (made.path() / kHeader).string()});
  const Ended ended = run_commands({command}, made.path()).front();
  if (ended.code != 0) {
    throw usage_error("the headers of ddp-exp cannot be compiled:\n" + ended.output, sdk.compiler.front(),
                      "use the compiler that built ddp-exp, or a newer one of its kind");
  }
  paths::rename(made.path(), folder);
  paths::remove_oldest(cache, kHeadersPrefix, "", kMostHeaders);
  return folder / kHeader;
}

constexpr const char* kCompilerRemedy = "install a C++20 compiler (Debian and Ubuntu: package g++), or name one: CXX=…";

// sdk.json.
struct SdkFile {
  std::string compiler;
  std::string compiler_version;
  std::vector<std::string> flags;
  std::vector<std::string> includes;
  std::vector<std::string> precompile;
  std::string precompiled;
  std::string torch;

  void fields(config::Fields& f) {
    f({.name = "compiler"}, compiler);
    f({.name = "compiler_version"}, compiler_version);
    f({.name = "flags"}, flags);
    f({.name = "includes"}, includes);
    f({.name = "precompile"}, precompile);
    f({.name = "precompiled"}, precompiled);
    f({.name = "torch"}, torch);
  }
};

SdkFile read_file(const fs::path& file) try {
  return config::read<SdkFile>(config::Value::parse(record::read_text(file)));
} catch (const config::Value::exception&) {
  throw usage_error("is damaged", file.string(), how_to_mend());
} catch (const Error& error) {
  throw usage_error(error.summary() + ": it tells how to compile the files of `sources`", file.string(), how_to_mend());
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// A newer compiler of the same name gets another identity.
std::string identity_of(const std::string& file) {
  struct stat s {};
  stat(file.c_str(), &s);
  return file + " " + std::to_string(s.st_size) + " " + std::to_string(s.st_mtim.tv_sec);
}

fs::path include_folder(const std::string& written, const fs::path& sdk, const fs::path& torch) {
  constexpr std::string_view kTorch = "${torch}";
  if (written.starts_with(kTorch)) return torch.string() + written.substr(kTorch.size());
  return (sdk / written).lexically_normal();
}

constexpr std::uint64_t kMostSourceBytes = 16 << 20;  // limit for a hand-written file

// Returns the files after the colon of a make rule.
std::vector<std::string> prerequisites(const std::string& rule) {
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < rule.size(); ++i) {
    const char c = rule[i];
    const char next = i + 1 < rule.size() ? rule[i + 1] : '\0';
    if (c == '\\' && next == '\n') {
      ++i;
    } else if ((c == '\\' && (next == ' ' || next == '#' || next == '\\')) || (c == '$' && next == '$')) {
      words.back() += next;
      ++i;
    } else if (c == ' ' || c == '\n') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  words.erase(std::remove(words.begin(), words.end(), ""), words.end());
  if (!words.empty()) words.erase(words.begin());  // the target
  return words;
}

bool lies_in(const fs::path& file, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
}

fs::path part(const fs::path& made, std::size_t number, const char* ending) {
  return made / (std::to_string(number) + ending);
}

std::vector<std::string> command_for(const Sdk& sdk, const fs::path& header, const fs::path& source,
                                     const fs::path& made, std::size_t number) {
  std::vector<std::string> command = sdk.command();
  if (isatty(STDERR_FILENO) != 0) command.emplace_back("-fdiagnostics-color=always");
  if (!header.empty()) command.insert(command.end(), {"-include", header.string()});
  command.insert(command.end(), {"-MMD", "-MF", part(made, number, ".d").string(), "-c", source.string(), "-o",
                                 part(made, number, ".o").string()});
  return command;
}

// Prints the compiler's output unchanged, unless the command succeeded under --quiet.
void show(const Ended& ended) {
  if (ended.code == 0 && log::verbosity() == log::Verbosity::quiet) return;
  log::print(ended.output);
}

void link(const Sdk& sdk, std::size_t count, const fs::path& made) {
  std::vector<std::string> command = sdk.compiler;
  command.insert(command.end(), sdk.flags.begin(), sdk.flags.end());
  command.insert(command.end(), {"-shared", "-o", (made / "plugin.so").string()});
  for (std::size_t i = 0; i < count; ++i) command.push_back(part(made, i, ".o").string());
  const Ended linked = run_commands({command}, made).front();
  show(linked);
  if (linked.code != 0) throw usage_error("the files of `sources` cannot be linked; the lines above say why");
}

}  // namespace

std::vector<std::string> Sdk::command() const {
  std::vector<std::string> words = compiler;
  words.insert(words.end(), flags.begin(), flags.end());
  for (const fs::path& folder : includes) {
    words.emplace_back("-isystem");
    words.push_back(folder.string());
  }
  return words;
}

Sdk read_sdk() {
  const fs::path file = program_folder() / "sdk.json";
  const SdkFile written = read_file(file);
  const char* chosen = std::getenv("CXX");
  const bool is_chosen = chosen != nullptr && *chosen != '\0';
  Sdk sdk;
  sdk.compiler = is_chosen ? words_of(chosen) : std::vector{written.compiler};
  std::string compiler = sdk.compiler.empty() ? "" : program_file(sdk.compiler.front());
  if (compiler.empty() && !is_chosen) {
    // The compiler may be in another folder than on the build machine.
    sdk.compiler = {fs::path(written.compiler).filename().string()};
    compiler = program_file(sdk.compiler.front());
    if (compiler.empty()) sdk.compiler = {"g++"};
    if (compiler.empty()) compiler = program_file("g++");
  }
  if (compiler.empty()) {
    throw usage_error("this compiler, which the files of `sources` need, does not exist",
                      is_chosen ? std::string("CXX=") + chosen : written.compiler, kCompilerRemedy);
  }
  sdk.identity = identity_of(compiler);
  sdk.flags = written.flags;
  const fs::path found = libtorch_folder();
  const fs::path torch = found.empty() ? fs::path(written.torch) : found;
  for (const std::string& folder : written.includes) {
    sdk.includes.push_back(include_folder(folder, file.parent_path(), torch));
  }
  sdk.precompile = written.precompile;
  std::error_code none;
  if (sdk.compiler.size() == 1 && compiler == written.compiler && !written.precompiled.empty() &&
      fs::exists(written.precompiled + ".gch", none)) {
    sdk.precompiled = written.precompiled;
  }
  return sdk;
}

std::string file_names(const std::vector<fs::path>& files) {
  std::string names;
  for (const fs::path& file : files) names += (names.empty() ? "" : ", ") + file.filename().string();
  return names;
}

SourceTexts::SourceTexts(std::vector<fs::path> sources) : sources_(std::move(sources)), files_(sources_) {
  for (const fs::path& source : sources_) texts_.push_back(record::read_text(source, kMostSourceBytes));
}

bool SourceTexts::add(const std::vector<HeaderPlace>& headers) try {
  for (const HeaderPlace& header : headers) {
    const auto& [number, name] = header;
    if (number >= sources_.size()) return false;
    const fs::path file = (sources_[number].parent_path() / name).lexically_normal();
    headers_.push_back(header);
    if (std::find(files_.begin(), files_.end(), file) != files_.end()) continue;
    texts_.push_back(record::read_text(file, kMostSourceBytes));
    files_.push_back(file);
  }
  return true;
} catch (const Error&) {
  return false;
}

bool SourceTexts::changed() const {
  return std::any_of(files_.begin(), files_.end(), [&](const fs::path& file) {
    std::error_code gone;
    return fs::last_write_time(file, gone) >= read_ || gone;
  });
}

std::vector<HeaderPlace> SourceTexts::headers_in(const std::string& dependencies, std::size_t number,
                                                 const std::vector<fs::path>& others) const {
  std::vector<HeaderPlace> headers;
  for (const std::string& word : prerequisites(dependencies)) {
    const fs::path file = fs::path(word).lexically_normal();
    const bool others_have_it =
        std::any_of(others.begin(), others.end(), [&](const fs::path& other) { return lies_in(file, other); });
    if (others_have_it || file == sources_[number]) continue;
    headers.emplace_back(number, file.lexically_relative(sources_[number].parent_path()).string());
  }
  return headers;
}

std::string SourceTexts::hash_of_sources() const {
  std::string all;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    all += sources_[i].filename().string() + '\0' + record::hash_hex(texts_[i]) + '\n';
  }
  return record::hash_hex(all);
}

std::string SourceTexts::hash_of_all() const {
  std::string all;
  for (const auto& [number, name] : headers_) all += std::to_string(number) + ' ' + name + '\n';
  for (const std::string& text : texts_) all += record::hash_hex(text) + '\n';
  for (const std::string& name : names()) all += name + '\0';
  return record::hash_hex(all);
}

fs::path SourceTexts::common_folder() const {
  fs::path common = files_.front().parent_path();
  for (const fs::path& file : files_) {
    while (!lies_in(file, common)) common = common.parent_path();
  }
  return common;
}

std::vector<std::string> SourceTexts::names() const {
  const fs::path common = common_folder();
  std::vector<std::string> names;
  for (const fs::path& file : files_) names.push_back(file.lexically_relative(common).string());
  return names;
}

void SourceTexts::write(const fs::path& folder) const {
  const std::vector<std::string> all = names();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const fs::path file = folder / all[i];
    paths::make_folders(file.parent_path());
    record::write_atomically(file, texts_[i]);
  }
}

std::vector<HeaderPlace> compile(const Sdk& sdk, const fs::path& cache, const SourceTexts& texts,
                                 const fs::path& made) {
  const fs::path header = precompiled_header(sdk, cache);
  const std::vector<fs::path>& sources = texts.sources();
  log::info("compiling " + file_names(sources));
  std::vector<std::vector<std::string>> commands;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    commands.push_back(command_for(sdk, header, sources[i], made, i));
  }
  const std::vector<Ended> ended = run_commands(commands, made);
  std::vector<fs::path> failed;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    show(ended[i]);
    if (ended[i].code != 0) failed.push_back(sources[i]);
  }
  if (!failed.empty()) {
    throw usage_error("does not compile; the lines above say why", file_names(failed), "correct it and try again");
  }
  link(sdk, sources.size(), made);
  std::vector<fs::path> others = sdk.includes;
  if (!header.empty()) others.push_back(header.parent_path());
  std::vector<HeaderPlace> headers;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto found = texts.headers_in(record::read_text(part(made, i, ".d")), i, others);
    headers.insert(headers.end(), found.begin(), found.end());
    std::error_code gone;
    for (const char* ending : {".o", ".d"}) fs::remove(part(made, i, ending), gone);
  }
  return headers;
}

}  // namespace ddp::launch
