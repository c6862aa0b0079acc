/* surroundings.c - odd circumstances, real programs, and what the C library allocates for its callers. */
#include "cases.h"

#include <argz.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <iconv.h>
#include <locale.h>
#include <netdb.h>
#include <obstack.h>
#include <pthread.h>
#include <regex.h>
#include <search.h>
#include <sys/personality.h>
#include <wchar.h>
#include <wordexp.h>

#define obstack_chunk_alloc malloc
#define obstack_chunk_free free

extern char **environ;
static struct tiers from_constructor;
static bool constructed;

__attribute__((constructor(101))) static void before_main(void) {
    tiers_allocate(&from_constructor, 1);
    constructed = true;
}

__attribute__((destructor(101))) static void after_main(void) {
    if (constructed) tiers_free(&from_constructor, 1);
    free(malloc(100));
}

static void constructors(size_t unused, size_t neither) {
    (void)unused, (void)neither;
    CHECK(constructed);
    tiers_check(&from_constructor, 1);
}

static void closed_files(size_t first, size_t last) {
    for (size_t file = first; file <= last; file++) close((int)file);
    tiers_work(1);
    CHECK(open("/dev/null", O_RDONLY) == (int)first); /* nobody has taken the number */
    tiers_work(2);
}

static void loads_and_unloads(size_t lazy, size_t rounds) {
    static const char *const names[] = {"libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libcrypt.so.1", "libz.so.1"};
    for (size_t i = 0; i < rounds; i++)
        for (size_t j = 0; j < 5; j++) {
            void *handle = dlopen(names[j], lazy ? RTLD_LAZY : RTLD_NOW);
            tiers_work(j);
            if (handle != NULL) dlclose(handle);
        }
    CHECK(dlopen("no such library", RTLD_NOW) == NULL && dlerror() != NULL);
}

static void *load(void *unused) {
    (void)unused;
    loads_and_unloads(0, 10);
    return NULL;
}

static void threads_that_load(size_t count, size_t unused) {
    (void)unused;
    pthread_t threads[8];
    for (size_t i = 0; i < count; i++) CHECK(pthread_create(&threads[i], NULL, load, NULL) == 0);
    for (size_t i = 0; i < count; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}

static void again_under(size_t persona, size_t unused) {
    (void)unused;
    if (personality((unsigned long)persona) < 0) check_skip("no such personality");
    execl("/bin/sh", "sh", "-c", "[ \"$(seq 1 2000 | sort -n | tail -1)\" = 2000 ]", (char *)NULL);
    CHECK(false);
}

static void without_environment(size_t unused, size_t neither) {
    (void)unused, (void)neither;
    CHECK(clearenv() == 0);
    tiers_work(1);
    for (int i = 0; i < 500; i++) {
        char name[32];
        snprintf(name, sizeof name, "NAME_%d", i);
        CHECK(setenv(name, "some value or other", 1) == 0);
    }
    CHECK(strcmp(getenv("NAME_499"), "some value or other") == 0);
    tiers_work(2);
}

static void empty_root(size_t unused, size_t neither) {
    (void)unused, (void)neither;
    char path[] = "/tmp/conformanceXXXXXX";
    CHECK(mkdtemp(path) != NULL);
    bool in = chroot(path) == 0;
    if (!in) rmdir(path);
    if (!in) check_skip("no chroot");
    for (uint64_t i = 0; i < 20; i++) tiers_work(i);
    CHECK(rmdir("/") != 0);
}

/* --- Programs: each runs on the allocator that is preloaded here, and must print what is expected */

static const struct program {
    const char *needs, *command;
} programs[] = {
    {"sort", "seq 1 20000 | sort -r | sort -n | md5sum | grep -q $(seq 1 20000 | md5sum | cut -c1-32)"},
    {"awk", "seq 1 5000 | awk '{s[$1%97]=s[$1%97] $1} END {for (i in s) n+=length(s[i]); exit n!=18893}'"},
    {"sed", "[ \"$(seq 1 3000 | sed -n 's/1/x/gp' | wc -l)\" = 1542 ]"},
    {"grep", "[ \"$(seq 1 30000 | grep -cE '(12|7+)3')\" = $(seq 1 30000 | grep -cE '123|73') ]"},
    {"bash", "[ \"$(bash -c 'for i in {1..3000}; do a[i]=$i; done; echo ${#a[@]}')\" = 3000 ]"},
    {"perl", "perl -e 'my %h; $h{$_} = [1..5] for 1..20000; delete $h{$_} for 1..19000; exit(keys(%h) != 1000)'"},
    {"python3", "python3 -S -c 'd = {str(i): [i] * 20 for i in range(30000)}; assert len(d) == 30000'"},
    {"tar", "tar cf - /usr/share/doc/bash /etc 2>/dev/null | tar tf - > /dev/null"},
    {"gzip", "[ \"$(seq 1 50000 | gzip -9 | gunzip | tail -1)\" = 50000 ]"},
    {"xz", "[ \"$(seq 1 50000 | xz -2 | unxz | tail -1)\" = 50000 ]"},
    {"bzip2", "[ \"$(seq 1 50000 | bzip2 | bunzip2 | tail -1)\" = 50000 ]"},
    {"find", "find /usr/include -name '*.h' > /dev/null"},
    {"git", "git --version > /dev/null && git ls-remote . > /dev/null 2>&1; [ $? -le 128 ]"},
    {"gcc", "echo 'int main(void){return 0;}' | gcc -O2 -x c -S -o /dev/null -"},
    {"g++", "printf '#include <map>\\nint main(){std::map<int,int> m; m[1]=2; return m.size()-1;}' "
            "| g++ -fsyntax-only -x c++ -"},
    {"sqlite3", "[ \"$(sqlite3 :memory: 'create table t(a); with recursive c(x) as (select 1 union all select x+1 "
                "from c where x<20000) insert into t select x from c; select sum(a) from t;')\" = 200010000 ]"},
    {"openssl", "[ \"$(echo x | openssl dgst -sha256 | tail -c 9)\" = \"$(echo x | sha256sum | cut -c57-64)\" ]"},
    {"bc",
     "[ \"$(echo '2^2000 % 1000007' | bc)\" = \"$(echo '2^1000 % 1000007 * (2^1000 % 1000007) % 1000007' | bc)\" ]"},
    {"make", "printf 'all:\\n\\t@true\\n' | make -s -f -"},
    {"diff", "seq 1 9000 | diff - /dev/null > /dev/null; [ $? = 1 ]"},
    {"find xargs", "find /etc -type f 2>/dev/null | xargs -n 20 echo > /dev/null"},
    {"objdump", "objdump -d /bin/true > /dev/null"},
    {"ls", "ls -lR /usr/share/doc > /dev/null"},
    {"date", "[ \"$(date -u -d @86400 +%F)\" = 1970-01-02 ]"},
    {"locale", "LC_ALL=C.UTF-8 locale > /dev/null"},
};

static void program_works(size_t which, size_t unused) {
    (void)unused;
    char test[64], name[32];
    CHECK(sscanf(programs[which].needs, "%31s", name) == 1);
    snprintf(test, sizeof test, "command -v %s > /dev/null", name);
    if (system(test) != 0) check_skip("no such program");
    CHECK(system(programs[which].command) == 0);
}

void add_programs(void) {
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) add(programs[i].needs, program_works, i, 0);
}

