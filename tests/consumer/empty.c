/* empty.c - all that is in this plugin comes from a library. */
typedef int not_empty;
