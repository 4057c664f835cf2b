/* Put before the C library (LD_PRELOAD): writes and fsyncs of chosen files fail when asked to.

   lindero_fail(what, after, errno): what is 1 for writes, 2 for fsync; the call that comes `after`
   others fails, and all that follow, until lindero_fail(0, 0, 0). A write that fails for want of
   space has written its first half, as a disk that fills up does. Only files are counted whose name
   holds the text in LINDERO_FAILING. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static volatile int failing, error;
static volatile long left, failed;

void lindero_fail(int what, long after, int number) { left = after; error = number; failed = 0; failing = what; }
long lindero_failed(void) { return failed; }

static int concerns(int file) {
    char link[64], name[4096];
    const char *wanted = getenv("LINDERO_FAILING");
    if (wanted == NULL) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t n = readlink(link, name, sizeof name - 1);
    if (n < 0) return 0;
    name[n] = 0;
    return strstr(name, wanted) != NULL;
}

static int fails(int what, int file) {
    if (failing != what || !concerns(file)) return 0;
    if (left > 0) { left--; return 0; }
    failed++;
    return 1;
}

#define REAL(name) static typeof(&name) real; if (!real) real = (typeof(&name))dlsym(RTLD_NEXT, #name)

ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) {
    REAL(pwrite64);
    if (fails(1, file)) { if (size > 1) real(file, data, size / 2, at); errno = error; return -1; }
    return real(file, data, size, at);
}
ssize_t pwrite(int file, const void *data, size_t size, off_t at) {
    REAL(pwrite);
    if (fails(1, file)) { if (size > 1) real(file, data, size / 2, at); errno = error; return -1; }
    return real(file, data, size, at);
}
ssize_t write(int file, const void *data, size_t size) {
    REAL(write);
    if (fails(1, file)) { if (size > 1) real(file, data, size / 2); errno = error; return -1; }
    return real(file, data, size);
}
int fsync(int file) {
    REAL(fsync);
    if (fails(2, file)) { errno = error; return -1; }
    return real(file);
}
int fdatasync(int file) {
    REAL(fdatasync);
    if (fails(2, file)) { errno = error; return -1; }
    return real(file);
}
