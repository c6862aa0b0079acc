/* files.c - what is left behind: the replay of a failure and the result as JSON. */
#include "engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A line per choice: pick, options, operation, thread, address. Addresses are part of it to notice another program. */
void replay_save(void) {
    FILE *file = fopen(settings.save, "w");
    if (!file) {
        fprintf(stderr, "checker: cannot write %s\n", settings.save);
        return;
    }
    fprintf(file, "checker-replay 1\nspurious %u\nchoices %u\n", settings.spurious, choice_position);
    for (unsigned i = 0; i < choice_position; i++)
        fprintf(file, "%u %u %u %u %" PRIx64 "\n", choices[i].pick, choices[i].options, choices[i].operation,
                choices[i].thread, choices[i].address);
    fclose(file);
    printf("To see it again: %s --replay %s\n", settings.program, settings.save);
}

void replay_load(void) {
    FILE *file = fopen(settings.replay, "r");
    if (!file) stop_unable("cannot read %s", settings.replay);
    bool good = fscanf(file, "checker-replay 1 spurious %u choices %u", &settings.spurious, &choice_count) == 2;
    good = good && choice_count <= CHOICES;
    for (unsigned i = 0; good && i < choice_count; i++) {
        unsigned operation, thread;
        struct choice *choice = &choices[i];
        good = fscanf(file, "%" SCNu16 " %" SCNu16 " %u %u %" SCNx64, &choice->pick, &choice->options, &operation,
                      &thread, &choice->address) == 5 &&
               choice->pick < choice->options;
        if (!good) break;
        choice->operation = (uint8_t)operation;
        choice->thread = (uint8_t)thread;
    }
    fclose(file);
    if (!good) stop_unable("%s is no replay file", settings.replay);
}

static void write_text(FILE *file, const char *name, const char *text) {
    if (!text) return;
    fprintf(file, "  \"%s\": \"", name);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', file);
        if ((unsigned char)*text >= ' ') fputc(*text, file);
    }
    fprintf(file, "\",\n");
}

static void write_outcomes(FILE *file) {
    fprintf(file, "  \"outcomes\": [");
    for (unsigned i = 0; i < shared->outcomes; i++) {
        fprintf(file, "%s[", i ? ", " : "");
        for (unsigned k = 0; k < shared->outcome[i].length; k++)
            fprintf(file, "%s%d", k ? ", " : "", shared->outcome[i].values[k]);
        fprintf(file, "]");
    }
    fprintf(file, "]\n");
}

void json_write(const struct verdict *verdict) {
    if (!settings.json) return;
    FILE *file = fopen(settings.json, "w");
    if (!file) stop_unable("cannot write %s", settings.json);
    struct counters sum = shared_counters();
    fprintf(file, "{\n");
    write_text(file, "verdict", verdict->verdict);
    write_text(file, "kind", verdict->kind);
    write_text(file, "message", verdict->message);
    fprintf(file, "  \"executions\": %" PRIu64 ",\n  \"dead_ends\": %" PRIu64 ",\n", sum.complete, sum.dead_ends);
    fprintf(file, "  \"events\": %" PRIu64 ",\n  \"passes\": %u,\n", sum.events, verdict->passes);
    fprintf(file, "  \"seconds\": %.3f,\n", now());
    if (verdict->bound >= 0) fprintf(file, "  \"bound\": %d,\n", verdict->bound);
    write_outcomes(file);
    fprintf(file, "}\n");
    fclose(file);
}
