/* A layer between a process and the disk, for the files below one directory (LD_PRELOAD).
 *
 * FAULT_DIRECTORY names the directory.  Every call that changes a file there, or makes changes
 * durable, is counted.  `fault_arm` makes the n-th call fail; `fault_log` logs all calls, and from
 * the log tests/faults/images.py makes the files that a power cut can leave.  A record of the log:
 *
 *     call u8 | is durable at once u8 | path bytes u16 | zero u32 | inode u64 | offset u64 |
 *     data bytes u64 | path | data
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum call { WRITE = 'w', SYNC = 's', TRUNCATE = 't', RENAME = 'r', UNLINK = 'u', OPEN = 'o', MARK = 'm' };
enum fault { INPUT_OUTPUT = 1, NO_SPACE = 2, SHORT = 3, QUOTA = 4, NO_DESCRIPTOR = 5, FOR_EVER = 16 };

struct record {
    uint8_t call, is_durable;
    uint16_t path_bytes;
    uint32_t zero;
    uint64_t inode, offset, data_bytes;
};

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static long counted, armed_at;
static int armed_fault;
static int log_descriptor = -1;

/* The real function with this name. */
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

void fault_arm(long at, int fault) {
    counted = 0;
    armed_at = at;
    armed_fault = fault;
}

long fault_count(void) { return counted; }

void fault_log(const char *path) {
    log_descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
}

static int is_watched_path(const char *path) {
    const char *directory = getenv("FAULT_DIRECTORY");
    return directory && !strncmp(path, directory, strlen(directory));
}

static int is_watched(int descriptor, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_watched_path(path);
}

/* Counts the call; the fault that it shall meet, 0 for none. */
static int fault_of(enum call call) {
    counted++;
    int is_due = armed_fault & FOR_EVER ? counted >= armed_at : counted == armed_at;
    int fault = armed_fault & ~FOR_EVER;
    if (!armed_at || !is_due) return 0;
    if (fault == NO_DESCRIPTOR || call == OPEN) return fault == NO_DESCRIPTOR && call == OPEN ? fault : 0;
    if (call == WRITE) return fault;
    if (fault == SHORT) return 0;
    int is_room = fault == NO_SPACE || fault == QUOTA;
    return is_room && (call == SYNC || call == UNLINK) ? 0 : fault;
}

static int refuse(int fault) {
    errno = fault == NO_SPACE ? ENOSPC : fault == QUOTA ? EDQUOT
            : fault == NO_DESCRIPTOR ? EMFILE : EIO;
    return -1;
}

static void put(const void *data, size_t size) {
    while (size) {
        ssize_t done = syscall(SYS_write, log_descriptor, data, size);
        if (done < 0) abort();
        data = (const char *)data + done;
        size -= (size_t)done;
    }
}

static void note(enum call call, int descriptor, const char *path, uint64_t offset,
                 const void *data, size_t size) {
    if (log_descriptor < 0) return;
    struct stat state = {0};
    int flags = 0;
    if (descriptor >= 0) {
        fstat(descriptor, &state);
        flags = fcntl(descriptor, F_GETFL);
    }
    struct record record = {call, (flags & O_DSYNC) != 0, (uint16_t)strlen(path), 0,
                            state.st_ino, offset, size};
    put(&record, sizeof record);
    put(path, record.path_bytes);
    put(data, size);
}

/* Logs the number as a mark: all transactions before it are acknowledged. */
void fault_mark(long number) { note(MARK, -1, "", (uint64_t)number, "", 0); }

/* Writes `parts` at `offset`; if it is negative, at the current position of the file. */
static ssize_t write_parts(int descriptor, const struct iovec *parts, int count, off_t offset) {
    int is_positioned = offset >= 0;
    char path[PATH_MAX];
    int watched = is_watched(descriptor, path);
    if (!watched)
        return is_positioned ? REAL(pwritev)(descriptor, parts, count, offset)
                             : REAL(writev)(descriptor, parts, count);
    pthread_mutex_lock(&guard);
    off_t at = is_positioned ? offset : lseek(descriptor, 0, SEEK_CUR);
    int fault = fault_of(WRITE);
    ssize_t done = -1, logged = 0;
    if (fault == SHORT) {
        size_t half = parts[0].iov_len / 2;
        done = is_positioned ? REAL(pwrite)(descriptor, parts[0].iov_base, half, offset)
                             : REAL(write)(descriptor, parts[0].iov_base, half);
    } else if (fault) {
        refuse(fault);
    } else {
        done = is_positioned ? REAL(pwritev)(descriptor, parts, count, offset)
                             : REAL(writev)(descriptor, parts, count);
    }
    int failure = errno;
    for (int i = 0; i < count && logged < done; i++) {
        size_t left = (size_t)(done - logged);
        size_t size = parts[i].iov_len < left ? parts[i].iov_len : left;
        note(WRITE, descriptor, path, (uint64_t)(at + logged), parts[i].iov_base, size);
        logged += (ssize_t)size;
    }
    pthread_mutex_unlock(&guard);
    errno = failure;
    return done;
}

