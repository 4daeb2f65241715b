/*
 * Preloaded into a process that writes to files under CRASH_FOLDER: ends the process at its CRASH_AT-th step. A step is a
 * write, an fsync, or a change to a folder. If the last step is a write, half of it is stored.
 *
 * With CRASH_SAVE, a folder on the same disk, the power fails, too: everything that was not fsynced is undone. For bytes of
 * a file, that means an fsync of the file; for names in a folder, an fsync of the folder. This is the most that a disk may
 * lose. Nothing is really fsynced, which makes the test fast.
 *
 * With CRASH_LEFT, a file, the power stays on when the process ends, and fails when the next process ends. The list of
 * changes that were not fsynced is written to that file. The next process has a CRASH_AT of 0, so it runs to its end. It
 * first takes over that list as its own.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name)) dlsym(RTLD_NEXT, #name))
#define LONGEST 4096
#define MOST 1024

enum kind { NOTHING, WRITTEN, CREATED, MADE, RENAMED, REMOVED };

static struct change {
    enum kind kind;
    char path[LONGEST], from[LONGEST], saved[LONGEST];
    off_t length;
} changes[MOST];

static int count, saves, steps;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int is_ours(const char *path) {
    const char *folder = getenv("CRASH_FOLDER");
    return folder && strncmp(path, folder, strlen(folder)) == 0;
}

static int path_of(int file, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, LONGEST - 1);
    path[length > 0 ? length : 0] = 0;
    return is_ours(path);
}

static struct change *add(enum kind kind, const char *path) {
    if (count == MOST) abort();
    struct change *change = &changes[count++];
    change->kind = kind;
    strcpy(change->path, path);
    change->saved[0] = 0;
    return change;
}

static void save_name(char *saved) {
    snprintf(saved, LONGEST, "%s/%d", getenv("CRASH_SAVE"), saves++);
}

static void leave_changes(const char *path) {
    FILE *left = fopen(path, "w");
    fwrite(&saves, sizeof saves, 1, left);
    for (int i = 0; i < count; i++)
        if (changes[i].kind != NOTHING) fwrite(&changes[i], sizeof changes[i], 1, left);
    if (fclose(left)) perror("fclose");
}

static int goes_to_its_end(void) {
    return getenv("CRASH_AT") && !atoi(getenv("CRASH_AT"));
}

__attribute__((constructor)) static void take_changes(void) {
    FILE *left = goes_to_its_end() ? fopen(getenv("CRASH_LEFT"), "r") : NULL;
    if (!left) return;
    if (fread(&saves, sizeof saves, 1, left) == 1) count = fread(changes, sizeof changes[0], MOST, left);
    fclose(left);
}

static void end(void) {
    if (getenv("CRASH_LEFT") && !goes_to_its_end()) {
        leave_changes(getenv("CRASH_LEFT"));
        _exit(77);
    }
    for (int i = 0; getenv("CRASH_SAVE") && i < count; i++)
        if (changes[i].kind == WRITTEN && truncate(changes[i].path, changes[i].length)) perror("truncate");
    while (getenv("CRASH_SAVE") && count-- > 0) {
        struct change *change = &changes[count];
        char lost[LONGEST];
        save_name(lost);
        if (change->kind == CREATED || change->kind == MADE) REAL(rename)(change->path, lost);
        if (change->kind == RENAMED) REAL(rename)(change->path, change->from);
        if (change->saved[0]) REAL(rename)(change->saved, change->path);
    }
    _exit(77);
}

__attribute__((destructor)) static void end_at_the_end(void) {
    if (goes_to_its_end()) end();
}

static int is_last_step(void) {
    return ++steps == atoi(getenv("CRASH_AT"));
}

ssize_t write(int file, const void *bytes, size_t size) {
    char path[LONGEST];
    struct stat status;
    if (!path_of(file, path) || fstat(file, &status)) return REAL(write)(file, bytes, size);
    pthread_mutex_lock(&lock);
    int known = 0;
    for (int i = 0; i < count; i++) known |= changes[i].kind == WRITTEN && !strcmp(changes[i].path, path);
    if (!known) add(WRITTEN, path)->length = status.st_size;
    int last = is_last_step();
    ssize_t written = REAL(write)(file, bytes, last ? size / 2 : size);
    if (last) end();
    pthread_mutex_unlock(&lock);
    return written;
}

static int sync_file(int file) {
    char path[LONGEST];
    struct stat status;
    if (!path_of(file, path) || fstat(file, &status)) return 0;
    pthread_mutex_lock(&lock);
    if (is_last_step()) end();
    for (int i = 0; i < count; i++) {
        struct change *change = &changes[i];
        size_t folder = strrchr(change->path, '/') - change->path;
        int is_in_it = strlen(path) == folder && !strncmp(path, change->path, folder);
        int is_synced = S_ISDIR(status.st_mode) ? change->kind != WRITTEN && is_in_it
                                                : change->kind == WRITTEN && !strcmp(path, change->path);
        if (is_synced) change->kind = NOTHING, change->saved[0] = 0;
    }
    pthread_mutex_unlock(&lock);
    return 0;
}

int fsync(int file) { return sync_file(file); }
int fdatasync(int file) { return sync_file(file); }

int rename(const char *from, const char *to) {
    if (!is_ours(to)) return REAL(rename)(from, to);
    pthread_mutex_lock(&lock);
    if (is_last_step()) end();
    char saved[LONGEST] = "";
    if (getenv("CRASH_SAVE") && access(to, F_OK) == 0) save_name(saved), link(to, saved);
    int result = REAL(rename)(from, to);
    if (result == 0) {
        for (int i = 0; i < count; i++)
            if (changes[i].kind == WRITTEN && !strcmp(changes[i].path, from)) strcpy(changes[i].path, to);
        struct change *change = add(RENAMED, to);
        strcpy(change->from, from);
        strcpy(change->saved, saved);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

int unlink(const char *path) {
    if (!is_ours(path) || access(path, F_OK)) return REAL(unlink)(path);
    pthread_mutex_lock(&lock);
    if (is_last_step()) end();
    struct change *change = add(REMOVED, path);
    if (getenv("CRASH_SAVE")) save_name(change->saved), link(path, change->saved);
    int result = REAL(unlink)(path);
    pthread_mutex_unlock(&lock);
    return result;
}

int mkdir(const char *path, mode_t mode) {
    if (!is_ours(path)) return REAL(mkdir)(path, mode);
    pthread_mutex_lock(&lock);
    if (is_last_step()) end();
    int result = REAL(mkdir)(path, mode);
    if (result == 0) add(MADE, path);
    pthread_mutex_unlock(&lock);
    return result;
}

int open64(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    int is_new = flags & O_CREAT && is_ours(path) && access(path, F_OK);
    int file = REAL(open64)(path, flags, mode);
    int error = errno;
    if (is_new && file >= 0) {
        pthread_mutex_lock(&lock);
        add(CREATED, path);
        pthread_mutex_unlock(&lock);
    }
    errno = error;
    return file;
}

/* Force copying to use write. */
ssize_t copy_file_range(int from, off64_t *a, int to, off64_t *b, size_t size, unsigned flags) {
    (void) from, (void) a, (void) to, (void) b, (void) size, (void) flags;
    errno = ENOSYS;
    return -1;
}
ssize_t sendfile64(int to, int from, off64_t *offset, size_t size) {
    (void) to, (void) from, (void) offset, (void) size;
    errno = ENOSYS;
    return -1;
}
