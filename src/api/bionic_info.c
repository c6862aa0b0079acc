/* bionic_info.c - the form of malloc_info that bionic's malloc.h describes (bionic_info.h). */
#include "api/bionic_info.h"

#if JW_BIONIC

static void print_element(struct print_buffer *out, const char *name, uint64_t value) {
    print_text(out, "<");
    print_text(out, name);
    print_text(out, ">");
    print_unsigned(out, value);
    print_text(out, "</");
    print_text(out, name);
    print_text(out, ">");
}

static void print_bins(struct print_buffer *out, unsigned first, const struct slab_class_statistics *classes,
                       unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        print_text(out, "<bin nr=\"");
        print_unsigned(out, first + i);
        print_text(out, "\">");
        print_element(out, "allocated", classes[i].size * classes[i].objects);
        print_element(out, "nmalloc", classes[i].objects);
        print_element(out, "ndalloc", 0);
        print_text(out, "</bin>");
    }
}

void bionic_print_info(print_sink *sink, void *cookie) {
    char data[1024];
    struct print_buffer buffer = {.data = data, .size = sizeof data, .sink = sink, .cookie = cookie}, *out = &buffer;
    struct statistics statistics;
    statistics_gather(&statistics);
    const struct frontend_statistics *small = &statistics.frontend;
    const struct midend_statistics *mid = &statistics.midend;
    uint64_t bins = small->in_use + mid->in_use;
    print_text(out, "<malloc version=\"jemalloc-1\"><heap nr=\"0\">");
    print_element(out, "allocated-large", statistics.objects > bins ? statistics.objects - bins : 0);
    print_element(out, "allocated-huge", statistics.huge.bytes);
    print_element(out, "allocated-bins", bins);
    print_element(out, "bins-total", small->class_count + mid->class_count);
    print_bins(out, 0, small->classes, small->class_count);
    print_bins(out, small->class_count, mid->classes, mid->class_count);
    print_text(out, "</heap></malloc>\n");
    print_flush(out);
}

#endif
