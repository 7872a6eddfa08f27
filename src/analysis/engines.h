// Programs that use models and have switches of their own. The switches of one mean nothing to another, so that a
// setting of a fix whose place is one of these names is for that program alone.
#pragma once

#include <array>
#include <string_view>

namespace oomdoctor {

struct Engine {
  enum class Work { serves, runs, paints };
  std::string_view framework;  ///< in its own message; "" where it prints none
  std::string_view file;       ///< a part of the names of its files
  std::string_view name;
  Work work = Work::serves;  ///< requests of many, from a cache sized at its start; one by one; pictures
};
inline constexpr auto engines =
    std::to_array<Engine>({{"vllm", "/vllm/", "vLLM"},
                           {"sglang", "/sglang/", "SGLang"},
                           {"text-generation-inference", "text_generation_server", "TGI"},
                           {"tensorrt-llm", "/tensorrt_llm/", "TensorRT-LLM"},
                           {"lmdeploy", "/lmdeploy/", "LMDeploy"},
                           {"ollama", "/ollama/", "ollama", Engine::Work::runs},
                           {"llama.cpp", "/llama.cpp/", "llama.cpp", Engine::Work::runs},
                           {"comfyui", "ComfyUI/", "ComfyUI", Engine::Work::paints},
                           {"comfyui", "/comfy/", "ComfyUI", Engine::Work::paints},
                           {"", "stable-diffusion-webui/", "Stable Diffusion web UI", Engine::Work::paints}});

}  // namespace oomdoctor
