#include "redact/identities.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"

namespace oomdoctor {
namespace {

constexpr std::size_t max_host_name = 255;  ///< as DNS limits it

/// Of names of users and hosts.
bool is_name_char(char c) { return is_dashed_name_char(c) || c == '.'; }

/// The longest run of characters from `at` on for which `is` holds, up to the length limit.
template <class Is>
std::string_view take_while(std::string_view text, std::size_t at, Is is) {
  std::size_t end = std::min(at, text.size());
  while (end < text.size() && end - at < max_host_name && is(text[end])) ++end;
  return text.substr(std::min(at, text.size()), end - std::min(at, text.size()));
}

std::string_view name_at(std::string_view text, std::size_t at) {
  std::string_view name = take_while(text, at, is_name_char);
  while (!name.empty() && (name.back() == '.' || name.back() == '-')) name.remove_suffix(1);
  return name;
}

bool starts_word(std::string_view text, std::size_t at) { return at == 0 || !is_word_char(text[at - 1]); }

/// Names that identify nobody, because every system has them.
bool is_common(std::string_view name) {
  constexpr std::array<std::string_view, 14> common = {"root",   "user",   "users",  "ubuntu", "debian",
                                                       "admin",  "runner", "nobody", "guest",  "localhost",
                                                       "shared", "conda",  "none",   "null"};
  return name.size() < 3 || std::find(common.begin(), common.end(), name) != common.end();
}

/// Whether a word after "host:" looks like a host name, for example "gpu-01", "node17" or "a.cluster". A bare word may
/// be anything.
bool looks_like_host(std::string_view name) {
  return name.find_first_of("0123456789-.") != std::string_view::npos &&
         name.find_first_not_of("0123456789-.") != std::string_view::npos;
}

/// The kind of value of a variable, a field or an option with this name: "user", "host" or "".
std::string_view kind_of_value(std::string_view name) {
  std::string small(name);
  for (char& c : small) c = c == '-' ? '_' : lower(c);
  for (const std::string_view user : {"user", "username", "logname", "slurm_job_user", "user_name"})
    if (small == user) return "user";
  for (const std::string_view host : {"host", "hostname", "node", "nodes", "nodename", "slurmd_nodename", "master_addr",
                                      "slurm_job_nodelist", "nodelist", "instance", "server"})
    if (small == host) return "host";
  return "";
}

/// Public sites that many logs mention.
bool is_public(std::string_view host) {
  for (const std::string_view site :
       {"pytorch.org", "huggingface.co", "github.com", "tensorflow.org", "nvidia.com", "python.org", "wandb.ai",
        "localhost", "kubernetes.io", "readthedocs.io", "hf.co"})
    if (host == site || (host.ends_with(site) && host[host.size() - site.size() - 1] == '.')) return true;
  return false;
}

/// Four numbers up to 255. Loopback addresses are the same everywhere, so they stay.
std::string_view ipv4_at(std::string_view text, std::size_t at) {
  const std::string_view all = take_while(text, at, [](char c) { return is_digit(c) || c == '.'; });
  std::size_t groups = 0, digits = 0;
  int value = 0;
  for (const char c : all) {
    if (c == '.') {
      if (digits == 0) return {};
      digits = 0;
      value = 0;
      continue;
    }
    if (digits++ == 0) ++groups;
    value = value * 10 + (c - '0');
    if (value > 255 || digits > 3) return {};
  }
  const std::string_view address = digits == 0 ? all.substr(0, all.size() - (all.empty() ? 0 : 1)) : all;
  const std::size_t end = at + address.size();
  if (groups != 4 || (end < text.size() && is_word_char(text[end]))) return {};
  return address.starts_with("127.") || address == "0.0.0.0" ? std::string_view() : address;
}

/// Eight groups, or fewer with "::". This excludes times and PCI addresses.
std::string_view ipv6_at(std::string_view text, std::size_t at) {
  const std::string_view all = take_while(text, at, [](char c) { return is_hex_digit(c) || c == ':'; });
  const auto colons = std::count(all.begin(), all.end(), ':');
  const std::size_t first_group = std::min(all.find(':'), all.size());
  const bool whole = colons == 7 && all.find("::") == std::string_view::npos;
  const bool shortened = colons >= 2 && colons < 8 && all.find("::") != std::string_view::npos && first_group >= 3;
  if ((!whole && !shortened) || first_group > 4 || all.size() > 39) return {};
  const std::size_t end = at + all.size();
  if (end < text.size() && is_word_char(text[end])) return {};
  return all.find_first_of("0123456789") == std::string_view::npos ? std::string_view() : all;
}

std::string label_prefix(std::string_view kind) {
  if (kind == "home folder") return "~";
  if (kind == "IP address") return "ip-";
  if (kind == "e-mail address") return "e-mail-";
  return std::string(kind) + "-";
}

}  // namespace

// Numbers and common names identify nobody.
void Identities::learn_name(std::string_view kind, std::string_view name) {
  const bool number = name.find_first_not_of("0123456789.") == std::string_view::npos;
  if (number || is_common(name)) return;
  kind_of_.emplace(name, kind);
  // The short name of a host is the same host.
  if (const std::size_t point = name.find('.'); kind == "host" && point != std::string_view::npos)
    learn_name(kind, name.substr(0, point));
}

/// Learns hosts from the line formats of Slurm, NCCL and the kernel's log.
void Identities::learn_hosts_by_format(std::string_view text) {
  if (const std::size_t at = text.find(" ON "), end = text.find(" CANCELLED AT "); at < end && end != text.npos)
    learn_host(name_at(text, at + 4));
  if (const std::size_t at = text.find("slurmstepd-"); at != text.npos) learn_host(name_at(text, at + 11));
  const std::string_view first = name_at(text, 0);
  if (text.find(" NCCL ") != text.npos && text.substr(first.size()).starts_with(':')) learn_host(first);
  if (const std::size_t end = text.find(" kernel: "); end != text.npos) {
    const std::size_t begin = text.find_last_of(' ', end - std::min<std::size_t>(end, 1)) + 1;
    if (begin < end) learn_host(name_at(text.substr(0, end), begin));
  }
}

void Identities::learn_host(std::string_view name) { learn_name("host", name); }

std::string Identities::learn_user(std::string_view name) {
  learn_name("user", name);
  return substitute("user", name);
}

void Identities::learn(std::string_view text) {
  learn_hosts_by_format(text);
  for (const std::string_view homes : {"/home/", "/Users/", "\\Users\\"})
    for (std::size_t at = text.find(homes); at != std::string_view::npos; at = text.find(homes, at + 1))
      learn_name("user", name_at(text, at + homes.size()));
  for (std::size_t at = text.find_first_of("=:"); at != std::string_view::npos; at = text.find_first_of("=:", at + 1)) {
    std::size_t end = at;
    while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '"' || text[end - 1] == '\'')) --end;
    std::size_t begin = end;
    while (begin > 0 && end - begin < max_host_name && is_dashed_name_char(text[begin - 1])) --begin;
    const std::string_view kind = kind_of_value(text.substr(begin, end - begin));
    if (kind.empty()) continue;
    const std::size_t value = text.find_first_not_of(" \"'", at + 1);
    if (value == std::string_view::npos) continue;
    const std::string_view name = name_at(text, value);
    if (kind != "host" || looks_like_host(name)) learn_name(kind, name);
  }
}

