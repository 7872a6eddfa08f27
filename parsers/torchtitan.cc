// torchtitan prints the GPU's capacity at the start.
#include "read/parser.h"

namespace oomdoctor::parsers::torchtitan {

void capacity(const Match& m, EventSink& sink) {
  sink.setting("gpu", m[1]);
  sink.setting("capacity", m[2]);
}

}  // namespace oomdoctor::parsers::torchtitan
