// Every constant of judgement about growth, with its reason: levels of significance, shares of a window that a person
// would call "early" or "late", and sizes below which nobody runs out of memory.
#pragma once

#include <cstddef>

namespace oomdoctor::growth_limits {

// Length
inline constexpr std::size_t least_values = 5;       // a line and its noise need three, a choice between laws two more
inline constexpr std::size_t least_for_bends = 6;    // with five values a bend can be possible, never shown
inline constexpr std::size_t most_points = 400;      // longer series are read in block means: the cost stays bounded
inline constexpr std::size_t least_to_mention = 3;   // fewer values have no direction
inline constexpr double worth_mention = 1.3;         // a rise over few values that a person would want to hear of
inline constexpr std::size_t most_to_compare = 200;  // … and in these while only the start of the work is looked for

// Believing a curve
inline constexpr double imperfection = 0.002;  // no law of growth holds more exactly than 1/500 of the movement
inline constexpr double weak_evidence = 2;     // difference of AICc or BIC (Burnham and Anderson 2002)
inline constexpr double good_evidence = 6;     // the same; asked of everything that bends
inline constexpr double strong_evidence = 10;  // the same; asked of a knot that the rate would depend on
inline constexpr double sampled_evidence = 8;  // of values read at any time; with less, risk_confidence is out of reach
inline constexpr double slope_p = 0.01;        // one-sided, after the correction for autocorrelation
inline constexpr double floors_p = 0.05;       // of five floors or more; fewer cannot reach it with a tie

// Size that matters
inline constexpr double print_steps = 2;        // growth under two print steps may be rounding
inline constexpr double capacity_share = 0.01;  // under 1 % of the card over the whole log nobody dies of it
inline constexpr double level_share = 0.005;  // half a per cent of what is used: below, a person sees no movement; and
                                              // growth that matters, where the card is not known
inline constexpr double sigmas = 3;           // growth in standard deviations of one value …
inline constexpr double sigmas_at = 12;       // … of up to this many independent ones; beyond, of their means

// Coarse print steps
inline constexpr double coarse_range = 20;        // print steps that the whole movement spans
inline constexpr std::size_t coarse_points = 24;  // then the series is read in this many blocks

// Still growing
inline constexpr double still_rising = 0.5;  // end slope of a parabola against its mean: below, it has a top in sight
inline constexpr std::size_t least_stairs = 3;  // two steps are a change of input
inline constexpr std::size_t most_levels = 5;   // ups and downs beyond describe anything and explain nothing
inline constexpr double late_climb = 0.4;       // stairs climb on average in the middle (0.5); early means converging
inline constexpr double last_stair = 0.6;       // and the last of them is not long ago
inline constexpr double stalled = 0.35;         // last third against the middle third: below, it levels off
inline constexpr double levelled = 0.2;   // end slope against the mean of a rise that may be called level at its end
inline constexpr double speeds_up = 1.5;  // end slope against start slope of an accelerating curve

// Shapes
inline constexpr double early = 0.15;             // a rise that is done by then is a warm-up
inline constexpr double done = 0.95;              // the part of a rise that counts as done
inline constexpr double one_jump = 0.6;           // of the way to a level, between two values: most of it at once …
inline constexpr double two_jumps = 0.4;          // … or by two equal steps, between levels …
inline constexpr std::size_t least_level = 3;     // … of at least this many values
inline constexpr double within_steps = 0.3;       // of the way to a level: more than this is no jump but a rise
inline constexpr double quiet_level = 0.0075;     // standard deviation against level: below, a person sees a flat line
inline constexpr double wandering = 0.5;          // autocorrelation above which a level wanders
inline constexpr double wandering_level = 0.005;  // … and the deviation from which that is worth a word
inline constexpr double equal_stairs = 0.15;      // scatter that still counts as equal, of heights and of distances

// Stages of a run, in shares of the working level or of a jump
inline constexpr double edge_sigmas = 6;         // a jump beyond any Gaussian noise
inline constexpr double idle_share = 0.3;        // of the work's memory: a context and a display take less, a job more
inline constexpr double half_idle = 0.6;         // … or this much, where the log began at the same level
inline constexpr double same_idle = 0.1;         // of the work's memory: two levels that count as one
inline constexpr double steep = 0.15;            // of the work's memory within one segment: loading, not growth
inline constexpr double nearly = 0.9;            // of the work's memory: what is below is still being loaded
inline constexpr double returns = 0.06;          // of the jump: a course that misses its old line by less goes on
inline constexpr double returns_at_most = 0.25;  // … and where noise leaves it open, by this much at most
inline constexpr double same_plateau = 0.3;      // of the usual jump: evaluations of one run resemble each other
inline constexpr double equal_rises = 0.6;       // slower against faster slope on the two sides of a pause
inline constexpr double rests = 0.2;             // slope of a pause against that of its sides
inline constexpr double same_slope = 2.5;        // standard errors between the slopes of two runs of one program
inline constexpr double like_jump = 1 / 3.0;     // smaller against larger: jumps of one staircase
inline constexpr double quiet_gaps = 3;  // of its gaps: when the next stair is overdue by this much, it has ended
inline constexpr std::size_t least_before_release = 3;  // values; fewer are no work
inline constexpr double start_evidence = 6;             // by how much a start of its own has to describe the run better
inline constexpr double start_beside_stairs = 20;  // … where stairs describe it, whose levels are as free as lines

// Ends
inline constexpr double end_sigmas = 2;              // of the line through the rest: a value further away stands out
inline constexpr std::size_t least_without_end = 8;  // values that are left when those at the end are set aside

// Running maxima
inline constexpr std::size_t records_for_growth = 4;  // in the second half; chance under 1 % for exchangeable values
inline constexpr double record_odds = 50;             // against exchangeable values; reached by chance in at most 2 %
inline constexpr std::size_t least_for_plateaus = 8;  // shorter, equal neighbours happen
inline constexpr double plateau_share = 0.3;  // equal neighbours by which an unlabelled maximum gives itself away

// Confidence
inline constexpr double most_confidence = 0.95;
inline constexpr double sampled_gauge = 0.6;    // read at any time: aliases with the step
inline constexpr double running_maximum = 0.7;  // says nothing about what was given back
inline constexpr double few_print_steps = 0.8;  // all growth is under five print steps and the noise under one
inline constexpr double undecided = 0.5;        // two descriptions, one series
inline constexpr double aliased = 0.5;          // log interval close to a multiple of the period

// Growth without a failure
inline constexpr double risk_confidence =
    0.4;  // a clear ramp of six sampled values has 0.43; five may be a model that is being loaded

}  // namespace oomdoctor::growth_limits
