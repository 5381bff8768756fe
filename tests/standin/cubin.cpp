#include "tests/standin/cubin.hpp"

#include <elf.h>

#include <cstring>

#include "tests/standin/rules.hpp"

namespace llmcalc::standin {
namespace {

/// Argument of __cudaRegisterFatBinary.
struct Wrapper {
  std::uint32_t magic, version;
  const char* data;
  const void* unused;
};
constexpr std::uint32_t wrapper_magic = 0x466243b1, binary_magic = 0xba55ed50;

struct BinaryHeader {
  std::uint32_t magic;
  std::uint16_t version, header_bytes;
  std::uint64_t bytes;
};
struct EntryHeader {
  std::uint16_t kind, version;
  std::uint32_t header_bytes;
  std::uint64_t bytes;
  std::uint32_t compressed_bytes, unknown;
  std::uint16_t minor, major;
  std::uint32_t architecture;
};
constexpr std::uint16_t elf_kind = 2;

template <typename X>
X at(const char* p) {
  X x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

/// Attributes of a section .nv.info.KERNEL.
constexpr unsigned char with_bytes = 4, most_threads = 0x05, parameter = 0x17;

void read_attribute(Kernel& k, unsigned char which, const char* p) {
  if (which == most_threads)
    k.most_threads = at<std::uint32_t>(p) * at<std::uint32_t>(p + 4) * at<std::uint32_t>(p + 8);
  if (which != parameter) return;
  const auto ordinal = at<std::uint16_t>(p + 4);
  if (k.parameters.size() <= ordinal) k.parameters.resize(ordinal + 1U);
  k.parameters[ordinal] = {at<std::uint16_t>(p + 6), at<std::uint32_t>(p + 8) >> 18};
}
void read_attributes(Kernel& k, const char* p, std::uint64_t bytes) {
  for (const char* const end = p + bytes; p < end;) {
    const auto form = static_cast<unsigned char>(p[0]), which = static_cast<unsigned char>(p[1]);
    const auto size = at<std::uint16_t>(p + 2);
    p += 4;
    if (form != with_bytes) continue;
    read_attribute(k, which, p);
    p += size;
  }
}

/// Instructions have 16 bytes; the lowest 12 bits are the opcode.
void read_instructions(Kernel& k, const char* p, std::uint64_t bytes) {
  for (std::uint64_t i = 0; i + 16 <= bytes; i += 16) ++k.instructions[at<std::uint32_t>(p + i) & 0xfffU];
}

void read_section(Kernels& all, const std::string& name, const Elf64_Shdr& s, const char* bytes) {
  const auto kernel = [&](std::string_view prefix) -> Kernel* {
    if (!name.starts_with(prefix)) return nullptr;
    const std::string own = name.substr(prefix.size());
    all[own].name = own;
    return &all[own];
  };
  if (Kernel* const k = kernel(".nv.info.")) read_attributes(*k, bytes, s.sh_size);
  if (name.starts_with(".nv.shared.reserved")) return;
  if (Kernel* const k = kernel(".nv.shared.")) k->shared = s.sh_size;
  if (Kernel* const k = kernel(".text.")) read_instructions(*k, bytes, s.sh_size);
}

/// Registers and stack per thread, which .nv.info lists for every kernel by symbol index.
template <typename Name>
void read_threads(Kernels& all, const char* p, std::uint64_t bytes, const Name& name_of_symbol) {
  constexpr unsigned char registers = 0x2f, frame = 0x11;
  for (const char* const end = p + bytes; p < end;) {
    const auto form = static_cast<unsigned char>(p[0]), which = static_cast<unsigned char>(p[1]);
    if (form == with_bytes && (which == registers || which == frame)) {
      Kernel& k = all[name_of_symbol(at<std::uint32_t>(p + 4))];
      (which == registers ? k.registers : k.stack) = at<std::uint32_t>(p + 8);
    }
    p += 4 + (form == with_bytes ? at<std::uint16_t>(p + 2) : 0);
  }
}

Kernels kernels_of_elf(const char* elf) {
  const auto header = at<Elf64_Ehdr>(elf);
  const auto section = [&](unsigned i) { return at<Elf64_Shdr>(elf + header.e_shoff + i * sizeof(Elf64_Shdr)); };
  const char* const names = elf + section(header.e_shstrndx).sh_offset;
  const char *symbols = nullptr, *symbol_names = nullptr;
  Kernels all;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr s = section(i);
    read_section(all, names + s.sh_name, s, elf + s.sh_offset);
    if (s.sh_type != SHT_SYMTAB) continue;
    symbols = elf + s.sh_offset;
    symbol_names = elf + section(s.sh_link).sh_offset;
  }
  const auto name_of = [&](unsigned i) {
    return std::string(symbol_names + at<Elf64_Sym>(symbols + i * sizeof(Elf64_Sym)).st_name);
  };
  for (unsigned i = 0; i < header.e_shnum; ++i)
    if (const Elf64_Shdr s = section(i); std::string(names + s.sh_name) == ".nv.info")
      read_threads(all, elf + s.sh_offset, s.sh_size, name_of);
  return all;
}

}  // namespace

std::map<int, Kernels> kernels_of(const void* wrapper) {
  const auto& w = *static_cast<const Wrapper*>(wrapper);
  require(w.magic == wrapper_magic, "a fat binary of an unknown form is registered");
  const auto whole = at<BinaryHeader>(w.data);
  require(whole.magic == binary_magic, "a fat binary of an unknown form is registered");
  std::map<int, Kernels> all;
  const char* p = w.data + whole.header_bytes;
  for (const char* const end = p + whole.bytes; p < end;) {
    const auto entry = at<EntryHeader>(p);
    const char* const bytes = p + entry.header_bytes;
    if (entry.kind == elf_kind && std::memcmp(bytes, ELFMAG, SELFMAG) == 0)
      all[static_cast<int>(entry.architecture)].merge(kernels_of_elf(bytes));
    p = bytes + entry.bytes;
  }
  return all;
}

}  // namespace llmcalc::standin
