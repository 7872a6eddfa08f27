#include "estimate/model_memory.h"

#include <algorithm>

#include "catch.h"
#include "estimate/model_plan.h"
#include "estimate/sweep.h"
#include "estimate/unet_memory.h"

using namespace oomdoctor;

// The expected values were computed independently of the code, from the papers' formulas: sizes in GiB to the given
// digits.
namespace {

ModelShape llama_2_7b() {
  ModelShape model;
  model.layers = 32;
  model.hidden = 4096;
  model.heads = 32;
  model.intermediate = 11008;
  model.vocabulary = 32000;
  model.gated = true;
  return model;
}

ModelShape llama_3_8b() {
  ModelShape model = llama_2_7b();
  model.kv_heads = 8;
  model.intermediate = 14336;
  model.vocabulary = 128256;
  return model;
}

ModelShape of_parameters(i64 parameters) {
  ModelShape model;
  model.parameters = parameters;
  return model;
}

/// A model of the paper's architecture: four hidden sizes of width, no gate.
ModelShape classic(i64 layers, i64 hidden, i64 heads) {
  ModelShape model;
  model.layers = layers;
  model.hidden = hidden;
  model.heads = heads;
  model.vocabulary = 51200;
  return model;
}

/// Mixtral-8x7B: eight experts, two of them for each token.
ModelShape mixtral() {
  ModelShape model = llama_3_8b();
  model.vocabulary = 32000;
  model.experts = Experts{8, 2, 14336, 0, 0};
  return model;
}

/// Latent attention of DeepSeek's sizes in one layer.
ModelShape latent() {
  ModelShape model;
  model.layers = 1;
  model.hidden = 7168;
  model.heads = 128;
  model.intermediate = 18432;
  model.vocabulary = 129280;
  model.gated = true;
  model.latent = LatentAttention{512, 64, 1536, 128, 128};
  return model;
}

/// Whisper-large's sizes: 32 layers in the encoder and 32 in the decoder, 1500 tokens in the encoder.
ModelShape whisper() {
  ModelShape model = classic(32, 1280, 20);
  model.intermediate = 5120;
  model.vocabulary = 51865;
  model.tied_embeddings = true;
  model.encoder = EncoderShape{32, 5120, 1500};
  return model;
}

RunShape training(i64 batch, i64 sequence) {
  RunShape run;
  run.batch = batch;
  run.sequence = sequence;
  run.precision = Precision::mixed;
  run.optimizer = Optimizer::adam;
  run.checkpointing = Checkpointing::none;
  run.attention = Attention::flash;
  run.loss = Loss::plain;
  return run;
}

const Term* find(const Budget& budget, std::string_view id) {
  const auto found =
      std::find_if(budget.terms.begin(), budget.terms.end(), [&](const Term& term) { return term.id == id; });
  return found == budget.terms.end() ? nullptr : &*found;
}

double gib(const Budget& budget, std::string_view id) {
  const Term* term = find(budget, id);
  return term ? static_cast<double>(term->bytes.count) / static_cast<double>(GiB) : 0;
}

double states_gib(const ModelShape& model, const RunShape& run) {
  const Budget budget = compute_budget(model, run);
  return gib(budget, "weights") + gib(budget, "gradients") + gib(budget, "optimizer");
}

Approx near(double value) { return Approx(value).epsilon(0.002); }

}  // namespace

TEST_CASE("counts in words", "[model_memory]") {
  CHECK(count_words(1.0261e12) == "1.026 trillion");
  CHECK(count_words(6.7384e9) == "6.738 billion");
  CHECK(count_words(39'976'960) == "39.98 million");
  CHECK(count_words(4096) == "4096");
}

