/* Stands between a process and its files: preloaded, it sees each change below a folder.
 *
 * watch() begins. Every change is a step: at one it may kill the process, in the middle of a write,
 * or answer an error as a failing or full disk does. With a log, each change is recorded with its
 * data, from which recording.py makes what a power cut could leave.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[4096];
static size_t folder_length;
static int record_to = -1, error_there;
static long steps, kill_at, fail_from, fail_until;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) static __typeof__(name) *real; if (!real) real = dlsym(RTLD_NEXT, #name)

/* Begins to watch the folder. record: a file for the recording, or empty. kill: the step at which
 * the process dies. from, until: the steps that fail, with an error. Steps count from 1. */
void watch(const char *path, const char *record, long kill, long from, long until, int error) {
  record_to = *record ? open(record, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
  steps = 0, kill_at = kill, fail_from = from, fail_until = until, error_there = error;
  snprintf(folder, sizeof folder, "%s/", path);
  folder_length = strlen(folder);
}

long watched_steps(void) { return steps; }

static int is_within(const char *path) {
  return folder_length && (!strncmp(path, folder, folder_length) ||
                           (strlen(path) == folder_length - 1 && !strncmp(path, folder, folder_length - 1)));
}

static int name_of(int file, char *name) {
  char link[64];
  int saved = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = folder_length && file != record_to ? readlink(link, name, 4095) : -1;
  errno = saved;
  if (length <= 0) return 0;
  name[length] = 0;
  return is_within(name) && !strstr(name, " (deleted)");
}

/* Whether this step fails. Dies here, after `half` was done, if it is the one to die at. */
static int fails(void (*half)(int, const void *, size_t, off_t), int file, const void *data, size_t size, off_t at) {
  long step = __atomic_add_fetch(&steps, 1, __ATOMIC_SEQ_CST);
  if (step == kill_at) {
    if (half) half(file, data, size / 2, at);
    kill(getpid(), SIGKILL);
  }
  if (step < fail_from || step > fail_until) return 0;
  errno = error_there;
  return 1;
}

static void put(char kind, const char *name, int64_t offset, const void *data, size_t size) {
  if (record_to < 0) return;
  REAL(write);
  int saved = errno;
  uint32_t name_size = strlen(name);
  uint64_t data_size = size;
  char head[21];
  head[0] = kind;
  memcpy(head + 1, &name_size, 4), memcpy(head + 5, &offset, 8), memcpy(head + 13, &data_size, 8);
  pthread_mutex_lock(&mutex);
  if (real(record_to, head, 21) < 0 || real(record_to, name, name_size) < 0) kill(getpid(), SIGABRT);
  for (size_t done = 0; done < size;) {
    ssize_t more = real(record_to, (const char *)data + done, size - done);
    if (more <= 0) kill(getpid(), SIGABRT);
    done += more;
  }
  pthread_mutex_unlock(&mutex);
  errno = saved;
}

static void half_of_pwrite(int file, const void *data, size_t size, off_t at) {
  REAL(pwrite64);
  if (real(file, data, size, at) < 0) return;
}

static void half_of_write(int file, const void *data, size_t size, off_t at) {
  REAL(write);
  (void)at;
  if (real(file, data, size) < 0) return;
}

#define PWRITE(name, offset_type) \
  ssize_t name(int file, const void *data, size_t size, offset_type at) { \
    REAL(name); \
    char path[4096]; \
    int ours = name_of(file, path); \
    if (ours && fails(half_of_pwrite, file, data, size, at)) return -1; \
    ssize_t done = real(file, data, size, at); \
    if (ours && done > 0) put('W', path, at, data, done); \
    return done; \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t write(int file, const void *data, size_t size) {
  REAL(write);
  char path[4096];
  int ours = name_of(file, path);
  if (!ours) return real(file, data, size);
  off_t at = lseek(file, 0, fcntl(file, F_GETFL) & O_APPEND ? SEEK_END : SEEK_CUR);
  if (fails(half_of_write, file, data, size, 0)) return -1;
  ssize_t done = real(file, data, size);
  if (done > 0) put('W', path, at, data, done);
  return done;
}

#define SYNC(name) \
  int name(int file) { \
    REAL(name); \
    char path[4096]; \
    int ours = name_of(file, path); \
    if (ours && fails(0, file, 0, 0, 0)) return -1; \
    int result = real(file); \
    if (ours && !result) put('S', path, 0, 0, 0); \
    return result; \
  }
SYNC(fsync)
SYNC(fdatasync)

#define TRUNCATE(name, offset_type) \
  int name(int file, offset_type size) { \
    REAL(name); \
    char path[4096]; \
    int ours = name_of(file, path); \
    if (ours && fails(0, file, 0, 0, 0)) return -1; \
    int result = real(file, size); \
    if (ours && !result) put('T', path, size, 0, 0); \
    return result; \
  }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

int unlink(const char *path) {
  REAL(unlink);
  if (is_within(path) && fails(0, 0, 0, 0, 0)) return -1;
  int result = real(path);
  if (is_within(path) && !result) put('U', path, 0, 0, 0);
  return result;
}

#define NAMING(name, kind) \
  int name(const char *from, const char *to) { \
    REAL(name); \
    if (is_within(to) && fails(0, 0, 0, 0, 0)) return -1; \
    int result = real(from, to); \
    if (is_within(to) && !result) put(kind, from, 0, to, strlen(to)); \
    return result; \
  }
NAMING(rename, 'R')
NAMING(link, 'L')

/* Python copies by it where it can; without it, it reads and writes. */
ssize_t sendfile(int to, int from, off_t *at, size_t size) {
  (void)to, (void)from, (void)at, (void)size;
  errno = ENOTSOCK;
  return -1;
}
ssize_t sendfile64(int to, int from, off64_t *at, size_t size) {
  (void)to, (void)from, (void)at, (void)size;
  errno = ENOTSOCK;
  return -1;
}

#define OPEN(name) \
  int name(const char *given, int flags, ...) { \
    REAL(name); \
    va_list more; \
    va_start(more, flags); \
    int mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, int) : 0; \
    va_end(more); \
    int changes = folder_length && (flags & (O_CREAT | O_TRUNC)), saved = errno; \
    int existed = changes && access(given, F_OK) == 0; \
    errno = saved; \
    int file = real(given, flags, mode); \
    char path[4096]; \
    if (changes && file >= 0 && name_of(file, path)) { \
      if (!existed) put('C', path, 0, 0, 0); \
      else if (flags & O_TRUNC) put('T', path, 0, 0, 0); \
    } \
    return file; \
  }
OPEN(open)
OPEN(open64)
