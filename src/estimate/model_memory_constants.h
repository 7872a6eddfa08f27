// Every constant of the memory model, with its source. Bytes are per element unless the name shows otherwise.
#pragma once

#include "estimate/model_memory.h"

namespace oomdoctor::model_memory {

/// Bytes of a trained parameter by precision, without the optimizer's moments.
struct Recipe {
  double weights, gradients, main_gradients, master, moment;  // the last: of one moment
};
constexpr Recipe recipe_of(Precision precision) {
  switch (precision) {
    case Precision::fp32:
    case Precision::autocast:  // casts weights for each pass, keeps everything in fp32 (torch.amp)
      return {4, 4, 0, 0, 4};
    case Precision::mixed:  // ZeRO, arXiv 1910.02054, section 3.1: 2 + 2 + 12
      return {2, 2, 0, 4, 4};
    case Precision::mixed_fp32_gradients:  // Megatron-LM, docs of the distributed optimizer: 18
      return {2, 4, 0, 4, 4};
    case Precision::mixed_two_gradients:  // the same page: 20; DeepSpeed's estimators of ZeRO-2 use the same sum
      return {2, 2, 4, 4, 4};
    case Precision::pure_16bit:
      return {2, 2, 0, 0, 2};
  }
  return {};
}
inline constexpr Recipe adapter_recipe = {4, 4, 0, 0, 4};  // peft keeps adapters in fp32 (autocast_adapter_dtype)

/// The moments that an optimizer keeps for each parameter. own_bytes: bytes of one moment; 0 means that of the
/// precision.
struct States {
  int moments;
  double own_bytes;
  bool factored;  // rows and columns of each matrix in fp32 (Adafactor, arXiv 1804.04235)
};
constexpr States states_of(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::sgd:
      return {0, 0, false};
    case Optimizer::sgd_momentum:
    case Optimizer::lion:
      return {1, 0, false};
    case Optimizer::adam:
      return {2, 0, false};
    case Optimizer::adam_8bit:  // bitsandbytes; tensors below 4096 elements stay in 32 bits, which is negligible
      return {2, 1, false};
    case Optimizer::adafactor:
      return {0, 0, true};
    case Optimizer::adafactor_momentum:
      return {1, 0, true};
  }
  return {};
}

// Frozen, quantised weights
inline constexpr double eight_bit = 1;
inline constexpr double four_bit = 4.127 / 8;  // NF4 with double quantisation (QLoRA, arXiv 2305.14314, section 3)
inline constexpr double sixteen_bit = 2, fp32 = 4;

// Activations of one layer, in bytes per token and hidden unit with 16-bit numbers. "fixed" bytes do not double in
// fp32; tensor parallelism divides the "split" bytes.
struct LayerBytes {
  double shared, fixed, split, split_per_width;  // the last: for each hidden unit that the MLP has per hidden unit
};
// Korthikanti et al. 2022 (arXiv 2205.05198), table 2: 34 = 10 + 24 for an MLP four times as wide as the hidden size;
// two dropout masks of one byte are fixed. Megatron-LM's theoretical_memory_usage.py uses 18 + 4 × width, which is the
// same.
inline constexpr LayerBytes classic_layer = {10, 2, 8, 4};
// Decoders with RMSNorm and a gated MLP, counted operation by operation as transformers runs them: two norms with an
// fp32 copy and a 16-bit result each, two inputs of linear layers; query, key, value, output; four tensors of the MLP's
// width. Llama-3.1-8B: 52, measured 28 copies of 2 bytes (stas00/ml-engineering, training/performance).
inline constexpr LayerBytes gated_layer = {16, 8, 8, 8};
// Diffusion transformers (DiT, arXiv 2212.09748; MMDiT, arXiv 2403.03206), counted operation by operation as diffusers
// runs them. Attention and MLP each: the residual, the norm's result, the same with scale and shift, and what the block
// puts out before its gate; query, key, value, output; of the MLP's width the input and output of GELU.
inline constexpr LayerBytes modulated_layer = {16, 0, 8, 4};
inline constexpr double query_norms = 4;     // queries and keys before their norms
inline constexpr double text_attention = 6;  // query, output, residual
// Attention and MLP from one norm: half of the shared bytes. Their results become one tensor, which a linear layer
// keeps.
inline constexpr double joined_output = 2;
// UNets, counted in the same way (diffusers, ResnetBlock2D and BasicTransformerBlock), in bytes per number of a
// channel. A residual block keeps the inputs of two norms, two activations and two convolutions. A transformer keeps
// the inputs of a norm and of two projections, and in each layer those of three norms and their linear layers; query,
// key, value and output; query and output of the attention to the text; the MLP with its gate, 16 hidden sizes wide.
struct UnetBytes {
  double residual, shortcut, transformer, layer;  // shortcut: of a block whose channels change
};
inline constexpr UnetBytes unet_16bit = {6, 0, 6, 56}, unet_autocast = {10, 2, 8, 62};  // autocast: norms in fp32
// Without a backward pass, in numbers. A convolution has its block's input twice (as it is, and activated), its output,
// and what cuDNN copies to its own layout: the input and the output. A transformer has two residuals, the norm's result
// and the MLP.
inline constexpr double conv_inputs = 3, conv_outputs = 2, transformer_numbers = 19;
// The VAE (AutoencoderKL, in all published models with the same channels) needs most in the first block at full
// resolution. cuDNN may take about as much again as workspace, if that much is free: ComfyUI and InvokeAI, which
// measured it, plan with 2178 and 2200 numbers per pixel.
inline constexpr double decoder_numbers = conv_inputs * 256 + conv_outputs * 128;
inline constexpr double encoder_numbers = conv_inputs * 128 + conv_outputs * 128;
inline constexpr double decoder_error = 0.5;
inline constexpr double latent_pixels = 64;  // of an image for one number of a channel of the latents