std::string Identities::substitute(const std::string& kind, std::string_view name) {
  const auto [at, made] = substitutes_.try_emplace({kind, std::string(name)});
  if (made) {
    const std::string number = std::to_string(++counts_[kind]);
    at->second = label_prefix(kind) + (kind == "home folder" ? "" : number);
  }
  return at->second;
}

// A home folder becomes "~". Of URLs it replaces the host, or the bucket of storage schemes, or the owner and project
// of wandb.ai.
bool Identities::find_path(std::string_view text, std::size_t at, std::vector<Replacement>& found) {
  const std::string_view rest = text.substr(at);
  for (const std::string_view homes : {"/home/", "/Users/", "/root"}) {
    if (!rest.starts_with(homes) || (at > 0 && is_name_char(text[at - 1]))) continue;
    const std::string_view name = homes == "/root" ? std::string_view() : name_at(text, at + homes.size());
    const std::size_t end = at + homes.size() + name.size();
    if (homes == "/root" ? end < text.size() && is_name_char(text[end]) : name.empty()) continue;
    found.push_back({at, end, substitute("home folder", text.substr(at, end - at))});
    return true;
  }
  if (!rest.starts_with("://")) return false;
  std::size_t scheme = at;
  while (scheme > 0 && is_word_char(text[scheme - 1])) --scheme;
  const std::string_view protocol = text.substr(scheme, at - scheme);
  std::string_view host = name_at(text, at + 3);
  const bool bucket = protocol != "http" && protocol != "https" && protocol != "tcp" && protocol != "ssh" &&
                      protocol != "file" && protocol != "env";
  std::string_view kind = bucket ? "bucket" : "host";
  if (host == "wandb.ai" || host == "www.wandb.ai") {  // the owner and the project
    const auto path = take_while(text, at + 4 + host.size(), [](char c) { return is_name_char(c) || c == '/'; });
    host = path.substr(0, path.find('/', std::min(path.find('/'), path.size() - 1) + 1));
    kind = "project";
  }
  const std::size_t begin = static_cast<std::size_t>(host.data() - text.data());
  if (host.empty() ||
      (kind == "host" && (is_public(host) || host.find_first_not_of("0123456789.") == std::string_view::npos)))
    return false;
  const std::string name(kind == "host" ? host.substr(0, host.find('.')) : host);
  found.push_back({begin, begin + host.size(), substitute(std::string(kind), name)});
  return true;
}

