/* Preloaded: while a file named by FULL exists, half of the first write is stored, and then the disk is full. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
static int landed = 0;
/* How much of a write still fits; -1: all of it. */
static ssize_t room(int file, size_t count) {
    struct stat status;
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return -1;
    if (access(getenv("FULL"), F_OK) != 0) { landed = 0; return -1; }
    if (landed++) return 0;
    return count / 2;
}
ssize_t write(int file, const void *bytes, size_t count) {
    ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    ssize_t fits = room(file, count);
    if (fits == 0) { errno = ENOSPC; return -1; }
    return real(file, bytes, fits < 0 ? count : (size_t) fits);
}
ssize_t pwrite64(int file, const void *bytes, size_t count, off_t at) {
    ssize_t (*real)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite64");
    ssize_t fits = room(file, count);
    if (fits == 0) { errno = ENOSPC; return -1; }
    return real(file, bytes, fits < 0 ? count : (size_t) fits, at);
}
ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) { return pwrite64(file, bytes, count, at); }
