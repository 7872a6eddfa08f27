// The schema of a part as text. A test in tests/cli/ checks with a validator that parts match it, and that it lists
// each of their fields.
#include "report/partial.h"

namespace oomdoctor {

std::string_view partial_schema() {
  static constexpr std::string_view text = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "urn:oomdoctor:partial:1",
  "title": "oomdoctor partial 1",
  "description": "One line of oomdoctor analyze --format partial: what one log says, before logs are joined and judged. Sizes are bytes. A field that holds nothing is left out; of a number that stands for 0. It is read by oomdoctor merge of the same version of this format.",
  "type": "object",
  "properties": {
    "oomdoctor_partial": {"const": 1},
    "path": {"$ref": "#/$defs/text", "description": "as it was named to analyze"},
    "digest": {"type": "string", "description": "XXH3-128 of the log's bytes; with the path, which log it is"},
    "tool": {"type": "string", "description": "version of oomdoctor"},
    "case": {"$ref": "#/$defs/case"}
  },
  "required": ["oomdoctor_partial", "path", "digest", "case"],
  "$defs": {
    "text": {
      "description": "text; bytes that are no UTF-8 are the characters U+0000 to U+00FF of the same numbers",
      "oneOf": [
        {"type": "string"},
        {"type": "object", "properties": {"bytes": {"type": "string"}}, "required": ["bytes"]}
      ]
    },
    "number": {"oneOf": [{"type": "number"}, {"enum": ["nan", "inf", "-inf"]}]},
    "case": {
      "type": "object",
      "properties": {
        "input": {
          "type": "object",
          "properties": {
            "kind": {"type": "string"},
            "bytes": {"type": "integer"},
            "lines": {"type": "integer"},
            "compression": {"type": "string"},
            "truncated": {"type": "boolean"}
          }
        },
        "incidents": {"type": "array", "items": {"$ref": "#/$defs/incident"}},
        "more_incidents": {"type": "integer"},
        "series": {"type": "array", "items": {"$ref": "#/$defs/series"}},
        "later_runs": {"type": "array", "items": {"$ref": "#/$defs/evidence"}},
        "more_series": {"type": "integer"},
        "first_time": {"type": "number", "description": "the earliest time printed with a date, seconds since 1970"},
        "last_time": {"type": "number"},
        "settings": {
          "type": "array",
          "items": {
            "type": "array",
            "prefixItems": [
              {"$ref": "#/$defs/text"},
              {
                "type": "object",
                "properties": {
                  "value": {"$ref": "#/$defs/text"},
                  "at": {"$ref": "#/$defs/evidence"},
                  "before": {"$ref": "#/$defs/text", "description": "another value that it had earlier"},
                  "before_line": {"type": "integer"}
                }
              }
            ],
            "items": false
          }
        },
        "remarks": {
          "type": "array",
          "items": {
            "type": "object",
            "properties": {
              "at": {"$ref": "#/$defs/evidence"},
              "where": {"$ref": "#/$defs/where"},
              "when": {"$ref": "#/$defs/when"},
              "exit": {
                "type": "object",
                "properties": {"code": {"type": "integer"}, "signal": {"type": "integer"}}
              },
              "remark": {
                "type": "object",
                "properties": {"id": {"type": "string"}, "number": {"$ref": "#/$defs/number"}}
              }
            }
          }
        },
        "remark_counts": {"$ref": "#/$defs/counts"},
        "first_step": {"type": "integer"},
        "last_step": {"type": "integer"},
        "progress_lines": {"type": "integer"},
        "last_progress": {"$ref": "#/$defs/evidence"},
        "impossible_values": {"type": "integer"},
        "first_impossible": {"$ref": "#/$defs/evidence"},
        "coverage": {
          "type": "object",
          "properties": {
            "lines": {"type": "integer"},
            "claimed": {"type": "integer"},
            "by_parser": {"$ref": "#/$defs/counts"}
          }
        },
        "notes": {
          "type": "array",
          "items": {
            "type": "object",
            "properties": {
              "severity": {"enum": ["note", "warning", "error"]},
              "text": {"$ref": "#/$defs/text"},
              "at": {"$ref": "#/$defs/evidence"}
            }
          }
        },
        "more_notes": {"type": "integer"}
      }
    },
    "counts": {
      "type": "array",
      "items": {
        "type": "array",
        "prefixItems": [{"$ref": "#/$defs/text"}, {"type": "integer"}],
        "items": false
      }
    },
    "evidence": {
      "type": "object",
      "properties": {
        "line": {"type": "integer"},
        "end_line": {"type": "integer"},
        "column": {"type": "integer"},
        "end_column": {"type": "integer"},
        "reader": {"$ref": "#/$defs/text"},
        "excerpt": {"$ref": "#/$defs/text"},
        "lead": {"$ref": "#/$defs/text"}
      }
    },
    "where": {
      "type": "object",
      "properties": {
        "rank": {"type": "integer"},
        "device": {"type": "integer"},
        "pid": {"type": "integer"},
        "host": {"$ref": "#/$defs/text"}
      }
    },
    "when": {
      "type": "object",
      "properties": {
        "order": {"type": "integer", "minimum": 0},
        "time": {"$ref": "#/$defs/number"},
        "step": {"type": "integer"},
        "epoch": {"$ref": "#/$defs/number"}
      }
    },
    "size": {
      "type": "object",
      "properties": {"count": {"type": "integer"}, "slack": {"type": "integer"}}
    },
    "incident": {
      "type": "object",
      "properties": {
        "oom": {
          "type": "object",
          "properties": {
            "kind": {"type": "string"},
            "agent": {"type": "string"},
            "framework": {"$ref": "#/$defs/text"},
            "message_format": {"$ref": "#/$defs/text"},
            "request": {"$ref": "#/$defs/size"},
            "capacity": {"$ref": "#/$defs/size"},
            "free": {"$ref": "#/$defs/size"},
            "process": {"$ref": "#/$defs/size"},
            "allocated": {"$ref": "#/$defs/size"},
            "reserved": {"$ref": "#/$defs/size"},
            "unallocated": {"$ref": "#/$defs/size"},
            "private_pools": {"$ref": "#/$defs/size"},
            "limit": {"$ref": "#/$defs/size"},
            "others": {
              "type": "array",
              "items": {
                "type": "object",
                "properties": {"pid": {"type": "integer"}, "used": {"$ref": "#/$defs/size"}}
              }
            },
            "caught": {"type": "boolean"},
            "beyond_exabyte": {"type": "boolean"},
            "sizes_not_available": {"type": "boolean"},
            "printed_advice": {"$ref": "#/$defs/text"},
            "process_name": {"$ref": "#/$defs/text"},
            "frames": {
              "type": "array",
              "items": {
                "type": "object",
                "properties": {
                  "file": {"$ref": "#/$defs/text"},
                  "line": {"type": "integer"},
                  "function": {"$ref": "#/$defs/text"},
                  "code": {"$ref": "#/$defs/text"},
                  "library": {"type": "boolean"}
                }
              }
            }
          }
        },
        "at": {"$ref": "#/$defs/evidence"},
        "where": {"$ref": "#/$defs/where"},
        "when": {"$ref": "#/$defs/when"},
        "occurrences": {"type": "array", "items": {"$ref": "#/$defs/evidence"}},
        "more_occurrences": {"type": "integer"},
        "handled": {"type": "boolean"},
        "handled_by": {"$ref": "#/$defs/evidence"},
        "run": {
          "type": "object",
          "properties": {
            "number": {"type": "integer"},
            "first_line": {"type": "integer"},
            "progress_lines": {"type": "integer"},
            "first_step": {"type": ["integer", "null"]}
          }
        }
      }
    },
    "series": {
      "type": "object",
      "properties": {
        "metric": {"type": "string"},
        "kind": {"type": "string"},
        "where": {"$ref": "#/$defs/where"},
        "label": {"$ref": "#/$defs/text"},
        "phase": {"$ref": "#/$defs/text"},
        "unit": {"$ref": "#/$defs/text"},
        "ambiguous_unit": {"type": "boolean"},
        "quantum": {"$ref": "#/$defs/number"},
        "capacity": {"$ref": "#/$defs/number"},
        "has_steps": {"type": "boolean"},
        "has_times": {"type": "boolean"},
        "first": {"$ref": "#/$defs/evidence"},
        "last": {"$ref": "#/$defs/evidence"},
        "n": {"type": "integer", "minimum": 0},
        "first_x": {"$ref": "#/$defs/number"},
        "last_x": {"$ref": "#/$defs/number"},
        "first_value": {"$ref": "#/$defs/number"},
        "last_value": {"$ref": "#/$defs/number"},
        "max_value": {"$ref": "#/$defs/number"},
        "min_value": {"$ref": "#/$defs/number"},
        "max_x": {"$ref": "#/$defs/number"},
        "falls": {"type": "integer"},
        "plateaus": {"type": "integer"},
        "interval": {"$ref": "#/$defs/number"},
        "buckets": {
          "type": "array",
          "description": "[x, time, value], or for several values that were joined [mean x, mean time, mean value, how many, least, greatest, x of the least, x of the greatest]; true at the end where a new run begins",
          "items": {"type": "array", "minItems": 3, "maxItems": 9}
        }
      }
    }
  }
}
)json";
  return text;
}

}  // namespace oomdoctor