// Without a backward pass, a tensor is freed after its last use, and an MLP needs most: of the hidden size live the
// embeddings (a variable of the model's loop in transformers), the residual and the MLP's input; of the MLP's width the
// gate's activation, the other projection and their product, or without a gate the activation's input and output.
inline constexpr double passing_hidden = 3, passing_widths_gated = 3, passing_widths = 2;
inline constexpr double layer_blocks = 2;   // of a layer: attention and MLP, with the same shared bytes
inline constexpr double classic_width = 4;  // MLP width if unknown, in hidden sizes; as in the paper
inline constexpr double activation_error =
    0.30;  // relative; kernels and frameworks differ by this much in what they keep or fuse
// Bytes per active expert: its copy of the token, and its result before the weighted sum (transformers, Megatron-LM).
inline constexpr double routed = 4;
// Bytes per number of a short vector of latent attention: itself, the fp32 copy of its norm, the norm's result.
inline constexpr double latent_vector = 8;
inline constexpr double checkpoint = 2;  // the input of a layer, the only tensor that full checkpointing keeps
inline constexpr double scores = 4, scores_mask = 1;  // of attention: softmax and dropout output; dropout mask

// KV caches of fewer bits: fp8 as vLLM keeps it; 4 bits with a scale and a shift of 16 bits for each 64 numbers, as the
// quantised cache of transformers keeps it.
inline constexpr double eight_bit_cache = 1;
inline constexpr double four_bit_cache = (4 + 32.0 / 64) / 8;

// Logits and loss, in bytes per logit
inline constexpr double plain_loss = 12, plain_loss_error = 4;  // 6 to 16, depending on fusion; 12 for an HF-style loss
inline constexpr double fused_loss_extra = 4;                   // logits in their own precision, plus one fp32 copy
// The logits of one chunk take as much memory as the hidden states, rounded up to a power of two (Liger-Kernel,
// ops/fused_linear_cross_entropy.py): at most twice two bytes per token and hidden unit.
inline constexpr double chunked_loss_per_hidden = 4;

// Sharding and communication
inline constexpr double gathered_units =
    2;  // layers that FSDP and ZeRO-3 gather at a time: the current one and the next
inline constexpr double zero_bucket_elements = 5e8;   // reduce_bucket_size and allgather_bucket_size of DeepSpeed
inline constexpr double zero_buckets = 2;             // buckets, in 16 bits each
inline constexpr double host_factor = 1.5;            // buffers and pinning, from DeepSpeed's estimators of CPU memory
inline constexpr double host_optimizer_sharded = 16;  // host bytes per parameter, ZeRO-3 with optimizer offload
inline constexpr double host_all_sharded = 18;        // … with parameter offload too
inline constexpr double host_per_rank =
    4;  // stages 0 to 2: bytes per parameter, because every rank builds the model in fp32 …
inline constexpr double host_least = 16;  // … and at least this for the states

// The process's own CUDA context and kernels, NCCL, workspaces. One GPU: 0.1 to 1.2 GiB; several: 0.5 to 3 GiB
// (stas00/ml-engineering debug; messages in PyTorch issues).
inline constexpr Bytes context_one = {665 * MiB, 563 * MiB};
inline constexpr Bytes context_several = {1792 * MiB, 1280 * MiB};

inline constexpr double margin_share = 0.05;  // of the GPU: rounding of the allocator, fragments, jitter of the input

}  // namespace oomdoctor::model_memory
