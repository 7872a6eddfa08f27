// Notebooks whose kernel or session ended. A service that names RAM as the reason is believed. Other messages only say
// that the kernel is gone: often host RAM, but nothing proves it.
#include "read/context.h"
#include "read/parser.h"

namespace oomdoctor::parsers::notebooks {

void emit_used_all(const Match& m, EventSink& sink) {
  sink.setting("notebook", m[0].find("session") != std::string_view::npos ? "Colab" : "Kaggle");
  sink.oom(host_oom(Agent::scheduler, "notebook"));
}

void session_crashed(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body())) return;
  sink.setting("notebook", "Colab");
  Oom oom = host_oom(Agent::signal, "session-crashed");
  oom.traits = {OomTrait::vanished};
  sink.oom(std::move(oom));
}

/// Colab restarts the kernel also when its user wants it. A large allocation next to it, which tcmalloc logs, makes a
/// lack of RAM likely. Its page lists the newest line first.
void colab_restart(const Match& m, EventSink& sink) {
  constexpr int near = 12;  // lines
  if (!is_near(m.cursor, near, near, {"tcmalloc: large alloc", "tcmalloc:  large alloc"})) return;
  Oom oom = host_oom(Agent::signal, "kernel-died");
  oom.traits = {OomTrait::vanished};
  sink.oom(std::move(oom));
}

/// Databricks names the driver of Spark, which runs the notebook's cells.
void driver(const Match& m, EventSink& sink) {
  if (is_program_text(m.cursor.line().body())) return;
  Oom oom = host_oom(Agent::signal, m[0].find("park driver") != std::string_view::npos ? "driver-died" : "kernel-died");
  oom.traits = {OomTrait::vanished};
  if (oom.message_format == "driver-died") oom.framework = "spark";
  sink.oom(std::move(oom));
}

}  // namespace oomdoctor::parsers::notebooks
