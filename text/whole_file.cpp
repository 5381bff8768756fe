#include "text/whole_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <mutex>
#include <random>
#include <utility>

#include "text/error.hpp"
#include "text/utf8.hpp"

namespace llmcalc {

namespace {

namespace fs = std::filesystem;

/// Syncs the folder, so the rename survives a crash. Ignores errors: some file systems do not support it, and the file
/// is already in place.
void sync_folder(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  const int file = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  ::fsync(file);
  ::close(file);
}

/// Names of files being written, which are removed when a signal ends the program. At most 16 files are removed.
std::array<std::atomic<const char*>, 16> unfinished{};
static_assert(std::atomic<const char*>::is_always_lock_free, "signal handlers read it");

void list_unfinished(const char* name) {
  for (std::atomic<const char*>& place : unfinished)
    if (const char* none = nullptr; place.compare_exchange_strong(none, name)) return;
}

void unlist(const char* name) {
  for (std::atomic<const char*>& place : unfinished)
    if (const char* expected = name; place.compare_exchange_strong(expected, nullptr)) return;
}

/// Returns a copy of the name that is never freed, because a signal handler may be reading it.
const char* kept_name(std::string name) {
  static std::mutex one_at_a_time;
  static std::deque<std::string>& all = *new std::deque<std::string>;
  const std::lock_guard lock(one_at_a_time);
  return all.emplace_back(std::move(name)).c_str();
}

/// A name with 64 random bits in the same folder as the path. A long file name is truncated because file systems limit
/// names to 255 bytes.
std::string drawn_name(const std::string& path) {
  constexpr std::size_t most = 200;
  const fs::path file(path);
  std::string name = file.filename().string();
  if (name.size() > most) name.resize(model::whole_length(std::string_view(name).substr(0, most)));
  std::random_device source;
  const std::uint64_t drawn = std::uint64_t{source()} << 32U | source();
  return (file.parent_path() / fmt::format("{}.{:016x}.tmp", name, drawn)).string();
}

/// The file descriptor of the standard stream (a file or a pipe) that the path refers to, such as /dev/stdout; absent
/// for any other file.
std::optional<int> stream_at(const std::string& path) {
  struct stat named {
  }, open{};
  if (::stat(path.c_str(), &named) != 0 || S_ISCHR(named.st_mode)) return std::nullopt;
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
    if (::fstat(stream, &open) == 0 && open.st_dev == named.st_dev && open.st_ino == named.st_ino) return stream;
  return std::nullopt;
}

}  // namespace

int write_all(int file, std::span<const std::byte> bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0 ? EIO : errno;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return 0;
}

bool is_replaced_by_write(const std::string& path) { return WholeFile::target_of(path).is_replaced; }

void remove_unfinished_files() noexcept {
  for (const std::atomic<const char*>& place : unfinished)
    if (const char* name = place.load()) ::unlink(name);
}

/// Determines which file a write to the path creates or replaces. Throws InputError if the path is a folder.
WholeFile::Target WholeFile::target_of(const std::string& path) {
  std::error_code unknown;
  const auto status = fs::status(path, unknown);
  if (status.type() == fs::file_type::none)  // the name is too long, or a folder cannot be searched
    throw InputError(fmt::format("cannot write '{}': {}", path, unknown.message()));
  if (is_directory(status)) throw InputError(fmt::format("cannot write '{}': it is a folder; pass a file name", path));
  Target target{.path = path, .stream = stream_at(path)};
  target.is_replaced = !target.stream && (!exists(status) || is_regular_file(status));
  if (!target.is_replaced) return target;
  if (exists(status)) target.mode = static_cast<mode_t>(status.permissions() & fs::perms::all);
  if (!is_symlink(fs::symlink_status(path, unknown))) return target;
  const auto linked = fs::weakly_canonical(path, unknown);
  if (!unknown) target.path = linked.string();
  return target;
}

WholeFile::WholeFile(const std::string& path) : target_(target_of(path)) {
  target_.is_replaced ? open() : open_in_place();
  if (!target_.mode || ::fchmod(file_, *target_.mode) == 0) return;
  const int reason = errno;
  remove();
  errno = reason;
  fail("cannot preserve its permissions: ");
}

/// Opens the target directly. For a pipe, blocks until there is a reader.
void WholeFile::open_in_place() {
  file_ = target_.stream ? ::fcntl(*target_.stream, F_DUPFD_CLOEXEC, 0)
                         : ::open(target_.path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file_ < 0) fail("");
}

/// Creates the new file. If it will replace an existing file, only the owner can read it until it gets that file's
/// permissions.
void WholeFile::open() {
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  for (int tries = 0; file_ < 0; ++tries) {
    const char* name = kept_name(drawn_name(target_.path));
    list_unfinished(name);
    file_ = ::open(name, flags, target_.mode ? 0600 : 0666);
    temporary_ = name;
    if (file_ >= 0) return;
    unlist(std::exchange(temporary_, nullptr));
    if (errno != EEXIST || tries == 100) fail("cannot create a file in its folder: ");
  }
}

WholeFile::~WholeFile() { remove(); }

void WholeFile::remove() noexcept {
  if (file_ >= 0) ::close(std::exchange(file_, -1));
  if (temporary_ == nullptr) return;
  ::unlink(temporary_);
  unlist(std::exchange(temporary_, nullptr));
}

void WholeFile::fail(const char* what) const {
  throw InputError(fmt::format("cannot write '{}': {}{}{}", target_.path, what, std::strerror(errno),
                               target_.is_replaced ? "; the file is unchanged" : ""));
}

void WholeFile::write(std::span<const std::byte> bytes) {
  errno = write_all(file_, bytes);
  if (errno != 0) fail("");
}

void WholeFile::finish() {
  if (!target_.is_replaced) return remove();
  if (::fsync(file_) != 0) fail("");
  if (::close(std::exchange(file_, -1)) != 0) fail("");
  if (std::rename(temporary_, target_.path.c_str()) != 0) fail("cannot rename the temporary file: ");
  unlist(std::exchange(temporary_, nullptr));
  sync_folder(target_.path);
}

}  // namespace llmcalc