void add_surroundings(void) {
    add("constructors", constructors, 0, 0);
    add("files %zu to %zu closed", closed_files, 0, 0);
    add("files %zu to %zu closed", closed_files, 0, 2);
    add("files %zu to %zu closed", closed_files, 2, 2);
    add("libraries come and go", loads_and_unloads, 0, 20);
    add("libraries come and go, lazily", loads_and_unloads, 1, 20);
    add("%zu threads that load libraries", threads_that_load, 4, 0);
    add("personality %zx: addresses not random", again_under, ADDR_NO_RANDOMIZE, 0);
    add("personality %zx: mappings upwards", again_under, ADDR_COMPAT_LAYOUT, 0);
    add("personality %zx: readable is executable", again_under, READ_IMPLIES_EXEC, 0);
    add("no environment, then a large one", without_environment, 0, 0);
    add("an empty root directory", empty_root, 0, 0);
}

/* --- The C library: its functions allocate, the program frees, and the other way round */

static void lines(void) {
    char *line = NULL;
    size_t size = 0, total = 0;
    FILE *file = tmpfile();
    for (int i = 0; i < 300; i++) fprintf(file, "%0*d\n", i * 13 + 1, i);
    rewind(file);
    while (getline(&line, &size, file) > 0) total += strlen(line);
    CHECK(total == 300 * 2 + 13 * 299 * 150);
    free(line);
    line = malloc(3);
    size = 3;
    rewind(file);
    CHECK(getdelim(&line, &size, '1', file) > 0 && size > 3);
    free(line);
    fclose(file);
}

static void strings(void) {
    for (size_t length = 0; length < 20000; length = length * 2 + 1) {
        char *text = NULL, *copy;
        CHECK(asprintf(&text, "%*s", (int)length, "") == (int)length);
        CHECK((copy = strdup(text)) != NULL && strlen(copy) == length);
        free(copy);
        CHECK((copy = strndup(text, length / 2)) != NULL && strlen(copy) == length / 2);
        free(copy);
        free(text);
    }
    char *path = realpath("/proc/self", NULL), *directory = getcwd(NULL, 0);
    CHECK(path != NULL && directory != NULL && (directory = realloc(directory, 5000)) != NULL);
    free(path);
    free(directory);
}

