#include "facts/gpu_models.h"

#include <string>

#include "catch.h"

using namespace oomdoctor;

TEST_CASE("the name of a GPU, as drivers print it, gives its memory", "[gpus]") {
  const auto name_of = [](std::string_view printed) {
    const auto model = find_gpu_model(printed);
    return model ? std::string(model->name) : std::string();
  };
  CHECK(name_of("NVIDIA A100-SXM4-80GB") == "A100-80GB");
  CHECK(name_of("NVIDIA A100 80GB PCIe") == "A100-80GB");
  CHECK(name_of("A100-PCIE-40GB") == "A100-40GB");
  CHECK(name_of("NVIDIA GeForce RTX 3090") == "RTX-3090");
  CHECK(name_of("GeForce RTX 3090 Ti") == "RTX-3090-Ti");
  CHECK(name_of("Tesla T4") == "T4");
  CHECK(name_of("Tesla V100-SXM2-32GB") == "V100-32GB");
  CHECK(name_of("NVIDIA H100 80GB HBM3") == "H100");
  CHECK(name_of("NVIDIA H100 NVL") == "H100-NVL");
  CHECK(name_of("NVIDIA RTX 6000 Ada Generation") == "RTX-6000-Ada");
  CHECK(name_of("NVIDIA L40S") == "L40S");
}

TEST_CASE("a name without a unique memory size gives none", "[gpus]") {
  for (const char* name : {"A100", "NVIDIA A100", "Tesla V100", "NVIDIA A100-SXM4-80GB MIG 1g.10gb",
                           "NVIDIA GeForce RTX 3080 Laptop GPU", "NVIDIA test card", ""})
    CHECK_FALSE(find_gpu_model(name));
}

TEST_CASE("GPU models are sorted by their memory", "[gpus]") {
  i64 last = 0;
  for (const GpuModel& model : gpu_models()) {
    CHECK(model.bytes() >= last);
    last = model.bytes();
    CHECK(find_gpu_model(model.name)->name == model.name);
  }
}
