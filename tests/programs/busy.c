/* busy.c - an ordinary program that forks and threads heavily, written without a thought of allocators: processes that
 * split words, threads that sort them and count them in tables that grow, results through pipes. Prints a digest. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 24, AT_ONCE = 4, THREADS = 8, WORDS = 6000 };

static uint32_t next_number(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static char *make_text(uint32_t seed) {
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    if (stream == NULL) abort();
    for (int i = 0; i < WORDS; i++) fprintf(stream, "%x-%x ", next_number(&seed) % 997, next_number(&seed) % 7);
    fclose(stream);
    return text;
}

static int compare(const void *left, const void *right) {
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Sorted distinct words with their counts, as one string. */
static void *count_words(void *argument) {
    char *text = argument, *rest = text, **words = NULL, *result = NULL;
    size_t count = 0, length = 0;
    for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL;) {
        words = realloc(words, (count + 1) * sizeof *words);
        if (words == NULL || (words[count++] = strdup(word)) == NULL) abort();
    }
    qsort(words, count, sizeof *words, compare);
    FILE *stream = open_memstream(&result, &length);
    if (stream == NULL) abort();
    for (size_t i = 0; i < count;) {
        size_t first = i;
        while (i < count && strcmp(words[first], words[i]) == 0) i++;
        fprintf(stream, "%s=%zu\n", words[first], i - first);
    }
    fclose(stream);
    for (size_t i = 0; i < count; i++) free(words[i]);
    free(words);
    free(text);
    return result;
}

static uint64_t digest_of(const char *text, uint64_t digest) {
    for (; *text != 0; text++) digest = (digest ^ (unsigned char)*text) * 1099511628211u;
    return digest;
}

static uint64_t work(uint32_t process) {
    pthread_t threads[THREADS];
    uint64_t digest = 14695981039346656037u;
    for (uint32_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, count_words, make_text(process * 100 + i)) != 0) abort();
    for (uint32_t i = 0; i < THREADS; i++) {
        void *result;
        if (pthread_join(threads[i], &result) != 0 || result == NULL) abort();
        digest = digest_of(result, digest);
        free(result);
    }
    return digest;
}

/* While the children start, this process has threads at work itself. */
int main(void) {
    int ends[PROCESSES][2], status;
    for (uint32_t i = 0; i < PROCESSES; i++) {
        pthread_t thread;
        void *result;
        if (pthread_create(&thread, NULL, count_words, make_text(i)) != 0) abort();
        if (pipe(ends[i]) != 0) abort();
        pid_t child = fork();
        if (child < 0) abort();
        if (child == 0) {
            uint64_t digest = work(i);
            if (write(ends[i][1], &digest, sizeof digest) != sizeof digest) abort();
            exit(0);
        }
        close(ends[i][1]);
        if (pthread_join(thread, &result) != 0) abort();
        printf("parent %u %016llx\n", i, (unsigned long long)digest_of(result, 0));
        fflush(stdout);
        free(result);
        if (i >= AT_ONCE && (wait(&status) < 0 || status != 0)) abort();
    }
    while (wait(&status) > 0)
        if (status != 0) abort();
    for (uint32_t i = 0; i < PROCESSES; i++) {
        uint64_t digest = 0;
        if (read(ends[i][0], &digest, sizeof digest) != sizeof digest) abort();
        printf("child %u %016llx\n", i, (unsigned long long)digest);
    }
    return 0;
}
