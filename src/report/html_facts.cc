// The page's header: facts that identify the run, as far as the log prints them.
#include <array>
#include <chrono>

#include "report/escape.h"
#include "report/html_sections.h"
#include "report/words.h"

namespace oomdoctor::html {
namespace {

/// The last printed value of a setting, also of a setting per GPU ("gpu/0"); "" if there is none.
std::string setting_of(const Report& report, std::string_view name) {
  for (const ReportSetting& setting : report.settings)
    if (setting.name == name || (setting.name.starts_with(name) && setting.name[name.size()] == '/'))
      return setting.value;
  return {};
}

std::string log_name(const Report& report) {
  if (report.inputs.empty()) return {};
  const std::string& path = report.inputs.front().path;
  const std::string more =
      report.inputs.size() > 1 ? fmt::format(" and {} more", report.inputs.size() - 1) : std::string();
  return (path == "-" ? "standard input" : path) + more;
}

std::string gpu_name(const Report& report, const ReportIncident* incident) {
  const std::string model = setting_of(report, "gpu");
  if (incident == nullptr || !incident->device) return model;
  const std::string name = memory_name(*incident);
  return model.empty() ? name : name + ", " + model;
}

std::string framework_name(const Report& report, const ReportIncident* incident) {
  if (const std::string torch = setting_of(report, "torch"); !torch.empty()) return "PyTorch " + torch;
  if (incident == nullptr) return {};
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> names = {{{"pytorch", "PyTorch"},
                                                                                   {"tensorflow", "TensorFlow"},
                                                                                   {"jax", "JAX"},
                                                                                   {"vllm", "vLLM"},
                                                                                   {"sglang", "SGLang"},
                                                                                   {"mindspore", "MindSpore"}}};
  for (const auto& [id, name] : names)
    if (id == incident->framework) return std::string(name);
  return incident->framework;
}

/// For example "2025-03-04 09:32:10"; "" outside 1970 to 3000.
std::string time_text(double time) {
  using namespace std::chrono;
  constexpr double year_3000 = 32503680000;
  if (!(time > 0 && time < year_3000)) return {};
  const sys_seconds at{seconds{static_cast<std::int64_t>(time)}};
  const auto day = floor<days>(at);
  const year_month_day date{day};
  const hh_mm_ss clock{at - day};
  return fmt::format("{}-{:02}-{:02} {:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count());
}

void add_fact(Document& page, std::string_view name, const std::string& value) {
  if (!value.empty()) page.add("<div><dt>{}</dt><dd>{}</dd></div>", name, html_inline(value));
}

}  // namespace

const ReportIncident* main_incident(const Report& report) {
  for (const auto& incident : report.incidents)
    if (report.verdict.incident == incident.id) return &incident;
  return report.incidents.empty() ? nullptr : &report.incidents.front();
}

void add_facts(Document& page, const Content& content) {
  const Report& report = content.report;
  const ReportIncident* incident = main_incident(report);
  page.add("<dl class=\"facts\">");
  add_fact(page, "Log", log_name(report));
  add_fact(page, "Job", report.job);
  if (incident != nullptr) add_fact(page, "Host", incident->host);
  add_fact(page, "GPU", gpu_name(report, incident));
  add_fact(page, "Framework", framework_name(report, incident));
  if (incident != nullptr && incident->time) add_fact(page, "Failed at", time_text(*incident->time));
  add_fact(page, "oomdoctor", report.tool_version);
  page.add("</dl>\n");
}

}  // namespace oomdoctor::html
