// The walk over the lines of a block. A line of a known template is read by it, at the price of a hash. All lines
// between two of these are searched for anchors together.
#include <algorithm>
#include <set>
#include <utility>

#include "scan/line_template.h"
#include "scan/row_walk.h"

namespace oomdoctor {
namespace {

/// After so many bytes of unknown lines, these are searched: they make templates known for the lines that follow.
constexpr std::size_t most_unread = 1 << 14;

std::string_view family_of(const Table& table) { return table.name.substr(0, table.name.find('/')); }

}  // namespace

/// The map step of one block.
class FormatRegistry::BlockMapping {
 public:
  BlockMapping(const FormatRegistry& formats, const Window& window, std::size_t begin, std::size_t end,
               TemplateCache& memo, BlockMatches& out)
      : formats_(formats),
        window_(window),
        end_(end),
        memo_(memo),
        out_(out),
        rows_(window, begin, end, out),
        open_(out.open),
        unread_(begin),
        counted_(begin) {
    if (out.open) rows_.open(*out.open);
  }

  /// Reads all lines. Returns the number of line ends in the block.
  i64 read();

 private:
  using Hits = std::span<const AnchorHit>;

  bool read_by_template(std::size_t begin, std::size_t end);
  void search_to(std::size_t end);
  std::size_t begin_after(std::size_t place) const;
  std::size_t read_row(Hits ahead);
  void read_line(std::pair<std::size_t, std::size_t> bounds, Hits here);
  void match(Line& line, TemplateCache* memo);
  i64 number_at(std::size_t place);