static void streams(void) {
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    for (int i = 0; i < 20000; i++) fprintf(stream, "%d,", i);
    CHECK(fclose(stream) == 0 && length > 100000);
    free(text);
    wchar_t *wide = NULL;
    stream = open_wmemstream(&wide, &length);
    fwprintf(stream, L"%d", 12345);
    CHECK(fclose(stream) == 0 && wcscmp(wide, L"12345") == 0);
    free(wide);
    CHECK((wide = wcsdup(L"abc")) != NULL);
    free(wide);
    CHECK(sscanf("hello world", "%ms", &text) == 1 && strcmp(text, "hello") == 0);
    free(text);
    stream = fopen("/dev/null", "w");
    CHECK(setvbuf(stream, malloc(100000), _IOFBF, 100000) == 0);
    fclose(stream);
}

static int by_value(const void *a, const void *b) {
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

static void sorting(void) {
    for (size_t count = 10; count < 500000; count *= 7) {
        int *numbers = malloc(count * sizeof *numbers);
        for (size_t i = 0; i < count; i++) numbers[i] = (int)(i * 7919 % count);
        qsort(numbers, count, sizeof *numbers, by_value);
        for (size_t i = 1; i < count; i++) CHECK(numbers[i - 1] <= numbers[i]);
        free(numbers);
    }
}

static void patterns(void) {
    regex_t pattern;
    glob_t found;
    wordexp_t words;
    CHECK(regcomp(&pattern, "^(a|b|[c-z]+)*(foo|bar){2,5}$", REG_EXTENDED) == 0);
    CHECK(regexec(&pattern, "abcfoobar", 0, NULL, 0) == 0 && regexec(&pattern, "123", 0, NULL, 0) == REG_NOMATCH);
    regfree(&pattern);
    CHECK(glob("/usr/*/*", 0, NULL, &found) == 0 && found.gl_pathc > 0);
    globfree(&found);
    CHECK(wordexp("$HOME a b \"c d\"", &words, 0) == 0 && words.we_wordc >= 3);
    wordfree(&words);
}

static int all_entries(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

static void directories(void) {
    struct dirent **entries = NULL;
    int count = scandir("/usr/bin", &entries, all_entries, alphasort);
    CHECK(count > 0);
    while (count > 0) free(entries[--count]);
    free(entries);
}

static void ignore(void *entry) {
    (void)entry;
}

static void trees(void) {
    void *root = NULL;
    struct hsearch_data table;
    memset(&table, 0, sizeof table);
    static int numbers[1000];
    for (int i = 0; i < 1000; i++) {
        numbers[i] = i * 37 % 1000;
        CHECK(tsearch(&numbers[i], &root, by_value) != NULL);
    }
    tdestroy(root, ignore);
    CHECK(hcreate_r(1000, &table) != 0);
    hdestroy_r(&table);
    char *argz = NULL;
    size_t length = 0;
    for (int i = 0; i < 100; i++) CHECK(argz_add(&argz, &length, "word") == 0);
    CHECK(argz_count(argz, length) == 100);
    free(argz);
}

static void obstacks(void) {
    struct obstack stack;
    obstack_init(&stack);
    void *first = obstack_alloc(&stack, 1);
    for (int i = 0; i < 5000; i++) memset(obstack_alloc(&stack, i % 300), 1, (size_t)(i % 300));
    obstack_free(&stack, first);
    obstack_free(&stack, NULL);
}

static void locales(void) {
    for (int i = 0; i < 20; i++) {
        locale_t made = newlocale(LC_ALL_MASK, "C.UTF-8", NULL);
        if (made != NULL) freelocale(made);
        setlocale(LC_ALL, i % 2 ? "C" : "C.UTF-8");
    }
    iconv_t converter = iconv_open("UTF-16", "ISO-8859-1");
    if (converter != (iconv_t)-1) iconv_close(converter);
}

static void names(void) {
    struct addrinfo *found = NULL, wanted = {.ai_flags = AI_NUMERICHOST};
    CHECK(getaddrinfo("127.0.0.1", "80", &wanted, &found) == 0 && found != NULL);
    freeaddrinfo(found);
    setservent(1);
    endservent();
}

static void (*const libc_cases[])(void) = {lines,       strings, streams,  sorting, patterns,
                                           directories, trees,   obstacks, locales, names};

static void libc_case(size_t which, size_t rounds) {
    for (size_t i = 0; i < rounds; i++) libc_cases[which]();
}

void add_libc(void) {
    static const char *const what[] = {"getline",          "strdup, asprintf", "open_memstream", "qsort",
                                       "regcomp, glob",    "scandir",          "tsearch, argz",  "obstack",
                                       "newlocale, iconv", "getaddrinfo"};
    for (size_t i = 0; i < sizeof what / sizeof *what; i++) add(what[i], libc_case, i, 3);
}
