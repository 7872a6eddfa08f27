#include "scan/line_template.h"

namespace oomdoctor {

LineMatch make_match(const Line& line, const CompiledFormat& reader) {
  LineMatch found;
  found.by = &reader;
  found.reader = reader.name;
  found.line = line;
  found.text = line.text;
  found.first_line = line.number;
  found.last_line = line.last;
  return found;
}

std::string_view group_text(const LineMatch& found, std::size_t i) {
  if (found.parts == nullptr || i >= found.parts->size() || !(*found.parts)[i].matched) return {};
  return found.text.substr((*found.parts)[i].at, (*found.parts)[i].size);
}

namespace {

/// Reads the numbers of a line at the fields of its template. False if a field has no number, or one with which the
/// line means something else.
bool read_values(const KnownTemplate& known, const TemplateMatch& match, std::string_view line,
                 std::vector<GaugeValue>& out) {
  const std::size_t first = out.size();
  for (const NumberField& number : match.numbers) {
    std::size_t at = known.at(number);
    const auto read = read_number(line, at);
    if (!read) return false;
    out.push_back(*read);
    out.back().number = number.number;
  }
  return match.printed == nullptr || may_be_step(std::span(out).subspan(first), *match.printed);
}

bool is_step(const LineMatch& found) { return found.by->is_step_only && found.printed->step; }

/// True if both lines have the same rank and process.
bool same_stream(const Line& a, const Line& b) {
  return a.prefix.rank == b.prefix.rank && a.prefix.pid == b.prefix.pid;
}

/// The run of steps that this line extends, or null. Most steps of a log with other lines in between stay alone, so a
/// run begins with its second line.
StepRun* open_run(const CompiledFormat& reader, const Line& line, LineMatch& last, BlockMatches& out) {
  if (!last.begins_run || last.by != &reader || !same_stream(last.line, line)) return nullptr;
  if (last.steps != nullptr) return last.steps;
  const FreeformLine& printed = out.fill_printed(last);
  StepRun& run = out.runs.emplace_back();
  run.step = whole_number(*printed.step);
  run.before = steps_before(printed);
  run.last = last;
  return last.steps = &run;
}

void extend(StepRun& run, const LineRef& ref, i64 step, i64 before, std::optional<double> epoch) {
  ++run.lines;
  run.more += ref.first_line > run.last.last_line;
  run.last = ref;
  if (const auto& time = ref.line.prefix.time) {
    if (!run.first_time) run.first_time = time;
    run.last_time = time;
    run.period.add(*time);
  }
  run.changes += step != run.step;
  if (step > run.step) {
    ++run.advances;
    run.advanced = ref;
  }
  run.step = step;
  run.before = before;
  if (epoch) run.epoch = epoch;
}

}  // namespace

void join_step(BlockMatches& out, std::size_t first) {
  if (out.all.size() != first + 1 || !is_step(out.all.back())) return;
  LineMatch& found = out.all.back();
  StepRun* run = first > 0 ? open_run(*found.by, found.line, out.all[first - 1], out) : nullptr;
  if (run == nullptr) {
    found.begins_run = true;
    return;
  }
  const FreeformLine& printed = out.fill_printed(found);
  extend(*run, found, whole_number(*printed.step), steps_before(printed), printed.epoch);
  out.all.pop_back();
}

namespace {

/// The fast path for logs of step lines: reads only the numbers and extends the run.
bool extend_by_template(const KnownTemplate& known, const Line& line, BlockMatches& out) {
  if (known.shape->accepts.size() != 1) return false;
  const TemplateMatch& match = known.shape->accepts[0];
  if (!match.reader->is_step_only || !match.printed->step || out.all.empty()) return false;
  StepRun* run = open_run(*match.reader, line, out.all.back(), out);
  if (run == nullptr) return false;
  const std::size_t first = out.values.size();
  const bool read = read_values(known, match, line.text, out.values);
  if (read) {
    const PrintedPosition place = read_position(std::span(out.values).subspan(first), *match.printed);
    extend(*run, {line, match.reader->name, line.number, line.last, {}}, whole_number(*place.step), place.before,
           place.epoch);
  }
  out.values.resize(first);
  return read;
}

}  // namespace

bool apply_template(const KnownTemplate& known, Line& line, BlockMatches& out) {
  const auto prefix = read_prefix(known.shape->prefix, line.text);
  if (!prefix) return false;
  line.prefix = *prefix;
  if (extend_by_template(known, line, out)) return true;
  const std::size_t first = out.all.size();
  for (const TemplateMatch& match : known.shape->accepts) {
    LineMatch& found = out.all.emplace_back(make_match(line, *match.reader));
    found.again = match.again;
    found.values_begin = out.values.size();
    if (!read_values(known, match, line.text, out.values)) return out.all.resize(first), false;
    found.values_end = out.values.size();
    found.printed = match.printed.get();
    if (!match.parts.empty()) found.parts = &match.parts;
    found.marked = group_text(found, 1);
  }
  join_step(out, first);
  return true;
}

LineTemplate make_template(const Line& line, std::span<const CompiledFormat* const> tried,
                           std::span<const LineMatch> found, const BlockMatches& all, const NumberSpans* runs) {
  LineTemplate shape;
  shape.prefix = line.prefix;
  shape.tried.assign(tried.begin(), tried.end());
  for (const LineMatch& f : found) {
    TemplateMatch& match = shape.accepts.emplace_back();
    match.reader = f.by;
    match.again = f.again;
    const auto add_number = [&](std::uint32_t number, std::size_t at) {
      match.numbers.push_back(
          {number, static_cast<std::uint32_t>(at), runs != nullptr ? runs->find_place(at) : FormPlace{}});
    };
    for (const GaugeValue& value : all.values_of(f)) add_number(value.number, value.at);
    if (f.printed != nullptr) {
      match.printed = std::make_unique<FreeformLine>(*f.printed);
      for (const std::size_t at : number_offsets(*f.printed)) add_number(0, at);
    }
    if (f.parts != nullptr) match.parts = *f.parts;
  }
  return shape;
}

}  // namespace oomdoctor
