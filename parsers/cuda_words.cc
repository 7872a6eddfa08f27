// Programs that print only the CUDA driver's words for "out of memory": renderers, miners, bindings of other languages.
//
// If a report with numbers is nearby, that report covers the failure.
#include "parse/parser.h"

namespace oomdoctor::parsers::cuda_words {

/// accepts: true if the line is not the driver's refusal of an allocation, which has a size.
bool is_no_allocation(std::string_view line) { return line.find("failed to allocate") == line.npos; }

}  // namespace oomdoctor::parsers::cuda_words