  const FormatRegistry& formats_;
  const Window& window_;
  std::size_t end_;
  TemplateCache& memo_;
  BlockMatches& out_;
  RowWalk rows_;
  std::shared_ptr<const OpenTable> open_;  ///< the table of `rows_`
  std::size_t unread_;                     ///< lines before this position are read
  std::size_t counted_;                    ///< the line of this position has the number `number_`
  i64 number_ = 1;
  std::vector<AnchorHit> hits_;
  std::vector<const CompiledFormat*> wanted_;
  /// Messages that several anchors lead to.
  std::set<std::pair<const CompiledFormat*, std::pair<i64, std::size_t>>> seen_;
};

/// While a table is open, any line may be its row: the rows with values are read without a search for anchors, and then
/// some lines from the first other one on are searched. A line that needs cleaning is not in the text as its template
/// has it.
i64 FormatRegistry::BlockMapping::read() {
  for (std::size_t at = unread_; at < end_ && !rows_.is_open() && window_.clean();) {
    const std::size_t stop = window_.end_of_line(at), next = window_.begin_after(stop);
    if (read_by_template(at, stop))
      unread_ = next;
    else if (next - unread_ >= most_unread)
      search_to(next);
    at = next;
  }
  while (unread_ < end_) {
    if (rows_.is_open() && window_.clean()) unread_ = rows_.read_all(unread_);
    search_to(rows_.is_open() ? begin_after(unread_ + most_unread) : end_);
  }
  if (rows_.is_open()) rows_.read_to(end_);
  return number_at(end_) - 1;
}

/// The begin of the next line at or after `place`, or the end of the block.
std::size_t FormatRegistry::BlockMapping::begin_after(std::size_t place) const {
  return place < end_ ? std::min(window_.begin_after(window_.end_of_line(place)), end_) : end_;
}

/// False if the line has to be searched. The lines before it are read first, and may change which templates are known.
bool FormatRegistry::BlockMapping::read_by_template(std::size_t begin, std::size_t end) {
  const std::string_view text = window_.buffer().substr(begin, end - begin);
  KnownTemplate known = memo_.find_unsearched(text);
  if (known.shape != nullptr && unread_ < begin) {
    search_to(begin);
    known = rows_.is_open() ? KnownTemplate{} : memo_.find_unsearched(text);
  }
  if (known.shape == nullptr) return false;
  Line line = window_.line_without_prefix({begin, end}, begin, number_at(begin));
  return apply_template(known, line, out_);
}

void FormatRegistry::BlockMapping::search_to(std::size_t end) {
  hits_.clear();
  if (unread_ < end) formats_.prefilter_->scan(window_.buffer(), std::exchange(unread_, end), end, hits_);
  for (Hits left(hits_); !left.empty();) {
    if (const std::size_t of_row = read_row(left); of_row > 0) {
      left = left.subspan(of_row);
      continue;
    }
    const std::size_t first = left.front().offset;
    const auto bounds = window_.bounds_around(first);
    std::size_t count = 1;
    while (count < left.size() && left[count].offset < std::max(bounds.second, first + 1)) ++count;
    read_line(bounds, left.first(count));
    left = left.subspan(count);
  }
}

/// Reads the rows before the next anchor, and its line if that is a row or a header. Returns the number of anchors on
/// that line; nothing else is read there.
std::size_t FormatRegistry::BlockMapping::read_row(Hits ahead) {
  const std::size_t first = ahead.front().offset;
  if (!rows_.is_open() || first < rows_.begin()) return 0;
  rows_.read_to(first);
  std::size_t count = 0;
  while (count < ahead.size() && ahead[count].offset < rows_.end()) ++count;
  const bool header = formats_.find_header(window_, rows_.line(), ahead.first(count), out_);
  // Its rows showed the same family of tables more about this header than it shows alone.
  const auto is_opened = [&](const OpenTable& table) {
    return table.layout.header == rows_.line().text &&
           family_of(*table.table) == family_of(*out_.headers.back()->table);
  };
  if (header && open_ && open_->below && is_opened(*open_->below)) open_ = open_->below;
  if (header && open_ && is_opened(*open_)) {
    if (!open_->layout.at_header) {  // what is before it are not rows
      OpenTable table = *open_;
      table.layout.at_header = true;
      open_ = std::make_shared<OpenTable>(std::move(table));
    }
    out_.headers.back() = open_;
  }
  const bool row = !header && rows_.read();
  rows_.pass();
  if (header) open_ = out_.headers.back(), rows_.open(*open_);
  return header || row ? count : 0;
}

/// A line with anchors: its template first, then headers, then the formats. The near tests come before all: most
/// anchors lead to nothing.
void FormatRegistry::BlockMapping::read_line(std::pair<std::size_t, std::size_t> bounds, Hits here) {
  if (!formats_.find_wanted(window_, here, wanted_)) return;
  const std::size_t first = here.front().offset;
  Line line = window_.line_without_prefix(bounds, first, number_at(first));
  const bool plain =
      std::all_of(here.begin(), here.end(), [&](const AnchorHit& hit) { return formats_.plain_[hit.anchor]; });
  const KnownTemplate known = plain ? memo_.find({line.text, wanted_, window_.is_raw(line)}) : KnownTemplate{};
  // An escape in an anchor hides a header, so a template from such a line does not show that the text is none.
  const bool shows_no_header = known.raw || rows_.is_open() || !formats_.has_table(here);
  if (known.shape != nullptr && shows_no_header && apply_template(known, line, out_)) return;
  // A header consists of column names: no format needs it.
  if (!rows_.is_open() && formats_.find_header(window_, line, here, out_)) {
    rows_.go_to(line);
    rows_.pass();
    open_ = out_.headers.back();
    rows_.open(*open_);
    return;
  }
  // Next to a table, a line is not tried as a header: elsewhere it may be one.
  const bool alike = plain && known.shape == nullptr && !rows_.is_open() &&
                     std::all_of(wanted_.begin(), wanted_.end(),
                                 [](const CompiledFormat* r) { return r->digits() != CompiledFormat::Digits::text; });
  match(line, alike ? &memo_ : nullptr);
}

void FormatRegistry::BlockMapping::match(Line& line, TemplateCache* memo) {
  line.prefix = peel_prefix(line.text);
  const std::size_t before = out_.all.size();
  formats_.read_line(window_, line, wanted_, memo, out_);
  const auto repeated = [&](const LineMatch& f) {
    return f.by->message && !seen_.insert({f.by, {f.first_line, hash_message(f)}}).second;
  };
  out_.all.erase(std::remove_if(out_.all.begin() + static_cast<std::ptrdiff_t>(before), out_.all.end(), repeated),
                 out_.all.end());
}

/// The number of the line at `place`, counted from the start of the block. Places must ascend.
i64 FormatRegistry::BlockMapping::number_at(std::size_t place) {
  number_ += window_.line_ends(counted_, place);
  counted_ = place;
  return number_;
}

i64 FormatRegistry::map(const Window& window, std::size_t begin, std::size_t end, std::shared_ptr<const OpenTable> open,
                        TemplateCache& memo, BlockMatches& out) const {
  out.clear();
  out.open = std::move(open);
  return BlockMapping(*this, window, begin, end, memo, out).read();
}

}  // namespace oomdoctor
