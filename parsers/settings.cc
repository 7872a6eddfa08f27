// A setting that is an object of a configuration, as in DeepSpeed's "bf16": {"enabled": true}.
#include "read/parser.h"

namespace oomdoctor::parsers::settings {

void precision_object(const Match& m, EventSink& sink) {
  sink.setting("precision", m[1].starts_with('b') ? "bf16" : "fp16");
}

}  // namespace oomdoctor::parsers::settings
