// Probes for secrets, assembled at run time: this folder contains no complete token. There are several probes of each
// kind, in the contexts in which logs print them. Redaction must leave none of their letters.
#include <fmt/format.h>

#include <random>
#include <string>
#include <vector>

#include "catch.h"
#include "redact/redact.h"
#include "redact/secrets.h"

namespace oomdoctor {
namespace {

const std::string digits = "0123456789", lower = "abcdefghijklmnopqrstuvwxyz", upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
                  letters = lower + upper + digits, dashed = letters + "-_", hex = digits + "abcdef",
                  symbols = "!#%^*+=?.~|";

std::string random_text(std::mt19937& engine, const std::string& alphabet, std::size_t size) {
  std::string out;
  while (out.size() < size) out.push_back(alphabet[engine() % alphabet.size()]);
  return out;
}

std::string redacted(std::string text) {
  Report report;
  report.verdict.headline = std::move(text);
  return redact(std::move(report), Redaction::secrets).report.verdict.headline;
}

/// A prefix in two parts, so that no secret scanner reports this file; then the alphabet and the size of the rest.
struct Issued {
  const char *kind, *first, *second;
  std::size_t size;
  const std::string& alphabet;
};

const std::vector<Issued>& issued() {
  static const std::vector<Issued> all = {
      {"Hugging Face", "hf", "_", 34, letters},
      {"GitHub", "gh", "p_", 36, letters},
      {"GitHub fine-grained", "github", "_pat_", 82, letters},
      {"GitLab personal", "glp", "at-", 20, dashed},
      {"GitLab deploy", "gld", "t-", 20, dashed},
      {"GitLab feed", "glf", "t-", 20, dashed},
      {"GitLab agent", "glag", "ent-", 50, dashed},
      {"GitLab OAuth", "gloas", "-", 64, hex},
      {"GitLab incoming mail", "glim", "t-", 25, dashed},
      {"GitLab SCIM", "glso", "at-", 20, dashed},
      {"GitLab job", "glc", "bt-", 25, dashed},
      {"Slack bot", "xox", "b-", 50, dashed},
      {"Slack app", "xa", "pp-", 60, dashed},
      {"Stripe live", "sk_li", "ve_", 24, letters},
      {"Stripe test", "sk_te", "st_", 24, letters},
      {"Stripe restricted", "rk_li", "ve_", 24, letters},
      {"Stripe webhook", "wh", "sec_", 32, letters},
      {"DigitalOcean", "dop", "_v1_", 64, hex},
      {"DigitalOcean OAuth", "doo", "_v1_", 64, hex},
      {"DigitalOcean refresh", "dor", "_v1_", 64, hex},
      {"Grafana service account", "gl", "sa_", 41, letters},
      {"Grafana cloud", "gl", "c_", 60, letters},
      {"Atlassian", "ATA", "TT3", 180, dashed},
      {"Notion", "nt", "n_", 46, letters},
      {"Linear", "lin", "_api_", 40, letters},
      {"Tailscale", "tsk", "ey-auth-", 34, dashed},
      {"xAI", "xa", "i-", 80, letters},
      {"Vault service", "hv", "s.", 90, dashed},
      {"Vault batch", "hv", "b.", 120, dashed},
      {"age", "AGE-SECRET", "-KEY-1", 58, upper},
      {"OpenAI", "sk-pr", "oj-", 60, dashed},
      {"Anthropic", "sk-a", "nt-api03-", 80, dashed},
      {"Google API", "AI", "za", 35, dashed},
      {"AWS", "AK", "IA", 16, upper},
      {"npm", "np", "m_", 36, letters},
      {"PyPI", "py", "pi-AgEIcHlwaS5vcmc", 60, dashed},
      {"Docker Hub", "dck", "r_pat_", 27, dashed},
      {"Sentry", "sn", "trys_", 60, letters},
      {"Pulumi", "pu", "l-", 40, hex},
      {"Doppler", "dp.", "pt.", 43, letters},
      {"Shopify", "shp", "at_", 32, hex},
      {"New Relic", "NR", "AK-", 27, upper},
      {"Terraform", "abcdefghijklmn.at", "lasv1.", 60, dashed},
      {"Fly", "Fly", "V1 fm2_", 60, letters},
      {"Postman", "PM", "AK-", 59, hex},
      {"Buildkite", "bk", "ua_", 40, hex},
      {"Weights & Biases", "wandb", "_v1_", 60, dashed},
  };
  return all;
}

TEST_CASE("redaction removes tokens wherever they are", "[redact]") {
  std::mt19937 engine(18);
  for (const Issued& token : issued())
    for (const char* around : {"login with {} now", "TOKEN_X={}", "{{\"value\": \"{}\"}}", "https://host/x?t={}&y=1"}) {
      const std::string secret = random_text(engine, token.alphabet, token.size - 1) + "7";
      const std::string text = fmt::format(fmt::runtime(around), std::string(token.first) + token.second + secret);
      CAPTURE(token.kind, text, redacted(text));
      CHECK(redacted(text).find(secret.substr(2, 8)) == std::string::npos);
    }
}

TEST_CASE("redaction removes passwords, headers and keys", "[redact]") {
  struct Probe {
    const char* around;
    const std::string& alphabet;
    std::size_t size;
  };
  const std::string mixed = letters + symbols;
  const std::vector<Probe> probes = {
      {"password={}", digits, 8},
      {"password={}", symbols, 9},
      {"PASSWORD: {}", digits, 12},
      {"db_password = '{}'", digits, 10},
      {"--password {} --epochs 3", digits, 8},
      {"--password={}", mixed, 14},
      {"export A=1;PGPASSWORD={};psql", mixed, 12},
      {"x=1; password={}", mixed, 12},
      {"\"password\":\"{}\"", mixed, 12},
      {"'passwd': '{}'", mixed, 12},
      {"<password>{}</password>", letters, 12},
      {"<apiKey>{}</apiKey>", letters, 24},
      {"<secret>{}</secret>", letters, 24},
      {"mysql -u root -p{} db", letters, 12},
      {"sshpass -p {} ssh user@h", letters, 12},
      {"sshpass -p '{}' ssh user@h", mixed, 12},
      {"curl -u admin:{} https://x", letters, 12},
      {"curl --user admin:{} https://x", letters, 12},
      {"docker login -u u -p {} r.io", letters, 16},
      {"redis-cli -a {} ping", letters, 16},
      {"postgres://u:{}@db:5432/x", letters, 12},
      {"postgres://u:ab@{}@db:5432/x", letters, 12},
      {"postgres://u:ab/{}@db:5432/x", letters, 12},
      {"amqp://u:{}@mq", letters, 9},
      {"redis://:{}@cache:6379/0", letters, 12},
      {"https://{}@github.example/a.git", letters, 36},
      {"Authorization: Bearer {}", dashed, 40},
      {"authorization: Basic {}", letters, 24},
      {"Authorization: Digest username=\"u\", realm=\"r\", nonce=\"n\", uri=\"/\", response=\"{}\"", hex, 32},
      {"Authorization: token {}", letters, 30},
      {"Proxy-Authorization: Basic {}", letters, 24},
      {"X-Auth-Token: {}", letters, 32},
      {"X-Api-Key: {}", letters, 32},
      {"x-amz-security-token: {}", letters, 60},
      {"'Cookie': 'session={}; a=b'", letters, 30},
      {"\"cookie\": \"sid={}\"", letters, 30},
      {"Cookie: session={}", letters, 30},
      {"Set-Cookie: sid={}; HttpOnly", letters, 30},
      {"//registry.example/:_authToken={}", letters, 36},
      {"_auth={}", letters, 36},
      {"{\"auths\": {\"r.io\": {\"auth\": \"{}\"}}}", letters, 40},
      {"machine api.example login u password {}", letters, 20},
      {"aws_secret_access_key = {}", letters, 40},
      {"AWS_SESSION_TOKEN={}", letters, 100},
      {"AccountKey={};EndpointSuffix=x", letters, 60},
      {"SharedAccessKey={}", letters, 44},
      {"client_secret: {}", letters, 40},
      {"refresh_token={}", letters, 40},
      {"access_token={}&x=1", letters, 40},
      {"id_token: \"{}\"", letters, 40},
      {"WANDB_API_KEY={}", hex, 40},
      {"wandb: {} is your key: wandb login {}", hex, 40},
      {"COMET_API_KEY={}", letters, 25},
      {"NEPTUNE_API_TOKEN={}", letters, 60},
      {"secret_key: {}", letters, 30},
      {"passphrase \"{}\"", letters, 16},
      {"?sig={}", letters, 40},
      {"&X-Amz-Signature={}", hex, 64},
      {"hooks.slack.com/services/T0/B0/{}", letters, 24},
      {"discord.com/api/webhooks/1/{}", letters, 60},
      {"-----BEGIN OPENSSH PRIVATE KEY-----\\n{}\\n-----END OPENSSH PRIVATE KEY-----", letters, 200},
      {"-----BEGIN PGP PRIVATE KEY BLOCK-----\\n{}\\n-----END PGP PRIVATE KEY BLOCK-----", letters, 200},
  };
  std::mt19937 engine(19);
  for (const Probe& probe : probes)
    for (int round = 0; round < 2; ++round) {
      const std::string secret = random_text(engine, probe.alphabet, probe.size);
      std::string text = probe.around;
      for (std::size_t at; (at = text.find("{}")) != std::string::npos;) text.replace(at, 2, secret);
      CAPTURE(text, redacted(text));
      CHECK(redacted(text).find(secret.substr(0, 6)) == std::string::npos);
    }
}

TEST_CASE("a secret that begins inside another one is removed to its end", "[redact]") {
  std::mt19937 engine(3);
  const std::string token = "gh" + ("p_" + random_text(engine, letters, 36)), word = random_text(engine, lower, 12);
  for (const std::string& text : {
           "-----BEGIN PRIVATE KEY-----\nabc\n--- " + token + " ----END PRIVATE KEY-----",
           "mysql -u root --password=" + word + " -p" + token,
           "Cookie: a=" + word + "; b=\"" + token + "\" and more",
       }) {
    CAPTURE(text);
    const std::string left = redacted(text);
    CHECK(left.find(token.substr(4)) == left.npos);
    CHECK(left.find(token.substr(0, 12)) == left.npos);
    CHECK((text.find(word) == text.npos || left.find(word) == left.npos));
  }
}

TEST_CASE("names, hashes and numbers of a training run stay", "[redact]") {
  std::mt19937 engine(20);
  std::vector<std::string> texts = {
      "unk_token: unk123",
      "checkpoint_token: checkpoint-12000",
      "pad_token: <pad>",
      "pad_token_id: 151643",
      "eos_token: <|im_end|>",
      "bos_token='<s>' mask_token='[MASK]'",
      "token: playing",
      "max_tokens: 4096",
      "num_image_tokens: 576",
      "tokens_per_second: 12345.6",
      "model.layers.12.self_attn.q_proj.weight",
      "encoder.block.3.layer.0.SelfAttention.k.weight",
      "checkpoint-12000/global_step12000/zero_pp_rank_0_mp_rank_00_model_states.pt",
      "model-00003-of-00030.safetensors",
      "password = args.password",
      "api_key=os.environ['KEY']",
      "secret = getpass.getpass()",
      "token = tokenizer.convert_ids_to_tokens(5)",
      "cache_key: layer_12_kv",
      "sort_key=lambda x: len(x)",
      "key=query_states, value=value_states",
      "primary_key: sample_id",
      "key: model.embed_tokens.weight",
      "unexpected keys: ['lm_head.weight']",
      "auth: none",
      "--token-level-loss True",
      "-p 8080:80",
      "mkdir -p outputs/run12",
      "nvidia-smi -pm 1",
      "python -m torch.distributed.run --nproc-per-node 8",
      "ssh -p 2222 host",
      "cp -pr a b",
      "https://huggingface.co/meta-llama/Llama-2-7b/resolve/main/config.json",
      "git@github.com:a/b.git",
      "file:///home/user/a.json",
      "s3://bucket/checkpoints/step_1000",
      "tcp://10.0.0.1:29500",
      "cookie cutter projects",
      "the secret of good memory",
      "Secret: none",
      "password: null",
      "password required",
      "bearer of news",
      "signature: forward(self, x)",
      "sign=positive",
      "run-20250301_100211-3kd92kfa",
      "tokenizer_class: LlamaTokenizerFast",
      "hidden_size=4096, num_attention_heads=32",
  };
  for (int i = 0; i < 4; ++i) {
    texts.push_back("commit " + random_text(engine, hex, 40));
    texts.push_back("sha256:" + random_text(engine, hex, 64));
    texts.push_back(fmt::format("{}-{}-4{}-a{}-{}", random_text(engine, hex, 8), random_text(engine, hex, 4),
                                random_text(engine, hex, 3), random_text(engine, hex, 3),
                                random_text(engine, hex, 12)));
  }
  CHECK(texts.size() == 60);
  std::size_t changed = 0;
  for (const std::string& text : texts) {
    if (redacted(text) == text) continue;
    ++changed;
    UNSCOPED_INFO(text << " -> " << redacted(text));
  }
  CHECK(changed == 0);
}

}  // namespace
}  // namespace oomdoctor
