/* group_paths_test.c - the longest paths and texts of control groups that are read as a whole, at N - 1, N and N + 1
 * bytes, and the shortest texts. Each case watches a group in a process of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "platform/platform.h"

enum {
    PATH_MOST = 511,
    LINES_MOST = 8191,
    TEXT_MOST = 1023,
    NAME_MOST = 200,
    ROOM = 1024 /* for a test's own texts */
};

static char top[] = "/tmp/jw-paths-XXXXXX";

/* Makes folders behind `path` until it has so many bytes; the last part is only named. */
static void lengthen(char *path, size_t length) {
    for (size_t at = strlen(path); at < length; at = strlen(path)) {
        size_t part = length - at - 1 <= NAME_MOST ? length - at - 1 : NAME_MOST - 2;
        if (at > sizeof top) mkdir(path, 0700);
        path[at] = '/';
        memset(path + at + 1, 'a', part);
        path[at + 1 + part] = '\0';
    }
    CHECK(strlen(path) == length);
}

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void join(char *path, const char *folder, const char *name) {
    CHECK(strlen(folder) + strlen(name) < ROOM);
    strcpy(path, folder);
    strcat(path, name);
}

static void write_in(const char *folder, const char *name, const char *text) {
    char path[ROOM];
    join(path, folder, name);
    write_file(path, text);
}

/* The process's group, as the kernel tells it, and the group that is found then. */
static struct group_memory watched(const char *lines, const char *root) {
    char process[ROOM];
    struct group_memory group = {0};
    join(process, top, "/process");
    write_file(process, lines);
    platform_watch_group(process, root);
    CHECK(platform_group_memory(&group));
    return group;
}

static struct group_memory watched_folder(const char *before, const char *folder, const char *root) {
    char lines[ROOM];
    join(lines, before, folder);
    strcat(lines, "\n");
    return watched(lines, root);
}

/* A group of version 2 whose files' paths have so many bytes with `name`; the one above has a larger limit. */
static struct group_memory new_group(const char *name, int more) {
    char folder[ROOM];
    strcpy(folder, top);
    lengthen(folder, (size_t)(PATH_MOST + more) - strlen(name));
    mkdir(folder, 0700);
    write_in(top, "/memory.max", "5000000\n");
    write_in(top, "/memory.current", "0\n");
    write_in(folder, "/memory.max", "1000000\n");
    write_in(folder, "/memory.current", "300000\n");
    return watched_folder("0::", folder + strlen(top), top);
}

static void used_of_new_group(int more) {
    CHECK(new_group("/memory.current", more).room == (more <= 0 ? 700000 : SIZE_MAX));
}

/* What is used cannot be read then: no limit either, but it is this group, not the one above. */
static void limit_of_new_group(int more) {
    CHECK(new_group("/memory.max", more).most == (more <= 0 ? SIZE_MAX : 5000000));
}

static void used_of_old_group(int more) {
    char root[ROOM], folder[ROOM];
    join(root, top, "/memory");
    strcpy(folder, root);
    mkdir(root, 0700);
    lengthen(folder, (size_t)(PATH_MOST + more) - strlen("/memory.usage_in_bytes"));
    mkdir(folder, 0700);
    write_in(root, "/memory.stat", "cache 0\n");
    write_in(folder, "/memory.limit_in_bytes", "1000000\n");
    write_in(folder, "/memory.usage_in_bytes", "300000\n");
    CHECK(watched_folder("4:memory:", folder + strlen(root), top).room == (more <= 0 ? 700000 : SIZE_MAX));
}