/* Defines a call that takes a descriptor, changes or syncs a file, and returns 0 or -1. */
#define WITH_DESCRIPTOR(name, CALL, parameters, arguments, offset)                 \
    int name parameters {                                                          \
        char path[PATH_MAX];                                                       \
        if (!is_watched(descriptor, path)) return REAL(name) arguments;            \
        pthread_mutex_lock(&guard);                                                \
        int fault = fault_of(CALL);                                                \
        int done = fault ? refuse(fault) : REAL(name) arguments;                   \
        int failure = errno;                                                       \
        if (!done) note(CALL, descriptor, path, (uint64_t)(offset), "", 0);        \
        pthread_mutex_unlock(&guard);                                              \
        errno = failure;                                                           \
        return done;                                                               \
    }

WITH_DESCRIPTOR(fsync, SYNC, (int descriptor), (descriptor), 0)
WITH_DESCRIPTOR(fdatasync, SYNC, (int descriptor), (descriptor), 0)
WITH_DESCRIPTOR(ftruncate, TRUNCATE, (int descriptor, off_t size), (descriptor, size), size)
WITH_DESCRIPTOR(ftruncate64, TRUNCATE, (int descriptor, off64_t size), (descriptor, size), size)

ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset) {
    return write_parts(descriptor, parts, count, offset);
}

ssize_t pwritev64(int descriptor, const struct iovec *parts, int count, off64_t offset) {
    return write_parts(descriptor, parts, count, offset);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    return write_parts(descriptor, parts, count, -1);
}

ssize_t pwrite(int descriptor, const void *data, size_t size, off_t offset) {
    struct iovec part = {(void *)data, size};
    return write_parts(descriptor, &part, 1, offset);
}

ssize_t pwrite64(int descriptor, const void *data, size_t size, off64_t offset) {
    return pwrite(descriptor, data, size, offset);
}

ssize_t write(int descriptor, const void *data, size_t size) {
    struct iovec part = {(void *)data, size};
    return write_parts(descriptor, &part, 1, -1);
}

int msync(void *address, size_t size, int flags) {
    pthread_mutex_lock(&guard);
    int fault = armed_at ? fault_of(SYNC) : 0;
    pthread_mutex_unlock(&guard);
    return fault ? refuse(fault) : REAL(msync)(address, size, flags);
}

/* Defines a call that opens a file; only with a fault of descriptors it is counted. */
#define OPENING(name)                                                                              \
    int name(const char *path, int flags, ...) {                                                   \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0;                  \
        va_end(more);                                                                              \
        int is_counted = (armed_fault & ~FOR_EVER) == NO_DESCRIPTOR && is_watched_path(path);      \
        pthread_mutex_lock(&guard);                                                                \
        int fault = is_counted ? fault_of(OPEN) : 0;                                               \
        pthread_mutex_unlock(&guard);                                                              \
        return fault ? refuse(fault) : REAL(name)(path, flags, mode);                              \
    }

OPENING(open)
OPENING(open64)

int rename(const char *from, const char *to) {
    if (!is_watched_path(from)) return REAL(rename)(from, to);
    pthread_mutex_lock(&guard);
    int fault = fault_of(RENAME);
    int done = fault ? refuse(fault) : REAL(rename)(from, to);
    int failure = errno;
    if (!done) note(RENAME, -1, from, 0, to, strlen(to));
    pthread_mutex_unlock(&guard);
    errno = failure;
    return done;
}

int unlink(const char *path) {
    if (!is_watched_path(path)) return REAL(unlink)(path);
    pthread_mutex_lock(&guard);
    int fault = fault_of(UNLINK);
    int done = fault ? refuse(fault) : REAL(unlink)(path);
    int failure = errno;
    if (!done) note(UNLINK, -1, path, 0, "", 0);
    pthread_mutex_unlock(&guard);
    errno = failure;
    return done;
}
