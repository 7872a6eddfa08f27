#include "fold/current_line.h"

namespace oomdoctor {

void CurrentLine::begin(const Cursor& cursor, const LineRef& line) {
  cursor_ = &cursor;
  line_ = &line;
  evidence_.reset();
  cited_.reset();
  origin_.rank = line.line.prefix.rank;
  origin_.pid = line.line.prefix.pid;
  origin_.device.reset();
  origin_.host.clear();
  claimed_through_ = line.last_line;
}

void CurrentLine::at(const Origin& origin) {
  if (origin.rank) origin_.rank = origin.rank;
  if (origin.device) origin_.device = origin.device;
  if (origin.pid) origin_.pid = origin.pid;
  if (!origin.host.empty()) origin_.host = origin.host;
}

void CurrentLine::cite(const Line& line) {
  cited_.reset();
  if (line.number == number() && line.last == line_->last_line) return;
  cited_ = evidence();
  cited_->span = {.source = cited_->span.source, .first_line = line.number, .last_line = line.last};
  cited_->excerpt = std::string(line.text.substr(0, Evidence::max_excerpt));
  cited_->lead.clear();
}

namespace {

StreamId make_stream(std::optional<int> rank, std::optional<i64> pid) {
  if (rank) return {StreamId::StreamKind::rank, *rank};
  if (pid) return {StreamId::StreamKind::process, *pid};
  return {};
}

}  // namespace

StreamId CurrentLine::stream() const { return make_stream(origin_.rank, origin_.pid); }

StreamId CurrentLine::printer() const { return make_stream(line_->line.prefix.rank, line_->line.prefix.pid); }

const Evidence& CurrentLine::evidence() const {
  if (!evidence_) evidence_ = line_->evidence();
  return *evidence_;
}

}  // namespace oomdoctor