/* The folder of several controllers, whose path is too long for any number; that of memory alone has a limit. */
static void folder_of_controllers(int more) {
    char root[ROOM], folder[ROOM], name[NAME_MOST + 8] = "/memory,", before[ROOM];
    memset(name + strlen(name), 'x', NAME_MOST - 1);
    strcpy(root, top);
    lengthen(root, (size_t)(PATH_MOST + more) - strlen(name) - strlen("/memory.stat"));
    mkdir(root, 0700);
    join(folder, root, name);
    mkdir(folder, 0700);
    write_in(folder, "/memory.stat", "cache 0\n");
    strcpy(folder + strlen(root), "/memory");
    mkdir(folder, 0700);
    write_in(folder, "/memory.limit_in_bytes", "1000000\n");
    write_in(folder, "/memory.usage_in_bytes", "300000\n");
    join(before, "4:", name + 1);
    strcat(before, ":");
    CHECK(watched_folder(before, "/gone", root).most == (more <= 0 ? SIZE_MAX : 1000000));
}

/* Behind a path that fills the room no file's name follows: a file that lies there is read instead. */
static void longest_path(int more) {
    char path[ROOM];
    strcpy(path, top);
    lengthen(path, (size_t)(PATH_MOST + more));
    write_file(path, "7\n");
    write_in(top, "/memory.max", "5000000\n");
    write_in(top, "/memory.current", "0\n");
    CHECK(watched_folder("0::", path + strlen(top), top).most == (more == 0 ? 7 : 5000000));
}

/* The line of version 2 is the last one: without its end it counts as cut off. */
static void longest_lines(int more) {
    static char lines[LINES_MOST + 2];
    const char *last = "\n0::/own\n";
    struct group_memory group;
    char folder[ROOM];
    size_t length = (size_t)(LINES_MOST + more) - strlen(last);
    memset(lines, 'x', length);
    strcpy(lines + length, last);
    join(folder, top, "/own");
    mkdir(folder, 0700);
    write_in(folder, "/memory.max", "1000000\n");
    write_in(folder, "/memory.current", "300000\n");
    join(folder, top, "/process");
    write_file(folder, lines);
    platform_watch_group(folder, top);
    CHECK(platform_group_memory(&group) == (more <= 0));
    if (more <= 0) CHECK(group.room == 700000);
}

/* The number of files' pages stands at the end of a text: its last digit is read, or not. */
static void longest_text(int more) {
    static char text[TEXT_MOST + 2];
    const char *last = "\ninactive_file 123";
    size_t length = (size_t)(TEXT_MOST + more) - strlen(last);
    memset(text, 'x', length);
    strcpy(text + length, last);
    write_in(top, "/memory.max", "1000000\n");
    write_in(top, "/memory.current", "1000\n");
    write_in(top, "/memory.stat", text);
    CHECK(watched("0::/\n", top).room == 1000000 - 1000 + (more <= 0 ? 123 : 12));
}

/* A text of one byte is a number, one of none is not. */
static void shortest_text(int more) {
    write_in(top, "/memory.max", more > 0 ? "70" : "7");
    write_in(top, "/memory.current", more < 0 ? "" : "5");
    CHECK(watched("0::/\n", top).room == (more < 0 ? SIZE_MAX : more > 0 ? 65 : 2));
}

static int entry_goes(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static void around(void (*part)(int more)) {
    for (int more = -1; more <= 1; more++) {
        int status;
        strcpy(top + sizeof top - 7, "XXXXXX");
        assert_non_null(mkdtemp(top));
        pid_t child = fork();
        if (child == 0) {
            part(more);
            _exit(0);
        }
        assert_true(waitpid(child, &status, 0) == child);
        assert_int_equal(status, 0);
        assert_int_equal(nftw(top, entry_goes, 16, FTW_DEPTH | FTW_PHYS), 0);
    }
}

static void a_path_of_511_bytes_is_read_whole(void **state) {
    (void)state;
    around(used_of_new_group);
    around(limit_of_new_group);
    around(used_of_old_group);
    around(folder_of_controllers);
    around(longest_path);
}

static void texts_are_read_to_their_bounds(void **state) {
    (void)state;
    around(longest_lines);
    around(longest_text);
    around(shortest_text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_of_511_bytes_is_read_whole),
        cmocka_unit_test(texts_are_read_to_their_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
