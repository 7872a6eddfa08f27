#include "read/oom_template.h"

#include <algorithm>
#include <span>

#include "read/context.h"
#include "read/sizes.h"

namespace oomdoctor {
namespace {

bool is_reported_nearby(const OomTemplate& as, const Cursor& cursor) {
  const auto end = std::find(as.unless_near.begin(), as.unless_near.end(), "");
  return end != as.unless_near.begin() && is_near(cursor, as.back, as.ahead, std::span(as.unless_near.begin(), end));
}

}  // namespace

void emit_oom(const OomTemplate& as, const Match& match, EventSink& sink) {
  if (as.not_in_code && is_program_text(match.cursor.line().body())) return;
  if (is_reported_nearby(as, match.cursor)) return;
  Oom oom;
  oom.kind = as.kind;
  oom.agent = as.agent;
  oom.framework = as.framework;
  oom.message_format = as.format;
  oom.program = as.program;
  oom.caught = as.caught;
  oom.described = as.described;
  for (const std::optional<OomTrait>& trait : as.traits)
    if (trait) oom.traits.push_back(*trait);
  for (const OomTemplate::PrintedSize& size : as.sizes) {
    if (size.group == 0 || !match.has(size.group)) continue;
    const std::string text = dense(match[size.group]) + std::string(size.unit);
    if (size.field == &Oom::request)
      read_request(text, oom);
    else
      oom.*size.field = read_size(text);
  }
  if (as.process_name > 0) oom.process_name = match[as.process_name];
  Origin where;
  if (match.has(as.device) && as.device > 0) where.device = static_cast<int>(leading_integer(match[as.device]));
  if (match.has(as.pid) && as.pid > 0) where.pid = leading_integer(match[as.pid]);
  if (as.device > 0 || as.pid > 0) sink.at(where);
  if (!as.remark.empty()) sink.remark(as.remark);
  sink.oom(std::move(oom));
}

}  // namespace oomdoctor
