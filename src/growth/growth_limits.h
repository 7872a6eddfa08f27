// Every judgement constant of the growth analysis, with its reason: significance levels, the shares of a window that a
// person calls early or late, and sizes that are too small to cause a failure.
#pragma once

#include <cstddef>

#include "base/bytes.h"

namespace oomdoctor::growth_limits {

// Length
inline constexpr std::size_t min_values = 5;  // a line and its noise need three values, a choice between laws two more
inline constexpr std::size_t min_for_bends = 6;   // five values cannot prove a bend, only suggest one
inline constexpr std::size_t max_points = 400;    // longer series are averaged in blocks, which bounds the cost
inline constexpr std::size_t min_to_mention = 3;  // fewer values show no direction
inline constexpr double worth_mention = 1.3;      // a rise by this factor over few values is worth a mention
inline constexpr std::size_t max_to_compare =
    200;  // the same bound as max points, for the search for the start of the work

// Evidence for a curve
inline constexpr double imperfection = 0.002;  // no real series follows a law more exactly than 1/500 of its movement
inline constexpr double weak_evidence = 2;     // difference of AICc or BIC (Burnham and Anderson 2002)
inline constexpr double good_evidence = 6;     // the same; required of every law with a bend
inline constexpr double strong_evidence = 10;  // the same; required of a knot that changes the rate
inline constexpr double sampled_evidence =
    8;  // the same, for values read at arbitrary times; with less, risk_confidence is out of reach
inline constexpr double slope_p = 0.01;   // one-sided, after the correction for autocorrelation
inline constexpr double floors_p = 0.05;  // for five floors or more; fewer cannot reach it with a tie

// Relevant sizes
inline constexpr double print_steps = 2;        // growth below two print steps may be rounding
inline constexpr double capacity_share = 0.01;  // growth under 1 % of the GPU over the whole log causes no failure
inline constexpr double level_share = 0.005;    // of the memory in use: movement below half a per cent is not visible;
                                                // also the least relevant growth for a GPU of unknown size
inline constexpr double rise_over_range = 4;  // of a fitted law, at most: a parabola through values of one range rises
                                              // by up to three of them
inline constexpr double sigmas = 3;           // relevant growth in standard deviations of one value …
inline constexpr double sigmas_at = 12;       // … with up to this many independent values; with more, of their means

// Coarse print steps
inline constexpr double coarse_range =
    20;  // print steps that the whole movement spans; below, the series counts as coarse
inline constexpr std::size_t coarse_points = 24;  // a coarse series is averaged in this many blocks

// Continuing growth
inline constexpr double still_rising =
    0.5;  // end slope of a parabola against its mean slope; below, it approaches a maximum
inline constexpr std::size_t min_stairs = 3;  // two steps are a change of the input
inline constexpr std::size_t max_levels = 5;  // more changes in both directions fit anything and explain nothing
inline constexpr double late_climb =
    0.4;  // mean position of the climbs in the window: 0.5 for steady stairs; earlier means that they converge
inline constexpr double last_stair = 0.6;  // and the last step is at least this late
inline constexpr double one_rise = 0.02;   // of the window: changes closer to each other are one rise
inline constexpr double stalled =
    0.35;  // slope of the last third against the middle third; below, the series levels off
inline constexpr double levelled = 0.2;   // end slope against the mean slope; below, the end may be called level
inline constexpr double speeds_up = 1.5;  // end slope against start slope of an accelerating curve

// Shapes
inline constexpr double early = 0.15;        // a rise that is complete by this share of the window is a warm-up
inline constexpr double done = 0.95;         // share of a rise that counts as complete
inline constexpr double one_jump = 0.6;      // share of the way to a level, between two values: a jump in one step …
inline constexpr double two_jumps = 0.4;     // … or in two equal steps, between levels …
inline constexpr std::size_t min_level = 3;  // … of at least this many values
inline constexpr double within_steps =
    0.3;  // share of the way within the stages before the work; above, it is a rise and not a jump
inline constexpr double quiet_level = 0.0075;     // standard deviation against level; below, the line looks flat
inline constexpr double wandering = 0.5;          // autocorrelation above which a level drifts …
inline constexpr double wandering_level = 0.005;  // … and the relative deviation from which the report mentions it
inline constexpr double equal_stairs = 0.15;  // relative scatter of heights and of distances that still counts as equal

// Stages of a run, in shares of the working level or of a jump
inline constexpr double edge_sigmas = 6;   // a jump beyond any Gaussian noise
inline constexpr double idle_share = 0.3;  // of the work's memory: a CUDA context and a display use less, a job more
inline constexpr double half_idle = 0.6;   // or this much, if the log began at the same level
inline constexpr double same_idle = 0.1;   // of the work's memory: the difference of two idle levels that count as one
inline constexpr double steep = 0.15;      // of the work's memory within one segment: this is loading, not growth
inline constexpr double nearly = 0.9;      // of the work's memory: a lower level is still loading
inline constexpr double returns =
    0.06;  // of the jump: after a plateau, a series this close to its old line continues it
inline constexpr double returns_at_most = 0.25;  // … or up to this close, if the noise leaves it open
inline constexpr double same_plateau = 0.3;      // of the usual jump: evaluations of one run resemble each other
inline constexpr double equal_rises = 0.6;       // slower against faster slope on the two sides of a pause
inline constexpr double rests = 0.2;             // slope of a pause against the slope of its sides
inline constexpr double same_slope = 2.5;        // standard errors between the slopes of two runs of one program
inline constexpr double like_jump = 1 / 3.0;     // smaller against larger jump of one staircase
inline constexpr double quiet_gaps =
    3;  // in units of its longest gap: a staircase whose next step is overdue by this much has ended
inline constexpr std::size_t min_before_release = 3;  // values; fewer do not count as work
inline constexpr double least_release =
    0.02;  // of the largest free amount: a metric of remaining memory shows no zero, so less may be any small rise
inline constexpr double start_evidence =
    6;  // points of the score by which a later start of the work must describe the run better
inline constexpr double start_beside_stairs =
    20;  // the same if stairs describe the run, because their levels are as free as lines

// Start-up of a program that prints no steps
inline constexpr double longest_start = 600;  // seconds; weights, data and first buffers are there after ten minutes;
                                              // also the RAM of a machine on which a program starts
inline constexpr double longest_start_values = 200;  // without a clock; large checkpoints have fewer shards
inline constexpr double nearly_nothing = 0.15;  // of the last value: a context and a display, or the parts of a load
inline constexpr double work_level = 0.5;  // of the last value: work that begins lower more than doubles its memory
inline constexpr double work_slope = 0.2;  // of the steepest rise before the work; a faster rise still is the load

// Ends
inline constexpr double end_sigmas =
    2;  // distance from the line through the other values; a value further away is an outlier
inline constexpr std::size_t min_without_end = 8;  // values that must remain when those at the end are set aside

// Running maxima
inline constexpr std::size_t records_for_growth =
    4;                                     // in the second half; the chance is under 1 % for exchangeable values
inline constexpr double record_odds = 50;  // against exchangeable values; chance reaches it in at most 2 %
inline constexpr std::size_t min_for_plateaus = 8;  // in shorter series equal neighbours are common
inline constexpr double plateau_share = 0.3;        // share of equal neighbours that identifies an unlabelled maximum

// Confidence
inline constexpr double max_confidence = 0.95;
inline constexpr double sampled_gauge = 0.6;    // read at arbitrary times, so it aliases with the step
inline constexpr double running_maximum = 0.7;  // does not show what was freed
inline constexpr double min_print_steps = 0.8;  // all growth is under five print steps and the noise under one
inline constexpr double undecided = 0.5;        // two laws describe the series about equally well
inline constexpr double aliased = 0.5;          // the log interval is close to a multiple of the period

// Growth without a failure
inline constexpr int enough_values = 8;  // fewer reduce the confidence in proportion: a load has as many
inline constexpr double risk_confidence =
    0.4;  // a clear ramp of six sampled values reaches 0.43; five values may be a model that is still loading
inline constexpr i64 min_unplaced = 12;                 // values without step or time may all belong to the set-up
inline constexpr double least_program = 1024.0 * 1024;  // bytes; less is an object of a program, which fills no machine
inline constexpr double machine_share = 0.05;           // of a machine's memory: what a monitor sees grow by less …
inline constexpr double half_full = 0.5;                // … in a machine that is less full is the use of its programs
inline constexpr double risk_windows = 50;              // of the observed window; a forecast further ahead is a guess
inline constexpr double least_machine =
    8.0 * static_cast<double>(GiB);  // bytes; a machine of unknown RAM that runs such jobs has no less
inline constexpr std::size_t min_listed =
    4;  // processes; fewer are a program and its helpers, not the list of a monitor
inline constexpr double whole_list =
    0.5;  // of the RAM in use at the start is in the listed processes; with less, others may grow unseen
inline constexpr double explained = 0.5;  // of the machine's growth by its listed processes; less leaves it open

}  // namespace oomdoctor::growth_limits
