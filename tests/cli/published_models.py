"""Sizes of published models as their config.json names them, and the totals of parameters that their files hold.

Numbers of public record: the configurations and the safetensors headers of the models on their hub."""


def decoder(total, kind, hidden, layers, heads, width, vocabulary, kv=None, **more):
    fields = {"model_type": kind, "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
              "num_key_value_heads": kv or heads, "intermediate_size": width, "vocab_size": vocabulary,
              "hidden_act": "silu", "tie_word_embeddings": False, **more}
    return total, fields


def gpt2(total, hidden, layers, heads):
    return total, {"model_type": "gpt2", "n_embd": hidden, "n_layer": layers, "n_head": heads, "vocab_size": 50257,
                   "n_positions": 1024, "activation_function": "gelu_new"}


def neox(total, hidden, layers, heads, width, vocabulary):
    return total, {"model_type": "gpt_neox", "hidden_size": hidden, "num_hidden_layers": layers,
                   "num_attention_heads": heads, "intermediate_size": width, "vocab_size": vocabulary,
                   "hidden_act": "gelu", "tie_word_embeddings": False}


def opt(total, hidden, layers, heads, width):
    return total, {"model_type": "opt", "hidden_size": hidden, "num_hidden_layers": layers, "ffn_dim": width,
                   "num_attention_heads": heads, "max_position_embeddings": 2048, "vocab_size": 50272,
                   "word_embed_proj_dim": hidden, "activation_function": "relu"}


def t5(total, model, width, layers, heads, size, vocabulary=32128, gated=False):
    return total, {"model_type": "t5", "is_encoder_decoder": True, "d_model": model, "d_ff": width, "num_layers": layers,
                   "num_decoder_layers": layers, "num_heads": heads, "d_kv": size, "vocab_size": vocabulary,
                   "feed_forward_proj": "gated-gelu" if gated else "relu", "tie_word_embeddings": not gated}


def bart(total, model, layers, heads, width):
    return total, {"model_type": "bart", "is_encoder_decoder": True, "d_model": model, "encoder_layers": layers,
                   "decoder_layers": layers, "encoder_ffn_dim": width, "decoder_ffn_dim": width, "num_hidden_layers": layers,
                   "encoder_attention_heads": heads, "max_position_embeddings": 1024, "vocab_size": 50265}


def whisper(total, model, layers, vocabulary=51865, mels=80):
    return total, {"model_type": "whisper", "is_encoder_decoder": True, "d_model": model, "encoder_layers": layers,
                   "decoder_layers": layers, "encoder_ffn_dim": 4 * model, "decoder_ffn_dim": 4 * model,
                   "max_source_positions": 1500, "max_target_positions": 448, "num_mel_bins": mels,
                   "num_hidden_layers": layers, "vocab_size": vocabulary}


def bert(total, hidden, layers, heads, vocabulary, kind="bert", positions=512, types=2):
    return total, {"model_type": kind, "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
                   "intermediate_size": 4 * hidden, "vocab_size": vocabulary, "max_position_embeddings": positions,
                   "type_vocab_size": types, "hidden_act": "gelu"}


