// Secrets by their names: each name in each notation loses its value, and nothing around it. Words of a training job
// that only sound like a secret stay.
#include <fmt/format.h>

#include <random>
#include <string>
#include <vector>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "redact/redact.h"

namespace oomdoctor {
namespace {

using Json = nlohmann::json;

const std::string lower = "abcdefghijklmnopqrstuvwxyz", upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", digits = "0123456789",
                  hex = "0123456789abcdef";

std::string random_text(std::mt19937& engine, const std::string& alphabet, std::size_t size) {
  std::string out;
  while (out.size() < size) out.push_back(alphabet[engine() % alphabet.size()]);
  return out;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

const std::vector<std::string> names = {"WANDB_API_KEY",
                                        "AZURE_STORAGE_KEY",
                                        "NEW_RELIC_LICENSE_KEY",
                                        "SLURM_JWT",
                                        "GH_PAT",
                                        "DB_PASSWORD",
                                        "X_KEY",
                                        "HF_TOKEN",
                                        "DB_PASS",
                                        "ansible_ssh_pass",
                                        "MY_SECRET",
                                        "api_key",
                                        "apiKey",
                                        "api-key",
                                        "apikey",
                                        "ApiKey",
                                        "secretAccessKey",
                                        "access_token",
                                        "authToken",
                                        "refresh-token",
                                        "x-vault-token",
                                        "fs.s3a.secret.key",
                                        "client-key-data",
                                        "client_secret",
                                        "clientSecret",
                                        "user.password",
                                        "dbPassword",
                                        "passwd",
                                        "Pwd",
                                        "credential",
                                        "aws_credentials",
                                        "license_key",
                                        "licenceKey",
                                        "signing.key",
                                        "api_key_2",
                                        "openai_api_key_prod",
                                        "sessionToken",
                                        "hub_token",
                                        "bearerToken",
                                        "private_key_pem",
                                        "spring.datasource.password"};

/// "NAME" and "VALUE" are replaced.
const std::vector<std::string> notations = {
    "NAME=VALUE",
    "export NAME='VALUE'",
    "NAME = \"VALUE\"",
    "NAME: VALUE",
    "NAME := \"VALUE\"",
    "NAME => 'VALUE'",
    "--NAME VALUE --epochs 3",
    "--NAME=VALUE",
    "-DNAME=VALUE train.jar",
    "{\"NAME\": \"VALUE\"}",
    "{\"a\":1,\"NAME\":\"VALUE\",\"b\":[2]}",
    "{'NAME': 'VALUE', 'lr': 0.1}",
    "{\\\"NAME\\\": \\\"VALUE\\\"}",
    "{u'NAME': u'VALUE'}",
    "os.environ[\"NAME\"] = \"VALUE\"",
    "os.environ['NAME']='VALUE'",
    "os.environ.setdefault(\"NAME\", \"VALUE\")",
    "config[\"NAME\"]: \"VALUE\"",
    "Client(NAME=\"VALUE\")",
    "NAME=SecretStr('VALUE')",
    "NAME: str = \"VALUE\"",
    "curl -H \"NAME: VALUE\" https://h",
    "GET /v1/x?a=1&NAME=VALUE&b=2",
    "Server=h;Uid=x;NAME=VALUE;Timeout=3",
    "setenv NAME VALUE",
    "set -x NAME VALUE",
    "NAME:: VALUE",
    "<property><name>NAME</name><value>VALUE</value></property>",
    "<NAME>VALUE</NAME>",
    "- name: NAME\n  value: VALUE",
    "{\"name\": \"NAME\", \"value\": \"VALUE\"}",
    "<add key=\"NAME\" value=\"VALUE\"/>",
    "&quot;NAME&quot;:&quot;VALUE&quot;",
    "NAME%3DVALUE",
    "NAME == 'VALUE'",
};

std::vector<std::string> values() {
  std::mt19937 engine(41);
  return {random_text(engine, lower + upper + digits, 24), random_text(engine, hex, 40),
          random_text(engine, lower + upper, 24), random_text(engine, lower, 24)};
}

TEST_CASE("a secret name in any spelling loses its value in any notation", "[redact]") {
  std::size_t contexts = 0;
  std::vector<std::string> left;
  for (const std::string& name : names)
    for (const std::string& notation : notations)
      for (const std::string& value : values()) {
        const std::string text = replaced(replaced(notation, "NAME", name), "VALUE", value);
        ++contexts;
        const std::string shown = without_secrets(text);
        if (shown.find(value.substr(2, 10)) != shown.npos) left.push_back(text);
      }
  CAPTURE(contexts, left.size(), left);
  CHECK(contexts >= 176 * 20);
  CHECK(left.empty());
}

TEST_CASE("only the value goes, and its quotation marks and brackets stay", "[redact]") {
  std::mt19937 engine(7);
  const std::string value = random_text(engine, lower + upper + digits, 24) + "7a7";
  for (const std::string& name : names)
    for (const std::string& notation : notations) {
      const std::string form = replaced(notation, "NAME", name),
                        shown = without_secrets(replaced(form, "VALUE", value));
      const std::size_t at = form.find("VALUE");
      CAPTURE(form, shown);
      CHECK(shown.starts_with(form.substr(0, at) + "[redacted: "));
      CHECK(shown.ends_with("]" + form.substr(at + 5)));
    }
}

TEST_CASE("commands and calls lose their secrets", "[redact]") {
  std::mt19937 engine(5);
  const std::string letters = lower + upper + digits;
  const std::string key = random_text(engine, hex, 36) + "7b4f", text = random_text(engine, letters, 40);
  for (const std::string& form : {
           "wandb login --relogin " + key,
           "wandb login --host=https://w.example " + key,
           "wandb login --host https://w.example --relogin " + key,
           "wandb.login(key=\"" + key + "\")",
           "comet login " + text + "7a1",
           "echo " + text + " | docker login -u u --password-stdin",
           "echo -n '" + text + "' | gh auth login --with-token",
           "printf '%s' " + text + " | docker login --password-stdin r.io",
           "docker login -u u --password-stdin <<< " + text,
           "co.Client('" + text + "')",
           "OpenAI(\"" + text + "\")",
           "api.set_access_token('" + text + "')",
           "headers.append(('x-api-key', '" + text + "'))",
           "https://api.telegram.org/bot123456789:" + random_text(engine, letters, 35) + "/sendMessage",
           "X-Vault-Token: s." + random_text(engine, letters, 24),
           "refresh 1//0g" + random_text(engine, letters, 90),
           "{\"username\":\"u\",\"key\":\"" + key + "\"}",
           "GET /k?x-amz-credential=a&x-amz-signature=" + key + key,
           "API key: " + random_text(engine, lower, 24),
           "your access token is ready. access token = " + random_text(engine, lower, 24),
           "aws configure set aws_secret_access_key " + text + "9a9",
           "| openai_api_key | " + text + "9a9 |",
           "Basic auth=" + text,
           "SSH_PRIVATE_KEY=" + text,
       }) {
    const std::string shown = without_secrets(form);
    CAPTURE(form, shown);
    CHECK(shown.find("[redacted: ") != shown.npos);
    for (const std::string& part : {key.substr(4, 12), text.substr(4, 12)}) CHECK(shown.find(part) == shown.npos);
  }
}

TEST_CASE("text of a training job that sounds like a secret stays", "[redact]") {
  const std::vector<std::string> texts = {
      "max_new_tokens=512",
      "num_tokens: 4096",
      "tokens/s 1234",
      "tokens per second: 12345.6",
      "pad_token_id=0",
      "key_padding_mask=None",
      "num_key_value_heads: 8",
      "\"eos_token\": \"</s>\"",
      "\"bos_token\": \"begin_of_sentence\"",
      "KeyError: 'model.layers.0.weight'",
      "tokenizer=LlamaTokenizerFast",
      "\"tokenizer_class\": \"PreTrainedTokenizerFast\"",
      "past_key_values=DynamicCache()",
      "token_type_ids=tensor([[0, 0]])",
      "the secret of a good run is patience",
      "the secret: more memory",
      "--tokenizer meta-llama/Llama-2-7b-hf",
      "--token-level-loss True",
      "key: torch.Size([4, 1024])",
      "key=model.layers.0.self_attn.k_proj.weight",
      "Missing key(s) in state_dict: \"lm_head.weight\"",
      "unexpected_keys=['lm_head.weight']",
      "primary_key=id",
      "PRIMARY_KEY=sample_identifier",
      "IMAGE_KEY=pixel_values",
      "sort_keys=True",
      "sort_key: last_modified_time",
      "cache_key: 9f86d081884c7d659a2feaa0c55ad015",
      "cache key 9f86d081884c7d659a2feaa0c55ad015",
      "metric_key: eval_loss_per_token",
      "attn_keys 12.5 GiB",
      "monkey=3",
      "monkey=capuchin",
      "keyboard: interrupted",
      "KeyboardInterrupt: stopped by hand",
      "authors: 3",
      "author=somebody",
      "signature_columns=['input_ids', 'attention_mask']",
      "signature: forward(self, input_ids)",
      "password-less login works",
      "password: required",
      "Password: authentication failed",
      "password=args.password",
      "password: str",
      "password: Optional[str] = None",
      "--password \"$PASSWORD\"",
      "--token ${{ secrets.HF_TOKEN }}",
      "HF_TOKEN=$HF_TOKEN python train.py",
      "HF_TOKEN=${HF_TOKEN:-none}",
      "HF_TOKEN = os.environ[\"HF_TOKEN\"]",
      "token = os.getenv(\"HF_TOKEN\", \"none\")",
      "token=tokenizer.eos_token",
      "api_key=config.api_key",
      "api_key=********",
      "api_key: '<your key>'",
      "api_key=YOUR_API_KEY",
      "\"token\": \"playing\", \"logprob\": -0.25",
      "next token: playing",
      "image_token: <image>",
      "answer_token=positive",
      "special tokens: ['<s>', '</s>']",
      "additional_special_tokens=['<|im_start|>']",
      "ignore_keys_for_eval=None",
      "label_names=['labels'], key='input_ids'",
      "keys: ['input_ids', 'labels']",
      "public_key: 3059301306072a8648ce3d0201",
      "PWD=/home/alice/project",
      "OLDPWD=/scratch/alice",
      "GOOGLE_APPLICATION_CREDENTIALS=/run/secrets/gcp.json",
      "ssh_private_key: ~/.ssh/id_ed25519",
      "ssl_key=server.pem",
      "license: apache-2.0",
      "license: cc-by-nc-4.0",
      "\"license_name\": \"llama3.1\"",
      "auth: munge",
      "AuthType=auth/munge",
      "forward_pass=12.35ms",
      "backward pass: 0.352 s",
      "secret_name: training-secret",
      "secrets: inherit",
      "moe_token_dispatcher_type: alltoall",
      "query_key_value.weight",
      "\"LlamaForTokenClassification\"",
      "total_tokens=1234567890123",
      "key=Array([0, 42], dtype=uint32)",
      "git config credential.helper store",
      "signature_name=serving_default",
      "key_cache.dtype=torch.bfloat16",
      "kv_cache_key_dtype: fp8_e4m3",
      "routing_key=expert_3",
      "AutoTokenizer.from_pretrained('gpt2')",
      "client = Client('tcp://10.0.0.1:8786')",
      "login node: gpu-login-01",
      "docker login registry.example/team",
      "echo done | tee log",
      "passes: 3, bypass=enabled_always",
      "compass_token_count=123456789",
      "access_token_count: 123456789",
      "tokenize: 1200000 lines",
      "\"key\": \"layer_12_kv\", \"value\": 3",
      "{\"password\": 12345678}",
      "map<std::string, Key> token::kind",
      "key->value_states",
      "rng_key=Array((2,), dtype=uint32)",
      "jax.random.PRNGKey(0)",
      "credentials: provided",
      "sig=positive",
      "nccl_unique_id_key: default_pg/0//0",
      "store_key=cuda//worker/count",
  };
  REQUIRE(texts.size() >= 60);
  for (const std::string& text : texts) CHECK(without_secrets(text) == text);
}

/// A text of pieces that look like names, signs, quotation marks, brackets and values.
std::string made_of_pieces(std::mt19937& engine) {
  static const std::vector<std::string> pieces = {"password=",
                                                  "api_key: ",
                                                  "'token': '",
                                                  "\"secret\": \"",
                                                  "authorization=Digest ",
                                                  "Authorization: Bearer ",
                                                  "Cookie: a=",
                                                  "mysql -u u -p",
                                                  "\\",
                                                  "\"",
                                                  "'",
                                                  "}",
                                                  "]",
                                                  ")",
                                                  ",",
                                                  "\n",
                                                  "\\n",
                                                  "\t",
                                                  "{",
                                                  "://u:",
                                                  "@h",
                                                  " ",
                                                  "hunter22abc",
                                                  "R4nd0mT3xtOf20L3tters",
                                                  ".log",
                                                  "-----BEGIN PRIVATE KEY-----",
                                                  "MIIE",
                                                  "%22",
                                                  "&quot;",
                                                  "echo Passw0rd1 | docker login --password-stdin",
                                                  "sshpass -p '",
                                                  "username=\"u\"",
                                                  "wandb login ",
                                                  "login ",
                                                  "key",
                                                  "=",
                                                  ":",
                                                  "X_KEY",
                                                  "value",
                                                  "os.environ[\"",
                                                  "\u00e9",
                                                  "machine a login b password "};
  std::string text;
  for (std::size_t i = engine() % 14 + 1; i > 0; --i) text += pieces[engine() % pieces.size()];
  return text;
}

TEST_CASE("a text in JSON is JSON after its secrets are removed", "[redact]") {
  std::mt19937 engine(12);
  for (int round = 0; round < 1500; ++round) {
    const Json inner = {{made_of_pieces(engine), made_of_pieces(engine)}, {"list", {made_of_pieces(engine), 7}}};
    const Json outer = {{"first", inner.dump()}, {"second", inner}, {"path", made_of_pieces(engine)}, {"last", 1}};
    for (const std::string& text : {inner.dump(), outer.dump(), outer.dump(2)}) {
      const std::string shown = without_secrets(text);
      const Json read = Json::parse(shown, nullptr, false);
      if (!read.is_object() || read.size() != Json::parse(text).size()) {
        CAPTURE(text, shown);
        FAIL("the text is no longer the same JSON");
      }
    }
  }
}

TEST_CASE("a value ends where the text around it goes on", "[redact]") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{\"log\":\"authorization=Digest abcdefgh.log\",\"n\":1}",
       "{\"log\":\"authorization=Digest [redacted: authorization header]\",\"n\":1}"},
      {"{\"a\":\"password='hunter22abc\",\"b\":\"it's\"}", "{\"a\":\"password='[redacted: password]\",\"b\":\"it's\"}"},
      {"'password=hunter22\\nnext line'", "'password=[redacted: password]\\nnext line'"},
      {"[password=hunter22]", "[password=[redacted: password]]"},
      {"run(password=hunter22)", "run(password=[redacted: password])"},
      {"{password: hunter22}, more", "{password: [redacted: password]}, more"},
      {"password=hunt)er22", "password=[redacted: password]"},
      {"password=hunter22, user=u", "password=[redacted: password], user=u"},
      {"{\"cookie\":\"sid=abcdefgh\\nnext\"}", "{\"cookie\":\"[redacted: cookie]\\nnext\"}"},
      {"{\\\"token_x\\\":\\\"a1b2c3d4\\\",\\\"b\\\":1}", "{\\\"token_x\\\":\\\"a1b2c3d4\\\",\\\"b\\\":1}"},
      {"{\\\"hf_token\\\":\\\"a1b2c3d4\\\",\\\"b\\\":1}", "{\\\"hf_token\\\":\\\"[redacted: token]\\\",\\\"b\\\":1}"},
      {"\"password\": \"a\\\"quoted\\\"one\", x", "\"password\": \"[redacted: password]\", x"},
  };
  for (const auto& [text, expected] : cases) CHECK(without_secrets(text) == expected);
}

}  // namespace
}  // namespace oomdoctor
