#pragma once
/// The arena of all tensors. It tracks live bytes by purpose and operator, and their peak.

#include <array>
#include <map>
#include <memory>
#include <string_view>

#include "calc/units.hpp"

namespace llmcalc::model {

enum class Purpose : std::uint8_t { weights, gradients, optimizer, activations, logits, kv_cache };
inline constexpr std::size_t purpose_count = 6;

/// The memory that backs the arena: the host's, or a device's.
class ArenaMemory {
 public:
  virtual ~ArenaMemory() = default;
  virtual void* allocate(Bytes bytes) = 0;
  virtual void release(void* data, Bytes bytes) = 0;
};

/// A buffer for dequantized values that the arena does not count: device kernels keep them in registers, block by
/// block, while the CPU code stores a whole tensor per running operator. The buffer grows to the largest request.
class Unpacked {
 public:
  explicit Unpacked(ArenaMemory& memory) : memory_(memory) {}
  ~Unpacked() { give(); }
  Unpacked(const Unpacked&) = delete;
  Unpacked& operator=(const Unpacked&) = delete;
  void* of(Bytes bytes) {
    if (bytes <= bytes_) return data_;
    give();
    data_ = memory_.allocate(bytes);
    bytes_ = bytes;
    return data_;
  }

 private:
  void give() {
    if (data_ != nullptr) memory_.release(data_, bytes_);
  }
  ArenaMemory& memory_;
  void* data_ = nullptr;
  Bytes bytes_;
};

class Arena;

/// One allocation, freed with its last owner.
class Buffer {
 public:
  Buffer(Arena& arena, Purpose purpose, std::string_view op, Bytes bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data() const { return data_; }
  Bytes bytes() const { return bytes_; }
  /// Attributes these bytes to `op`, the first operator whose gradient needs them. Later claims are ignored.
  void claim(std::string_view op);

 private:
  Arena& arena_;
  Purpose purpose_;
  std::string_view op_;
  bool claimed_ = false;
  Bytes bytes_;
  void* data_;
};

/// A shared handle to a buffer; may be null.
using Tensor = std::shared_ptr<Buffer>;

inline void* data(const Tensor& t) { return t ? t->data() : nullptr; }

/// Counts requested bytes exactly, excluding alignment and reuse in the underlying memory.
class Arena {
 public:
  explicit Arena(ArenaMemory& memory) : memory_(memory) {}

  /// The name `op` must outlive the arena.
  Tensor make(Purpose purpose, std::string_view op, Bytes bytes) {
    return std::make_shared<Buffer>(*this, purpose, op, bytes);
  }

  Bytes live(Purpose p) const { return live_[static_cast<std::size_t>(p)]; }
  Bytes live() const { return total_; }
  /// Peak bytes since the last reset.
  Bytes peak() const { return peak_; }
  void reset_peak() { peak_ = total_; }
  /// Raises the peak to the level that a replayed recording would have reached.
  void raise_peak(Bytes held) { peak_ = held > peak_ ? held : peak_; }
  /// Live bytes of each operator for this purpose.
  std::map<std::string_view, Bytes> by_operator(Purpose p) const;

 private:
  friend class Buffer;
  using Books = std::map<std::string_view, Bytes>;
  void* take(Purpose p, std::string_view op, Bytes bytes);
  void give(Purpose p, std::string_view op, void* data, Bytes bytes);
  void move(Purpose p, std::string_view from, std::string_view to, Bytes bytes);
  Books& books(Purpose p) { return books_[static_cast<std::size_t>(p)]; }

  ArenaMemory& memory_;
  std::array<Bytes, purpose_count> live_{};
  std::array<Books, purpose_count> books_;
  Bytes total_, peak_;
};

}  // namespace llmcalc::model
