/* main.c - linked into each client program: it alone knows where the client's data lies. The linker's --wrap=main
 * makes it the start. */
int checker_main(int argc, char **argv, int (*client)(void), char *const bounds[3]);
int __wrap_main(int argc, char **argv);
int __real_main(void);

extern char image_begin[] __asm__("__executable_start");
extern char data_begin[] __asm__("__data_start"), data_end[] __asm__("_end");

int __wrap_main(int argc, char **argv) {
    return checker_main(argc, argv, __real_main, (char *const[3]){image_begin, data_begin, data_end});
}