bool Identities::find_address(std::string_view text, std::size_t at, std::vector<Replacement>& found) {
  if (!is_word_char(text[at]) || !starts_word(text, at) || (at > 0 && (text[at - 1] == '.' || text[at - 1] == ':')))
    return false;
  const auto replace = [&](std::size_t size, const std::string& kind) {
    if (size > 0) found.push_back({at, at + size, substitute(kind, text.substr(at, size))});
    return size > 0;
  };
  if (is_digit(text[at]) && replace(ipv4_at(text, at).size(), "IP address")) return true;
  if (is_hex_digit(text[at]) && replace(ipv6_at(text, at).size(), "IP address")) return true;
  const std::string_view person = name_at(text, at);
  if (at + person.size() >= text.size() || text[at + person.size()] != '@') return false;
  const std::string_view domain = name_at(text, at + person.size() + 1);
  if (domain.find('.') == std::string_view::npos) return false;
  return replace(person.size() + 1 + domain.size(), "e-mail address");
}

/// Finds the longest learned name that begins here and ends at a word boundary.
bool Identities::find_word(std::string_view text, std::size_t at, std::vector<Replacement>& found) {
  if (kind_of_.empty() || !is_word_char(text[at]) || !starts_word(text, at)) return false;
  const std::string_view name = name_at(text, at);
  for (std::size_t size = name.size(); size > 0; --size) {
    if (size < name.size() && is_word_char(name[size])) continue;
    const auto known = kind_of_.find(name.substr(0, size));
    if (known == kind_of_.end()) continue;
    const std::string_view one =
        known->second == "host" ? name.substr(0, std::min(name.find('.'), size)) : name.substr(0, size);
    found.push_back({at, at + size, substitute(known->second, one)});
    return true;
  }
  return false;
}

std::vector<Replacement> Identities::find(std::string_view text) {
  std::vector<Replacement> found;
  for (std::size_t at = 0; at < text.size();) {
    const bool any = find_path(text, at, found) || find_address(text, at, found) || find_word(text, at, found);
    at = any ? found.back().end : at + 1;
  }
  return found;
}

}  // namespace oomdoctor
