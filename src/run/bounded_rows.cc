#include "run/bounded_rows.h"

#include <algorithm>
#include <cstdio>

#include "run/private_file.h"

namespace oomdoctor {
namespace {

constexpr std::size_t max_keys = 256;  ///< no machine has so many GPUs; a broken monitor may print anything

}  // namespace

BoundedRows::BoundedRows(std::string path, std::string header, std::size_t max_rows)
    : path_(std::move(path)), header_(std::move(header)), max_rows_(max_rows), file_(create_private_file(path_)) {
  header_ += '\n';
  if (file_.is_open()) write_all(file_.number(), header_);
}

void BoundedRows::add(std::string_view row, std::string_view key, double level) {
  auto known = keys_.find(key);
  if (known == keys_.end()) {
    if (keys_.size() >= max_keys) return;
    known = keys_.emplace(key, keys_.size()).first;
  }
  rows_.push_back({std::string(row) + '\n', known->second, level});
  if (rows_.size() > max_rows_) return thin();
  if (file_.is_open()) write_all(file_.number(), rows_.back().text);
}

/// Of two rows of one key the second goes, unless it is the peak. The file is written anew beside the old one, so a
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
  std::string text = header_;
  for (const Row& row : rows_) text += row.text;
  const std::string beside = path_ + ".new";
  Descriptor file = create_private_file(beside);
  if (!file.is_open() || !write_all(file.number(), text) || std::rename(beside.c_str(), path_.c_str()) != 0) {
    std::remove(beside.c_str());
    return;
  }
  file_ = std::move(file);
}

}  // namespace oomdoctor