TEST_CASE("experts count as parameters, and the active ones for each token", "[model_memory]") {
  // 8 × 3 × 4096 × 14336 of experts, 8 × 4096 of the router, attention and norms in each of 32 layers, and two tables
  CHECK(count_parameters(mixtral()) == 46'702'792'704);
  CHECK(count_active_parameters(mixtral()) == i64{46'702'792'704} - i64{32} * 6 * 3 * 4096 * 14336);
  CHECK(count_active_parameters(llama_3_8b()) == 8'030'261'248);
  ModelShape late = mixtral();
  late.experts->dense_layers = 32;
  late.vocabulary = 128256;
  CHECK(count_parameters(late) == 8'030'261'248);
  // Query, key, value and output; router; three matrices of each expert
  CHECK(adapter_parameters(mixtral(), 1, AdapterTargets::all_linear) ==
        32 * (2 * 8192 + 2 * 5120 + 4096 + 8 + 8 * 3 * (4096 + 14336)));
  CHECK(adapter_parameters(mixtral(), 1, AdapterTargets::query_and_value) == 32 * (8192 + 5120));
}

TEST_CASE("a token keeps the activations of its experts only", "[model_memory]") {
  ModelShape model = mixtral();
  model.layers = 1;
  // 24 bytes of the rest, 8 for each hidden size of two experts' widths, 4 for the copy and the result of each
  CHECK(gib(compute_budget(model, training(1, 32768)), "activations") == near((24 + 8 * 7 + 8) * 0.125));
  model.experts->shared_width = 4096;
  CHECK(gib(compute_budget(model, training(1, 32768)), "activations") == near((24 + 8 * 8 + 8) * 0.125));
  model.layers = 2;
  model.experts->shared_width = 0;
  model.experts->dense_layers = 1;
  CHECK(gib(compute_budget(model, training(1, 32768)), "activations") == near((88 + 52) * 0.125));
}

TEST_CASE("latent attention has short vectors, and keys and values of all heads", "[model_memory]") {
  const double hidden = 7168, heads = 128;
  const double attention = hidden * 1536 + 1536 * heads * 192 + hidden * 576 + 512 * heads * 256 + heads * 128 * hidden;
  CHECK(static_cast<double>(*count_parameters(latent())) ==
        Approx(attention + 3 * hidden * 18432 + 2 * 129280 * hidden + 3 * hidden));
  const double of_heads = 2 * heads * (2 * 192 + 2 * 128 + 256) / hidden, of_vectors = 8 * (1536 + 512 + 64) / hidden;
  const double layer = 16 + of_heads + of_vectors + 8 * 18432 / hidden;
  CHECK(gib(compute_budget(latent(), training(1, 4096)), "activations") == near(layer * 4096 * hidden / GiB));
  RunShape run = training(1, 4096);
  run.work = RunKind::generation;
  CHECK(find(compute_budget(latent(), run), "key_value_cache")->bytes.count == 2 * 128 * (192 + 128) * 4096);
}

TEST_CASE("an encoder-decoder counts both halves", "[model_memory]") {
  // 20 numbers of the hidden size squared: 4 + 8 in the encoder's layer, 2 × 4 + 8 in the decoder's
  CHECK(static_cast<double>(*count_parameters(whisper())) ==
        Approx(32 * 28 * 1280.0 * 1280 + 51865 * 1280).epsilon(0.001));
  const Budget budget = compute_budget(whisper(), training(8, 448));
  CHECK(gib(budget, "encoder_activations") == near(34.0 * 8 * 1500 * 1280 * 32 / GiB));
  CHECK(gib(budget, "activations") == near(43.0 * 8 * 448 * 1280 * 32 / GiB));  // and norm, input, mask, query, output
  CHECK(gib(budget, "attended") == near(4.0 * 8 * 1500 * 1280 * 32 / GiB));
  CHECK_FALSE(find(budget, "encoder_activations")->with_sequence);
  CHECK(budget.missing.empty());

  RunShape run = training(8, 448);
  run.attention = Attention::stored;
  CHECK(gib(compute_budget(whisper(), run), "scores") ==
        near(5.0 * 8 * 20 * 32 * (448 * 448 + 448 * 1500 + 1500 * 1500) / GiB));
  run.work = RunKind::generation;
  CHECK(find(compute_budget(whisper(), run), "key_value_cache")->bytes.count ==
        i64{2} * 2 * 32 * 1280 * 8 * (448 + 1500));

  ModelShape text = whisper();  // its tokens are those of the run
  text.encoder->tokens = 0;
  CHECK(gib(compute_budget(text, training(8, 448)), "encoder_activations") == near(34.0 * 8 * 448 * 1280 * 32 / GiB));
  run = training(8, 448);
  run.source = 1000;
  CHECK(gib(compute_budget(text, run), "encoder_activations") == near(34.0 * 8 * 1000 * 1280 * 32 / GiB));
  run.pipeline_parallel = 2;
  CHECK_FALSE(compute_budget(text, run).missing.empty());
}

TEST_CASE("without a backward pass one layer frees its tensors as it goes", "[model_memory]") {
  RunShape run = training(1, 4096);
  run.work = RunKind::generation;
  // Three numbers of the hidden size; the activation, the other projection and their product of the MLP's width
  CHECK(gib(compute_budget(llama_2_7b(), run), "activations") == near((6 + 6 * 11008.0 / 4096) * 4096 * 4096 / GiB));
  run.work = RunKind::evaluation;  // without a gate the activation's input and output; in fp32
  run.precision = Precision::fp32;
  CHECK(gib(compute_budget(classic(24, 4096, 32), run), "activations") == near((12 + 8 * 4) * 4096.0 * 4096 / GiB));
  ModelShape narrow = llama_2_7b();  // its attention needs more than its MLP: query, key, value, output
  narrow.intermediate = 1024;
  run.precision = Precision::pure_16bit;
  CHECK(gib(compute_budget(narrow, run), "activations") == near((6 + 8) * 4096.0 * 4096 / GiB));
  run.tensor_parallel = 2;
  CHECK(gib(compute_budget(narrow, run), "activations") == near((6 + 4) * 4096.0 * 4096 / GiB));
}

TEST_CASE("the optimizer's step gathers no layers", "[model_memory]") {
  RunShape run = training(1, 512);
  run.precision = Precision::pure_16bit;
  run.zero_stage = 3;
  run.data_parallel = 2;
  const Budget budget = compute_budget(llama_2_7b(), run);
  CHECK(budget.peak == Moment::step);
  CHECK_FALSE(budget.at_peak(*find(budget, "gathered")));
}

TEST_CASE("a cache of fewer bits", "[model_memory]") {
  RunShape run = training(1, 4096);
  run.work = RunKind::generation;
  run.cache = Quantisation::eight_bit;
  CHECK(gib(compute_budget(llama_2_7b(), run), "key_value_cache") == near(1.0));
  run.cache = Quantisation::four_bit;
  CHECK(gib(compute_budget(llama_2_7b(), run), "key_value_cache") == near(4.5 / 8));
}

TEST_CASE("the parameter count follows from the sizes", "[model_memory]") {
  CHECK(count_parameters(llama_2_7b()) == 6'738'415'616);
  CHECK(count_parameters(llama_3_8b()) == 8'030'261'248);
  ModelShape tied = llama_3_8b();
  tied.tied_embeddings = true;
  CHECK(count_parameters(tied) == 8'030'261'248 - 128'256 * 4096);
  ModelShape wide_heads = llama_2_7b();  // 32 heads of 256, as Gemma has: query and output are twice as wide
  wide_heads.head_size = 256;
  wide_heads.kv_heads = 16;
  CHECK(count_parameters(wide_heads) == 6'738'415'616 + 32 * 2 * 4096 * 4096);
  ModelShape open = llama_2_7b();
  open.vocabulary = std::nullopt;
  CHECK_FALSE(count_parameters(open));
  open = llama_2_7b();
  open.irregular = true;
  CHECK_FALSE(count_parameters(open));
}

TEST_CASE("bytes per parameter follow from precision and optimizer", "[model_memory]") {
  struct Row {
    Precision precision;
    Optimizer optimizer;
    double gibibytes;  // of 7e9 parameters
  };
  const Row rows[] = {
      {Precision::fp32, Optimizer::sgd, 52.2},        {Precision::fp32, Optimizer::sgd_momentum, 78.2},
      {Precision::fp32, Optimizer::lion, 78.2},       {Precision::fp32, Optimizer::adam, 104.3},
      {Precision::autocast, Optimizer::adam, 104.3},  {Precision::mixed, Optimizer::adam, 104.3},
      {Precision::pure_16bit, Optimizer::adam, 52.2}, {Precision::mixed_fp32_gradients, Optimizer::adam, 117.3},
      {Precision::mixed, Optimizer::adam_8bit, 65.2}, {Precision::mixed_two_gradients, Optimizer::adam, 130.4},
      {Precision::fp32, Optimizer::adam_8bit, 65.2},  {Precision::pure_16bit, Optimizer::adam_8bit, 39.1},
  };
  for (const Row& row : rows) {
    RunShape run = training(1, 128);
    run.precision = row.precision;
    run.optimizer = row.optimizer;
    CHECK(states_gib(of_parameters(7'000'000'000), run) == near(row.gibibytes));
  }
}

TEST_CASE("a factored optimizer keeps rows and columns", "[model_memory]") {
  RunShape run = training(1, 128);
  run.precision = Precision::fp32;
  run.optimizer = Optimizer::adafactor;
  // 32 × (4 × 8192 + 3 × 15104) elements of 4 bytes
  CHECK(find(compute_budget(llama_2_7b(), run), "optimizer")->bytes.count == 4 * 32 * (4 * 8192 + 3 * 15104));
  run.optimizer = Optimizer::adafactor_momentum;
  CHECK(states_gib(llama_2_7b(), run) == near(12 * 6.738415616e9 / GiB));
  const Budget open = compute_budget(of_parameters(7'000'000'000), run);
  CHECK(gib(open, "optimizer") == 0);
  const auto missing = std::find_if(open.missing.begin(), open.missing.end(),
                                    [](const Missing& m) { return m.label == "optimizer states"; });
  REQUIRE(missing != open.missing.end());
  CHECK(missing->needs == std::vector<std::string_view>{"layers", "hidden"});
}

TEST_CASE("only adapters have gradients and states", "[model_memory]") {
  CHECK(adapter_parameters(llama_2_7b(), 16, AdapterTargets::all_linear) == 39'976'960);
  CHECK(adapter_parameters(llama_2_7b(), 8, AdapterTargets::query_and_value) == 4'194'304);
  RunShape run = training(1, 128);
  run.adapter_rank = 16;
  CHECK(states_gib(llama_2_7b(), run) == near(12.551 + 0.596));
  run.quantisation = Quantisation::four_bit;
  ModelShape no_tables = llama_2_7b();  // as the paper counts: the whole model in four bits
  no_tables.parameters = 6'738'415'616;
  no_tables.vocabulary = std::nullopt;
  CHECK(states_gib(no_tables, run) == near(3.237 + 0.596));
  // Tables and head, 262144000 parameters, stay in 16 bits.
  CHECK(gib(compute_budget(llama_2_7b(), run), "weights") ==
        near((6'476'271'616 * 4.127 / 8 + 262'144'000 * 2.0) / GiB + 39'976'960 * 4.0 / GiB));
  run.quantisation = Quantisation::eight_bit;
  CHECK(states_gib(no_tables, run) == near(6.2757 + 0.596));
}

TEST_CASE("frozen parameters have weights only", "[model_memory]") {
  ModelShape model = of_parameters(1'000'000'000);
  model.trainable = 250'000'000;
  const Budget budget = compute_budget(model, training(1, 128));
  CHECK(find(budget, "weights")->bytes.count == 2'000'000'000);
  CHECK(find(budget, "gradients")->bytes.count == 500'000'000);
  CHECK(find(budget, "optimizer")->bytes.count == 3'000'000'000);
}

TEST_CASE("ZeRO shards states, then gradients, then weights", "[model_memory]") {
  RunShape run = training(1, 128);
  run.data_parallel = 64;
  const double paper[] = {120, 31.40625, 16.640625, 1.875};  // 10^9 bytes, 7.5e9 parameters on 64 ranks
  for (int stage = 0; stage <= 3; ++stage) {
    run.zero_stage = stage;
    CHECK(states_gib(of_parameters(7'500'000'000), run) * GiB / 1e9 == near(paper[stage]));
  }
}

TEST_CASE("other sharding schemes give the documented sums", "[model_memory]") {
  RunShape run = training(1, 128);
  run.data_parallel = 8;
  run.zero_stage = 1;  // Megatron's distributed optimizer: 6 + 12/d, 4 + 16/d
  run.precision = Precision::mixed_fp32_gradients;
  CHECK(states_gib(of_parameters(7'000'000'000), run) == near(48.9));
  run.precision = Precision::mixed_two_gradients;
  CHECK(states_gib(of_parameters(7'000'000'000), run) == near(6 * 7e9 / GiB));
  run.zero_stage = 2;  // DeepSpeed's estimator: 2 + 18/N
  CHECK(states_gib(of_parameters(2'851'000'000), run) == near(11.285));
  run.zero_stage = 3;
  run.precision = Precision::mixed_fp32_gradients;
  CHECK(states_gib(of_parameters(2'851'000'000), run) == near(6.09 - 0.119));
}

TEST_CASE("fully sharded runs gather whole units temporarily", "[model_memory]") {
  RunShape run = training(1, 128);
  run.data_parallel = 8;
  run.zero_stage = 3;
  const Budget budget = compute_budget(llama_2_7b(), run);
  CHECK(states_gib(llama_2_7b(), run) == near(12.551));
  CHECK(gib(budget, "gathered") == near(0.754 + 0.377 + 0.488));
  CHECK_FALSE(find(budget, "buckets"));
}

TEST_CASE("offloading moves states to the host", "[model_memory]") {
  RunShape run = training(1, 128);
  run.offload_optimizer = true;
  run.data_parallel = 8;
  run.zero_stage = 2;
  Budget budget = compute_budget(of_parameters(2'851'000'000), run);
  CHECK(states_gib(of_parameters(2'851'000'000), run) == near(2 * 2.851e9 / GiB));
  REQUIRE(budget.host);
  CHECK(budget.host->bytes.count == i64{2'851'000'000} * 32 * 3 / 2);  // max(4 × 8, 16) × 1.5
  run.zero_stage = 3;
  CHECK(states_gib(of_parameters(2'851'000'000), run) == near(2 * 2.851e9 / 8 / GiB));
  run.offload_parameters = true;
  CHECK(states_gib(of_parameters(2'851'000'000), run) == 0);
  CHECK(compute_budget(of_parameters(2'851'000'000), run).host->bytes.count == i64{2'851'000'000} * 27);
  // Frozen parameters have no states.
  run.adapter_rank = 16;
  CHECK(compute_budget(llama_2_7b(), run).host->bytes.count == i64{39'976'960} * 27 + i64{6'738'415'616} * 3);
  run.offload_parameters = false;
  CHECK(compute_budget(llama_2_7b(), run).host->bytes.count == i64{39'976'960} * 24);
}

TEST_CASE("activations of a layer follow Korthikanti's table", "[model_memory]") {
  const ModelShape gpt3 = classic(1, 12288, 96);
  RunShape run = training(1, 2048);
  run.attention = Attention::stored;
  const auto layer = [&] {
    const Budget budget = compute_budget(gpt3, run);
    return gib(budget, "activations") + gib(budget, "scores");
  };
  CHECK(layer() == near(2.672));
  run.tensor_parallel = 8;
  CHECK(layer() == near(0.539));
  run.sequence_parallel = true;
  CHECK(layer() == near(0.334));
  run.attention = Attention::flash;
  CHECK(layer() == near(0.0996));
  run.sequence_parallel = false;
  CHECK(layer() == near(0.305));
}

TEST_CASE("checkpointing keeps the inputs of layers and one whole layer", "[model_memory]") {
  const ModelShape model = classic(32, 4096, 32);
  RunShape run = training(1, 4096);
  CHECK(gib(compute_budget(model, run), "activations") == near(17.0));
  run.checkpointing = Checkpointing::full;
  CHECK(gib(compute_budget(model, run), "activations") == near(1.0 + 0.531));
  run.attention = Attention::stored;
  CHECK(gib(compute_budget(model, run), "scores") == near(2.5));
  run.checkpointing = Checkpointing::selective;
  CHECK(gib(compute_budget(model, run), "activations") == near(17.0));
  CHECK(gib(compute_budget(model, run), "scores") == near(2.5));
  run.checkpointing = Checkpointing::none;
  CHECK(gib(compute_budget(model, run), "scores") == near(80.0));
}

TEST_CASE("a gated layer keeps more, fp32 doubles all but masks", "[model_memory]") {
  ModelShape llama = llama_3_8b();
  llama.layers = 1;
  CHECK(gib(compute_budget(llama, training(1, 32768)), "activations") == near(52 * 0.125));  // 24 + 8 × 3.5 bytes
  RunShape run = training(1, 4096);
  run.precision = Precision::fp32;
  CHECK(gib(compute_budget(classic(1, 4096, 32), run), "activations") == near(66.0 / 64));
}

TEST_CASE("image tokens count as tokens", "[model_memory]") {
  CHECK(image_tokens(224, 224, 16) == 196);
  CHECK(image_tokens(1024, 1024, 28) == 36 * 36);
  CHECK(image_tokens(10, 10, 28) == 1);
  RunShape vit = training(1, 1);  // ViT-L/16 at 224² and 384²: a class token and the patches
  vit.attention = Attention::stored;
  const auto mib = [&](i64 side) {
    vit.image_tokens = image_tokens(side, side, 16);
    const Budget budget = compute_budget(classic(24, 1024, 16), vit);
    return 1024 * (gib(budget, "activations") + gib(budget, "scores"));
  };
  CHECK(mib(224) == near(228));
  CHECK(mib(384) == near(1069));
}

TEST_CASE("the first stage of a pipeline keeps passes, the last one logits", "[model_memory]") {
  RunShape run = training(1, 4096);
  run.pipeline_parallel = 4;
  run.fused_optimizer = true;
  Budget budget = compute_budget(classic(32, 4096, 32), run);
  CHECK(budget.pipeline_stage == "first");
  CHECK(gib(budget, "activations") == near(17.0));
  CHECK_FALSE(find(budget, "logits"));
  run.accumulation = 1;  // at most this many passes are in flight
  budget = compute_budget(classic(32, 4096, 32), run);
  CHECK(budget.pipeline_stage == "last");
  CHECK(gib(budget, "activations") == near(17.0 / 4));
  CHECK(find(budget, "logits"));
  ModelShape open = classic(32, 4096, 32);
  open.parameters = 7'000'000'000;
  open.vocabulary = std::nullopt;
  CHECK_FALSE(compute_budget(open, run).missing.empty());
}

TEST_CASE("logits take twelve bytes each, or six with a fused loss", "[model_memory]") {
  struct Row {
    i64 batch, sequence, vocabulary;
    double plain, fused;
  };
  for (const Row& row : {Row{8, 2048, 50257, 9.20, 4.60}, Row{4, 4096, 32000, 5.86, 2.93},
                         Row{1, 8192, 128256, 11.74, 5.87}, Row{4, 8192, 151936, 55.64, 27.82}}) {
    ModelShape model = classic(1, 4096, 32);
    model.vocabulary = row.vocabulary;
    RunShape run = training(row.batch, row.sequence);
    CHECK(gib(compute_budget(model, run), "logits") == near(row.plain));
    run.loss = Loss::fused;
    CHECK(gib(compute_budget(model, run), "logits") == near(row.fused));
    run.loss = Loss::chunked;
    CHECK(gib(compute_budget(model, run), "logits") < 0.6);
  }
}

TEST_CASE("the KV cache scales with the key and value heads", "[model_memory]") {
  RunShape run;
  run.work = RunKind::generation;
  run.precision = Precision::pure_16bit;
  run.attention = Attention::flash;
  run.batch = 1;
  run.sequence = 4096;
  CHECK(gib(compute_budget(llama_2_7b(), run), "key_value_cache") == near(2.0));
  run.sequence = 8192;
  CHECK(gib(compute_budget(llama_3_8b(), run), "key_value_cache") == near(1.0));
  CHECK_FALSE(find(compute_budget(llama_3_8b(), run), "gradients"));
  CHECK_FALSE(find(compute_budget(llama_3_8b(), run), "optimizer"));
}

TEST_CASE("the peak is the larger of two moments", "[model_memory]") {
  const ModelShape model = llama_2_7b();
  RunShape run = training(1, 128);
  run.precision = Precision::fp32;
  Budget budget = compute_budget(model, run);
  CHECK(budget.peak == Moment::step);
  CHECK(gib(budget, "step_copies") == near(25.10));
  CHECK_FALSE(budget.at_peak(*find(budget, "activations")));
  run.fused_optimizer = true;
  CHECK(compute_budget(model, run).peak == Moment::pass);
  // With one pass per step, gradients appear while activations go. With more passes they exist all the time.
  run.accumulation = 1;
  CHECK(find(compute_budget(model, run), "gradients")->moment == Moment::step);
  run.accumulation = 2;
  CHECK(find(compute_budget(model, run), "gradients")->moment == Moment::always);
  i64 sum = 0;
  budget = compute_budget(model, run);
  for (const Term& term : budget.terms)
    if (budget.at_peak(term)) sum += term.bytes.count;
  CHECK(budget.total.count == sum);
}

TEST_CASE("DDP keeps a second copy of the gradients unless they are views into its buckets", "[model_memory]") {
  RunShape run = training(1, 128);
  run.data_parallel = 2;
  CHECK(gib(compute_budget(llama_2_7b(), run), "buckets") == near(12.551));
  run.bucket_view = true;
  CHECK_FALSE(find(compute_budget(llama_2_7b(), run), "buckets"));
  run.zero_stage = 2;
  CHECK(gib(compute_budget(llama_2_7b(), run), "buckets") == near(2 * 0.931));
}

TEST_CASE("an unknown value is missing, not zero", "[model_memory]") {
  const Budget budget = compute_budget(of_parameters(7'000'000'000), RunShape{});
  CHECK(find(budget, "context"));
  CHECK_FALSE(find(budget, "weights"));
  std::vector<std::string_view> labels;
  for (const Missing& missing : budget.missing) labels.push_back(missing.label);
  CHECK(labels == std::vector<std::string_view>{"weights", "gradients", "optimizer states",
                                                "copies in the optimizer's step", "activations", "attention scores",
                                                "logits and loss"});
  CHECK(compute_budget({}, training(1, 1)).missing.front().needs == std::vector<std::string_view>{"params"});
}

TEST_CASE("sizes beyond all machines stay in range", "[model_memory]") {
  ModelShape model = classic(1'000'000'000, 1'000'000'000, 1'000'000'000);
  model.parameters = 1'000'000'000'000'000;
  RunShape run = training(1'000'000'000, 1'000'000'000);
  run.attention = Attention::stored;
  const Budget budget = compute_budget(model, run);
  CHECK(budget.total.count > 0);
  CHECK(budget.total.slack > 0);
  CHECK_FALSE(compute_plan(model, run, 80 * GiB).fits);
}

TEST_CASE("the largest batch fits with the margin, the next one does not", "[model_plan]") {
  const ModelShape model = llama_2_7b();
  RunShape run = training(1, 2048);
  run.optimizer = Optimizer::adam_8bit;
  run.checkpointing = Checkpointing::full;
  const i64 card = 80 * GiB;
  CHECK(compute_margin(card) == 4 * GiB);
  const auto largest = largest_batch(model, run, card);
  REQUIRE(largest);
  CHECK(*largest > 1);
  run.batch = *largest;
  CHECK(fits(compute_budget(model, run), card));
  run.batch = *largest + 1;
  CHECK_FALSE(fits(compute_budget(model, run), card));
  CHECK(largest_batch(model, run, 20 * GiB) == 0);
  const auto longest = longest_sequence(model, run, card);
  REQUIRE(longest);
  RunShape tried = run;
  tried.sequence = *longest;
  CHECK(fits(compute_budget(model, tried), card));
  tried.sequence = *longest + 1;
  CHECK_FALSE(fits(compute_budget(model, tried), card));
  CHECK(longest_sequence(model, run, 20 * GiB) == 0);
  CHECK_FALSE(largest_batch(of_parameters(7'000'000'000), run, card));
}

TEST_CASE("a plan is the smallest set of changes, and its savings add up", "[model_plan]") {
  const ModelShape model = llama_2_7b();
  RunShape run = training(1, 4096);
  run.fused_optimizer = true;
  const i64 before = compute_budget(model, run).total.count, card = 80 * GiB;
  const Plan plan = compute_plan(model, run, card);
  REQUIRE(plan.fits);
  i64 peak = before;
  for (const PlannedChange& change : plan.changes) {
    CHECK(change.saves > 0);
    peak -= change.saves;
    CHECK(change.peak == peak);
  }
  CHECK(peak == plan.budget.total.count);
  CHECK(fits(plan.budget, card));
}

TEST_CASE("each change of a plan saves something", "[model_plan]") {
  // With one pass to a step, gradients replace activations: a small batch has its peak in the optimizer's step, where
  // activations and logits do not count.
  for (const ModelShape& model : {llama_3_8b(), mixtral(), whisper(), latent(), classic(48, 1600, 25)})
    for (const i64 batch : {1, 4, 64})
      for (const Optimizer optimizer : {Optimizer::adam, Optimizer::lion, Optimizer::adafactor})
        for (const i64 capacity : {1, 4, 12, 24, 80, 192}) {
          RunShape run = training(batch, 448);
          run.accumulation = 1;
          run.optimizer = optimizer;
          const Plan plan = compute_plan(model, run, capacity * GiB);
          i64 peak = compute_budget(model, run).total.count;
          for (const PlannedChange& change : plan.changes) {
            CHECK(change.saves > 0);
            peak -= change.saves;
            CHECK(change.peak == peak);
          }
          CHECK(plan.budget.total.count == peak);
        }
}

TEST_CASE("the longest sequence ends at the model's last position", "[model_plan]") {
  ModelShape model = classic(12, 768, 12);
  const auto longest = longest_sequence(model, training(1, 128), 80 * GiB);
  REQUIRE(longest);
  CHECK(*longest > 1024);
  model.positions = 1024;
  CHECK(longest_sequence(model, training(1, 128), 80 * GiB) == 1024);
}

TEST_CASE("a sweep has the peaks of its runs, and ends where nothing fits", "[model_plan]") {
  RunShape run = training(1, 128);
  run.optimizer = Optimizer::adam_8bit;
  run.checkpointing = Checkpointing::full;
  const i64 card = 80 * GiB;
  const auto sweep = compute_sweep(llama_3_8b(), run, card);
  REQUIRE(sweep);
  REQUIRE(sweep->points.size() == sweep->batches.size() * sweep->sequences.size());
  for (const SweepPoint& point : sweep->points) {
    run.batch = point.batch;
    run.sequence = point.sequence;
    const Budget budget = compute_budget(llama_3_8b(), run);
    CHECK(point.peak == budget.total.count);
    CHECK(point.fits == fits(budget, card));
  }
  CHECK(sweep->points.front().fits);
  CHECK_FALSE(sweep->points.back().fits);
  CHECK(std::is_sorted(sweep->largest.rbegin(), sweep->largest.rend()));
  CHECK(sweep->largest.back() == 0);
  CHECK_FALSE(compute_sweep(of_parameters(7'000'000'000), run, card));
}

TEST_CASE("each change is a plan where nothing cheaper applies", "[model_plan]") {
  const ModelShape model = llama_2_7b();
  RunShape run = training(1, 2048);
  run.fused_optimizer = true;
  run.loss = Loss::chunked;
  const auto plan_of = [&](RunShape shape) {  // for a GPU that is slightly too small
    i64 capacity = compute_budget(model, shape).total.count;
    while (!fits(compute_budget(model, shape), capacity + MiB)) capacity += MiB;
    const Plan plan = compute_plan(model, shape, capacity);
    return plan.changes.size() == 1 && plan.fits ? plan.changes.front().setting : "";
  };
  CHECK(plan_of(run) == R"(optim="adamw_bnb_8bit")");
  RunShape replicated = run;
  replicated.data_parallel = 4;
  CHECK(plan_of(replicated) == "DDP(..., gradient_as_bucket_view=True)");
  RunShape split = run;
  split.tensor_parallel = 2;
  CHECK(plan_of(split) == "--sequence-parallel");
  RunShape wide = run;
  wide.precision = Precision::fp32;
  wide.batch = 8;  // activations, not states
  CHECK(plan_of(wide) == "bf16=True");
  wide.work = RunKind::generation;
  CHECK(plan_of(wide) == "torch_dtype=torch.bfloat16");
  RunShape slow = run;
  slow.fused_optimizer = false;
  CHECK(plan_of(slow) == R"(optim="adamw_torch_fused")");
}

TEST_CASE("one free change is preferred to anything that costs", "[model_plan]") {
  RunShape run = training(8, 2048);
  run.attention = Attention::stored;
  run.optimizer = Optimizer::adam_8bit;
  run.accumulation = 4;
  const ModelShape model = classic(24, 2048, 16);
  const Plan plan = compute_plan(model, run, 80 * GiB);
  REQUIRE(plan.fits);
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.changes.front().id == "flash_attention");
  // Two cheap changes before an expensive one that would suffice alone: offloading is slow.
  RunShape states = training(1, 2048);
  states.data_parallel = 8;
  states.fused_optimizer = true;
  for (const PlannedChange& change : compute_plan(llama_2_7b(), states, 80 * GiB).changes) CHECK(change.cost < 3);
}

TEST_CASE("a change that affects the result comes only if nothing else helps", "[model_plan]") {
  RunShape run = training(4, 2048);
  const Plan large = compute_plan(llama_2_7b(), run, 48 * GiB), small = compute_plan(llama_2_7b(), run, 12 * GiB);
  REQUIRE(large.fits);
  for (const PlannedChange& change : large.changes) CHECK(change.risk <= 1);
  REQUIRE(small.fits);
  CHECK(std::any_of(small.changes.begin(), small.changes.end(), [](const PlannedChange& c) { return c.risk > 1; }));
  CHECK_FALSE(compute_plan(llama_2_7b(), run, GiB).fits);
}

TEST_CASE("the number of ranks is a power of two", "[model_plan]") {
  RunShape run = training(1, 2048);
  run.checkpointing = Checkpointing::full;
  CHECK(ranks_that_fit(llama_2_7b(), run, 80 * GiB) == 2);
  CHECK(ranks_that_fit(llama_2_7b(), run, 24 * GiB) == 8);
  CHECK_FALSE(ranks_that_fit(llama_2_7b(), run, 2 * GiB));
}

namespace {

UnetShape unet_of_sdxl() { return {{{320, 0, 5}, {640, 2, 10}, {1280, 10, 20}}, 2, 10, 2048}; }

ModelShape sdxl() {
  ModelShape model = of_parameters(2'567'463'684);
  model.patch = 8;
  model.images = ImagePipeline{817'720'320, 83'653'863, true, 1024, true, true, unet_of_sdxl()};
  return model;
}

RunShape of_images(RunKind work, i64 batch) {
  RunShape run = training(batch, 0);
  run.work = work;
  run.precision = work == RunKind::training ? Precision::mixed : Precision::pure_16bit;
  run.image_width = run.image_height = 1024;
  return run;
}

}  // namespace

TEST_CASE("a UNet is counted block by block", "[model_memory]") {
  const UnetShape small{{{320, 1, 8}, {640, 1, 8}, {1280, 1, 8}, {1280, 0, 8}}, 2, 1, 768};
  const auto kept = [](const UnetShape& unet, double latents, UnetPrecision precision) {
    return compute_unet_memory(unet, latents, precision).kept / static_cast<double>(GiB);
  };
  CHECK(kept(small, 4096, {2, false}) == near(0.8469));
  CHECK(kept(small, 4096, {2, true}) == near(1.0831));
  CHECK(kept(unet_of_sdxl(), 16384, {2, false}) == near(6.3037));
  CHECK(kept(unet_of_sdxl(), 16384, {4, false}) == near(2 * 6.3037));
  const UnetMemory memory = compute_unet_memory(unet_of_sdxl(), 16384, {2, false});
  // The first block at the finest level on the way up: 960 channels in, 320 out, three aside, 640 in the caller.
  CHECK(memory.passing == Approx(2 * 16384.0 * (3 * 960 + 2 * 320 + 3 * 320 + 640)));
  CHECK(memory.largest_scores == Approx(10 * 4096.0 * 4096));
  CHECK(memory.inputs < memory.kept / 10);
}

TEST_CASE("an image generator needs most while its VAE decodes", "[model_memory]") {
  RunShape run = of_images(RunKind::generation, 4);
  const Budget whole = compute_budget(sdxl(), run);
  CHECK(whole.peak == Moment::decode);
  CHECK(gib(whole, "decode") == near(16));  // 1024 numbers of 4 bytes for each of 2^20 pixels
  run.sliced = true;
  CHECK(gib(compute_budget(sdxl(), run), "decode") == near(4));
  run.sliced = false;
  run.latents = true;
  CHECK(compute_budget(sdxl(), run).peak == Moment::pass);
  const Budget trained = compute_budget(sdxl(), of_images(RunKind::training, 1));
  CHECK(gib(trained, "encode") == near(2.5));
  CHECK(find(trained, "encode")->moment == Moment::encode);
}

TEST_CASE("a plan for images decodes them one by one", "[model_memory]") {
  const Plan plan = compute_plan(sdxl(), of_images(RunKind::generation, 4), 16 * GiB);
  CHECK(plan.fits);
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.changes[0].id == "sliced_decode");
  CHECK(plan.changes[0].setting == "pipe.vae.enable_slicing()");
}

TEST_CASE("a diffusion transformer keeps the inputs of its modulations", "[model_memory]") {
  ModelShape model = of_parameters(1'000'000);
  model.layers = 1;
  model.hidden = 1024;
  model.patch = 16;
  model.modulated = true;
  model.images = ImagePipeline{};
  RunShape run = training(1, 1024);
  CHECK(gib(compute_budget(model, run), "activations") == near(40.0 / 1024));  // 16 + 8 + 4 × 4 bytes of each number
  model.query_norm = true;
  CHECK(gib(compute_budget(model, run), "activations") == near(44.0 / 1024));
  model.parallel_layers = 1;  // 8 + 8 + 4 + 2 + 4 × 4
  CHECK(gib(compute_budget(model, run), "activations") == near(38.0 / 1024));
}
