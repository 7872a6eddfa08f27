#include "run/bounded_rows.h"

#include <algorithm>
#include <cerrno>

namespace oomdoctor {
namespace {

constexpr std::size_t max_keys = 256;  ///< no machine has so many GPUs; a broken monitor may print anything

}  // namespace

BoundedRows::BoundedRows(const RunFolder& folder, std::string name, std::string header, std::size_t max_rows)
    : folder_(folder),
      name_(std::move(name)),
      header_(std::move(header) + '\n'),
      max_rows_(max_rows),
      file_(folder.create(name_)) {
  if (!file_.is_open()) error_ = errno;
  write(header_);
}

/// From the first failure on, the rows are in memory only.
void BoundedRows::write(std::string_view text) {
  if (error_ == 0 && !write_all(file_.number(), text)) error_ = errno;
}

void BoundedRows::add(std::string_view row, std::string_view key, double level) {
  auto known = keys_.find(key);
  if (known == keys_.end()) {
    if (keys_.size() >= max_keys) return;
    known = keys_.emplace(key, keys_.size()).first;
  }
  rows_.push_back({std::string(row) + '\n', known->second, level});
  if (rows_.size() > max_rows_) return thin();
  write(rows_.back().text);
}

/// Of two rows of one key the second goes, unless it is the peak. The file is written anew next to the old one, so a
/// complete file is there whenever the program is killed.
void BoundedRows::thin() {
  std::vector<std::size_t> peak(keys_.size(), rows_.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    std::size_t& best = peak[rows_[i].key];
    if (best == rows_.size() || rows_[i].level > rows_[best].level) best = i;
  }
  std::vector<bool> second(keys_.size());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const std::size_t key = rows_[i].key;
    if (!second[key] || peak[key] == i) std::swap(rows_[kept++], rows_[i]);
    second[key] = !second[key];
  }
  rows_.resize(kept);
  if (error_ == 0 && !write_anew()) error_ = errno;
}

bool BoundedRows::write_anew() {
  const std::string beside = name_ + ".new";
  folder_.remove(beside);
  Descriptor file = folder_.create(beside);
  if (!file.is_open() || !write_all(file.number(), all()) || !folder_.rename(beside, name_)) return false;
  file_ = std::move(file);
  return true;
}

bool BoundedRows::rescue() { return error_ == 0 || write_anew(); }

std::string BoundedRows::all() const {
  std::string text = header_;
  for (const Row& row : rows_) text += row.text;
  return text;
}

std::optional<std::string> BoundedRows::text() const { return error_ == 0 ? std::nullopt : std::optional(all()); }

}  // namespace oomdoctor
