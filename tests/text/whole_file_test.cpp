// WholeFile replaces a file completely or not at all, and touches no other file.

#include "text/whole_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/catch.hpp"
#include "tests/sentence.hpp"
#include "text/file_exists.hpp"

using namespace llmcalc;
namespace fs = std::filesystem;

namespace {

/// A temporary folder, removed with its test.
struct Folder {
  std::string path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "whole-file-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string file(const std::string& name) const { return path + "/" + name; }
  void write(const std::string& name, const std::string& text) const { std::ofstream(file(name)) << text; }
  std::string read(const std::string& name) const {
    std::ifstream in(file(name), std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& entry : fs::directory_iterator(path)) all.insert(entry.path().filename().string());
    return all;
  }
};

void put(const std::string& path, const std::string& text) {
  WholeFile file(path);
  file.write(std::as_bytes(std::span(text)));
  file.finish();
}

unsigned mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 0777U;
}

/// Exit status of a child process that runs f and then calls _exit(0).
template <typename F>
int child(const F& f) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    f();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("an existing FILE.tmp is left untouched, whether it is a file, a link or a pipe", "[whole_file]") {
  const Folder folder;
  folder.write("keep.txt", "mine");
  folder.write("a.tmp", "mine, too");
  fs::create_symlink("keep.txt", folder.file("b.tmp"));
  REQUIRE(::mkfifo(folder.file("c.tmp").c_str(), 0600) == 0);
  for (const char* name : {"a", "b", "c"}) {
    const WholeFile probe(folder.file(name));
  }
  CHECK(folder.names() == std::set<std::string>{"a.tmp", "b.tmp", "c.tmp", "keep.txt"});
  for (const char* name : {"a", "b", "c"}) put(folder.file(name), "new");
  CHECK(folder.names() == std::set<std::string>{"a", "a.tmp", "b", "b.tmp", "c", "c.tmp", "keep.txt"});
  CHECK(folder.read("a.tmp") == "mine, too");
  CHECK(folder.read("keep.txt") == "mine");
  CHECK(folder.read("b") == "new");
  CHECK_FALSE(fs::is_symlink(folder.file("b")));
}

TEST_CASE("a replaced file keeps its permissions, and a new file follows the umask", "[whole_file]") {
  const Folder folder;
  const mode_t before = ::umask(027);
  for (const mode_t mode : {0600U, 0644U, 0400U}) {
    folder.write("old", "old");
    REQUIRE(::chmod(folder.file("old").c_str(), mode) == 0);
    put(folder.file("old"), "new");
    CHECK(folder.read("old") == "new");
    CHECK(mode_of(folder.file("old")) == mode);
    REQUIRE(fs::remove(folder.file("old")));
  }
  put(folder.file("fresh"), "new");
  ::umask(before);
  CHECK(mode_of(folder.file("fresh")) == 0640U);
}

TEST_CASE("replacing through a symbolic link keeps the link and replaces its target", "[whole_file]") {
  const Folder folder;
  folder.write("target", "old");
  fs::create_symlink("target", folder.file("link"));
  put(folder.file("link"), "new");
  CHECK(fs::is_symlink(folder.file("link")));
  CHECK(folder.read("target") == "new");
  CHECK(folder.names() == std::set<std::string>{"link", "target"});
}

TEST_CASE("writing to a pipe keeps the pipe and creates no file in its folder", "[whole_file]") {
  const Folder folder;
  REQUIRE(::mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  const pid_t writer = ::fork();
  if (writer == 0) {
    put(folder.file("pipe"), "through");
    ::_exit(0);
  }
  CHECK(folder.read("pipe") == "through");
  ::waitpid(writer, nullptr, 0);
  CHECK(fs::is_fifo(folder.file("pipe")));
  CHECK(folder.names() == std::set<std::string>{"pipe"});
  CHECK_FALSE(is_replaced_by_write(folder.file("pipe")));
  CHECK_FALSE(is_replaced_by_write("/dev/null"));
  CHECK(is_replaced_by_write(folder.file("new")));
}

TEST_CASE("a file that is also standard output gets the bytes in order with the program's own output", "[whole_file]") {
  const Folder folder;
  const int status = child([&] {
    const int file = ::open(folder.file("out").c_str(), O_WRONLY | O_CREAT, 0600);
    ::dup2(file, STDOUT_FILENO);
    const std::string before = "before ", after = " after";
    write_all(STDOUT_FILENO, std::as_bytes(std::span(before)));
    put("/dev/stdout", "between");
    write_all(STDOUT_FILENO, std::as_bytes(std::span(after)));
  });
  CHECK(status == 0);
  CHECK(folder.read("out") == "before between after");
  CHECK(folder.names() == std::set<std::string>{"out"});
}

TEST_CASE("a file name of the maximum length can be written", "[whole_file]") {
  const Folder folder;
  const std::string longest(255, 'a');
  put(folder.file(longest), "new");
  CHECK(folder.names() == std::set<std::string>{longest});
  CHECK(test::sentence([&] { const WholeFile probe(folder.file(longest + "a")); }) ==
        "cannot write '" + folder.file(longest + "a") + "': File name too long");
}

TEST_CASE("concurrent writers of a file leave one complete version, and readers never see a partial one",
          "[whole_file]") {
  const Folder folder;
  constexpr std::size_t bytes = 200'000;
  put(folder.file("f"), std::string(bytes, 'a'));
  std::vector<pid_t> writers;
  for (const char letter : {'b', 'c', 'd'}) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      const std::string half(bytes / 2, letter);
      for (int i = 0; i < 20; ++i) {
        WholeFile file(folder.file("f"));
        file.write(std::as_bytes(std::span(half)));
        file.write(std::as_bytes(std::span(half)));
        file.finish();
      }
      ::_exit(0);
    }
    writers.push_back(pid);
  }
  const auto is_whole = [&] {
    const std::string text = folder.read("f");
    return text == std::string(bytes, text.empty() ? ' ' : text[0]);
  };
  int torn = 0;
  for (int i = 0; i < 200; ++i) torn += is_whole() ? 0 : 1;
  for (const pid_t pid : writers) {
    int status = -1;
    ::waitpid(pid, &status, 0);
    CHECK(status == 0);
  }
  CHECK(torn == 0);
  CHECK(is_whole());
  CHECK(folder.names() == std::set<std::string>{"f"});
}

TEST_CASE("a signal in the middle of a write leaves no temporary file", "[whole_file]") {
  const Folder folder;
  folder.write("f", "old");
  const int status = child([&] {
    std::signal(SIGTERM, [](int) {
      remove_unfinished_files();
      ::_exit(7);
    });
    WholeFile file(folder.file("f"));
    const std::string half = "half of";
    file.write(std::as_bytes(std::span(half)));
    std::raise(SIGTERM);
  });
  CHECK(WEXITSTATUS(status) == 7);
  CHECK(folder.names() == std::set<std::string>{"f"});
  CHECK(folder.read("f") == "old");
}

TEST_CASE("file_exists throws if the system refuses the lookup", "[whole_file]") {
  const Folder folder;
  folder.write("f", "");
  CHECK(file_exists(folder.file("f")));
  CHECK(file_exists(folder.path));
  CHECK_FALSE(file_exists(folder.file("g")));
  CHECK_FALSE(file_exists(folder.file(std::string(300, 'a'))));  // the name is too long to exist
  fs::create_symlink("x", folder.file("x"));
  CHECK(test::sentence([&] { file_exists(folder.file("x")); }) ==
        "cannot access '" + folder.file("x") + "': Too many levels of symbolic links");
}
