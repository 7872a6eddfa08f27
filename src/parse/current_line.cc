#include "parse/current_line.h"

namespace oomdoctor {

void CurrentLine::begin(const Cursor& cursor, const LineRef& line) {
  cursor_ = &cursor;
  line_ = &line;
  evidence_.reset();
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

StreamId CurrentLine::stream() const {
  if (origin_.rank) return {StreamId::StreamKind::rank, *origin_.rank};
  if (origin_.pid) return {StreamId::StreamKind::process, *origin_.pid};
  return {};
}

const Evidence& CurrentLine::evidence() const {
  if (!evidence_) evidence_ = line_->evidence();
  return *evidence_;
}

}  // namespace oomdoctor
