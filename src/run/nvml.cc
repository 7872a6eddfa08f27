#include "run/nvml.h"

#ifndef OOMDOCTOR_NO_SHARED_LIBRARIES
#include <dlfcn.h>
#endif

#include <array>
#include <utility>

namespace oomdoctor {

#ifdef OOMDOCTOR_NO_SHARED_LIBRARIES

struct Nvml::Functions {};
std::optional<Nvml> Nvml::load() { return std::nullopt; }
Nvml::Nvml(Nvml&& other) noexcept : functions_(std::exchange(other.functions_, nullptr)) {}
Nvml::~Nvml() = default;
std::vector<Nvml::Gpu> Nvml::read() const { return {}; }

#else

namespace {

// The parts of the library's stable interface that are used here.
using Device = void*;
constexpr int success = 0;
struct Memory {
  unsigned long long total = 0, free = 0, used = 0;
};
struct Memory2 {
  unsigned version = sizeof(Memory2) | 2u << 24;
  unsigned long long total = 0, reserved = 0, free = 0, used = 0;
};
constexpr unsigned max_cards = 64;
constexpr std::size_t name_size = 96;

}  // namespace

struct Nvml::Functions {
  void* library = nullptr;
  int (*shutdown)() = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;
  int (*memory2)(Device, Memory2*) = nullptr;  ///< null in drivers before 510
  struct OpenDevice {
    unsigned index;
    Device device;
    std::string name;
  };
  std::vector<OpenDevice> cards;
};

std::optional<Nvml> Nvml::load() {
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::nullopt;
  auto* const functions = new Functions{.library = library, .cards = {}};
  Nvml loaded(functions);
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  int (*init)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, Device*) = nullptr;
  find(functions->memory2, "nvmlDeviceGetMemoryInfo_v2");
  if (!find(init, "nvmlInit_v2") || !find(count, "nvmlDeviceGetCount_v2") ||
      !find(handle, "nvmlDeviceGetHandleByIndex_v2") || !find(functions->name, "nvmlDeviceGetName") ||
      !find(functions->memory, "nvmlDeviceGetMemoryInfo") || init() != success)
    return std::nullopt;
  find(functions->shutdown, "nvmlShutdown");
  unsigned cards = 0;
  if (count(&cards) != success) return std::nullopt;
  for (unsigned i = 0; i < cards && i < max_cards; ++i) {
    Device device = nullptr;
    std::array<char, name_size> name{};
    if (handle(i, &device) != success) continue;
    functions->name(device, name.data(), name_size - 1);
    functions->cards.push_back({i, device, name.data()});
  }
  return functions->cards.empty() ? std::nullopt : std::optional(std::move(loaded));
}

Nvml::Nvml(Nvml&& other) noexcept : functions_(std::exchange(other.functions_, nullptr)) {}

Nvml::~Nvml() {
  if (functions_ == nullptr) return;
  if (functions_->shutdown != nullptr) functions_->shutdown();
  dlclose(functions_->library);
  delete functions_;
}

/// The first interface counts the driver's own memory as used, the second does not, as nvidia-smi.
std::vector<Nvml::Gpu> Nvml::read() const {
  std::vector<Gpu> out;
  for (const Functions::OpenDevice& card : functions_->cards) {
    Memory memory;
    Memory2 memory2;
    if (functions_->memory2 != nullptr && functions_->memory2(card.device, &memory2) == success)
      out.push_back({card.index, card.name, memory2.used, memory2.total});
    else if (functions_->memory(card.device, &memory) == success)
      out.push_back({card.index, card.name, memory.used, memory.total});
  }
  return out;
}

#endif

}  // namespace oomdoctor
