// The fixed ids of remarks. Parsers emit only these ids (a test checks it), so analyses can rely on them.
#pragma once

#include <array>
#include <string_view>

namespace oomdoctor {

/// One id, and its meaning for a person.
struct RemarkSpec {
  std::string_view id, description;
};

inline constexpr std::array remark_specs = std::to_array<RemarkSpec>({
    {"phase/load", "a model or its weights are being built or loaded"},
    {"phase/training", "training begins or goes on"},
    {"phase/evaluation", "a validation, test or prediction pass begins"},
    {"phase/generation", "text or images are being generated or decoded"},
    {"phase/checkpoint_save", "a checkpoint is being saved"},
    {"phase/checkpoint_load", "a checkpoint is being loaded"},
    {"handled/smaller_batch", "the program goes on with a smaller batch"},
    {"handled/skipped", "the program skips the batch or the update and goes on"},
    {"handled/retried", "the program tries again"},
    {"handled/fallback", "the program does the work another way, on the CPU for example"},
    {"handled/non_fatal", "the program says that the failure is not fatal"},
    {"handled/recorded", "the program writes the failure into a row of its results, and goes on"},
    {"for/kv_cache", "what was refused was to hold a key-value cache"},
    {"for/weights", "what was refused was to hold the weights of a model"},
    {"for/compute", "what was refused was to hold the intermediate results of a step: compute buffers"},
    {"for/optimizer", "what was refused was to hold an optimizer's states, or the update from them"},
    {"for/context", "what was refused was to open the device for the process"},
    {"for/gradients", "what was refused was for the gradients, in the backward pass"},
    {"for/forward", "what was refused was for the forward pass of a training step"},
    {"for/step", "what was refused was for the forward or the backward pass of a layer"},
    {"for/evaluation", "what was refused was for a validation or test pass"},
    {"collateral/timeout", "a collective operation timed out because a peer is gone"},
    {"collateral/terminated", "the launcher terminates the other processes; the process, where it is named"},
    {"collateral/child_failed", "the launcher reports a failed child"},
    {"run/completed", "the work was finished"},
    {"run/recorded", "oomdoctor run records the command's output and its end"},
    {"run/unmarked", "a line in the words of oomdoctor run, without its mark: some program printed it"},
    {"run/record_ends", "the record of oomdoctor run says how the command ended"},
    {"run/not_short", "the machine of the recorded command had memory left, and the kernel killed nothing for memory"},
    {"run/ended_by_signal", "the recorded command ended by a signal"},
    {"run/ended_with_status", "the recorded command ended with an exit status other than 0"},
    {"run/went_on", "a later part of the work was finished: the next trial of a search"},
    {"run/serving", "a server answers a request"},
    {"run/resumed", "the run continues from a checkpoint"},
    {"run/calls", "a bar of other work than steps: how far it came, 0 if it is complete"},
    {"run/arguments", "the program prints its arguments, as it does when it starts"},
    {"run/not_compiled", "Python could not compile the program's main file, so no line of it ran"},
    {"run/attempt", "a launcher starts the job, for the so many-th time"},
    {"end/exception", "an exception that nobody caught; equal numbers are of one kind"},
    {"end/crash", "the process crashed: a signal, a panic, an assertion"},
    {"end/bus_error", "a process died of a bus error: a page that it used could not be provided"},
    {"end/signal", "a signal asked the program to stop; its number"},
    {"end/exit_code", "an exit code contains the signal that ended a process, and it was not SIGKILL; its number"},
    {"end/agent_lost", "the machine or agent that ran the job was shut down or lost"},
    {"end/rejected", "the scheduler never let the work begin: a device was missing or ill"},
    {"run/cancelled", "somebody cancelled the job"},
    {"run/time_limit", "the job's time was over"},
    {"allocator/retries", "flushes of the allocator's cache so far"},
    {"allocator/failures", "failed requests so far, as the allocator counts them"},
    {"device/fault", "an address error or assertion of a kernel: no shortage of memory"},
    {"device/hardware", "a hardware error of the device: no shortage of memory"},
    {"device/remapped", "the driver took a part of the device's memory out of use: programs go on"},
    {"device/busy", "the device is held exclusively or unavailable: no shortage of memory"},
    {"kernel/shared_memory", "a kernel wants more on-chip memory than the chip has: no shortage of device memory"},
    {"tensorflow/spared", "TensorFlow could do without the memory that it requested"},
    {"tensorflow/collected", "TensorFlow got no more memory, and freed what it did not use"},
    {"container/not_killed", "the container engine reports that it killed nothing for lack of memory"},
    {"limit/touched", "memory reached the job's limit at some point, and nothing was killed for it"},
    {"limit/quota", "a service refused a request for its quota or its size: no shortage of memory"},
    {"limit/threads", "a limit on threads or processes was reached: no shortage of memory"},
    {"disk/full", "a disk or a quota of files was full: no shortage of memory"},
    {"device/room", "most of the device was free when a library failed: no shortage of memory"},
    {"text/quoted", "the text of a program or a manual quotes a message"},
    {"text/leak_claimed", "a program or a tool says that memory leaks"},
    {"failure/unclear", "a line speaks of memory that ran out, but not clearly of the program's own"},
    {"table/no_values", "a row of a table of memory whose cells contain no values"},
    {"host/overcommit", "the host refused a fork or a mapping"},
});

}  // namespace oomdoctor
