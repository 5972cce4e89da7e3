// What a second search must pay at least, and what watches would cost. usage: costs TREE ROUNDS, with `rg` in PATH, two processors, and the
// right to take leases (one's own files). gcc -O2 -o costs costs.c
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CHANGES (IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVE | IN_DELETE_SELF | IN_MOVE_SELF)
struct dir { char *path, *name, **files; int parent, count; };
static struct dir *dirs;
static int n_dirs, n_files, *handles, with_files, inotify;
static atomic_int next;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

// Lists are kept in memory, as a search has them.
static void list(char *path, int parent) {
    int me = n_dirs++, n = 0;
    dirs = realloc(dirs, n_dirs * sizeof *dirs);
    dirs[me] = (struct dir){path, strrchr(path, '/') + 1, NULL, parent, 0};
    char **below = NULL;
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (e->d_type == DT_DIR && strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) {
            below = realloc(below, ++n * sizeof *below);
            if (asprintf(&below[n - 1], "%s/%s", path, e->d_name) < 0) exit(1);
        } else if (e->d_type == DT_REG) {
            struct dir *d = &dirs[me];
            d->files = realloc(d->files, ++d->count * sizeof *d->files);
            d->files[d->count - 1] = strdup(e->d_name);
            n_files++;
        }
    }
    closedir(dir);
    for (int i = 0; i < n; i++) list(below[i], me);
}

static void *work(void *none) {
    struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, .resolve = RESOLVE_NO_XDEV};
    struct statx of_dir;
    struct stat of_file;
    for (int i; (i = atomic_fetch_add(&next, 1)) < n_dirs;) {
        int at = dirs[i].parent < 0 ? AT_FDCWD : handles[dirs[i].parent];
        int fd = syscall(SYS_openat2, at, dirs[i].parent < 0 ? dirs[i].path : dirs[i].name, &how, sizeof how);
        statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &of_dir);
        for (int f = 0; with_files && f < dirs[i].count; f++) fstatat(fd, dirs[i].files[f], &of_file, AT_SYMLINK_NOFOLLOW);
        close(fd);
    }
    return none;
}

static double walk(int files) {
    double begin = now();
    pthread_t other;
    with_files = files, next = 0;
    pthread_create(&other, NULL, work, NULL);
    work(NULL);
    pthread_join(other, NULL);
    return now() - begin;
}

static void drain(const char *when) {
    char buffer[1 << 16];
    int count = 0, lost = 0;
    for (ssize_t n; (n = read(inotify, buffer, sizeof buffer)) > 0;)
        for (char *at = buffer; at < buffer + n; at += sizeof(struct inotify_event) + ((struct inotify_event *)at)->len)
            count++, lost |= ((struct inotify_event *)at)->mask & IN_Q_OVERFLOW;
    printf("%s: %d events%s\n", when, count, lost ? ", overflow" : "");
}

// Of each file: opened and closed (0), with a read lease in between (1), or watched (2).
static double each_file(int what) {
    double begin = now();
    char path[4096];
    for (int i = 0; i < n_dirs; i++)
        for (int f = 0; f < dirs[i].count; f++) {
            snprintf(path, sizeof path, "%s/%s", dirs[i].path, dirs[i].files[f]);
            int fd = what < 2 ? open(path, O_RDONLY | O_NOFOLLOW) : inotify_add_watch(inotify, path, CHANGES | IN_OPEN);
            if (fd < 0 || (what == 1 && fcntl(fd, F_SETLEASE, F_RDLCK))) perror(path), exit(1);
            if (what < 2) close(fd);
        }
    return now() - begin;
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    char command[4096], *tree = realpath(argv[1], NULL);
    snprintf(command, sizeof command, "rg -uu -c --no-messages -e nowhere_to_be_found '%s' >/dev/null", tree);
    list(tree, -1);
    handles = malloc(n_dirs * sizeof *handles);
    for (int i = 0; i < n_dirs; i++) handles[i] = open(dirs[i].path, O_PATH | O_DIRECTORY);
    printf("%d directories, %d files\n| rg, ms | directories | and a stat of each file |\n|--:|--:|--:|\n", n_dirs, n_files);
    for (int round = 0; round <= atoi(argv[2]); round++) {
        double begin = now();
        if (system(command) < 0) return 1;
        double rg = now() - begin, without = walk(0), with = walk(1);
        if (round > 0) printf("| %.0f | %.1f ms, %.3f x | %.1f ms, %.3f x |\n", rg, without, without / rg, with, with / rg);
    }
    inotify = inotify_init1(IN_NONBLOCK);
    double begin = now();
    for (int i = 0; i < n_dirs; i++)
        if (inotify_add_watch(inotify, dirs[i].path, CHANGES | IN_OPEN | IN_ONLYDIR) < 0) perror(dirs[i].path);
    printf("a watch of each directory: %.1f ms\n", now() - begin);
    if (system(command) < 0) return 1;
    drain("one rg over the tree, opens watched");
    close(inotify);
    double plain = each_file(0), leased = each_file(1);
    printf("each file opened and closed: %.1f ms, leased in between: %.1f ms\n", plain, leased);
    inotify = inotify_init1(IN_NONBLOCK);
    printf("a watch of each file: %.1f ms\n", each_file(2));
    return 0;
}