PUBLISHED = {
    "gpt2": gpt2(124_439_808, 768, 12, 12),
    "gpt2-medium": gpt2(354_823_168, 1024, 24, 16),
    "gpt2-large": gpt2(774_030_080, 1280, 36, 20),
    "gpt2-xl": gpt2(1_557_611_200, 1600, 48, 25),
    "bert-base-uncased": bert(109_482_240, 768, 12, 12, 30522),
    "bert-large-uncased": bert(335_141_888, 1024, 24, 16, 30522),
    "roberta-base": bert(124_645_632, 768, 12, 12, 50265, "roberta", 514, 1),
    "roberta-large": bert(355_359_744, 1024, 24, 16, 50265, "roberta", 514, 1),
    "distilbert-base": (66_362_880, {"model_type": "distilbert", "dim": 768, "n_layers": 6, "n_heads": 12,
                                     "hidden_dim": 3072, "vocab_size": 30522, "max_position_embeddings": 512}),
    "t5-small": t5(60_506_624, 512, 2048, 6, 8, 64),
    "t5-base": t5(222_903_552, 768, 3072, 12, 12, 64),
    "t5-large": t5(737_668_096, 1024, 4096, 24, 16, 64),
    "flan-t5-small": t5(76_961_152, 512, 1024, 8, 6, 64, gated=True),
    "flan-t5-base": t5(247_577_856, 768, 2048, 12, 12, 64, gated=True),
    "flan-t5-xxl": t5(11_135_332_352, 4096, 10240, 24, 64, 64, gated=True),
    "bart-base": bart(139_420_416, 768, 6, 12, 3072),
    "bart-large": bart(406_291_456, 1024, 12, 16, 4096),
    "whisper-tiny": whisper(37_760_640, 384, 4),
    "whisper-small": whisper(241_734_912, 768, 12),
    "whisper-large-v3": whisper(1_543_490_560, 1280, 32, 51866, 128),
    "Llama-2-7b": decoder(6_738_415_616, "llama", 4096, 32, 32, 11008, 32000),
    "Llama-2-13b": decoder(13_015_864_320, "llama", 5120, 40, 40, 13824, 32000),
    "Llama-2-70b": decoder(68_976_648_192, "llama", 8192, 80, 64, 28672, 32000, 8),
    "Llama-3-8B": decoder(8_030_261_248, "llama", 4096, 32, 32, 14336, 128256, 8),
    "Llama-3.2-1B": decoder(1_235_814_400, "llama", 2048, 16, 32, 8192, 128256, 8, head_dim=64, tie_word_embeddings=True),
    "Llama-3.2-3B": decoder(3_212_749_824, "llama", 3072, 28, 24, 8192, 128256, 8, head_dim=128, tie_word_embeddings=True),
    "TinyLlama-1.1B": decoder(1_100_048_384, "llama", 2048, 22, 32, 5632, 32000, 4),
    "Mistral-7B": decoder(7_241_732_096, "mistral", 4096, 32, 32, 14336, 32000, 8),
    "Mixtral-8x7B": decoder(46_702_792_704, "mixtral", 4096, 32, 32, 14336, 32000, 8, num_local_experts=8),
    "Qwen2.5-0.5B": decoder(494_032_768, "qwen2", 896, 24, 14, 4864, 151936, 2, tie_word_embeddings=True),
    "Qwen2.5-1.5B": decoder(1_543_714_304, "qwen2", 1536, 28, 12, 8960, 151936, 2, tie_word_embeddings=True),
    "Qwen2.5-7B": decoder(7_615_616_512, "qwen2", 3584, 28, 28, 18944, 152064, 4),
    "Qwen2.5-72B": decoder(72_706_203_648, "qwen2", 8192, 80, 64, 29568, 152064, 8),
    "Qwen3-8B": decoder(8_190_735_360, "qwen3", 4096, 36, 32, 12288, 151936, 8, head_dim=128),
    "Qwen3-30B-A3B": decoder(30_532_122_624, "qwen3_moe", 2048, 48, 32, 6144, 151936, 4, head_dim=128, num_experts=128,
                             moe_intermediate_size=768),
    "Qwen1.5-MoE-A2.7B": decoder(14_315_784_192, "qwen2_moe", 2048, 24, 16, 5632, 151936, 16, num_experts=60,
                                 moe_intermediate_size=1408, shared_expert_intermediate_size=5632),
    "gemma-2b": decoder(2_506_172_416, "gemma", 2048, 18, 8, 16384, 256000, 1, head_dim=256, tie_word_embeddings=True),
    "gemma-7b": decoder(8_537_680_896, "gemma", 3072, 28, 16, 24576, 256000, 16, head_dim=256, tie_word_embeddings=True),
    "gemma-2-2b": decoder(2_614_341_888, "gemma2", 2304, 26, 8, 9216, 256000, 4, head_dim=256, tie_word_embeddings=True),
    "gemma-2-9b": decoder(9_241_705_984, "gemma2", 3584, 42, 16, 14336, 256000, 8, head_dim=256, tie_word_embeddings=True),
    "Phi-2": decoder(2_779_683_840, "phi", 2560, 32, 32, 10240, 51200, hidden_act="gelu_new"),
    "Phi-3-mini": decoder(3_821_079_552, "phi3", 3072, 32, 32, 8192, 32064),
    "DeepSeek-V2-Lite": decoder(15_706_484_224, "deepseek_v2", 2048, 27, 16, 10944, 102400, kv_lora_rank=512,
                                qk_rope_head_dim=64, qk_nope_head_dim=128, v_head_dim=128, n_routed_experts=64,
                                n_shared_experts=2, moe_intermediate_size=1408, first_k_dense_replace=1),
    "DeepSeek-V3": decoder(671_026_419_200, "deepseek_v3", 7168, 61, 128, 18432, 129280, kv_lora_rank=512,
                           q_lora_rank=1536, qk_rope_head_dim=64, qk_nope_head_dim=128, v_head_dim=128,
                           n_routed_experts=256, n_shared_experts=1, moe_intermediate_size=2048, first_k_dense_replace=3),
    "gpt-j-6b": (6_050_882_784, {"model_type": "gptj", "n_embd": 4096, "n_layer": 28, "n_head": 16, "vocab_size": 50400,
                                 "n_inner": None, "activation_function": "gelu_new", "tie_word_embeddings": False}),
    "gpt-neox-20b": neox(20_554_567_680, 6144, 44, 64, 24576, 50432),
    "pythia-1.4b": neox(1_414_647_808, 2048, 24, 16, 8192, 50304),
    "pythia-6.9b": neox(6_857_302_016, 4096, 32, 32, 16384, 50432),
    "opt-125m": opt(125_239_296, 768, 12, 12, 3072),
    "opt-6.7b": opt(6_658_473_984, 4096, 32, 32, 16384),
    "bloom-560m": (559_214_592, {"model_type": "bloom", "hidden_size": 1024, "n_layer": 24, "n_head": 16,
                                 "vocab_size": 250880}),
    "bloom-176b": (176_247_271_424, {"model_type": "bloom", "hidden_size": 14336, "n_layer": 70, "n_head": 112,
                                     "vocab_size": 250880}),
    "falcon-7b": (6_921_720_704, {"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32, "bias": False,
                                  "num_attention_heads": 71, "multi_query": True, "parallel_attn": True,
                                  "new_decoder_architecture": False, "vocab_size": 65024}),
    "starcoder2-3b": decoder(3_030_371_328, "starcoder2", 3072, 30, 24, 12288, 49152, 2, hidden_act="gelu_pytorch_tanh",
                             tie_word_embeddings=True),
    "vit-base-patch16-224": (85_798_656, {"model_type": "vit", "hidden_size": 768, "num_hidden_layers": 12,
                                          "num_attention_heads": 12, "intermediate_size": 3072, "image_size": 224,
                                          "patch_size": 16, "hidden_act": "gelu"}),
}
