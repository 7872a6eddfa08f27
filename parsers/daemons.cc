// Daemons that kill before the kernel has to: earlyoom and systemd-oomd, and systemd's word on a unit that was killed.
//
// earlyoom also prints its thresholds and the state of the memory every second; only "sending SIG… to process" is a
// kill.
#include "parse/context.h"
#include "parse/parser.h"

namespace oomdoctor::parsers {
namespace {

Oom base(std::string_view format) {
  Oom oom;
  oom.kind = OomKind::host;
  oom.agent = Agent::daemon;
  oom.message_format = std::string(format);
  return oom;
}

void earlyoom(const Match& m, Sink& sink) {
  Oom oom = base("earlyoom");
  oom.process_name = std::string(m[2]);
  oom.process = Bytes{leading_integer(m[3]) * MiB, MiB / 2};
  Where where;
  where.pid = leading_integer(m[1]);
  sink.at(where);
  sink.oom(std::move(oom));
}

void systemd_oomd(const Match&, Sink& sink) { sink.oom(base("systemd-oomd")); }

void unit(const Match&, Sink& sink) {
  Oom oom = base("systemd");
  oom.agent = Agent::kernel;
  sink.oom(std::move(oom));
}

constexpr Pattern patterns[] = {
    checked(
        {.name = "daemons/earlyoom",
         .anchor = "to process",
         .second_anchor = "VmRSS",
         .regex =
             R"~(sendingSIG(?:TERM|KILL)toprocess(\d{1,10})(?:uid\d{1,10})?"([^"\r\n]{1,64})":(?:oom_score|badness)\d{1,5},VmRSS(\d{1,10})MiB)~",
         .captures = 3,
         .reach = Reach::message,
         .example = "earlyoom[231]: sending SIGTERM to process 7378 uid 1000 \"python\": oom_score 156, VmRSS 4962 MiB",
         .emit = earlyoom,
         .source = "earlyoom: kill.c"}),
    checked({.name = "daemons/systemd_oomd",
             .anchor = "due to memory",
             .regex = R"(Killed /[\w./@\\:\-]{1,300} due to memory (?:pressure for|used \())",
             .example = "systemd-oomd[611]: Killed /user.slice/user-1000.slice/session-4.scope due to memory pressure "
                        "for /user.slice being "
                        "85.12% > 50.00% for > 20s with reclaim activity",
             .emit = systemd_oomd,
             .source = "systemd: src/oom/oomd-manager.c"}),
    checked({.name = "daemons/systemd_oomd_unit",
             .anchor = "systemd-oomd killed",
             .regex = R"(: systemd-oomd killed \d{1,6} process\(es\) in this unit)",
             .example = "systemd[1]: session-4.scope: systemd-oomd killed 12 process(es) in this unit.",
             .emit = systemd_oomd}),
    checked(
        {.name = "daemons/systemd_unit",
         .anchor = "OOM killer",
         .second_anchor = "oom-kill'",
         .regex = R"((?:: A process of this unit has been killed by the OOM killer|: Failed with result 'oom-kill'))",
         .example = "systemd[1]: train.service: A process of this unit has been killed by the OOM killer.",
         .emit = unit}),
};

}  // namespace

extern const Parser daemons;
const Parser daemons{
    .name = "daemons", .title = "Out-of-memory daemons", .source = "systemd: src/core/unit.c", .patterns = patterns};

}  // namespace oomdoctor::parsers
