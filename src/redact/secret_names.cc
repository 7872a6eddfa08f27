// A name is split into words. Its last word decides, and the word in front of it distinguishes api_key from sort_key. A
// name with a secret word in another place, such as token_of_hub, needs a value that is beyond doubt.
#include "redact/secret_names.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "base/ascii.h"

namespace oomdoctor {
namespace {

using Vocabulary = std::span<const std::string_view>;

constexpr std::array<std::string_view, 5> passwords = {"password", "passwd", "passphrase", "passcode", "pwd"};
constexpr std::array<std::string_view, 6> secrets = {"secret", "secrets", "credential", "credentials", "cred", "creds"};
constexpr std::array<std::string_view, 4> licenses = {"license", "licence", "licensekey", "licencekey"};

/// Words after the deciding word that change nothing: client-key-data, API_KEY_PROD.
constexpr std::array<std::string_view, 17> suffixes = {"data", "value",   "string", "raw",     "plain",  "b64",
                                                       "pem",  "base64",  "prod",   "dev",     "live",   "old",
                                                       "new",  "staging", "backup", "primary", "encoded"};

/// Ends of words without a boundary: "dbpassword", "apikey".
constexpr std::array<std::string_view, 6> glued_passwords = {"password", "passwd",   "passphrase",
                                                             "passcode", "userpass", "pwd"};
constexpr std::array<std::string_view, 3> glued_secrets = {"secret", "credential", "credentials"};
constexpr std::array<std::string_view, 15> glued_keys = {
    "apikey",    "accesskey",  "secretkey", "privatekey", "accountkey", "authkey",     "licensekey",   "licencekey",
    "masterkey", "signingkey", "sharedkey", "storagekey", "servicekey", "accesskeyid", "encryptionkey"};

/// Words in front of "key" with which it opens something.
constexpr std::array<std::string_view, 77> opening_keys = {
    "api",       "access",     "secret",  "account", "private",  "auth",      "authorization", "encryption",
    "encrypt",   "decryption", "signing", "license", "licence",  "storage",   "subscription",  "shared",
    "ssh",       "gpg",        "pgp",     "rsa",     "aes",      "hmac",      "jwt",           "tls",
    "ssl",       "client",     "deploy",  "master",  "service",  "session",   "security",      "admin",
    "root",      "activation", "product", "serial",  "webhook",  "ingest",    "ingestion",     "app",
    "kaggle",    "wandb",      "comet",   "neptune", "clearml",  "mlflow",    "openai",        "azure",
    "anthropic", "cohere",     "groq",    "gemini",  "pinecone", "replicate", "langsmith",     "hf",
    "github",    "gitlab",     "google",  "gcp",     "aws",      "s3",        "minio",         "datadog",
    "relic",     "sentry",     "segment", "stripe",  "sendgrid", "ngc",       "nvidia",        "elevenlabs",
    "fernet",    "vault",      "unseal",  "django",  "csrf"};

/// Words in front of "key" with which it only finds something, or with which everyone may see it.
constexpr std::array<std::string_view, 84> naming_keys = {
    "sort",     "primary",    "foreign",     "cache",     "partition", "routing", "lookup", "hash",     "group",
    "groupby",  "join",       "index",       "metric",    "metrics",   "monitor", "loss",   "image",    "text",
    "label",    "labels",     "input",       "output",    "target",    "prompt",  "query",  "attn",     "attention",
    "state",    "dict",       "param",       "parameter", "config",    "dataset", "batch",  "sample",   "feature",
    "column",   "row",        "field",       "map",       "mapping",   "ckpt",    "weight", "model",    "layer",
    "module",   "tensor",     "rng",         "prng",      "random",    "seed",    "jax",    "jit",      "compile",
    "kernel",   "name",       "best",        "eval",      "train",     "log",     "tag",    "missing",  "unexpected",
    "extra",    "first",      "last",        "next",      "kv",        "dedup",   "unique", "shard",    "bucket",
    "object",   "event",      "option",      "padding",   "hot",       "public",  "answer", "response", "caption",
    "messages", "checkpoint", "conversation"};

/// Words in front of "token" with which it opens something.
constexpr std::array<std::string_view, 75> opening_tokens = {
    "access",  "auth",    "api",           "hub",      "hf",      "huggingface", "refresh",  "session", "bearer",
    "id",      "csrf",    "xsrf",          "security", "github",  "gitlab",      "gh",       "gl",      "slack",
    "bot",     "vault",   "personal",      "deploy",   "service", "sas",         "oauth",    "oauth2",  "aws",
    "azure",   "wandb",   "neptune",       "mlflow",   "clearml", "comet",       "registry", "job",     "ci",
    "user",    "admin",   "app",           "client",   "device",  "push",        "web",      "webhook", "identity",
    "jwt",     "private", "secret",        "npm",      "pypi",    "docker",      "telegram", "discord", "login",
    "git",     "runner",  "root",          "master",   "cluster", "kube",        "k8s",      "sentry",  "project",
    "read",    "write",   "databricks",    "ngc",      "influx",  "influxdb",    "grafana",  "consul",  "nomad",
    "codecov", "my",      "authentication"};

/// Words in front of "token" with which it is a piece of a text, or a place in a list of pages.
constexpr std::array<std::string_view, 106> text_tokens = {
    "pad",      "padding",  "eos",       "bos",        "unk",     "mask",     "sep",        "cls",        "next",
    "prev",     "previous", "special",   "image",      "img",     "video",    "audio",      "speech",     "text",
    "stop",     "start",    "end",       "begin",      "first",   "last",     "current",    "cur",        "per",
    "max",      "min",      "num",       "prompt",     "decoder", "encoder",  "generated",  "completion", "boi",
    "eoi",      "eot",      "eom",       "sot",        "fim",     "prefix",   "suffix",     "middle",     "placeholder",
    "vision",   "draft",    "target",    "accepted",   "sampled", "response", "input",      "output",     "label",
    "word",     "sub",      "subword",   "byte",       "unknown", "filler",   "checkpoint", "tool",       "function",
    "thinking", "think",    "reasoning", "separator",  "newline", "blank",    "space",      "eod",        "sos",
    "soi",      "class",    "register",  "latent",     "query",   "answer",   "question",   "language",   "lang",
    "task",     "time",     "timestamp", "top",        "best",    "single",   "new",        "each",       "visual",
    "patch",    "frame",    "point",     "memory",     "chat",    "system",   "assistant",  "role",       "turn",
    "positive", "negative", "added",     "additional", "extra",   "sentinel", "page"};

/// Words of a sentence that belong to a "key" or "token" after them.
constexpr std::array<std::string_view, 24> spoken = {
    "api",     "access",  "secret",  "private",    "auth",    "license", "licence",  "account",
    "refresh", "session", "bearer",  "hf",         "wandb",   "github",  "gitlab",   "kaggle",
    "openai",  "service", "storage", "encryption", "signing", "ssh",     "personal", "deploy"};

/// Words in front of "pass" with which it is a password. "forward_pass" is none.
constexpr std::array<std::string_view, 26> opening_passes = {
    "db",       "database",   "user", "smtp",   "mysql", "pg",   "postgres", "redis", "rabbitmq",
    "mq",       "admin",      "root", "login",  "proxy", "mail", "email",    "sudo",  "ldap",
    "keystore", "truststore", "ssh",  "become", "bind",  "ftp",  "auth",     "http"};

/// Functions that take a secret as their first argument.
constexpr std::array<std::string_view, 9> calls = {"client",    "login", "authenticate", "authorize", "auth",
                                                   "authorise", "api",   "openai",       "anthropic"};

bool is_one_of(std::string_view word, Vocabulary words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool ends_with_one_of(std::string_view word, Vocabulary ends) {
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return word.ends_with(end); });
}

/// The words of a name in lower case: "WANDB_API_KEY" and "wandbApiKey" are {wandb, api, key}.
std::vector<std::string> split_name(std::string_view name) {
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool after_lower = i > 0 && is_upper(c) && (is_lower(name[i - 1]) || is_digit(name[i - 1]));
    const bool before_lower =
        i > 0 && is_upper(c) && is_upper(name[i - 1]) && i + 1 < name.size() && is_lower(name[i + 1]);
    if (!is_alnum(c) || after_lower || before_lower) {
      if (!words.back().empty()) words.emplace_back();
    }
    if (is_alnum(c)) words.back().push_back(lower(c));
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

/// Removes numbers and other suffixes: API_KEY_2, password1, client-key-data.
void remove_suffixes(std::vector<std::string>& words) {
  while (!words.empty()) {
    std::string& last = words.back();
    const bool suffix = words.size() > 1 && is_one_of(last, suffixes) && !(last == "value" && words.end()[-2] == "key");
    while (!suffix && last.size() > 1 && is_digit(last.back())) last.pop_back();
    if (!suffix && !only_digits(last)) break;
    words.pop_back();
  }
  // The identifier of an access key is half of it.
  if (words.size() > 2 && words.back() == "id" && words.end()[-2] == "key" && words.end()[-3] == "access")
    words.pop_back();
}

/// The words of a name, and what surrounds it.
struct Name {
  std::string_view last, before_last;
  bool environment = false;  ///< a variable of the environment: API_KEY
  NamePlace place = NamePlace::text;

  bool has_prefix() const { return !before_last.empty(); }
};

std::optional<SecretName> read_key(const Name& name) {
  if (is_one_of(name.before_last, opening_keys)) return SecretName{"key"};
  if (is_one_of(name.before_last, naming_keys)) return std::nullopt;
  return SecretName{"key", name.environment && name.has_prefix() ? Demand::any : Demand::opaque};
}

std::optional<SecretName> read_token(const Name& name) {
  if (is_one_of(name.before_last, opening_tokens)) return SecretName{"token"};
  if (is_one_of(name.before_last, text_tokens)) return std::nullopt;
  const bool named = name.environment || (name.place != NamePlace::text && !name.has_prefix());
  return SecretName{"token", named ? Demand::any : Demand::unlike_word};
}

std::optional<SecretName> read_pass(const Name& name) {
  const bool opens =
      is_one_of(name.before_last, opening_passes) || (name.place == NamePlace::option && !name.has_prefix());
  return opens ? std::optional(SecretName{"password"}) : std::nullopt;
}

/// Decides by the last word.
std::optional<SecretName> read_last(const Name& name) {
  const std::string_view last = name.last;
  if (is_one_of(last, passwords) || ends_with_one_of(last, glued_passwords)) return SecretName{"password"};
  if (last == "pass" || last == "pw") return read_pass(name);
  if (is_one_of(last, licenses)) return SecretName{"license key", Demand::unlike_word};
  if (ends_with_one_of(last, glued_keys)) return SecretName{"key"};
  if (is_one_of(last, secrets) || ends_with_one_of(last, glued_secrets)) {
    const bool section = last.ends_with('s') && !name.has_prefix() && !name.environment;  // "secrets: inherit"
    return SecretName{"secret", section ? Demand::unlike_word : Demand::any};
  }
  if (last == "key" || (last == "keys" && is_one_of(name.before_last, opening_keys))) return read_key(name);
  if (last == "token" || (last == "tokens" && is_one_of(name.before_last, opening_tokens))) return read_token(name);
  if (last.ends_with("token")) {  // "authtoken"
    Name split = name;
    split.before_last = last.substr(0, last.size() - 5);
    return read_token(split);
  }
  if (last == "jwt") return SecretName{"token"};
  if (last == "pat" && name.environment && name.has_prefix()) return SecretName{"token", Demand::unlike_word};
  if (last == "auth") return SecretName{"token", Demand::unlike_word};
  if (last == "signature" || last == "sig") return SecretName{"signature", Demand::opaque};
  return std::nullopt;
}

/// Decides by a word in another place.
std::optional<SecretName> read_inside(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string_view before = i > 0 ? std::string_view(words[i - 1]) : std::string_view();
    if (is_one_of(words[i], passwords)) return SecretName{"password", Demand::opaque};
    if (is_one_of(words[i], secrets)) return SecretName{"secret", Demand::opaque};
    if (words[i] == "token" && !is_one_of(before, text_tokens)) return SecretName{"token", Demand::opaque};
    if (words[i] == "key" && is_one_of(before, opening_keys)) return SecretName{"key", Demand::opaque};
  }
  return std::nullopt;
}

/// The word in front of a name without a prefix, if it belongs to the name: "API key: …", "pad token: …".
std::string spoken_prefix(std::string_view before) {
  std::string small = lower(before);
  const bool known = is_one_of(small, spoken) || is_one_of(small, text_tokens) || is_one_of(small, naming_keys);
  return known ? small : std::string();
}

/// Almost all words of a log fail here, so this check is cheap.
bool may_be_secret(std::string_view small) {
  constexpr std::array<std::string_view, 14> parts = {"key", "token", "pass",  "pwd", "secret", "cred",   "auth",
                                                      "jwt", "sig",   "licen", "pat", "pw",     "client", "login"};
  return std::any_of(parts.begin(), parts.end(), [&](auto part) { return small.find(part) != small.npos; }) ||
         ends_with_one_of(small, calls);
}

}  // namespace

std::optional<SecretName> read_secret_name(std::string_view name, std::string_view before, NamePlace place) {
  constexpr std::size_t max_name = 120;  // the end of a longer name decides
  name = name.substr(name.size() - std::min(name.size(), max_name));
  if (name.size() < 2 || !may_be_secret(lower(name))) return std::nullopt;
  std::vector<std::string> words = split_name(name);
  if (words.empty()) return std::nullopt;
  remove_suffixes(words);
  if (!words.empty()) {
    const std::string prefix = words.size() > 1 ? words.end()[-2] : spoken_prefix(before);
    const bool environment = std::none_of(name.begin(), name.end(), is_lower);
    if (auto read = read_last({words.back(), prefix, environment, place})) return read;
    if (auto read = read_inside(words)) return read;
  }
  if (ends_with_one_of(lower(name), calls)) return SecretName{"key", Demand::opaque, true};
  return std::nullopt;
}

}  // namespace oomdoctor
