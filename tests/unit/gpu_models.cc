#include "facts/gpu_models.h"

#include <string>
#include <utility>

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
    CHECK(find_gpu_by_short_name(model.name)->name == model.name);
    CHECK(model.bytes() >= last);
    last = model.bytes();
    CHECK(find_gpu_model(model.name)->name == model.name);
  }
}

TEST_CASE("GPU names as people type them", "[gpus]") {
  for (const auto& [typed, name] : {std::pair{"4090", "RTX-4090"},
                                    {"rtx4090", "RTX-4090"},
                                    {"3090ti", "RTX-3090-Ti"},
                                    {"RTX 2080 Ti", "RTX-2080-Ti"},
                                    {"1080", "GTX-1080"},
                                    {"a100-80g", "A100-80GB"},
                                    {"A100 40", "A100-40GB"},
                                    {"v100_32gb", "V100-32GB"},
                                    {"h100", "H100"},
                                    {"t4", "T4"},
                                    {"6000 ada", "RTX-6000-Ada"}}) {
    CAPTURE(typed);
    REQUIRE(find_gpu_by_short_name(typed));
    CHECK(find_gpu_by_short_name(typed)->name == name);
  }
  for (const char* open : {"a100", "v100", "", "80GB", "80", "gb", "16GB", "ti", "409", "super"}) {
    CAPTURE(open);
    CHECK_FALSE(find_gpu_by_short_name(open));
  }
}
