// The schema as text. A test in tests/cli/ checks with a validator that comparisons match it, and that it lists each
// field.
#include "report/comparison.h"

namespace oomdoctor {

std::string_view comparison_schema() {
  static constexpr std::string_view text = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "urn:oomdoctor:comparison:1.0",
  "title": "oomdoctor comparison 1.0",
  "description": "What oomdoctor compare says of two runs. Sizes are integers in bytes, slopes are bytes per x_unit. What a log does not give is absent. Minor versions add fields; readers ignore those that they do not know.",
  "type": "object",
  "properties": {
    "schema_version": {"type": "string", "pattern": "^1\\.[0-9]+$"},
    "tool": {
      "type": "object",
      "properties": {"name": {"const": "oomdoctor"}, "version": {"type": "string"}},
      "required": ["name", "version"]
    },
    "good": {"$ref": "#/$defs/run"},
    "bad": {"$ref": "#/$defs/run"},
    "verdict": {
      "type": "object",
      "properties": {
        "grew": {"type": ["boolean", "null"], "description": "the first series; null: there is none"},
        "explanation": {
          "enum": ["nothing_grew", "growth", "longer_run", "cache", "setting", "settings", "inputs", "smaller_card", "undetermined"]
        },
        "headline": {"type": "string"},
        "because": {"type": "array", "items": {"type": "string"}}
      },
      "required": ["grew", "explanation", "headline", "because"]
    },
    "series": {"type": "array", "description": "that both have; the first is the one that the verdict is about", "items": {"$ref": "#/$defs/series"}},
    "only_good": {"type": "array", "items": {"type": "string"}},
    "only_bad": {"type": "array", "items": {"type": "string"}},
    "settings": {"type": "array", "description": "that differ", "items": {"$ref": "#/$defs/setting"}},
    "same_settings": {"type": "integer", "minimum": 0},
    "input_lengths": {
      "type": "array",
      "items": {"type": "object", "properties": {"longest": {"$ref": "#/$defs/figure"}}, "required": ["longest"]}
    },
    "limits": {
      "type": "array",
      "description": "of --fail-if",
      "items": {
        "type": "object",
        "properties": {
          "limit": {"type": "string"},
          "told": {"type": "boolean", "description": "both runs have a series with this figure"},
          "beyond": {"type": "array", "description": "places in series", "items": {"type": "integer", "minimum": 0}}
        },
        "required": ["limit", "told", "beyond"]
      }
    }
  },
  "required": [
    "schema_version", "tool", "good", "bad", "verdict", "series", "only_good", "only_bad", "settings", "same_settings",
    "input_lengths", "limits"
  ],
  "$defs": {
    "location": {
      "type": "object",
      "properties": {"path": {"type": "string"}, "line": {"type": "integer"}, "end_line": {"type": "integer"}},
      "required": ["path", "line", "end_line"]
    },
    "change": {"enum": ["unknown", "same", "more", "less"], "description": "from good to bad; same: within print step and scatter"},
    "run": {
      "type": "object",
      "properties": {
        "inputs": {
          "type": "array",
          "items": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}},
            "required": ["path", "lines"]
          }
        },
        "outcome": {"enum": ["oom", "handled_oom", "at_risk", "possible_oom", "ended_otherwise", "no_oom", "unrecognised"]},
        "cause": {"type": ["string", "null"]},
        "headline": {"type": "string"},
        "capacity_bytes": {"type": "integer"}
      },
      "required": ["inputs", "outcome", "cause", "headline"]
    },
    "figure": {
      "type": "object",
      "properties": {
        "good": {"type": ["number", "null"]},
        "bad": {"type": ["number", "null"]},
        "change": {"$ref": "#/$defs/change"}
      },
      "required": ["change"]
    },
    "side": {
      "type": "object",
      "properties": {
        "id": {"type": "string", "description": "of the series in the report of this run"},
        "n": {"type": "integer"},
        "grows": {"type": "boolean", "description": "without a bound"},
        "shape": {"type": "string"},
        "location": {"$ref": "#/$defs/location"}
      },
      "required": ["id", "n", "grows", "shape", "location"]
    },
    "series": {
      "type": "object",
      "properties": {
        "metric": {"type": "string"},
        "label": {"type": "string"},
        "rank": {"type": "integer"},
        "device": {"type": "integer"},
        "unit": {"enum": ["bytes", "%"]},
        "x_unit": {"enum": ["step", "second", "value"]},
        "peak": {"$ref": "#/$defs/figure"},
        "steady": {"$ref": "#/$defs/figure", "description": "the median after the warm-up"},
        "slope": {"$ref": "#/$defs/figure"},
        "good": {"$ref": "#/$defs/side"},
        "bad": {"$ref": "#/$defs/side"}
      },
      "required": ["metric", "unit", "x_unit", "peak", "steady", "slope", "good", "bad"]
    },
    "setting": {
      "type": "object",
      "properties": {
        "name": {"type": "string"},
        "good": {"$ref": "#/$defs/value"},
        "bad": {"$ref": "#/$defs/value"},
        "need": {"$ref": "#/$defs/change", "description": "what it does to the need for memory, all else being equal"},
        "at_most_times": {"type": "number", "description": "by which the need grows at most"}
      },
      "required": ["name", "need"]
    },
    "value": {
      "type": "object",
      "properties": {"value": {"type": "string"}, "location": {"$ref": "#/$defs/location"}},
      "required": ["value", "location"]
    }
  }
}
)json";
  return text;
}

}  // namespace oomdoctor
