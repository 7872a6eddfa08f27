#include "facts/quotes.h"

#include "base/ascii.h"

namespace oomdoctor {

Quotes::Quotes(const ScanResult& scan) {
  for (const Incident& incident : scan.incidents) {
    add(incident.evidence.excerpt);
    for (const Evidence& line : incident.context) add(line.excerpt);
    for (const Frame& frame : incident.oom.frames) add(frame.code);
  }
  for (const auto& [name, setting] : scan.settings) add(setting.evidence.excerpt);
}

void Quotes::add(std::string_view text) { texts_ += lower(text) + '\n'; }

bool Quotes::have(std::string_view word) const {
  const std::string wanted = lower(word);
  for (std::size_t at = texts_.find(wanted); at != texts_.npos; at = texts_.find(wanted, at + 1)) {
    const bool begins = at == 0 || !is_word_char(texts_[at - 1]), ends = !is_word_char(texts_[at + wanted.size()]);
    if (begins && ends) return true;  // the last text ends with a line break
  }
  return false;
}

}  // namespace oomdoctor
