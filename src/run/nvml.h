// NVIDIA's management library, loaded if the machine has it. It asks the driver at a thousandth of the cost of
// nvidia-smi.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace oomdoctor {

class Nvml {
 public:
  /// One GPU, numbered as nvidia-smi does. `used` is without what the driver keeps for itself. Bytes.
  struct Gpu {
    unsigned index = 0;
    std::string name;
    std::uint64_t used = 0, total = 0;
  };

  /// nullopt without the library, a driver or a GPU, and in a program without shared libraries.
  static std::optional<Nvml> load();
  Nvml(Nvml&& other) noexcept;
  ~Nvml();

  /// The GPUs that answer.
  std::vector<Gpu> read() const;

 private:
  struct Functions;
  explicit Nvml(Functions* functions) : functions_(functions) {}

  Functions* functions_;
};

}  // namespace oomdoctor
