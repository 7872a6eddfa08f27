// There are two kinds of shapes. Most tokens are a prefix and a run of letters, and code reads them. The others are
// regexes that begin at their anchor, so a search tries one only at its literal; each regex is bounded. Prefixes and
// lengths are those that the issuers document. Minimum lengths are generous, because lengths have grown before.
#include "redact/secrets.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "base/ascii.h"
#include "model/evidence.h"
#include "redact/secret_values.h"
#include "redact/value_forms.h"
#include "text/pattern.h"

namespace oomdoctor {
namespace {

/// The characters of a token after its prefix.
enum class Alphabet { letters, dashed, dotted };

struct TokenForm {
  std::string_view kind, prefix;
  std::size_t min_length;  ///< minimum number of characters after the prefix
  Alphabet alphabet = Alphabet::letters;
};

constexpr TokenForm tokens[] = {
    {"Hugging Face token", "hf_", 20},
    {"Hugging Face token", "api_org_", 20},
    {"Weights & Biases key", "wandb_v1_", 20, Alphabet::dashed},
    {"GitHub token", "ghp_", 20},
    {"GitHub token", "gho_", 20},
    {"GitHub token", "ghu_", 20},
    {"GitHub token", "ghs_", 20},
    {"GitHub token", "ghr_", 20},
    {"GitHub token", "github_pat_", 20, Alphabet::dashed},
    {"GitLab token", "glpat-", 16, Alphabet::dotted},
    {"GitLab token", "gldt-", 16, Alphabet::dashed},
    {"GitLab token", "glft-", 16, Alphabet::dashed},
    {"GitLab token", "glagent-", 16, Alphabet::dashed},
    {"GitLab token", "gloas-", 16, Alphabet::dashed},
    {"GitLab token", "glimt-", 16, Alphabet::dashed},
    {"GitLab token", "glsoat-", 16, Alphabet::dashed},
    {"GitLab token", "glrt-", 16, Alphabet::dashed},
    {"GitLab token", "glcbt-", 16, Alphabet::dashed},
    {"GitLab token", "glptt-", 16, Alphabet::dashed},
    {"AWS key", "AKIA", 16},
    {"AWS key", "ASIA", 16},
    {"Anthropic key", "sk-ant-", 20, Alphabet::dashed},
    {"OpenAI key", "sk-proj-", 20, Alphabet::dashed},
    {"OpenAI key", "sk-svcacct-", 20, Alphabet::dashed},
    {"OpenAI key", "sk-admin-", 20, Alphabet::dashed},
    {"API key", "sk-or-v1-", 20},
    {"API key", "sk-", 32},
    {"Google key", "AIza", 30, Alphabet::dashed},
    {"Google key", "ya29.", 20, Alphabet::dashed},
    {"Google key", "GOCSPX-", 20, Alphabet::dashed},
    {"NVIDIA key", "nvapi-", 20, Alphabet::dashed},
    {"npm token", "npm_", 30},
    {"PyPI token", "pypi-AgE", 20, Alphabet::dashed},
    {"Docker token", "dckr_pat_", 20, Alphabet::dashed},
    {"Databricks token", "dapi", 32, Alphabet::dashed},
    {"Replicate token", "r8_", 30},
    {"Groq key", "gsk_", 30},
    {"Vault token", "hvs.", 20, Alphabet::dashed},
    {"Stripe key", "sk_live_", 16},
    {"Stripe key", "rk_live_", 16},
    {"Stripe key", "sk_test_", 16},
    {"Stripe key", "rk_test_", 16},
    {"Stripe key", "whsec_", 16},
    {"DigitalOcean token", "dop_v1_", 20},
    {"DigitalOcean token", "doo_v1_", 20},
    {"DigitalOcean token", "dor_v1_", 20},
    {"Grafana token", "glsa_", 20, Alphabet::dashed},
    {"Grafana token", "glc_", 30},
    {"Atlassian token", "ATATT3", 30, Alphabet::dashed},
    {"Atlassian token", "ATCTT3", 30, Alphabet::dashed},
    {"Notion token", "ntn_", 30},
    {"Linear key", "lin_api_", 20},
    {"Linear key", "lin_oauth_", 20},
    {"Tailscale key", "tskey-", 16, Alphabet::dashed},
    {"xAI key", "xai-", 40},
    {"Vault token", "hvb.", 20, Alphabet::dashed},
    {"Vault token", "hvr.", 20, Alphabet::dashed},
    {"age key", "AGE-SECRET-KEY-1", 40},
    {"Sentry token", "sntrys_", 30, Alphabet::dashed},
    {"Sentry token", "sntryu_", 30},
    {"Pulumi token", "pul-", 30},
    {"Doppler token", "dp.pt.", 30},
    {"Doppler token", "dp.st.", 30, Alphabet::dotted},
    {"Shopify token", "shpat_", 30},
    {"Shopify token", "shpca_", 30},
    {"Shopify token", "shppa_", 30},
    {"New Relic key", "NRAK-", 20},
    {"Fly token", "fm2_", 30},
    {"Postman key", "PMAK-", 30, Alphabet::dashed},
    {"Buildkite token", "bkua_", 30},
    {"SendGrid key", "SG.", 30, Alphabet::dotted},
    {"Slack token", "xoxa-", 10, Alphabet::dashed},
    {"Slack token", "xoxb-", 10, Alphabet::dashed},
    {"Slack token", "xoxe-", 10, Alphabet::dashed},
    {"Slack token", "xoxo-", 10, Alphabet::dashed},
    {"Slack token", "xoxp-", 10, Alphabet::dashed},
    {"Slack token", "xoxr-", 10, Alphabet::dashed},
    {"Slack token", "xoxs-", 10, Alphabet::dashed},
    {"Slack token", "xapp-", 10, Alphabet::dashed},
    {"JSON web token", "eyJ", 20, Alphabet::dotted},
    {"Google token", "1//0", 30, Alphabet::dashed},
};

/// A regex that begins at its anchor. The secret is the group that matched, or the whole match if none did.
struct SecretShape {
  std::string_view kind, anchor, regex;
  bool has_escapes = false;  ///< escaped line ends and quotation marks are part of the secret
};

constexpr SecretShape shapes[] = {
    {"private key", "-----BEGIN ",
     R"(-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----([A-Za-z0-9+/=:,\s\\-]{0,3600}?)(?:-----END|[^A-Za-z0-9+/=:,\s\\-]|\z))",
     true},
    // Up to the last "@", because a password may contain one. Digits before a path are a port.
    {"URL password", "://", R"(://[^\s/:@"'<>]{0,120}:(?!\d{1,5}[/?#])([^\s"'<>]{1,400})@)"},
    {"URL password", "://", R"(://([^\s/:@"'<>.]{20,400})@)"},
    {"authorization header", "uthorization",
     R"(uthorization["']?\s{0,3}[:=]\s{0,3}["']?Digest {1,3}((?:[A-Za-z]{1,20}=(?:"[^"\r\n]{0,400}"|\\{1,7}"[^"\\\r\n]{0,400}\\{1,7}"|[^\s"',;\\)}\]]{0,400})[, ]{0,3}){1,20}))",
     true},
    {"authorization header", "uthorization",
     R"(uthorization["']?\s{0,3}[:=]\s{0,3}["']?(?:[A-Za-z]{4,12}\s{1,3})?([^\s"',]{6,2000}))"},
    {"authorization header", "earer ", R"(earer\s{1,3}((?=[^\s"',]{0,200}[0-9])[A-Za-z0-9._~+/=-]{12,2000}))"},
    {"cookie", "ookie", R"(ookie["']?\s{0,3}[:=]\s{0,3}["']?([^\s"'][^\r\n"']{5,2000}))"},
    {"Weights & Biases key", "wandb", R"(wandb(?: login|\.login\(key)?[ :='"]{1,4}([0-9a-f]{40})(?![0-9a-f]))"},
    {"key", "login ",
     R"(login (?:[^\s|;&]{1,200} {1,3}){0,8}?["']?((?=[A-Za-z]{0,60}[0-9])[A-Za-z0-9]{32,200}+)(?![\w/.:@-]))"},
    {"Telegram token", "/bot", R"(/bot\d{6,12}:([A-Za-z0-9_-]{30,60}+)(?!\w))"},
    {"password", "echo ",
     R"(echo (?:-n )?["']?([^\s"'|]{6,400})["']? {0,3}\|[^\r\n|]{0,300}(?:-stdin|--with-token|passwd))"},
    {"password", "printf ",
     R"(printf (?:["']?%s(?:\\n)?["']? )?["']?([^\s"'|]{6,400})["']? {0,3}\|[^\r\n|]{0,300}(?:-stdin|--with-token|passwd))"},
    {"password", "-stdin", R"(-stdin {0,3}<<< {0,3}["']?([^\s"']{6,400}))"},
    {"signature", "sig=", R"(sig=([A-Za-z0-9%+/=_-]{16,400}))"},
    {"signature", "Signature=", R"(Signature=([A-Za-z0-9%+/=_-]{16,1200}))"},
    {"password", "machine ", R"re(machine \S{1,200} login \S{1,200} password (\S{1,400}))re"},
    {"password", "mysql", R"re(mysql(?:dump|admin)?\b[^\r\n|;&]{0,200}? -p([^\s'"]{1,200}))re"},
    {"password", "sshpass ", R"re(sshpass -p {0,3}(?:'([^'\r\n]{1,200})'|"([^"\r\n]{1,200})"|([^\s'"]{1,200})))re"},
    {"password", "login ", R"re(login\b[^\r\n|;&]{0,200}? -p {0,3}['"]?([^\s'"]{1,400}))re"},
    {"password", "redis-cli ", R"re(redis-cli\b[^\r\n|;&]{0,200}? -a {1,3}['"]?([^\s'"]{1,400}))re"},
    {"password", "curl ",
     R"re(curl\b[^\r\n|;&]{0,300}? (?:-u|--user)[ =]{0,3}['"]?[^\s:'"]{1,200}:([^\s'"]{1,400}))re"},
    {"Terraform token", ".atlasv1.", R"(\.atlasv1\.([A-Za-z0-9_-]{20,200}))"},
    {"webhook", "hooks.slack.com/", R"(hooks\.slack\.com/([A-Za-z0-9/_-]{10,200}))"},
    {"webhook", "/api/webhooks/", R"(/api/webhooks/([A-Za-z0-9/_-]{10,200}))"},
};

bool is_in_alphabet(char c, Alphabet alphabet) {
  if (is_alnum(c)) return true;
  if (alphabet == Alphabet::letters) return false;
  return c == '_' || c == '-' || (c == '.' && alphabet == Alphabet::dotted);
}

std::optional<Secret> read_token(std::string_view text, std::size_t at, const TokenForm& token) {
  if (!text.substr(at).starts_with(token.prefix)) return std::nullopt;
  const std::size_t begin = at + token.prefix.size();
  std::size_t end = begin;
  while (end < text.size() && is_in_alphabet(text[end], token.alphabet)) ++end;
  // A token that the excerpt cuts off may be shorter than the minimum.
  const bool cut = end == text.size() && text.size() >= Evidence::max_excerpt;
  if (end - begin < (cut ? std::size_t{1} : token.min_length)) return std::nullopt;
  return Secret{at, end, token.kind};
}

std::optional<Secret> read_shape(std::string_view text, std::size_t at, const SecretShape& shape, const Regex& regex,
                                 bool in_string) {
  Captures captures;
  if (!text.substr(at).starts_with(shape.anchor) || regex.match(text, captures, at) != Search::found)
    return std::nullopt;
  const auto matched = std::find_if(captures.group.begin() + 1, captures.group.end(),
                                    [](std::string_view group) { return group.data() != nullptr; });
  const std::string_view whole = matched != captures.group.end() ? *matched : captures.group[0];
  const auto begin = static_cast<std::size_t>(whole.data() - text.data());
  if (begin > at && ends_string(text, begin - 1) && is_in_string(text, at, begin - 1, in_string)) return std::nullopt;
  const std::string_view secret =
      within_structure(text, begin, begin + whole.size(), is_in_string(text, at, begin, in_string), shape.has_escapes);
  if (secret.empty() || is_placeholder(secret)) return std::nullopt;
  return Secret{begin, begin + secret.size(), shape.kind};
}

/// Shapes and tokens by their first byte. Created once and never destroyed.
struct FirstByteIndex {
  std::array<std::vector<const TokenForm*>, 256> tokens_by_byte;
  std::array<std::vector<std::size_t>, 256> shapes_by_byte;
  std::vector<Regex> regexes;

  FirstByteIndex() {
    for (const TokenForm& token : tokens) tokens_by_byte[static_cast<std::uint8_t>(token.prefix[0])].push_back(&token);
    for (const SecretShape& shape : shapes) {
      shapes_by_byte[static_cast<std::uint8_t>(shape.anchor[0])].push_back(regexes.size());
      regexes.emplace_back(shape.regex);
    }
  }
};

const FirstByteIndex& index() {
  static const FirstByteIndex& made = *new FirstByteIndex;
  return made;
}

std::optional<Secret> token_at(std::string_view text, std::size_t at) {
  for (const TokenForm* token : index().tokens_by_byte[static_cast<std::uint8_t>(text[at])])
    if (const auto secret = read_token(text, at, *token)) return secret;
  return std::nullopt;
}

std::optional<Secret> shape_at(std::string_view text, std::size_t at, bool in_string) {
  for (const std::size_t i : index().shapes_by_byte[static_cast<std::uint8_t>(text[at])])
    if (const auto secret = read_shape(text, at, shapes[i], index().regexes[i], in_string)) return secret;
  return std::nullopt;
}

std::optional<Secret> value_at(std::string_view text, std::size_t at, bool in_string) {
  const auto value = secret_value(text, at, in_string);
  if (!value) return std::nullopt;
  // The kind of the value is more exact than the kind of its name.
  const auto token = token_at(text, value->begin);
  return Secret{value->begin, std::max(value->end, token ? token->end : 0), token ? token->kind : value->kind};
}

/// Sorts and joins overlapping secrets. One may begin inside another and end after it: a token in a header, or a
/// password before one that a longer shape found.
std::vector<Secret> join_overlaps(std::vector<Secret> found) {
  std::stable_sort(found.begin(), found.end(), [](const Secret& a, const Secret& b) { return a.begin < b.begin; });
  std::vector<Secret> apart;
  for (const Secret& secret : found) {
    if (!apart.empty() && secret.begin < apart.back().end)
      apart.back().end = std::max(apart.back().end, secret.end);
    else
      apart.push_back(secret);
  }
  return apart;
}

}  // namespace

// Tries every position: first shapes, then tokens and values at the start of a word. Overlaps are joined at the end,
// because a secret may begin inside another one. No text between quotation marks goes beyond its line.
std::vector<Secret> find_secrets(std::string_view text) {
  std::vector<Secret> found;
  bool in_string = false, escaped = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool starts_word = is_word_char(text[at]) && (at == 0 || !is_word_char(text[at - 1]));
    auto secret = shape_at(text, at, in_string);
    if (!secret && starts_word) secret = token_at(text, at);
    if (!secret && begins_name(text, at)) secret = value_at(text, at, in_string);
    if (secret) found.push_back(*secret);
    if (ends_line(text[at])) in_string = false;
    if (text[at] == '"' && !escaped) in_string = !in_string;
    escaped = text[at] == '\\' && !escaped;
  }
  return join_overlaps(std::move(found));
}

std::vector<std::string_view> secret_regexes() {
  std::vector<std::string_view> all;
  for (const SecretShape& shape : shapes) all.push_back(shape.regex);
  return all;
}

}  // namespace oomdoctor
