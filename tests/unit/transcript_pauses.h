/* transcript_pauses.h - pauses of the reclamation thread, and threads of the program that come and go, as a part of a
 * transcript. */
#ifndef JW_TESTS_TRANSCRIPT_PAUSES_H
#define JW_TESTS_TRANSCRIPT_PAUSES_H

#include "transcript_program.h"

#include <errno.h>

#include "core/seal_roots.h"

/* The reclamation thread runs, and ends, while a pause waits for it. */
static void runs_in_a_wait(void) {
    transcript.after_waits = run_thread;
    transcript.waits_left = 1;
}

static void pauses(unsigned thread) {
    begin_script(thread == THREAD_TRUE ? "Pauses" : "Pauses of a thread beside others");
    options.reclaim_thread = thread;
    STEP("a thread is made", reclaimer_before_thread_create(); reclaimer_after_thread_create(true));
    transcript.too_early = true;
    STEP("work, too early", take_many(0, 40, 65536); give_many(HEAPS, 40, 1); thrift_wake());
    transcript.too_early = false;
    STEP("work", take_many(0, 40, 65536); give_many(HEAPS, 40, 1); thrift_wake());
    sim_set_file("Name:\tx\nThreads:\t2\n");
    STEP("a seal that is refused", runs_in_a_wait(); CHECK(seal_roots() == EBUSY));
    sim_set_file(NULL);
    STEP("a pause", runs_in_a_wait(); reclaimer_pause());
    STEP("work in it", take_many(0, 40, 65536); give_many(HEAPS, 40, 1); thrift_wake());
    STEP("two more", reclaimer_pause(); reclaimer_pause());
    STEP("resumed once", reclaimer_resume(); reclaimer_resume());
    sim_fail_only(SIM_THREAD);
    sim_fail_after(0);
    STEP("resumed, refused", reclaimer_resume());
    sim_fail_after(SIM_NEVER);
    sim_fail_only(SIM_ANY);
    STEP("a pause of no thread", reclaimer_pause(); reclaimer_resume());
    STEP("resumed too often", reclaimer_resume());
    STEP("another thread is made", reclaimer_before_thread_create(); reclaimer_after_thread_create(true));
    STEP("one is not made", reclaimer_before_thread_create(); reclaimer_after_thread_create(false));
    STEP("one ends", reclaimer_thread_ends());
    STEP("the last one ends", runs_in_a_wait(); reclaimer_thread_ends());
    sim_set_file("Name:\tx\nThreads:\t1\n");
    STEP("a seal of nothing", runs_in_a_wait(); CHECK(seal_roots() == 0));
    sim_set_file(NULL);
    transcript.waits_left = 0;
    end_script();
}

#endif
