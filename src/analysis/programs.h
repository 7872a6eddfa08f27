// Programs with their own settings: their messages, their files and their properties. parsers/programs.toml has the
// words of their logs.
#pragma once

#include <array>
#include <string_view>

namespace oomdoctor {

/// A program, as its messages and files show it. One program may have several rows.
struct Program {
  enum class Work {
    serves,     ///< an inference server: many clients, a cache sized at its start
    runs,       ///< runs a model, one request after the other
    paints,     ///< generates images, and prints its sampler's steps
    boosts,     ///< gradient-boosted trees; its iterations are no training steps of a network
    simulates,  ///< many copies of a simulated world; the learner may run in the same process
    trains,     ///< a training library, also used for evaluation
  };
  std::string_view name;
  std::string_view framework;  ///< the name that its messages print; "" if none
  std::string_view file;       ///< a part of its file names; "" if it has none
  Work work = Work::serves;
  bool sees = false;  ///< its samples are images
};

inline constexpr auto programs = std::to_array<Program>({
    {"vLLM", "vllm", "/vllm/", Program::Work::serves},
    {"SGLang", "sglang", "/sglang/", Program::Work::serves},
    {"TGI", "text-generation-inference", "text_generation_server", Program::Work::serves},
    {"TensorRT-LLM", "tensorrt-llm", "/tensorrt_llm/", Program::Work::serves},
    {"LMDeploy", "lmdeploy", "/lmdeploy/", Program::Work::serves},
    {"ollama", "ollama", "/ollama/", Program::Work::runs},
    {"llama.cpp", "llama.cpp", "/llama.cpp/", Program::Work::runs},
    {"ExLlamaV2", "", "/exllamav2/", Program::Work::runs},
    {"CTranslate2", "ctranslate2", "/ctranslate2/", Program::Work::runs},
    {"AlphaFold", "", "/alphafold/", Program::Work::runs},
    {"lm-eval", "", "/lm_eval/", Program::Work::runs},
    {"Whisper", "", "/whisper/", Program::Work::runs},
    {"CatBoost", "catboost", "/catboost/", Program::Work::boosts},
    {"XGBoost", "xgboost", "/xgboost/", Program::Work::boosts},
    {"LightGBM", "lightgbm", "/lightgbm/", Program::Work::boosts},
    {"ComfyUI", "comfyui", "ComfyUI/", Program::Work::paints},
    {"ComfyUI", "comfyui", "/comfy/", Program::Work::paints},
    {"Stable Diffusion web UI", "", "stable-diffusion-webui", Program::Work::paints},
    {"Isaac", "physx", "/isaac", Program::Work::simulates},
    {"ManiSkill", "", "/mani_skill/", Program::Work::simulates},
    {"Genesis", "", "/genesis/", Program::Work::simulates},
    {"Warp", "warp", "/warp/", Program::Work::simulates},
    {"detectron2", "", "/detectron2/", Program::Work::trains, true},
    {"OpenMMLab", "", "/mmengine/", Program::Work::trains, true},
    {"OpenMMLab", "", "/mmdet", Program::Work::trains, true},
    {"OpenMMLab", "", "/mmcv/", Program::Work::trains, true},
    {"nnU-Net", "", "/nnunet", Program::Work::trains, true},
    {"ultralytics", "", "/ultralytics/", Program::Work::trains, true},
    {"EasyR1", "", "/EasyR1/", Program::Work::trains},
    {"verl", "", "/verl/", Program::Work::trains},
    {"Axolotl", "", "/axolotl/", Program::Work::trains},
    {"LLaMA-Factory", "", "/llamafactory/", Program::Work::trains},
    {"fairseq", "", "/fairseq/", Program::Work::trains},
    {"torchtune", "", "/torchtune/", Program::Work::trains},
    {"torchtitan", "", "/torchtitan/", Program::Work::trains},
    {"Gaussian splatting", "", "gaussian_model.py", Program::Work::trains, true},
    {"Gaussian splatting", "", "/gsplat/", Program::Work::trains, true},
});

/// The parsers whose matches identify a program.
struct ParserOfProgram {
  std::string_view parser, program;
};
inline constexpr auto parsers_of_programs = std::to_array<ParserOfProgram>({{"mmlab", "OpenMMLab"},
                                                                            {"detectron2", "detectron2"},
                                                                            {"axolotl", "Axolotl"},
                                                                            {"fairseq", "fairseq"},
                                                                            {"torchtitan", "torchtitan"},
                                                                            {"verl", "verl"},
                                                                            {"yolo", "ultralytics"}});

/// True for programs that do not train a network.
constexpr bool is_engine(Program::Work work) {
  return work == Program::Work::serves || work == Program::Work::runs || work == Program::Work::paints ||
         work == Program::Work::boosts;
}

}  // namespace oomdoctor
