// The schema as text. A test in tests/cli/ checks with a validator that reports match it, and that it lists each of
// their fields.
#include "report/schema.h"

namespace oomdoctor {

std::string_view report_schema() {
  static constexpr std::string_view text = R"json({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$id": "urn:oomdoctor:report:1.1",
  "title": "oomdoctor report 1.1",
  "description": "Sizes are integers in bytes. What the log does not give is absent or null, never 0. Minor versions add fields; readers ignore those that they do not know.",
  "type": "object",
  "properties": {
    "schema_version": {"type": "string", "pattern": "^1\\.[0-9]+$"},
    "tool": {
      "type": "object",
      "properties": {"name": {"const": "oomdoctor"}, "version": {"type": "string"}},
      "required": ["name", "version"]
    },
    "inputs": {"type": "array", "items": {"$ref": "#/$defs/input"}},
    "runs": {
      "type": "array",
      "description": "where the log holds several runs of the job; the verdict is about the last one, or about the last that ran out of memory where the last is unfinished",
      "items": {"$ref": "#/$defs/run"}
    },
    "settings": {
      "type": "array",
      "description": "what the run was set to, as the log printed it last; by name",
      "items": {
        "type": "object",
        "properties": {
          "name": {"type": "string"},
          "value": {"type": "string"},
          "location": {"$ref": "#/$defs/location"}
        },
        "required": ["name", "value", "location"]
      }
    },
    "verdict": {"$ref": "#/$defs/verdict"},
    "incidents": {
      "type": "array",
      "description": "one for each distinct failure, the first one first",
      "items": {"$ref": "#/$defs/incident"}
    },
    "more_incidents": {"type": "integer", "minimum": 1},
    "series": {"type": "array", "items": {"$ref": "#/$defs/series"}},
    "more_series": {"type": "integer", "minimum": 1, "description": "of very many ranks; ranks has their figures"},
    "input_lengths": {
      "type": "array",
      "description": "lengths of the batches' inputs, where the log prints them; no memory",
      "items": {"$ref": "#/$defs/series"}
    },
    "ranks": {
      "type": "array",
      "description": "the ranks beside each other, by number; there where two are known",
      "items": {"$ref": "#/$defs/rank"}
    },
    "causes": {"type": "array", "description": "the most probable first", "items": {"$ref": "#/$defs/cause"}},
    "fixes": {"type": "array", "description": "in the order to try", "items": {"$ref": "#/$defs/fix"}},
    "plan": {"$ref": "#/$defs/plan"},
    "held_back": {
      "type": "array",
      "description": "popular or printed advice that does not help here",
      "items": {
        "type": "object",
        "properties": {"id": {"type": "string"}, "title": {"type": "string"}, "because": {"type": "string"}},
        "required": ["id", "title", "because"]
      }
    },
    "questions": {
      "type": "array",
      "description": "what would settle it",
      "items": {
        "type": "object",
        "properties": {"missing": {"type": "string"}, "text": {"type": "string"}, "command": {"type": "string"}},
        "required": ["missing", "text", "command"]
      }
    },
    "coverage": {
      "type": "object",
      "properties": {
        "lines": {"type": "integer", "minimum": 0},
        "claimed": {"type": "integer", "minimum": 0},
        "by_parser": {"type": "object", "additionalProperties": {"type": "integer"}}
      },
      "required": ["lines", "claimed", "by_parser"]
    },
    "notes": {"type": "array", "items": {"$ref": "#/$defs/note"}},
    "why_not": {"$ref": "#/$defs/cause"},
    "trace": {"type": "array", "items": {"type": "string"}}
  },
  "required": [
    "schema_version",
    "tool",
    "inputs",
    "verdict",
    "incidents",
    "series",
    "causes",
    "fixes",
    "held_back",
    "questions",
    "coverage",
    "notes"
  ],
  "$defs": {
    "location": {
      "type": "object",
      "properties": {
        "path": {"type": "string"},
        "line": {"type": "integer", "description": "1-based line on which the message begins", "minimum": 0},
        "end_line": {"type": "integer", "minimum": 0}
      },
      "required": ["path", "line", "end_line"]
    },
    "input": {
      "type": "object",
      "properties": {
        "path": {"type": "string"},
        "kind": {"type": "string", "description": "log, smi_csv, kernel_log, …"},
        "bytes": {"type": "integer", "minimum": 0},
        "lines": {"type": "integer", "minimum": 0},
        "compression": {"type": "string"},
        "truncated": {"type": "boolean"}
      },
      "required": ["path", "kind", "bytes", "lines"]
    },
    "verdict": {
      "type": "object",
      "properties": {
        "outcome": {"type": "string", "enum": ["oom", "handled_oom", "at_risk", "possible_oom", "ended_otherwise", "no_oom", "unrecognised"]},
        "cause": {
          "type": ["string", "null"],
          "description": "a cause id, undetermined, or null when there is nothing to explain"
        },
        "cause_title": {"type": "string"},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "headline": {"type": "string"},
        "incident": {"type": "string", "description": "id of the incident that it is about"},
        "retry": {
          "type": "object",
          "properties": {
            "decision": {"type": "string", "enum": ["", "stop", "retry_unchanged", "retry_with_change", "unknown"]},
            "change": {"type": "string"}
          },
          "required": ["decision"]
        },
        "end": {"$ref": "#/$defs/run_end"}
      },
      "required": ["outcome", "cause", "confidence", "headline", "retry"]
    },
    "run_end": {
      "type": "object",
      "description": "what ended a run, where the log shows it and it was not memory",
      "properties": {
        "kind": {
          "type": "string",
          "description": "exception, crash, timeout, cancelled, disk_full, limit, nccl, device_error, signal, rejected, exit, finished"
        },
        "text": {"type": "string", "description": "the line"},
        "location": {"$ref": "#/$defs/location"}
      },
      "required": ["kind", "text", "location"]
    },
    "run": {
      "type": "object",
      "properties": {
        "id": {"type": "string"},
        "path": {"type": "string"},
        "first_line": {"type": "integer", "minimum": 1},
        "last_line": {"type": "integer", "minimum": 1},
        "outcome": {"type": "string", "enum": ["oom", "possible_oom", "handled_oom", "ended_otherwise", "no_oom"]},
        "end": {"$ref": "#/$defs/run_end"},
        "headline": {"type": "string"}
      },
      "required": ["id", "path", "first_line", "last_line", "outcome", "headline"]
    },
    "account": {
      "type": "object",
      "description": "shares + unexplained = capacity",
      "properties": {
        "capacity_bytes": {"type": "integer", "description": "bytes"},
        "shares": {
          "type": "array",
          "items": {
            "type": "object",
            "properties": {"label": {"type": "string"}, "bytes": {"type": "integer", "description": "bytes"}},
            "required": ["label", "bytes"]
          }
        },
        "unexplained_bytes": {"type": "integer", "description": "bytes"},
        "slack_bytes": {"type": "integer", "description": "bytes"}
      },
      "required": ["capacity_bytes", "shares", "unexplained_bytes", "slack_bytes"]
    },
    "frame": {
      "type": "object",
      "properties": {
        "file": {"type": "string"},
        "line": {"type": "integer", "minimum": 0},
        "function": {"type": "string"},
        "code": {"type": "string"}
      },
      "required": ["file", "line", "function"]
    },
    "incident": {
      "type": "object",
      "properties": {
        "id": {"type": "string"},
        "kind": {"type": "string", "enum": ["device", "host", "shared_memory", "masked", "pool"]},
        "agent": {"type": "string", "description": "who refused or killed"},
        "framework": {"type": "string"},
        "message_format": {"type": "string"},
        "location": {"$ref": "#/$defs/location"},
        "occurrences": {
          "type": "array",
          "description": "the same failure printed again",
          "items": {"$ref": "#/$defs/location"}
        },
        "more_occurrences": {"type": "integer", "minimum": 1},
        "handled": {"type": "boolean", "description": "the program went on"},
        "follows": {"type": "string", "description": "id of the incident that this one came after: its consequence, or the same on another rank"},
        "ranks": {
          "type": "array",
          "minItems": 2,
          "items": {"type": "integer"},
          "description": "the ranks that ran out in the same way, each by itself; incidents that follow have their numbers"
        },
        "device": {"type": "integer"},
        "rank": {"type": "integer"},
        "pid": {"type": "integer"},
        "host": {"type": "string"},
        "step": {"type": "integer"},
        "epoch": {"type": "number"},
        "phase": {
          "type": "string",
          "enum": [
            "load",
            "first_step",
            "optimizer_init",
            "forward",
            "backward",
            "optimizer",
            "evaluation",
            "generation",
            "checkpoint_save",
            "checkpoint_load",
            "data_loading"
          ]
        },
        "requested_bytes": {"type": "integer", "description": "bytes"},
        "capacity_bytes": {"type": "integer", "description": "bytes"},
        "free_bytes": {"type": "integer", "description": "bytes"},
        "process_bytes": {"type": "integer", "description": "bytes"},
        "allocated_bytes": {"type": "integer", "description": "bytes"},
        "reserved_bytes": {"type": "integer", "description": "bytes"},
        "unallocated_bytes": {"type": "integer", "description": "bytes"},
        "private_pool_bytes": {"type": "integer", "description": "bytes"},
        "limit_bytes": {"type": "integer", "description": "bytes"},
        "other_processes": {
          "type": "array",
          "items": {
            "type": "object",
            "properties": {"pid": {"type": "integer"}, "bytes": {"type": "integer", "description": "bytes"}},
            "required": ["pid", "bytes"]
          }
        },
        "frame": {"$ref": "#/$defs/frame"},
        "ask_frame": {"$ref": "#/$defs/frame"},
        "account": {"$ref": "#/$defs/account"}
      },
      "required": ["id", "kind", "agent", "location", "occurrences", "handled"]
    },
    "estimate": {
      "type": "object",
      "description": "with its 95% interval",
      "properties": {
        "value": {"type": ["number", "null"]},
        "low": {"type": ["number", "null"]},
        "high": {"type": ["number", "null"]}
      },
      "required": ["value", "low", "high"]
    },
    "forecast": {
      "type": "object",
      "description": "a 90% interval for the step at which capacity is reached",
      "properties": {
        "capacity_bytes": {"type": "integer", "description": "bytes"},
        "step": {"type": ["number", "null"]},
        "step_low": {"type": ["number", "null"]},
        "step_high": {"type": ["number", "null"], "description": "null: no bound"},
        "beyond_data": {"type": "boolean", "description": "further ahead than the log is long"}
      },
      "required": ["capacity_bytes", "step", "step_low", "step_high", "beyond_data"]
    },
    "stage": {
      "type": "object",
      "properties": {
        "kind": {
          "type": "string",
          "enum": ["idle", "load", "warmup", "working", "evaluation", "pause", "release", "restart"]
        },
        "first_step": {"type": ["number", "null"]},
        "last_step": {"type": ["number", "null"]},
        "first_value": {"type": ["number", "null"]},
        "last_value": {"type": ["number", "null"]},
        "slope": {"type": ["number", "null"], "description": "bytes per step"}
      },
      "required": ["kind", "first_step", "last_step", "first_value", "last_value", "slope"]
    },
    "trend": {
      "type": "object",
      "properties": {
        "leak": {"type": "boolean", "description": "growth without a bound"},
        "shape": {
          "type": "string",
          "enum": [
            "flat",
            "warmup",
            "step",
            "saturating",
            "sawtooth",
            "spike",
            "noisy",
            "linear",
            "accelerating",
            "too_short"
          ]
        },
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "slope": {"$ref": "#/$defs/estimate", "description": "bytes per step"},
        "acceleration": {"$ref": "#/$defs/estimate", "description": "bytes per step²"},
        "onset_step": {"type": "number"},
        "change_points": {"type": "array", "items": {"type": "number"}},
        "period": {"type": "number"},
        "model": {"type": "string"},
        "models": {
          "type": "array",
          "description": "candidates, lower is better",
          "items": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "score": {"type": ["number", "null"]}},
            "required": ["name", "score"]
          }
        },
        "forecast": {"$ref": "#/$defs/forecast"},
        "why": {"type": "string"},
        "stages": {
          "type": "array",
          "description": "what the run was doing, in order; the rest of the trend speaks of the working stage that it ended in",
          "items": {"$ref": "#/$defs/stage"}
        },
        "curve": {
          "type": "array",
          "description": "of the model, for drawing: step, value, and the 95% interval of the curve there",
          "items": {"type": "array", "items": {"type": ["number", "null"]}, "minItems": 4, "maxItems": 4}
        }
      },
      "required": ["leak", "shape", "confidence", "slope", "acceleration", "change_points", "model", "models", "why"]
    },
    "series": {
      "type": "object",
      "properties": {
        "id": {"type": "string"},
        "metric": {"type": "string"},
        "kind": {"type": "string"},
        "label": {"type": "string"},
        "rank": {"type": "integer"},
        "device": {"type": "integer"},
        "unit": {"type": "string", "description": "as printed"},
        "x_unit": {"type": "string", "enum": ["step", "second", "value"], "description": "what first_step, slope and forecast count"},
        "n": {"type": "integer", "description": "values that the log prints, before any thinning", "minimum": 0},
        "first_step": {"type": "number"},
        "last_step": {"type": "number"},
        "first_value": {"type": ["number", "null"]},
        "last_value": {"type": ["number", "null"]},
        "max_value": {"type": ["number", "null"]},
        "quantum": {"type": ["number", "null"]},
        "first_location": {"$ref": "#/$defs/location"},
        "last_location": {"$ref": "#/$defs/location"},
        "trend": {"$ref": "#/$defs/trend"},
        "steady": {
          "type": "object",
          "description": "the level after the warm-up: its median, the tenths of the values, and how many they are; absent where values are few or grow without a bound",
          "properties": {
            "value": {"type": ["number", "null"]},
            "low": {"type": ["number", "null"]},
            "high": {"type": ["number", "null"]},
            "n": {"type": "integer"}
          },
          "required": ["value", "low", "high", "n"]
        },
        "points": {
          "type": "array",
          "description": "step and value, thinned",
          "items": {
            "type": "array",
            "prefixItems": [{"type": ["number", "null"]}, {"type": ["number", "null"]}],
            "minItems": 2,
            "maxItems": 2
          }
        }
      },
      "required": [
        "id",
        "metric",
        "kind",
        "unit",
        "x_unit",
        "n",
        "first_value",
        "last_value",
        "max_value",
        "quantum",
        "first_location",
        "last_location",
        "trend",
        "points"
      ]
    },
    "reason": {
      "type": "object",
      "properties": {
        "fact": {"type": "string"},
        "text": {"type": "string"},
        "weight": {"type": "number", "description": "natural logarithm of the likelihood ratio"},
        "locations": {"type": "array", "items": {"$ref": "#/$defs/location"}}
      },
      "required": ["fact", "text", "weight", "locations"]
    },
    "cause": {
      "type": "object",
      "properties": {
        "cause": {"type": "string"},
        "title": {"type": "string"},
        "probability": {"type": "number", "minimum": 0, "maximum": 1},
        "explain": {"type": "string"},
        "because": {"type": "array", "items": {"$ref": "#/$defs/reason"}},
        "against": {"type": "array", "items": {"$ref": "#/$defs/reason"}}
      },
      "required": ["cause", "title", "probability", "because", "against"]
    },
    "fix": {
      "type": "object",
      "properties": {
        "id": {"type": "string"},
        "title": {"type": "string"},
        "causes": {"type": "array", "items": {"type": "string"}},
        "saves": {
          "type": "object",
          "properties": {
            "low_bytes": {"type": "integer", "description": "bytes"},
            "high_bytes": {"type": "integer", "description": "bytes"},
            "formula": {"type": "string"}
          },
          "required": []
        },
        "cost": {
          "type": "object",
          "properties": {"class": {"type": "integer", "minimum": 0, "maximum": 4}, "text": {"type": "string"}},
          "required": ["class", "text"]
        },
        "risk": {
          "type": "object",
          "properties": {"class": {"type": "integer", "minimum": 0, "maximum": 3}, "text": {"type": "string"}},
          "required": ["class", "text"]
        },
        "enough": {"type": "boolean", "description": "frees what is needed on its own, with the margin"},
        "if_not_already": {"type": "boolean", "description": "the log does not show whether it is set"},
        "why": {"type": "string"},
        "settings": {
          "type": "array",
          "items": {
            "type": "object",
            "properties": {
              "for": {"type": "string"},
              "text": {"type": "string", "description": "a line to copy"},
              "from": {"type": "string"},
              "to": {"type": "string"}
            },
            "required": ["for", "text"]
          }
        },
        "not_with": {"type": "array", "items": {"type": "string"}},
        "verify": {"type": "string"},
        "locations": {"type": "array", "items": {"$ref": "#/$defs/location"}}
      },
      "required": ["id", "title", "causes", "saves", "cost", "risk", "enough", "if_not_already", "settings", "not_with"]
    },
    "plan": {
      "type": "object",
      "description": "the smallest set of fixes that fits with the margin",
      "properties": {
        "fixes": {"type": "array", "items": {"type": "string"}},
        "need_bytes": {"type": "integer", "description": "bytes"},
        "margin_bytes": {"type": "integer", "description": "bytes"},
        "predicted_peak_bytes": {"type": "integer", "description": "bytes"},
        "would_have_fitted": {"type": "boolean"}
      },
      "required": ["fixes", "need_bytes", "margin_bytes", "would_have_fitted"]
    },
    "rank": {
      "type": "object",
      "description": "values are those of the series that the diagnosis is about",
      "properties": {
        "rank": {"type": "integer", "minimum": 0},
        "failed": {"type": "boolean", "description": "ran out of memory, and the program did not catch it"},
        "last_step": {"type": "integer"},
        "metric": {"type": "string"},
        "first_value": {"type": ["integer", "number", "null"]},
        "last_value": {"type": ["integer", "number", "null"]},
        "max_value": {"type": ["integer", "number", "null"]},
        "leak": {"type": "boolean"},
        "location": {"$ref": "#/$defs/location"}
      },
      "required": ["rank", "failed"]
    },
    "note": {
      "type": "object",
      "properties": {
        "severity": {"type": "string", "enum": ["note", "warning", "error"]},
        "text": {"type": "string"},
        "location": {"$ref": "#/$defs/location"}
      },
      "required": ["severity", "text"]
    }
  }
}
)json";
  return text;
}

}  // namespace oomdoctor
