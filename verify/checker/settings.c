/* settings.c - the command line of a client program. */
#include "engine.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct settings settings = {.jobs = 1, .bound = -1, .random = 2000, .max = UINT64_MAX};

static const char usage[] =
    "Explores every execution of the client linked into this program.\n"
    "  --jobs N         processes (1)\n"
    "  --budget S       seconds\n"
    "  --bound K        at most K postponed reads in an execution\n"
    "  --deepen         bounds 0, 1, 2, ... until nothing is left out\n"
    "  --random N       at most N random executions first (2000)\n"
    "  --seed S         of the random ones (0)\n"
    "  --spurious N     times that weak compare-exchanges of a thread may fail for no reason (0)\n"
    "  --max N          executions after the random ones\n"
    "  --replay FILE    one execution, as a failure left it\n"
    "  --break          stop in the debugger where it fails\n"
    "  --save FILE      where to leave a failure (PROGRAM.replay)\n"
    "  --json FILE      the result\n"
    "  --coverage FILE  the blocks that ran, of code compiled with -fsanitize-coverage=trace-pc\n"
    "  --outcomes       print what checker_outcome() got\n"
    "  --progress       print how far it is, each second\n"
    "  --failing-as-success  a compare-exchange that fails has the order of success, as in GenMC\n"
    "  --audit          check that no execution graph is visited twice\n"
    "Status: 0 complete and clean, 1 a failure, 2 could not say, 3 stopped before the end.\n";

static uint64_t number(const char *text, uint64_t least, uint64_t most) {
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (!*text || *end || *text == '-' || value < least || value > most) stop_unable("not a valid number: %s", text);
    return value;
}

static void set_file(int letter, const char *text) {
    if (letter == 'R') settings.replay = text;
    if (letter == 'S') settings.save = text;
    if (letter == 'J') settings.json = text;
    if (letter == 'C') settings.coverage = text;
}

static void set(int letter, const char *text) {
    switch (letter) {
    case 'j': settings.jobs = (unsigned)number(text, 1, WORKERS); break;
    case 'b': settings.budget = (double)number(text, 1, 1u << 30); break;
    case 'k': settings.bound = (int)number(text, 0, 1u << 30); break;
    case 'd': settings.deepen = true; break;
    case 'r': settings.random = number(text, 0, UINT64_MAX); break;
    case 's': settings.seed = number(text, 0, UINT64_MAX); break;
    case 'w': settings.spurious = (unsigned)number(text, 0, 1u << 30); break;
    case 'm': settings.max = number(text, 0, UINT64_MAX); break;
    case 'o': settings.outcomes = true; break;
    case 'p': settings.progress = true; break;
    case 'a': settings.audit = true; break;
    case 'f': settings.failing_as_success = true; break;
    case 't': settings.stop_in_debugger = true; break;
    case 'h': fputs(usage, stdout); exit(0);
    case '?': fputs(usage, stderr); exit(2);
    default: set_file(letter, text);
    }
}

void settings_read(int argc, char **argv) {
    static const struct option options[] = {
        {"jobs", 1, NULL, 'j'},     {"budget", 1, NULL, 'b'},   {"bound", 1, NULL, 'k'},
        {"deepen", 0, NULL, 'd'},   {"random", 1, NULL, 'r'},   {"seed", 1, NULL, 's'},
        {"spurious", 1, NULL, 'w'}, {"max", 1, NULL, 'm'},      {"replay", 1, NULL, 'R'},
        {"save", 1, NULL, 'S'},     {"json", 1, NULL, 'J'},     {"outcomes", 0, NULL, 'o'},
        {"progress", 0, NULL, 'p'}, {"audit", 0, NULL, 'a'},    {"break", 0, NULL, 't'},
        {"help", 0, NULL, 'h'},     {"coverage", 1, NULL, 'C'}, {"failing-as-success", 0, NULL, 'f'},
        {NULL, 0, NULL, 0},
    };
    static char path[4096], save[4200];
    settings.program = path;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0) snprintf(path, sizeof path, "%s", argv[0]);
    snprintf(save, sizeof save, "%s.replay", path);
    settings.save = save;
    for (int letter; (letter = getopt_long(argc, argv, "", options, NULL)) != -1;) set(letter, optarg);
    if (optind < argc) stop_unable("unexpected: %s", argv[optind]);
    if (settings.deepen && settings.bound >= 0) stop_unable("--bound and --deepen exclude each other");
}
